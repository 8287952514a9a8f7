// The C++ functions that generated code calls.
#pragma once

#include <saltus/program/tape.hpp>

namespace saltus::native {

/// True if the operation is a call: of foreign code, or of a function for which the processor has no instruction.
bool makes_call(Op op);

/// The function for an operation, as an address. One lane: double(double) or double(double, double) of the C library.
/// Four lanes: void(double*), which replaces 4 values (4 + 4 for two arguments) by the 4 results, lane by lane with the
/// same functions, so that the bits agree.
const void* math_function(Op op, int lanes);

/// void(const CallSite*, double*): arguments, then results, of one lane after the other.
const void* external_function(int lanes);

}  // namespace saltus::native
