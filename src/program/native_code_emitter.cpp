#include "program/native_code_emitter.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>
#include <numeric>

#include "program/native_code_calls.hpp"

namespace saltus::native {

namespace {

constexpr std::uint32_t bit(int r) {
  return 1u << r;
}

// Numbers of the general registers, as the processor counts them.
enum Gpr { rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15 };
constexpr bool callee_saved(int gpr) {
  return gpr == rbx || gpr == rbp || gpr >= r12;
}

constexpr std::size_t special_count = 4;

}  // namespace

Emitter::Emitter(const Tape& tape, int lanes, int width)
    : tape_(tape),
      lanes_(lanes),
      width_(width),
      register_count_(width == 8 ? 32 : 16),
      flow_(tape, lanes == 1),
      code_(1024 + 16 * tape.code.size(), Xbyak::AutoGrow, &heap_) {}

bool Emitter::run() {
  if (!offsets_fit()) return false;
  count_group_uses();
  choose_bases();
  write_constants();
  prologue();
  for (half_ = 0; half_ < lanes_ / width_; ++half_) write_half();
  epilogue();
  return true;
}

// All steps, for as many lanes as a register has.
void Emitter::write_half() {
  position_ = 0;
  occupied_ = 0;
  slots_ = 0;
  free_slots_.clear();
  reg_.assign(flow_.values, std::int8_t{none});
  slot_.assign(flow_.values, -1);
  use_.assign(flow_.uses.begin.begin(), flow_.uses.begin.end() - 1);
  output_pending_.assign(flow_.leaves, 0);
  for (Value v = 0; v < flow_.leaves; ++v) output_pending_[v] = !flow_.outputs[v].empty();
  for (const Step& s : flow_.steps) {
    step(s);
    end_step();
    ++position_;
  }
  for (Value v = 0; v < flow_.leaves; ++v)
    if (output_pending_[v]) load(0, v);  // every register is free here
  assert(slots_ <= static_cast<std::int32_t>(tape_.temporaries));
}

// ------------------------------------------------------------------------------------------------ frame of the
// function

bool Emitter::offsets_fit() const {
  std::size_t largest = std::max<std::size_t>(tape_.constants.size() + 2 * special_count + 8,
                                              std::size_t{tape_.temporaries} + tape_.scratch);
  for (const std::uint32_t size : tape_.input_sizes) largest = std::max<std::size_t>(largest, size);
  for (const auto& group : tape_.outputs) largest = std::max(largest, group.size());
  // code comes behind the constants and is below 64 bytes an instruction and lane
  const std::size_t bytes = (largest + 8 * tape_.code.size()) * 8 * static_cast<std::size_t>(lanes_);
  return bytes < std::size_t{std::numeric_limits<std::int32_t>::max()};
}

void Emitter::count_group_uses() {
  in_.resize(tape_.input_sizes.size());
  out_.resize(tape_.outputs.size());
  Value v = tape_.first_input();
  for (std::uint32_t g = 0; g < tape_.input_sizes.size(); ++g)
    for (std::uint32_t k = 0; k < tape_.input_sizes[g]; ++k, ++v) {
      input_group_.push_back(g);
      input_offset_.push_back(k);
      in_[g].uses += static_cast<std::uint32_t>(flow_.uses[v].size()) + (flow_.outputs[v].empty() ? 0 : 1);
    }
  for (std::size_t g = 0; g < out_.size(); ++g) out_[g].uses = static_cast<std::uint32_t>(tape_.outputs[g].size());
  calls_ = std::any_of(flow_.steps.begin(), flow_.steps.end(), [](const Step& s) { return makes_call(s.op); });
}

// Gives the groups that are used most a general register each. A function with calls may only use those that calls
// leave alone.
void Emitter::choose_bases() {
  std::vector<Base*> wanted;
  for (Base& base : in_)
    if (base.uses > 0) wanted.push_back(&base);
  for (Base& base : out_)
    if (base.uses > 0) wanted.push_back(&base);
  std::stable_sort(wanted.begin(), wanted.end(), [](const Base* a, const Base* b) { return a->uses > b->uses; });

  memory_ = Xbyak::Reg64(calls_ ? rbx : rdx);
  std::vector<int> free = calls_ ? std::vector<int>{r13, r14, r15, rbp, r12}
                                 : std::vector<int>{rcx, r8, r9, r10, r11, rbx, rbp, r12, r13, r14, r15};
  keep_arrays_ = wanted.size() > free.size();
  if (calls_ && keep_arrays_) free.resize(3);
  in_array_ = Xbyak::Reg64(calls_ && keep_arrays_ ? rbp : rdi);
  out_array_ = Xbyak::Reg64(calls_ && keep_arrays_ ? r12 : rsi);
  for (std::size_t k = 0; k < std::min(wanted.size(), free.size()); ++k) {
    // saving and restoring a register must be worth it
    if (!calls_ && callee_saved(free[k]) && wanted[k]->uses < 4) {
      keep_arrays_ = true;
      break;
    }
    wanted[k]->gpr = free[k];
  }

  if (calls_) saved_.push_back(rbx);
  if (calls_ && keep_arrays_) saved_.insert(saved_.end(), {rbp, r12});
  for (const Base* base : wanted)
    if (base->gpr >= 0 && callee_saved(base->gpr)) saved_.push_back(base->gpr);
}

void Emitter::write_constants() {
  code_.L(constants_);
  const std::uint64_t patterns[special_count] = {0, std::bit_cast<std::uint64_t>(1.0), std::uint64_t{1} << 63,
                                                 ~std::uint64_t{0}};
  const int width = std::max(2, width_);  // logic operations read 16 bytes even in scalar code
  for (const std::uint64_t pattern : patterns)
    for (int k = 0; k < width; ++k) code_.dq(pattern);
  for (const double value : tape_.constants)
    for (int k = 0; k < width_; ++k) code_.dq(std::bit_cast<std::uint64_t>(value));
  while (code_.getSize() % 64 != 0) code_.db(0xcc);
  entry_offset_ = code_.getSize();
}

void Emitter::prologue() {
  using Xbyak::Reg64;
  for (const int gpr : saved_) code_.push(Reg64(gpr));
  if (calls_) {
    // the stack pointer is 8 past a multiple of 16 on entry
    stack_bytes_ = saved_.size() % 2 == 0 ? 8 : 0;
    if (stack_bytes_ > 0) code_.sub(code_.rsp, stack_bytes_);
    code_.mov(memory_, code_.rdx);
    if (keep_arrays_) {
      code_.mov(in_array_, code_.rdi);
      code_.mov(out_array_, code_.rsi);
    }
  }
  for (std::size_t g = 0; g < in_.size(); ++g)
    if (in_[g].gpr >= 0) code_.mov(Reg64(in_[g].gpr), code_.ptr[code_.rdi + 8 * g]);
  for (std::size_t g = 0; g < out_.size(); ++g)
    if (out_[g].gpr >= 0) code_.mov(Reg64(out_[g].gpr), code_.ptr[code_.rsi + 8 * g]);
}

void Emitter::epilogue() {
  if (packed()) code_.vzeroupper();
  if (stack_bytes_ > 0) code_.add(code_.rsp, stack_bytes_);
  for (std::size_t k = saved_.size(); k-- > 0;) code_.pop(Xbyak::Reg64(saved_[k]));
  code_.ret();
}

// ------------------------------------------------------------------------------------------------------------
// addresses

Xbyak::Address Emitter::special(Special s) const {
  return code_.ptr[code_.rip + constants_ + static_cast<int>(s) * 8 * std::max(2, width_)];
}

Xbyak::Reg64 Emitter::group_pointer(const Base& base, int array, std::uint32_t group) {
  if (base.gpr >= 0) return Xbyak::Reg64(base.gpr);
  code_.mov(code_.rax, code_.ptr[Xbyak::Reg64(array) + 8 * std::size_t{group}]);
  return code_.rax;
}

Xbyak::Address Emitter::home(Value v) {
  if (v < tape_.first_input())
    return code_.ptr[code_.rip + constants_ +
                     8 * (static_cast<int>(special_count) * std::max(2, width_) + static_cast<int>(v) * width_)];
  if (flow_.is_leaf(v)) {
    const std::uint32_t k = v - tape_.first_input(), group = input_group_[k];
    const Xbyak::Reg64 pointer = group_pointer(in_[group], in_array_.getIdx(), group);
    return code_.ptr[pointer + bytes_of(input_offset_[k])];
  }
  assert(slot_[v] >= 0);
  return code_.ptr[memory_ + bytes_of(static_cast<std::size_t>(slot_[v]))];
}

Xbyak::Address Emitter::scratch(std::size_t offset) const {
  return code_.ptr[memory_ + 8 * (static_cast<int>(tape_.temporaries) * lanes_ + static_cast<int>(offset))];
}

// ------------------------------------------------------------------------------------------------------------
// registers

std::uint32_t Emitter::next_use(Value v) const {
  return use_[v] < flow_.uses.begin[v + 1] ? flow_.uses.items[use_[v]] : never;
}

void Emitter::move_to_memory(const Xbyak::Address& to, Reg r) {
  if (packed())
    code_.vmovupd(to, vec(r));
  else
    code_.vmovsd(to, vec(r));
}

void Emitter::move_from_memory(Reg r, const Xbyak::Address& from) {
  if (packed())
    code_.vmovupd(vec(r), from);
  else
    code_.vmovsd(vec(r), from);
}

// Writes a value that is still needed to memory, unless it is there already.
void Emitter::spill(Value v) {
  if (flow_.is_leaf(v) || slot_[v] >= 0 || next_use(v) == never) return;
  if (free_slots_.empty()) {
    slot_[v] = slots_++;
  } else {
    slot_[v] = free_slots_.back();
    free_slots_.pop_back();
  }
  move_to_memory(home(v), reg_[v]);
}

void Emitter::evict(Reg r) {
  if (!(occupied_ & bit(r))) return;
  spill(owner_[r]);
  reg_[owner_[r]] = none;
  occupied_ &= ~bit(r);
}

Emitter::Reg Emitter::allocate(std::uint32_t pinned) {
  const std::uint32_t all = wide() ? ~0u : bit(register_count_) - 1;
  const std::uint32_t free = ~(occupied_ | pinned) & all;
  if (free != 0) return std::countr_zero(free);
  Reg best = none;
  std::uint64_t furthest = 0;
  for (Reg r = 0; r < register_count_; ++r) {
    if (pinned & bit(r)) continue;
    const Value v = owner_[r];
    // a value that is in memory already costs no store: as good as one that is needed a little later
    const std::uint64_t distance = std::uint64_t{next_use(v)} + (flow_.is_leaf(v) || slot_[v] >= 0 ? 8 : 0) + 1;
    if (distance > furthest) {
      furthest = distance;
      best = r;
    }
  }
  evict(best);
  return best;
}

// Copies a value from memory; the register does not become its owner.
void Emitter::load(Reg r, Value v) {
  if (is_plus_zero(v))
    code_.vxorpd(vec(r), vec(r), vec(r));
  else
    move_from_memory(r, home(v));
  if (flow_.is_leaf(v) && output_pending_[v]) {
    output_pending_[v] = 0;
    store_outputs(v, r);
  }
}

// Brings a value into a register that is not given away before the end of the step.
Emitter::Reg Emitter::need(Value v) {
  if (reg_[v] != none) return reg_[v];
  std::uint32_t pinned = 0;  // other operands of this step
  for (const Value other : flow_.operands_of(flow_.steps[position_]))
    if (reg_[other] != none) pinned |= bit(reg_[other]);
  const Reg r = allocate(pinned);
  load(r, v);
  owner_[r] = v;
  reg_[v] = static_cast<std::int8_t>(r);
  occupied_ |= bit(r);
  return r;
}

// Whether the value is better read from memory by the instruction itself: it is not in a register, and not needed again
// soon.
bool Emitter::foldable(Value v) const {
  if (reg_[v] != none || is_plus_zero(v)) return false;
  if (flow_.is_leaf(v) && output_pending_[v]) return false;
  std::uint32_t k = use_[v];
  while (k < flow_.uses.begin[v + 1] && flow_.uses.items[k] == position_) ++k;
  constexpr std::uint32_t soon = 24;
  return k == flow_.uses.begin[v + 1] || flow_.uses.items[k] > position_ + soon;
}

// The value's use in this step is over. Its spill slot stays until the end of the step, since the instruction may still
// read it.
void Emitter::release(Value v) {
  if (next_use(v) != position_) return;  // an operand that occurs twice
  while (next_use(v) == position_) ++use_[v];
  if (next_use(v) != never) return;
  if (reg_[v] != none) {
    occupied_ &= ~bit(reg_[v]);
    reg_[v] = none;
  }
  if (slot_[v] >= 0) dying_slots_.push_back(slot_[v]);
}

void Emitter::end_step() {
  free_slots_.insert(free_slots_.end(), dying_slots_.begin(), dying_slots_.end());
  dying_slots_.clear();
}

void Emitter::store_outputs(Value v, Reg r) {
  for (const Place& place : flow_.outputs[v]) {
    const Xbyak::Reg64 pointer = group_pointer(out_[place.group], out_array_.getIdx(), place.group);
    move_to_memory(code_.ptr[pointer + bytes_of(place.index)], r);
  }
}

void Emitter::define(Value v, Reg r) {
  store_outputs(v, r);
  if (next_use(v) == never) return;
  owner_[r] = v;
  reg_[v] = static_cast<std::int8_t>(r);
  occupied_ |= bit(r);
}

// Calls destroy all vector registers: what is needed after this step goes to memory.
void Emitter::save_all_for_call() {
  for (Reg r = 0; r < register_count_; ++r) {
    if (!(occupied_ & bit(r))) continue;
    const Value v = owner_[r];
    if (flow_.uses.items[flow_.uses.begin[v + 1] - 1] > position_) spill(v);
  }
}

void Emitter::forget_registers() {
  for (Reg r = 0; r < register_count_; ++r)
    if (occupied_ & bit(r)) reg_[owner_[r]] = none;
  occupied_ = 0;
}

bool Emitter::is_plus_zero(Value v) const {
  return v < tape_.first_input() && std::bit_cast<std::uint64_t>(tape_.constants[v]) == 0;
}

}  // namespace saltus::native
