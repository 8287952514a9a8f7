// The C++ functions that generated code calls.
#pragma once

#include <saltus/program/tape.hpp>

namespace saltus::native {

/// True if the operation is a call: of foreign code, or of a function for which the processor has no instruction.
bool makes_call(Op op);

/// True if it is a call of a function of one argument: several of them can be made at once.
inline bool is_unary_call(Op op) {
  return info(op).kind == OpKind::function && op != Op::sqrt && operand_count(op) == 1;
}

/// The function for an operation, as an address. It takes and returns its operands in vector registers: xmm0 and xmm1
/// for one lane, ymm0 and ymm1 for four, zmm0 and zmm1 for eight.
const void* math_function(Op op, int width);

/// void(const CallSite*, double*): arguments, then results, of one lane after the other.
const void* external_function(int width);

}  // namespace saltus::native
