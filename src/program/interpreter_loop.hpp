// The loop itself, as a template over the value type and the instruction set (a tag that keeps the two compilations of the
// same code apart for the linker).
#pragma once

#include <cmath>
#include <cstdint>

#include "program/interpreter.hpp"

namespace saltus::interpreter {

struct Generic {};
struct Avx2 {};

/// W evaluations side by side.
template <int W, class Isa>
struct Lanes {
  typedef double Vector __attribute__((vector_size(8 * W)));
  Vector v;
};

/// Operations on the value types, one overload set per type.
template <class T, class Isa>
struct Ops;

template <class Isa>
struct Ops<double, Isa> {
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

template <class T, class Isa>
void run(const Tape& tape, T* const frame) {
  using O = Ops<T, Isa>;
  static const void* const labels[] = {
      &&l_add,  &&l_sub,   &&l_mul,   &&l_div,   &&l_neg, &&l_fma,   &&l_fms,   &&l_fnma,     &&l_sqrt,
      &&l_exp,  &&l_log,   &&l_sin,   &&l_cos,   &&l_tan, &&l_asin,  &&l_acos,  &&l_atan,     &&l_sinh,
      &&l_cosh, &&l_tanh,  &&l_asinh, &&l_acosh, &&l_atanh, &&l_pow, &&l_atan2, &&l_floor,    &&l_positive,
      &&l_nonnegative,     &&l_and,   &&l_or,    &&l_not, &&l_select, &&l_external};
  static_assert(sizeof labels / sizeof labels[0] == opcode_count);
  const Instruction* i = tape.code.data();
  const Instruction* const end = i + tape.code.size();
  if (i == end) return;
  goto* labels[static_cast<int>(i->op)];
  // Each instruction ends with its own jump, so that the branch predictor learns which follows which.
#define SALTUS_NEXT \
  if (++i == end) return; \
  goto* labels[static_cast<int>(i->op)]
#define SALTUS_UNARY(label, function) \
  label: frame[i->result] = O::map(frame[i->a], [](double x) { return function(x); }); \
  SALTUS_NEXT;

l_add: frame[i->result] = O::add(frame[i->a], frame[i->b]); SALTUS_NEXT;
l_sub: frame[i->result] = O::sub(frame[i->a], frame[i->b]); SALTUS_NEXT;
l_mul: frame[i->result] = O::mul(frame[i->a], frame[i->b]); SALTUS_NEXT;
l_div: frame[i->result] = O::div(frame[i->a], frame[i->b]); SALTUS_NEXT;
l_neg: frame[i->result] = O::neg(frame[i->a]); SALTUS_NEXT;
l_fma: frame[i->result] = O::fma(frame[i->a], frame[i->b], frame[i->c]); SALTUS_NEXT;
l_fms: frame[i->result] = O::fma(frame[i->a], frame[i->b], O::neg(frame[i->c])); SALTUS_NEXT;
l_fnma: frame[i->result] = O::fma(O::neg(frame[i->a]), frame[i->b], frame[i->c]); SALTUS_NEXT;
l_sqrt: frame[i->result] = O::sqrt(frame[i->a]); SALTUS_NEXT;
  SALTUS_UNARY(l_exp, std::exp)
  SALTUS_UNARY(l_log, std::log)
  SALTUS_UNARY(l_sin, std::sin)
  SALTUS_UNARY(l_cos, std::cos)
  SALTUS_UNARY(l_tan, std::tan)
  SALTUS_UNARY(l_asin, std::asin)
  SALTUS_UNARY(l_acos, std::acos)
  SALTUS_UNARY(l_atan, std::atan)
  SALTUS_UNARY(l_sinh, std::sinh)
  SALTUS_UNARY(l_cosh, std::cosh)
  SALTUS_UNARY(l_tanh, std::tanh)
  SALTUS_UNARY(l_asinh, std::asinh)
  SALTUS_UNARY(l_acosh, std::acosh)
  SALTUS_UNARY(l_atanh, std::atanh)
  SALTUS_UNARY(l_floor, std::floor)
l_pow:
  frame[i->result] = O::map(frame[i->a], frame[i->b], [](double x, double y) { return std::pow(x, y); });
  SALTUS_NEXT;
l_atan2:
  frame[i->result] = O::map(frame[i->a], frame[i->b], [](double x, double y) { return std::atan2(x, y); });
  SALTUS_NEXT;
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
#undef SALTUS_UNARY
#undef SALTUS_NEXT
}

#pragma GCC diagnostic pop

template <class Isa>
void dispatch(const Tape& tape, double* frame, int lanes) {
  if (lanes == 1) return run<double, Isa>(tape, frame);
  if (lanes == 4) return run<Lanes<4, Isa>, Isa>(tape, reinterpret_cast<Lanes<4, Isa>*>(frame));
  if (lanes == 8) return run<Lanes<8, Isa>, Isa>(tape, reinterpret_cast<Lanes<8, Isa>*>(frame));
  throw UsageError("the interpreter runs 1, 4 or 8 lanes");
}

}  // namespace saltus::interpreter
