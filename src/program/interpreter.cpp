#include "program/interpreter.hpp"

#include <algorithm>
#include <limits>

#include "program/interpreter_loop.hpp"

namespace saltus {

void call_external(const CallSite& call, double* scratch) noexcept {
  const std::span<double> results(scratch + call.arguments.size(), call.results.size());
  try {
    call.function->values({scratch, call.arguments.size()}, results);
  } catch (...) {
    std::fill(results.begin(), results.end(), std::numeric_limits<double>::quiet_NaN());
  }
}

bool cpu_has_avx2_fma() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
#else
  return false;
#endif
}

void interpret_generic(const Tape& tape, double* frame, int lanes) {
  interpreter::dispatch<interpreter::Generic>(tape, frame, lanes);
}

void interpret(const Tape& tape, double* frame, int lanes) {
#if defined(__x86_64__)
  if (cpu_has_avx2_fma()) return interpret_avx2(tape, frame, lanes);
#endif
  interpret_generic(tape, frame, lanes);
}

namespace {

Interval truth(bool surely, bool possibly) { return {surely ? 1.0 : 0.0, possibly ? 1.0 : 0.0}; }
bool surely(Interval a) { return !a.contains(0.0); }
bool possibly(Interval a) { return a.lower != 0.0 || a.upper != 0.0; }

Interval evaluate(const Instruction& i, const Interval* frame) {
  const Interval a = frame[i.a], b = frame[i.b], c = frame[i.c];
  switch (i.op) {
    case Opcode::add: return a + b;
    case Opcode::sub: return a - b;
    case Opcode::mul: return i.a == i.b ? sqr(a) : a * b;
    case Opcode::div: return a / b;
    case Opcode::neg: return -a;
    case Opcode::fma: return (i.a == i.b ? sqr(a) : a * b) + c;
    case Opcode::fms: return (i.a == i.b ? sqr(a) : a * b) - c;
    case Opcode::fnma: return c - (i.a == i.b ? sqr(a) : a * b);
    case Opcode::sqrt: return sqrt(a);
    case Opcode::exp: return exp(a);
    case Opcode::log: return log(a);
    case Opcode::sin: return sin(a);
    case Opcode::cos: return cos(a);
    case Opcode::tan: return tan(a);
    case Opcode::asin: return asin(a);
    case Opcode::acos: return acos(a);
    case Opcode::atan: return atan(a);
    case Opcode::sinh: return sinh(a);
    case Opcode::cosh: return cosh(a);
    case Opcode::tanh: return tanh(a);
    case Opcode::asinh: return asinh(a);
    case Opcode::acosh: return acosh(a);
    case Opcode::atanh: return atanh(a);
    case Opcode::pow: return pow(a, b);
    case Opcode::atan2: return atan2(a, b);
    case Opcode::floor: return floor(a);
    case Opcode::positive: return truth(a.lower > 0.0, a.upper > 0.0);
    case Opcode::nonnegative: return truth(a.lower >= 0.0, a.upper >= 0.0);
    case Opcode::logical_and: return truth(surely(a) && surely(b), possibly(a) && possibly(b));
    case Opcode::logical_or: return truth(surely(a) || surely(b), possibly(a) || possibly(b));
    case Opcode::logical_not: return truth(!possibly(a), !surely(a));
    case Opcode::select: return surely(a) ? b : !possibly(a) ? c : hull(b, c);
    case Opcode::external: break;
  }
  throw UsageError("an external function has no interval evaluation");
}

}  // namespace

void interpret(const Tape& tape, Interval* frame) {
  for (const Instruction& i : tape.code) frame[i.result] = evaluate(i, frame);
}

}  // namespace saltus
