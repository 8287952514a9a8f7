// The C++ functions that generated code calls.
#pragma once

#include <saltus/program/tape.hpp>

namespace saltus::native {

/// True if the operation is a call: of foreign code, or of a function for which the processor has no instruction.
bool makes_call(Op op);

/// The function for an operation, as an address. It takes and returns its operands in vector registers: xmm0 and xmm1
/// for one lane, ymm0 and ymm1 for four, zmm0 and zmm1 for eight.
const void* math_function(Op op, int width);

/// void(const CallSite*, double*): arguments, then results, of one lane after the other.
const void* external_function(int width);

}  // namespace saltus::native
