// The instructions of the tape as machine instructions.
//
// Every one of them first brings its operands into registers (or decides to read one from memory), then ends their use
// in this step, then takes a register for the result, which may be one that an operand has just left: the instruction
// reads before it writes. Where several machine instructions make one operation, operands that are read late are
// pinned.
#include <algorithm>
#include <cassert>
#include <utility>

#include "program/native_code_calls.hpp"
#include "program/native_code_emitter.hpp"

namespace saltus::native {

namespace {

using G = Xbyak::CodeGenerator;

constexpr std::uint32_t bit_of(int r) {
  return r < 0 ? 0 : 1u << r;
}

// Predicates of vcmp. Ordered ones are false for NaN; not_equal is true for NaN, as != is in C.
constexpr int equal = 0x00, not_equal = 0x04, less = 0x11, less_equal = 0x12, greater_equal = 0x1d, greater = 0x1e;
constexpr int towards_minus_infinity = 0x09;  // of vround, without the inexact exception

}  // namespace

void Emitter::step(const Step& s) {
  switch (s.op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
      return arithmetic(s);
    case Op::fma:
    case Op::fms:
    case Op::fnma:
      return fused(s);
    case Op::neg:
    case Op::sqrt:
    case Op::floor:
      return unary(s);
    case Op::positive:
    case Op::nonnegative:
      return relation(s);
    case Op::logical_and:
    case Op::logical_or:
      return logic(s);
    case Op::logical_not:
      return logical_not(s);
    case Op::select:
      return select(s);
    case Op::external:
      return external_call(s);
    default:
      return s.result_count > 1 ? math_calls_at_once(s) : math_call(s);
  }
}

void Emitter::arithmetic(const Step& s) {
  Value a = flow_.operands_of(s)[0], b = flow_.operands_of(s)[1];
  static constexpr Binary scalar[] = {&G::vaddsd, &G::vsubsd, &G::vmulsd, &G::vdivsd};
  static constexpr Binary vector[] = {&G::vaddpd, &G::vsubpd, &G::vmulpd, &G::vdivpd};
  const auto k = static_cast<std::size_t>(s.op) - static_cast<std::size_t>(Op::add);
  const Binary instruction = packed() ? vector[k] : scalar[k];

  const bool commutes = s.op == Op::add || s.op == Op::mul;
  if (commutes && foldable(a) && !foldable(b)) std::swap(a, b);
  const Reg ra = need(a);
  const Reg rb = foldable(b) ? none : need(b);
  release(a);
  release(b);
  const Reg d = allocate();
  with(rb, b, [&](const Xbyak::Operand& source) { (code_.*instruction)(vec(d), vec(ra), source); });
  define(s.result, d);
}

// The result overwrites one of the operands: one that is not needed any more, else one that must be loaded anyway, else
// a copy. The three encodings differ in which operand that is, and in which of the others may lie in memory.
void Emitter::fused(const Step& s) {
  const auto operands = flow_.operands_of(s);
  static constexpr Ternary forms[2][3][3] = {{{&G::vfmadd132sd, &G::vfmadd213sd, &G::vfmadd231sd},
                                              {&G::vfmsub132sd, &G::vfmsub213sd, &G::vfmsub231sd},
                                              {&G::vfnmadd132sd, &G::vfnmadd213sd, &G::vfnmadd231sd}},
                                             {{&G::vfmadd132pd, &G::vfmadd213pd, &G::vfmadd231pd},
                                              {&G::vfmsub132pd, &G::vfmsub213pd, &G::vfmsub231pd},
                                              {&G::vfnmadd132pd, &G::vfnmadd213pd, &G::vfnmadd231pd}}};
  const auto& form = forms[packed()][static_cast<std::size_t>(s.op) - static_cast<std::size_t>(Op::fma)];

  const auto dies = [&](Value v) { return flow_.uses.items[flow_.uses.begin[v + 1] - 1] == position_; };
  int target = -1;
  for (const int k : {2, 0, 1})
    if (target < 0 && reg_[operands[k]] != none && dies(operands[k])) target = k;
  const bool in_place = target >= 0;
  for (const int k : {2, 0, 1})
    if (target < 0 && reg_[operands[k]] == none) target = k;
  if (target < 0) target = 2;

  const int multiplicand = target == 0 ? 1 : 0;  // the (first) factor that is not the target
  const int other = target == 2 ? 1 : 2;         // the second factor, or the addend
  const Value x = operands[multiplicand], y = operands[other], t = operands[target];
  // at most one of the two is read from memory; a value that is the target's as well is in a register or will be twice
  const bool fold_x = x != t && x != y && foldable(x);
  const bool fold_y = !fold_x && y != t && y != x && foldable(y);
  Reg rx = fold_x ? none : need(x);
  Reg ry = fold_y ? none : need(y);
  const Reg rt = reg_[t];
  for (const Value v : operands) release(v);

  Reg d = rt;
  if (!in_place) {
    d = allocate(bit_of(rx) | bit_of(ry) | bit_of(rt));
    if (rt != none)
      code_.vmovapd(vec(d), vec(rt));
    else
      load(d, t);
  }
  if (target == 2) {  // d = x*y + d
    if (rx == none) std::swap(rx, ry);
    with(ry, fold_x ? x : y, [&](const Xbyak::Operand& o) { (code_.*form[2])(vec(d), vec(rx), o); });
  } else if (rx == none) {  // d = d*x + y
    with(rx, x, [&](const Xbyak::Operand& o) { (code_.*form[0])(vec(d), vec(ry), o); });
  } else {  // d = x*d + y
    with(ry, y, [&](const Xbyak::Operand& o) { (code_.*form[1])(vec(d), vec(rx), o); });
  }
  define(s.result, d);
}

void Emitter::unary(const Step& s) {
  const Value a = flow_.operands_of(s)[0];
  const Reg ra = need(a);
  release(a);
  const Reg d = allocate();
  if (s.op == Op::neg) {
    code_.vxorpd(vec(d), vec(ra), special(Special::sign));
  } else if (s.op == Op::sqrt) {
    if (packed())
      code_.vsqrtpd(vec(d), vec(ra));
    else
      code_.vsqrtsd(vec(d), vec(ra), vec(ra));
  } else if (wide()) {
    code_.vrndscalepd(Xbyak::Zmm(d), Xbyak::Zmm(ra), towards_minus_infinity);
  } else if (packed()) {
    code_.vroundpd(vec(d), vec(ra), towards_minus_infinity);
  } else {
    code_.vroundsd(vec(d), vec(ra), vec(ra), towards_minus_infinity);
  }
  define(s.result, d);
}

// d = mask of (a predicate b), all bits of a lane. AVX-512 compares into a mask register first.
void Emitter::compare(Reg d, Reg a, const Xbyak::Operand& b, int predicate) {
  if (wide()) {
    code_.vcmppd(code_.k1, Xbyak::Zmm(a), b, static_cast<std::uint8_t>(predicate));
    code_.vpmovm2q(Xbyak::Zmm(d), code_.k1);
  } else if (packed()) {
    code_.vcmppd(vec(d), vec(a), b, static_cast<std::uint8_t>(predicate));
  } else {
    code_.vcmpsd(vec(d), vec(a), b, static_cast<std::uint8_t>(predicate));
  }
}

// A mask becomes 0 or 1.
void Emitter::make_number(Reg d) {
  code_.vandpd(vec(d), vec(d), special(Special::one));
}

// d = condition ? yes : no, for a mask. AVX-512 blends by a mask register.
void Emitter::choose(Reg d, Reg condition, Reg no, const Xbyak::Operand& yes) {
  if (!wide()) return code_.vblendvpd(vec(d), vec(no), yes, vec(condition));
  code_.vpmovq2m(code_.k1, Xbyak::Zmm(condition));
  code_.vblendmpd(Xbyak::Zmm(d) | code_.k1, Xbyak::Zmm(no), yes);
}

// d = mask of (a predicate 0). An operand in memory is compared the other way round, with a zero made on the spot.
void Emitter::compare_with_zero(Reg d, Value a, Reg ra, int predicate, int mirrored) {
  if (ra != none) {
    compare(d, ra, special(Special::zero), predicate);
  } else {
    code_.vxorpd(vec(d), vec(d), vec(d));
    compare(d, d, home(a), mirrored);
  }
}

void Emitter::relation(const Step& s) {
  const Value a = flow_.operands_of(s)[0];
  const Reg ra = foldable(a) ? none : need(a);
  release(a);
  const Reg d = allocate();
  const bool strict = s.op == Op::positive;
  compare_with_zero(d, a, ra, strict ? greater : greater_equal, strict ? less : less_equal);
  if (!flow_.is_mask[s.result]) make_number(d);
  define(s.result, d);
}

void Emitter::logic(const Step& s) {
  Value a = flow_.operands_of(s)[0], b = flow_.operands_of(s)[1];
  if (!flow_.is_mask[b]) std::swap(a, b);  // if there is one mask, it is b
  const bool mask_a = flow_.is_mask[a], mask_b = flow_.is_mask[b];
  const Reg ra = !mask_a && a != b && foldable(a) ? none : need(a);
  const Reg rb = !mask_b && a != b && foldable(b) ? none : need(b);
  release(a);
  release(b);
  const Reg d = allocate(bit_of(rb));
  Reg left = ra, right = rb;
  if (!mask_a) {
    compare_with_zero(d, a, ra, not_equal, not_equal);
    left = d;
  }
  if (!mask_b) {
    right = allocate(bit_of(d) | bit_of(rb));
    compare_with_zero(right, b, rb, not_equal, not_equal);
  }
  if (s.op == Op::logical_and)
    code_.vandpd(vec(d), vec(left), vec(right));
  else
    code_.vorpd(vec(d), vec(left), vec(right));
  if (!flow_.is_mask[s.result]) make_number(d);
  define(s.result, d);
}

void Emitter::logical_not(const Step& s) {
  const Value a = flow_.operands_of(s)[0];
  const bool mask = flow_.is_mask[a];
  const Reg ra = !mask && foldable(a) ? none : need(a);
  release(a);
  const Reg d = allocate();
  if (mask) {
    code_.vxorpd(vec(d), vec(ra), special(Special::ones));
  } else {
    compare_with_zero(d, a, ra, equal, equal);
  }
  if (!flow_.is_mask[s.result]) make_number(d);
  define(s.result, d);
}

void Emitter::select(const Step& s) {
  const Value a = flow_.operands_of(s)[0];
  Value yes = flow_.operands_of(s)[1], no = flow_.operands_of(s)[2];
  const bool mask = flow_.is_mask[a];
  // Scalars in memory have 8 bytes, blend and logic would read 16; so only lanes are read from memory. The alternative
  // that is read from memory, or that faces a zero, must be `yes`: then the condition is inverted if need be (not for
  // masks).
  const auto can_fold = [&](Value v) { return packed() && v != a && yes != no && foldable(v); };
  bool inverted = false;
  if (!mask && (is_plus_zero(yes) || (!is_plus_zero(no) && can_fold(no) && !can_fold(yes)))) {
    std::swap(yes, no);
    inverted = true;
  }
  const bool zero = is_plus_zero(no);
  const Reg ryes = can_fold(yes) ? none : need(yes);
  const Reg rno = zero ? none : need(no);
  const Reg ra = !mask && a != yes && a != no && foldable(a) ? none : need(a);
  for (const Value v : flow_.operands_of(s)) release(v);
  const Reg d = allocate(bit_of(ryes) | bit_of(rno));
  Reg condition = ra;
  if (!mask) {
    const int predicate = inverted ? equal : not_equal;
    compare_with_zero(d, a, ra, predicate, predicate);
    condition = d;
  }
  with(ryes, yes, [&](const Xbyak::Operand& source) {
    if (zero)
      code_.vandpd(vec(d), vec(condition), source);
    else
      choose(d, condition, rno, source);
  });
  define(s.result, d);
}

void Emitter::call(const void* function) {
  code_.mov(code_.rax, reinterpret_cast<std::uintptr_t>(function));
  code_.call(code_.rax);
}

// The operands go to registers 0 and 1, and the result is in register 0.
void Emitter::math_call(const Step& s) {
  const auto operands = flow_.operands_of(s);
  const Value a = operands[0];
  save_all_for_call();
  Reg ra = reg_[a];
  Reg rb = operands.size() > 1 ? Reg{reg_[operands[1]]} : none;
  if (rb == 0 && ra != 0) {  // the second argument is where the first must go
    rb = ra == 1 ? 2 : 1;
    code_.vmovapd(vec(rb), vec(0));
  }
  forget_registers();
  if (ra == none)
    load(0, a);
  else if (ra != 0)
    code_.vmovapd(vec(0), vec(ra));
  if (operands.size() > 1) {
    if (operands[1] == a)
      code_.vmovapd(vec(1), vec(0));
    else if (rb == none)
      load(1, operands[1]);
    else if (rb != 1)
      code_.vmovapd(vec(1), vec(rb));
  }
  call(math_function(s.op, width_));
  for (const Value v : operands) release(v);
  define(s.result, 0);
}

// Two to four calls in one lane each: the function for four lanes, whose values have the same bits. Lanes that are left
// over repeat another one.
void Emitter::math_calls_at_once(const Step& s) {
  const auto operands = flow_.operands_of(s);
  Reg r[4];
  for (std::size_t k = 0; k < 4; ++k) r[k] = k < operands.size() ? need(operands[k]) : r[k - 2];
  save_all_for_call();
  forget_registers();
  if (operands.size() == 3) r[3] = r[2];
  code_.vunpcklpd(vec(r[0]), vec(r[0]), vec(r[1]));
  if (operands.size() > 2) code_.vunpcklpd(vec(r[2]), vec(r[2]), vec(r[3]));
  code_.vinsertf128(Xbyak::Ymm(0), Xbyak::Ymm(r[0]), vec(r[2]), 1);
  call(math_function(s.op, 4));
  for (const Value v : operands) release(v);
  code_.vunpckhpd(vec(1), vec(0), vec(0));
  if (operands.size() > 2) code_.vextractf128(vec(2), Xbyak::Ymm(0), 1);
  if (operands.size() > 3) code_.vunpckhpd(vec(3), vec(2), vec(2));
  code_.vzeroupper();
  for (std::size_t k = 0; k < operands.size(); ++k) define(s.result + static_cast<Value>(k), static_cast<Reg>(k));
}

// The scratch area holds the arguments and results of the first lane, then those of the second, and so on.
void Emitter::pass_argument(Reg r, std::size_t k, std::size_t stride) {
  if (!packed()) return code_.vmovsd(scratch(k), vec(r));
  const Xbyak::Xmm low(r);
  for (std::size_t lane = 0; lane < static_cast<std::size_t>(width_); lane += 2) {
    code_.vmovlpd(scratch(k + lane * stride), low);
    code_.vmovhpd(scratch(k + (lane + 1) * stride), low);
    // turns the register by a pair of lanes; after the last one it is as before
    if (wide())
      code_.vshuff64x2(Xbyak::Zmm(r), Xbyak::Zmm(r), Xbyak::Zmm(r), 0x39);
    else
      code_.vperm2f128(Xbyak::Ymm(r), Xbyak::Ymm(r), Xbyak::Ymm(r), 1);
  }
}

void Emitter::fetch_result(Reg r, std::size_t k, std::size_t stride) {
  if (!packed()) return code_.vmovsd(vec(r), scratch(k));
  const Reg spare = allocate(bit_of(r));
  for (int lane = 0; lane < width_; lane += 2) {
    const Xbyak::Xmm pair(lane == 0 ? r : spare);
    const std::size_t place = k + static_cast<std::size_t>(lane) * stride;
    code_.vmovsd(pair, scratch(place));
    code_.vmovhpd(pair, pair, scratch(place + stride));
    if (lane == 0) continue;
    if (wide())
      code_.vinsertf64x2(Xbyak::Zmm(r), Xbyak::Zmm(r), pair, static_cast<std::uint8_t>(lane / 2));
    else
      code_.vinsertf128(Xbyak::Ymm(r), Xbyak::Ymm(r), pair, 1);
  }
}

void Emitter::external_call(const Step& s) {
  const auto operands = flow_.operands_of(s);
  const std::size_t stride = operands.size() + s.result_count;
  save_all_for_call();
  // first those in registers; then all registers are free to carry those in memory
  std::vector<std::size_t> in_memory;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (reg_[operands[k]] != none)
      pass_argument(reg_[operands[k]], k, stride);
    else
      in_memory.push_back(k);
  }
  for (const std::size_t k : in_memory) {
    load(0, operands[k]);
    pass_argument(0, k, stride);
  }
  forget_registers();
  code_.mov(code_.rdi, reinterpret_cast<std::uintptr_t>(&tape_.calls[s.call]));
  code_.lea(code_.rsi, scratch(0));
  if (packed()) code_.vzeroupper();  // foreign code may use the older instructions, which are slow otherwise
  call(external_function(width_));
  for (const Value v : operands) release(v);
  end_step();  // the results may use the slots of the arguments
  for (std::uint32_t k = 0; k < s.result_count; ++k) {
    const Value v = s.result + k;
    if (next_use(v) == never && flow_.outputs[v].empty()) continue;
    const Reg r = allocate();
    fetch_result(r, operands.size() + k, stride);
    define(v, r);
  }
}

}  // namespace saltus::native
