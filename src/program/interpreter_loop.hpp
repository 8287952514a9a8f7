// The loop itself, as a template over the value type and the instruction set (a tag that keeps the two compilations of the
// same code apart for the linker).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "program/interpreter.hpp"
#include "program/lane_functions.hpp"

namespace saltus::interpreter {

struct Generic {};
struct Avx2 {};

/// W evaluations side by side.
template <int W, class Isa>
struct Lanes {
  typedef double Vector __attribute__((vector_size(8 * W)));
  Vector v;
};

/// The places in the loop: one per instruction of the processor, and two for elementary functions.
enum Place : std::uint8_t {
  at_add, at_sub, at_mul, at_div, at_neg, at_fma, at_fms, at_fnma, at_sqrt, at_floor, at_unary, at_binary, at_positive,
  at_nonnegative, at_and, at_or, at_not, at_select, at_external, nowhere
};

constexpr Place place_of(const Operator& row) {
  switch (row.op) {
    case Op::add: return at_add;
    case Op::sub: return at_sub;
    case Op::mul: return at_mul;
    case Op::div: return at_div;
    case Op::neg: return at_neg;
    case Op::fma: return at_fma;
    case Op::fms: return at_fms;
    case Op::fnma: return at_fnma;
    case Op::sqrt: return at_sqrt;
    case Op::floor: return at_floor;
    case Op::positive: return at_positive;
    case Op::nonnegative: return at_nonnegative;
    case Op::logical_and: return at_and;
    case Op::logical_or: return at_or;
    case Op::logical_not: return at_not;
    case Op::select: return at_select;
    case Op::external: return at_external;
    default: break;
  }
  const bool has_value = row.kind == OpKind::function || row.kind == OpKind::rounding;
  return !is_instruction(row.op) || !has_value ? nowhere : row.operands == 1 ? at_unary : at_binary;
}

/// Data only, by operator: inline functions of shared headers must not be compiled here for one of the two instruction sets.
template <class Isa>
struct Tables {
  std::array<std::uint8_t, op_count> place{};
  std::array<Operator::Unary, op_count> unary{};
  std::array<Operator::Binary, op_count> binary{};
};
template <class Isa>
inline constexpr Tables<Isa> tables = [] {
  Tables<Isa> t;
  for (std::size_t k = 0; k < op_count; ++k) {
    t.place[k] = place_of(operators[k]);
    t.unary[k] = operators[k].unary;
    t.binary[k] = operators[k].binary;
    if (is_instruction(operators[k].op) && t.place[k] == nowhere) throw "an instruction has no place in the loop";
  }
  return t;
}();

/// Operations on the value types, one overload set per type.
template <class T, class Isa>
struct Ops;

template <class Isa>
struct Ops<double, Isa> {
  /// Elementary functions.
  struct Functions {
    double unary(Op op, double a) const { return tables<Isa>.unary[static_cast<int>(op)](a); }
    double binary(Op op, double a, double b) const { return tables<Isa>.binary[static_cast<int>(op)](a, b); }
  };
  static double fma(double a, double b, double c) { return std::fma(a, b, c); }
  static double neg(double a) { return -a; }
  static double sqrt(double a) { return std::sqrt(a); }
  static double add(double a, double b) { return a + b; }
  static double sub(double a, double b) { return a - b; }
  static double mul(double a, double b) { return a * b; }
  static double div(double a, double b) { return a / b; }
  template <class F>
  static double map(double a, F f) {
    return f(a);
  }
  template <class F>
  static double map(double a, double b, F f) {
    return f(a, b);
  }
  static double select(double a, double b, double c) { return a != 0.0 ? b : c; }
};

template <int W, class Isa>
struct Ops<Lanes<W, Isa>, Isa> {
  using L = Lanes<W, Isa>;
  struct Functions {
    const LaneFunction* table = lane_functions(W);
    L unary(Op op, const L& a) const {
      L x = a;
      table[static_cast<int>(op)](reinterpret_cast<double*>(&x));
      return x;
    }
    L binary(Op op, const L& a, const L& b) const {
      L x[2] = {a, b};
      table[static_cast<int>(op)](reinterpret_cast<double*>(x));
      return x[0];
    }
  };
  static L fma(const L& a, const L& b, const L& c) {
    L r;
    for (int k = 0; k < W; ++k) r.v[k] = std::fma(a.v[k], b.v[k], c.v[k]);
    return r;
  }
  static L neg(const L& a) { return {-a.v}; }
  static L sqrt(const L& a) {
    L r;
    for (int k = 0; k < W; ++k) r.v[k] = std::sqrt(a.v[k]);
    return r;
  }
  static L add(const L& a, const L& b) { return {a.v + b.v}; }
  static L sub(const L& a, const L& b) { return {a.v - b.v}; }
  static L mul(const L& a, const L& b) { return {a.v * b.v}; }
  static L div(const L& a, const L& b) { return {a.v / b.v}; }
  template <class F>
  static L map(const L& a, F f) {
    L r;
    for (int k = 0; k < W; ++k) r.v[k] = f(a.v[k]);
    return r;
  }
  template <class F>
  static L map(const L& a, const L& b, F f) {
    L r;
    for (int k = 0; k < W; ++k) r.v[k] = f(a.v[k], b.v[k]);
    return r;
  }
  static L select(const L& a, const L& b, const L& c) {
    L r;
    for (int k = 0; k < W; ++k) r.v[k] = a.v[k] != 0.0 ? b.v[k] : c.v[k];
    return r;
  }
};

template <class Isa>
void call_with_frame(const CallSite& call, double* frame, std::uint32_t scratch) {
  double* const in = frame + scratch;
  double* const out = in + call.arguments.size();
  for (std::size_t k = 0; k < call.arguments.size(); ++k) in[k] = frame[call.arguments[k]];
  call_external(call, in);
  for (std::size_t k = 0; k < call.results.size(); ++k) frame[call.results[k]] = out[k];
}

template <class Isa, int W>
void call_with_frame(const CallSite& call, Lanes<W, Isa>* frame, std::uint32_t scratch) {
  auto* const in = reinterpret_cast<double*>(frame + scratch);  // room for W times what one lane needs
  double* const out = in + call.arguments.size();
  for (int lane = 0; lane < W; ++lane) {
    for (std::size_t k = 0; k < call.arguments.size(); ++k) in[k] = frame[call.arguments[k]].v[lane];
    call_external(call, in);
    for (std::size_t k = 0; k < call.results.size(); ++k) frame[call.results[k]].v[lane] = out[k];
  }
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"  // labels as values: 15 to 30 % faster than a switch

/// k...: the numbers of all operators.
template <class T, class Isa, std::size_t... k>
void run(const Tape& tape, T* const frame, std::index_sequence<k...>) {
  using O = Ops<T, Isa>;
  constexpr const Tables<Isa>& table = tables<Isa>;
  // by operator, so that a jump needs one look into memory
  static const void* const labels[] = {(table.place[k] == at_add           ? &&l_add
                                        : table.place[k] == at_sub         ? &&l_sub
                                        : table.place[k] == at_mul         ? &&l_mul
                                        : table.place[k] == at_div         ? &&l_div
                                        : table.place[k] == at_neg         ? &&l_neg
                                        : table.place[k] == at_fma         ? &&l_fma
                                        : table.place[k] == at_fms         ? &&l_fms
                                        : table.place[k] == at_fnma        ? &&l_fnma
                                        : table.place[k] == at_sqrt        ? &&l_sqrt
                                        : table.place[k] == at_floor       ? &&l_floor
                                        : table.place[k] == at_unary       ? &&l_unary
                                        : table.place[k] == at_binary      ? &&l_binary
                                        : table.place[k] == at_positive    ? &&l_positive
                                        : table.place[k] == at_nonnegative ? &&l_nonnegative
                                        : table.place[k] == at_and         ? &&l_and
                                        : table.place[k] == at_or          ? &&l_or
                                        : table.place[k] == at_not         ? &&l_not
                                        : table.place[k] == at_select      ? &&l_select
                                                                           : &&l_external)...};
  const typename O::Functions functions;
  const Instruction* i = tape.code.data();
  const Instruction* const end = i + tape.code.size();
  if (i == end) return;
  goto* labels[static_cast<int>(i->op)];
  // Each instruction ends with its own jump, so that the branch predictor learns which follows which.
#define SALTUS_NEXT \
  if (++i == end) return; \
  goto* labels[static_cast<int>(i->op)]

l_add: frame[i->result] = O::add(frame[i->a], frame[i->b]); SALTUS_NEXT;
l_sub: frame[i->result] = O::sub(frame[i->a], frame[i->b]); SALTUS_NEXT;
l_mul: frame[i->result] = O::mul(frame[i->a], frame[i->b]); SALTUS_NEXT;
l_div: frame[i->result] = O::div(frame[i->a], frame[i->b]); SALTUS_NEXT;
l_neg: frame[i->result] = O::neg(frame[i->a]); SALTUS_NEXT;
l_fma: frame[i->result] = O::fma(frame[i->a], frame[i->b], frame[i->c]); SALTUS_NEXT;
l_fms: frame[i->result] = O::fma(frame[i->a], frame[i->b], O::neg(frame[i->c])); SALTUS_NEXT;
l_fnma: frame[i->result] = O::fma(O::neg(frame[i->a]), frame[i->b], frame[i->c]); SALTUS_NEXT;
l_sqrt: frame[i->result] = O::sqrt(frame[i->a]); SALTUS_NEXT;
l_floor: frame[i->result] = O::map(frame[i->a], [](double x) { return std::floor(x); }); SALTUS_NEXT;
l_unary: frame[i->result] = functions.unary(i->op, frame[i->a]); SALTUS_NEXT;
l_binary: frame[i->result] = functions.binary(i->op, frame[i->a], frame[i->b]); SALTUS_NEXT;
l_positive:
  frame[i->result] = O::map(frame[i->a], [](double x) { return x > 0.0 ? 1.0 : 0.0; });
  SALTUS_NEXT;
l_nonnegative:
  frame[i->result] = O::map(frame[i->a], [](double x) { return x >= 0.0 ? 1.0 : 0.0; });
  SALTUS_NEXT;
l_and:
  frame[i->result] =
      O::map(frame[i->a], frame[i->b], [](double x, double y) { return x != 0.0 && y != 0.0 ? 1.0 : 0.0; });
  SALTUS_NEXT;
l_or:
  frame[i->result] =
      O::map(frame[i->a], frame[i->b], [](double x, double y) { return x != 0.0 || y != 0.0 ? 1.0 : 0.0; });
  SALTUS_NEXT;
l_not:
  frame[i->result] = O::map(frame[i->a], [](double x) { return x == 0.0 ? 1.0 : 0.0; });
  SALTUS_NEXT;
l_select: frame[i->result] = O::select(frame[i->a], frame[i->b], frame[i->c]); SALTUS_NEXT;
l_external:
  call_with_frame<Isa>(tape.calls[i->a], frame, tape.first_temporary() + tape.temporaries);
  SALTUS_NEXT;
#undef SALTUS_NEXT
}

#pragma GCC diagnostic pop

template <class Isa>
void dispatch(const Tape& tape, double* frame, int lanes) {
  constexpr auto all = std::make_index_sequence<op_count>();
  if (lanes == 1) return run<double, Isa>(tape, frame, all);
  if (lanes == 4) return run<Lanes<4, Isa>, Isa>(tape, reinterpret_cast<Lanes<4, Isa>*>(frame), all);
  if (lanes == 8) return run<Lanes<8, Isa>, Isa>(tape, reinterpret_cast<Lanes<8, Isa>*>(frame), all);
  throw UsageError("the interpreter runs 1, 4 or 8 lanes");
}

}  // namespace saltus::interpreter
