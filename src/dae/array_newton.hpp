// Gauss-Newton on the derivative array.
#pragma once

#include <saltus/dae/derivative_array.hpp>
#include <saltus/dae/extra_conditions.hpp>
#include <saltus/linalg/rank.hpp>

#include <span>
#include <vector>

#include "dae/array_scaling.hpp"

namespace saltus {

struct ArrayNewtonOptions {
  /// Non-zero for components of x_[0] that must not move; empty: none.
  std::vector<char> fixed;
  /// Non-zero for components whose derivatives of all orders must not move either; empty: none.
  std::vector<char> constant = {};
  /// How willingly components of x_[0] move (relative to derivatives, which have 1); empty: all 1.
  std::vector<double> preference;
  /// Directions (n rows, not scaled) in which x_[0] may move; without rows: all. Excludes fixed and preference.
  Matrix subspace;
  /// Rows on x_[0] and x_[1] behind those of the array; null: none. Not owned.
  ExtraConditions* conditions = nullptr;
  /// Where the equations contradict each other: the point of least squares of the equations as they are written, in
  /// which the factors of `scaling` do not count; rows of order k are multiplied by the k-th power of its time unit.
  bool norm_as_written = false;
  bool presolve = true;  ///< solve for the derivatives with x_[0] fixed first
  int iterations = 30;
  double tolerance = 1e-12;  ///< of the scaled correction
  ScalingRule scaling;       ///< where the cautious one does not do, and at the end
};

struct ArrayNewtonResult {
  bool converged = false;
  bool finite = true;  ///< false: the equations cannot be evaluated there
  int iterations = 0;
  double step = 0.0;                ///< norm of the last scaled correction
  double residual = 0.0;            ///< norm of the scaled residual at the end
  double unreachable = 0.0;         ///< the part of it that no correction reduces: > 0 for contradictory equations
  int rank = 0;                     ///< of the Jacobian of the free unknowns
  double reference = 0.0;           ///< norm of the scaled Jacobian
  std::vector<double> corrections;  ///< norms of the scaled corrections, one per iteration (without the presolve)
  // with extra conditions only, at the end:
  Matrix jacobian;                            ///< scaled, all columns
  std::vector<double> rows, columns, values;  ///< its row and column factors; the scaled residuals
};

/// Solves F_[0] … F_[level] = 0 for X, columns(level) values with the guess in them, by corrections of minimum norm in
/// scaled variables. First with a cautious scaling that ignores small entries; if that fails, with all of them.
/// `scaling` receives the one at the end.
ArrayNewtonResult solve_array(DerivativeArray& array, ArrayScaling& scaling, double t, int level, std::span<double> X,
                              const ArrayNewtonOptions& options = {});

}  // namespace saltus
