// The inverse of a small matrix. Where the same matrix is applied to twenty vectors and has five rows, the triangular
// solutions of a general LU cost several times the work that they do.
#pragma once

#include <span>
#include <vector>

namespace saltus {

class SmallInverse {
 public:
  explicit SmallInverse(int n);
  /// Of the matrix with these entries (column order), by Gauss-Jordan elimination with scaled partial pivoting. False
  /// if it is singular to rounding or not finite.
  [[nodiscard]] bool invert(std::span<const double> matrix);
  /// b := A^{-1} b; NaN if there is no inverse.
  void apply(std::span<double> b) const;
  /// The entries, by columns; of a regular matrix.
  std::span<const double> entries() const { return inverse_; }
  /// Its largest sum of sizes in a column.
  double norm() const;
  /// Of the matrix: +1 or -1.
  int determinant_sign() const { return sign_; }

 private:
  [[nodiscard]] bool invert_any(std::span<const double> matrix);
  template <class Size>
  [[nodiscard]] bool invert(Size n, const double* matrix);

  int n_, sign_ = 0;
  bool regular_ = false;
  std::vector<double> rows_, inverse_;
  mutable std::vector<double> sum_;
};

}  // namespace saltus
