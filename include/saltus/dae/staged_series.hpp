// The solution of a regular differential-algebraic equation of any index as a Taylor series, stage by stage.
#pragma once

#include <saltus/dae/structural_analysis.hpp>
#include <saltus/linalg/structured_lu.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace saltus {

class SmallInverse;

/// (offset + stage)! / stage!, with 1 for stages below 0: what turns a coefficient into a derivative, up to a factor that the stage has in
/// common. In derivatives the matrices of all stages are the system Jacobian.
double stage_factor(int offset, int stage);

/// N. S. Nedialkov, J. D. Pryce, Solving differential-algebraic equations by Taylor series, BIT 45 (2005) 561-591 and 47 (2007) 121-135.
/// Stages up to 0 hold all constraints, hidden ones included, and are nonlinear; every further stage is one linear system with the same
/// system Jacobian. Nothing allocates once two expansions have been made.
class StagedSeries {
 public:
  enum class Result {
    good,
    not_finite,
    singular,       ///< the system Jacobian is singular
    not_converged,  ///< Newton's method for the constraints did not converge
  };

  /// Throws UsageError if the analysis is singular.
  StagedSeries(const Structure& structure, StructuralAnalysis analysis, int order);
  ~StagedSeries();

  const StructuralAnalysis& analysis() const { return analysis_; }
  int order() const { return order_; }
  /// Coefficients that X must have room for, n values each.
  int coefficients() const { return coefficients_; }
  /// Moves the guess in X (coefficients up to d_j; of order 2 and more they may be zero) onto all constraints and finds the coefficients up to d_j of x_j. The
  /// correction is J^{-1} times the residual of the constraints: for mechanical systems the direction of the forces of constraint. It
  /// does not depend on errors in the guess of derivatives. `size` are typical sizes of the variables and `time` is a time over which they change.
  Result project(System& system, double t, std::span<double> X, std::span<const double> size, double time, double tolerance);
  /// After project(): the coefficients up to `order` of all variables (those of some are found further). False if not all are finite.
  bool extend(System& system, std::span<double> X);

  /// The largest offset of a variable.
  int deepest() const { return deepest_; }
  // --- whom to blame for the last failure; -1: not known
  int bad_equation() const { return bad_equation_; }
  int bad_variable() const { return bad_variable_; }
  // --- counters
  int iterations() const { return iterations_; }
  int factorisations() const { return factorisations_; }
  std::string linear_algebra() const;

 private:
  bool factorise(System& system, double t, std::span<const double> X);
  void solve(int stage);
  void blame_equation(int i);
  Result blame_matrix();
  Result pass(System& system, double t, std::span<double> X, double& largest);
  Result correct(System& system, std::span<double> X);
  bool only_rounding(System& system, double t, std::span<const double> X);

  StructuralAnalysis analysis_;
  SystemJacobian jacobian_;
  int n_, order_, last_ = 0, deepest_ = 0, coefficients_ = 0;
  std::vector<double> unit_;  // sizes of the coefficients up to the largest d_j
  std::vector<double> Fx_, Fxp_, entries_, b_;
  std::vector<double> terms_;  // of each equation of a stage: the sum of their sizes
  std::vector<double> first_row_;                 // largest entry of each row of the first matrix
  std::vector<double> row_scale_, column_scale_;  // by stage: the factors that make the matrices of all stages equal
  std::unique_ptr<SmallInverse> inverse_;  // of small systems, with the places of its entries; others have factors
  std::vector<int> place_;
  std::vector<double> dense_, before_;
  StructuredLu lu_;
  int bad_equation_ = -1, bad_variable_ = -1, iterations_ = 0, factorisations_ = 0;
};

}  // namespace saltus
