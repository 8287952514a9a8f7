// Orthogonal decompositions of dense matrices: singular values, QR with column pivoting, least squares.
#pragma once

#include <saltus/linalg/matrix.hpp>

#include <memory>
#include <span>
#include <vector>

namespace saltus {

/// A = U diag(s) Vᵀ with s descending.
struct Svd {
  Matrix U;               ///< rows x rows, or rows x min in the thin form
  std::vector<double> s;  ///< min(rows, columns) values
  Matrix V;               ///< columns x columns, or columns x min in the thin form
};

/// Singular value decomposition. Entries must be finite (UsageError otherwise). The thin form leaves out the null
/// spaces.
enum class SvdForm { full, thin };
Svd svd(const Matrix& a, SvdForm form = SvdForm::full);
std::vector<double> singular_values(const Matrix& a);
/// The largest singular value; 0 for an empty matrix.
double norm2(const Matrix& a);

/// A P = Q R with column pivoting: column j of A P is column permutation[j] of A.
struct PivotedQr {
  Matrix Q;                      ///< rows x rows
  Matrix R;                      ///< rows x columns, upper trapezoidal
  std::vector<int> permutation;  ///< columns
  std::vector<double> pivots;    ///< |R_jj|, descending; they stand in for singular values in rank decisions
};
PivotedQr pivoted_qr(const Matrix& a);

/// The largest singular value by a few steps of the power method: within some per cent, from below. For thresholds.
double norm2_estimate(const Matrix& a);

/// Least squares with minimum norm for a matrix of uncertain rank (complete orthogonal decomposition). The rank is the
/// caller's decision: look at the pivots, then truncate.
class LeastSquares {
 public:
  /// Throws UsageError for entries that are not finite.
  explicit LeastSquares(const Matrix& a);
  ~LeastSquares();
  LeastSquares(LeastSquares&&) noexcept;
  LeastSquares& operator=(LeastSquares&&) noexcept;

  /// Magnitudes of the pivots, descending.
  std::span<const double> pivots() const;
  /// Counts the first `rank` pivots only.
  void truncate(int rank);
  int rank() const;
  /// The x of minimum norm that minimises ‖b - A x‖, A being truncated.
  std::vector<double> solve(std::span<const double> b) const;
  /// The part of b that no x can reach: its norm.
  double unreachable(std::span<const double> b) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The Moore-Penrose inverse of a matrix of which the first `rank` singular values count.
Matrix pseudo_inverse(const Svd& decomposition, int rank);

}  // namespace saltus
