// Elementary functions for four and eight lanes, with the bits of one lane.
#pragma once

#include <saltus/expr/operators.hpp>

namespace saltus {

/// The first operand of every lane, then the second one of every lane if there is one. The results replace the first
/// operands.
using LaneFunction = void (*)(double* x);

/// By operator, for 4 or 8 lanes and this processor. Null for operators that are not elementary functions.
const LaneFunction* lane_functions(int lanes);

/// One operator for one instruction set.
struct LaneRow {
  const void* in_registers;  ///< takes and returns vectors as the System V ABI passes them: one register an operand
  LaneFunction four, eight;  ///< the same through memory; AVX-512 has no function for four lanes
};
/// Rows for registers of four lanes, and of eight. Only where the processor has AVX2 and FMA, or AVX-512 as well.
LaneRow lane_row_avx2(Op op);
LaneRow lane_row_avx512(Op op);

/// Whether the processor has AVX-512 with the parts F, DQ and VL, beside AVX2 and FMA.
bool cpu_has_avx512();

}  // namespace saltus
