// The interpreter: runs a tape over a frame of scalars, of lanes (several evaluations side by side), or of intervals.
//
// The loop is compiled twice, for plain x86-64/other processors and for AVX2+FMA; `interpret` picks at run time. Both give the
// same bits: std::fma rounds once with or without the instruction.
#pragma once

#include <saltus/base/interval.hpp>
#include <saltus/program/tape.hpp>

namespace saltus {

/// Runs the code; constants and inputs must stand in the frame. `frame` has tape.slots() entries of `lanes` doubles each.
/// Lanes may be 1, 4 or 8.
void interpret(const Tape& tape, double* frame, int lanes);
void interpret(const Tape& tape, Interval* frame);

/// All values of an operation for operands in the given intervals. `same`: the first two operands are one value, so that
/// their product is a square. Throws UsageError for external calls.
Interval enclose(Op op, Interval a, Interval b, Interval c, bool same);

/// Calls foreign code: the arguments stand at `scratch`, the results go behind them. If the function throws, all results are
/// NaN: an exception must not pass through generated code, and all back ends behave alike. Defined outside the loop's header,
/// which is compiled for two instruction sets.
void call_external(const CallSite& call, double* scratch) noexcept;

/// Whether the processor has AVX2 and FMA.
bool cpu_has_avx2_fma();

void interpret_generic(const Tape& tape, double* frame, int lanes);
void interpret_avx2(const Tape& tape, double* frame, int lanes);

}  // namespace saltus
