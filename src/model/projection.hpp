// Projection onto invariants: the smallest correction that makes them vanish.
#pragma once

#include <saltus/linalg/structured_lu.hpp>
#include <saltus/program/program.hpp>

#include <span>
#include <vector>

#include "model/runnable_program.hpp"

namespace saltus {

/// Gauss-Newton with minimum-norm steps, in variables scaled by their nominal values. A copy shares the code and has
/// memory of its own.
class Projection {
 public:
  /// Inputs as the groups time, variables, (nothing), data, locks.
  Projection(const std::vector<std::vector<Expr>>& inputs, const std::vector<Expr>& variables,
             const std::vector<Expr>& invariants, std::vector<double> nominal, const ProgramOptions& options);

  Projection(const Projection& other);

  /// Returns whether x changed.
  bool apply(double t, std::span<double> x, std::span<const double> data, std::span<const double> locks);

 private:
  double& gram(int row, int column);
  bool solve();

  RunnableProgram program_;
  SparsePattern pattern_;       // of the Jacobian J of the invariants
  SparsePattern gram_pattern_;  // of J J^T
  BasicStructuredLu<double> lu_;
  std::vector<double> nominal_, values_, entries_, gram_, step_;
};

}  // namespace saltus
