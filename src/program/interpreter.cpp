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

void interpret(const Tape& tape, Interval* frame) {
  for (const Instruction& i : tape.code)
    frame[i.result] = enclose(i.op, frame[i.a], frame[i.b], frame[i.c], i.a == i.b);
}

}  // namespace saltus
