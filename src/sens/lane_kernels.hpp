// The inner loops of derivatives of stiff and constrained modes, over directions side by side (lanes.hpp). They exist
// once for every processor and once for those with AVX2 and FMA.
#pragma once

#include <cstddef>
#include <vector>

namespace saltus {

/// A sparse pattern by rows: row i stands between start[i] and start[i + 1].
struct LaneRows {
  std::vector<int> start = {0}, column;
};

/// Triangular factors by rows, in the order of the pivots. Pivot k stands in row[k], column[k] of the matrix; columns
/// of the factors are numbers of pivots.
struct LaneFactors {
  std::vector<int> row, column;
  LaneRows lower, upper;  ///< without their diagonals, which are 1 and 1/inverse
  std::vector<double> lower_values, upper_values, inverse;
};

/// argument = base + sum of a_j u_j from `first` on, and sum = that of c_j u_j over all `count` stages u_j.
struct StageSums {
  const double *base, *stages;
  std::size_t stride;  ///< from one stage to the next
  int count, first;
  const double *a, *c;
  double *argument, *sum;
  std::size_t size;
};

struct LaneKernels {
  /// out += A x. Value i of lane l stands at i*width + l.
  void (*multiply)(const LaneRows& pattern, const double* values, const double* x, double* out);
  /// b := A^{-1} b; `work` has the size of b.
  void (*solve)(const LaneFactors& factors, double* b, double* work);
  void (*sums)(const StageSums& sums);
};

/// For 1, 4, 8 or 16 lanes.
const LaneKernels& lane_kernels(int width);

/// Those of one set of instructions.
const LaneKernels& plain_lane_kernels(int width);
const LaneKernels& avx2_lane_kernels(int width);

}  // namespace saltus
