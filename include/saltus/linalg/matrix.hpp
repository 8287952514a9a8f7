// Dense matrices in column order, for the small systems in which a factorisation of the whole matrix is the right tool.
#pragma once

#include <span>
#include <vector>

namespace saltus {

/// A dense matrix of doubles, stored column by column. Either size may be zero.
class Matrix {
 public:
  Matrix() = default;
  /// Throws UsageError for a negative size.
  Matrix(int rows, int columns, double value = 0.0);
  static Matrix identity(int n);

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  bool empty() const { return values_.empty(); }

  double& operator()(int i, int j) { return values_[index(i, j)]; }
  double operator()(int i, int j) const { return values_[index(i, j)]; }
  std::span<double> column(int j) { return {values_.data() + index(0, j), static_cast<std::size_t>(rows_)}; }
  std::span<const double> column(int j) const {
    return {values_.data() + index(0, j), static_cast<std::size_t>(rows_)};
  }
  double* data() { return values_.data(); }
  const double* data() const { return values_.data(); }

  /// Gives the matrix a new shape and sets all entries to `value`; keeps its memory where that suffices.
  void reset(int rows, int columns, double value = 0.0);
  bool operator==(const Matrix&) const = default;

 private:
  std::size_t index(int i, int j) const {
    return static_cast<std::size_t>(j) * static_cast<std::size_t>(rows_) + static_cast<std::size_t>(i);
  }
  int rows_ = 0, columns_ = 0;
  std::vector<double> values_;
};

// --- products and parts
Matrix operator*(const Matrix& a, const Matrix& b);
Matrix operator-(const Matrix& a, const Matrix& b);
Matrix transpose(const Matrix& a);
/// aᵀ b.
Matrix transpose_times(const Matrix& a, const Matrix& b);
/// y = a x.
std::vector<double> times(const Matrix& a, std::span<const double> x);
/// y = aᵀ x.
std::vector<double> transpose_times(const Matrix& a, std::span<const double> x);
/// y += alpha a x, without allocation.
void multiply_add(const Matrix& a, std::span<const double> x, double alpha, std::span<double> y);
/// Columns first … first+count-1.
Matrix columns(const Matrix& a, int first, int count);
/// Rows first … first+count-1.
Matrix rows(const Matrix& a, int first, int count);
/// The named columns, in the given order.
Matrix select_columns(const Matrix& a, std::span<const int> which);
/// The named rows, in the given order.
Matrix select_rows(const Matrix& a, std::span<const int> which);
/// a and b side by side.
Matrix beside(const Matrix& a, const Matrix& b);
/// a on top of b.
Matrix above(const Matrix& a, const Matrix& b);

// --- norms
double norm(std::span<const double> x);
double frobenius_norm(const Matrix& a);
double max_norm(const Matrix& a);

}  // namespace saltus
