// The derivative array cut to what the structural offsets demand: equation i differentiated c_i times, variable j up to
// order d_j. Sparse, and of full row rank wherever the system Jacobian is non-singular, so that no rank decision is
// needed.
#pragma once

#include <saltus/dae/extra_conditions.hpp>
#include <saltus/dae/structural_analysis.hpp>
#include <saltus/linalg/lu.hpp>
#include <saltus/linalg/matrix.hpp>

#include <optional>
#include <span>
#include <vector>

namespace saltus {

struct StructuredOptions {
  std::vector<char> fixed;                ///< non-zero for components of x_[0] that must not move; empty: none
  std::vector<double> scale;              ///< typical size of x_j; empty: all 1
  double time_scale = 1.0;                ///< the coefficient of order q has the size scale / time_scale^q
  std::vector<double> preference;         ///< how willingly x_[0] moves, component by component; empty: all 1
  ExtraConditions* conditions = nullptr;  ///< rows on x_[0] and x_[1] behind those of the array; null: none. Not owned
  int iterations = 30;
  double tolerance = 1e-12;
};

struct StructuredResult {
  bool converged = false;
  bool finite = true;
  /// The equations for the free unknowns are dependent: too much is fixed, no certificate here, or a condition contains
  /// the derivative of a variable that the array does not differentiate.
  bool singular = false;
  int iterations = 0;
  double step = 0.0;
  std::vector<double> corrections;
  std::vector<double> residual;  ///< F_[0] at the end (m values), unscaled
};

class StructuredArray {
 public:
  /// Throws UsageError for a structurally singular analysis. Needs Taylor coefficients if some offset c_i is positive.
  StructuredArray(System& system, const StructuralAnalysis& analysis);

  /// The uniform level that contains the cut array: X has level() + 2 coefficients of n values.
  int level() const { return level_; }

  /// Newton's method for F_[l]_i = 0, l = 0 … c_i, with corrections of minimum weighted norm of the unknowns x_[q]_j, q
  /// = 0 … d_j, from the guess in X. Coefficients beyond d_j stay as they are. Where the free unknowns are as many as
  /// the equations it is plain Newton.
  StructuredResult solve(double t, std::span<double> X, const StructuredOptions& options = {});

  /// The directions of x_[0] in which a consistent X may move, to first order: columns that are orthonormal in units of
  /// `scale`. Nothing if the array has no full rank at X, or leaves directions in which derivatives alone move.
  std::optional<Matrix> directions(double t, std::span<const double> X, std::span<const double> scale,
                                   double time_scale);

  /// The unknowns that are left where as many components are fixed and as many conditions are given. 0: their values
  /// are determined; negative: too much is asked for.
  int freedom(int fixed, int conditions) const;

  /// Fills the coefficients of order d_j + s, s = 1, 2, …, of a consistent X up to coefficient `level` + 1: each is a
  /// linear system with the system Jacobian. X has level + 2 coefficients. False if that is singular.
  bool extend(double t, int level, std::span<double> X);

 private:
  struct Column {
    int variable, order;
  };
  void number_unknowns(const std::vector<char>& fixed);
  void build_pattern();
  void assemble(std::span<double> values) const;
  bool conditions_fit() const;
  int extra() const { return conditions_ ? conditions_->count() : 0; }
  void evaluate(double t, std::span<const double> X, bool jacobian);
  int unknowns() const { return static_cast<int>(columns_.size()); }

  System& system_;
  const StructuralAnalysis& analysis_;
  int n_, level_, rows_ = 0;
  std::vector<int> row_start_;                       // row of (i, l) is row_start_[i] + l
  std::vector<Column> columns_;                      // free unknowns
  SparsePattern pattern_;                            // rows_ x unknowns
  std::vector<int> place_state_, place_derivative_;  // position in the coefficient arrays, -1 if none
  std::vector<double> factor_;                       // order of the unknown, for the derivative part
  ExtraConditions* conditions_ = nullptr;            // of the solution that is looked for
  std::vector<double> F_, Fx_, Fxp_;                 // those of the conditions at their ends
};

}  // namespace saltus
