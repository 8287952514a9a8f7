// Rank decisions at one level of the derivative array.
#pragma once

#include <saltus/dae/characteristic_values.hpp>
#include <saltus/dae/derivative_array.hpp>

#include <optional>
#include <span>

#include "dae/array_scaling.hpp"

namespace saltus {

/// Ranks that are known beforehand (from a certified structure) and need no decision.
struct KnownRanks {
  int d = 0, a = 0;
};

struct LevelResult {
  LevelAnalysis
      analysis;  ///< v counts all rows of the array that vanish up to this level, not the difference of two levels
  Matrix Z2, T2, Z1;
  double reference = 0.0;
  bool finite = true;

  bool grey() const {
    return analysis.derivatives.status == RankStatus::grey || analysis.algebraic.status == RankStatus::grey ||
           analysis.differential.status == RankStatus::grey;
  }
};

/// Decides the ranks of a scaled array J of m equations and n variables; `beside` is the same some ulp away, in the same
/// scaling.
LevelResult decide_level(Matrix J, Matrix beside, int m, int n, std::optional<KnownRanks> known = {});

/// Evaluates and scales the array at X, and decides.
LevelResult analyse_level(DerivativeArray& array, const ArrayScaling& scaling, double t, int level,
                          std::span<const double> X, std::optional<KnownRanks> known = {});

}  // namespace saltus
