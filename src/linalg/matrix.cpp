#include <saltus/base/error.hpp>
#include <saltus/linalg/matrix.hpp>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "linalg/eigen_map.hpp"

namespace saltus {

Matrix::Matrix(int rows, int columns, double value) {
  reset(rows, columns, value);
}

Matrix Matrix::identity(int n) {
  Matrix a(n, n);
  for (int i = 0; i < n; ++i) a(i, i) = 1.0;
  return a;
}

void Matrix::reset(int rows, int columns, double value) {
  if (rows < 0 || columns < 0) throw UsageError("Matrix: a size is negative");
  rows_ = rows;
  columns_ = columns;
  values_.assign(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns), value);
}

Matrix operator*(const Matrix& a, const Matrix& b) {
  assert(a.columns() == b.rows());
  Matrix c(a.rows(), b.columns());
  if (!c.empty() && a.columns() > 0) map(c).noalias() = map(a) * map(b);
  return c;
}

Matrix operator-(const Matrix& a, const Matrix& b) {
  assert(a.rows() == b.rows() && a.columns() == b.columns());
  Matrix c(a.rows(), a.columns());
  for (int j = 0; j < a.columns(); ++j)
    for (int i = 0; i < a.rows(); ++i) c(i, j) = a(i, j) - b(i, j);
  return c;
}

Matrix transpose(const Matrix& a) {
  Matrix c(a.columns(), a.rows());
  for (int j = 0; j < a.columns(); ++j)
    for (int i = 0; i < a.rows(); ++i) c(j, i) = a(i, j);
  return c;
}

Matrix transpose_times(const Matrix& a, const Matrix& b) {
  assert(a.rows() == b.rows());
  Matrix c(a.columns(), b.columns());
  if (!c.empty() && a.rows() > 0) map(c).noalias() = map(a).transpose() * map(b);
  return c;
}

std::vector<double> times(const Matrix& a, std::span<const double> x) {
  std::vector<double> y(static_cast<std::size_t>(a.rows()), 0.0);
  multiply_add(a, x, 1.0, y);
  return y;
}

std::vector<double> transpose_times(const Matrix& a, std::span<const double> x) {
  assert(static_cast<int>(x.size()) == a.rows());
  std::vector<double> y(static_cast<std::size_t>(a.columns()), 0.0);
  for (int j = 0; j < a.columns(); ++j) {
    double sum = 0.0;
    for (int i = 0; i < a.rows(); ++i) sum += a(i, j) * x[i];
    y[j] = sum;
  }
  return y;
}

void multiply_add(const Matrix& a, std::span<const double> x, double alpha, std::span<double> y) {
  assert(static_cast<int>(x.size()) == a.columns() && static_cast<int>(y.size()) == a.rows());
  for (int j = 0; j < a.columns(); ++j) {
    const double factor = alpha * x[j];
    for (int i = 0; i < a.rows(); ++i) y[i] += a(i, j) * factor;
  }
}

Matrix columns(const Matrix& a, int first, int count) {
  Matrix c(a.rows(), count);
  if (count > 0) std::copy_n(a.column(first).data(), c.rows() * static_cast<std::ptrdiff_t>(count), c.data());
  return c;
}

Matrix rows(const Matrix& a, int first, int count) {
  Matrix c(count, a.columns());
  for (int j = 0; j < a.columns(); ++j)
    for (int i = 0; i < count; ++i) c(i, j) = a(first + i, j);
  return c;
}

Matrix select_columns(const Matrix& a, std::span<const int> which) {
  Matrix c(a.rows(), static_cast<int>(which.size()));
  for (int j = 0; j < c.columns(); ++j) std::ranges::copy(a.column(which[j]), c.column(j).begin());
  return c;
}

Matrix select_rows(const Matrix& a, std::span<const int> which) {
  Matrix c(static_cast<int>(which.size()), a.columns());
  for (int j = 0; j < a.columns(); ++j)
    for (int i = 0; i < c.rows(); ++i) c(i, j) = a(which[i], j);
  return c;
}

Matrix beside(const Matrix& a, const Matrix& b) {
  assert(a.rows() == b.rows());
  Matrix c(a.rows(), a.columns() + b.columns());
  std::copy_n(a.data(), a.rows() * static_cast<std::ptrdiff_t>(a.columns()), c.data());
  std::copy_n(b.data(), b.rows() * static_cast<std::ptrdiff_t>(b.columns()),
              c.data() + a.rows() * static_cast<std::ptrdiff_t>(a.columns()));
  return c;
}

Matrix above(const Matrix& a, const Matrix& b) {
  assert(a.columns() == b.columns());
  Matrix c(a.rows() + b.rows(), a.columns());
  for (int j = 0; j < a.columns(); ++j) {
    std::ranges::copy(a.column(j), c.column(j).begin());
    std::ranges::copy(b.column(j), c.column(j).begin() + a.rows());
  }
  return c;
}

double norm(std::span<const double> x) {
  double scale = 0.0, sum = 0.0;
  for (double value : x) scale = std::max(scale, std::abs(value));
  if (!(scale > 0.0) || !std::isfinite(scale)) {
    for (double value : x)
      if (std::isnan(value)) return value;
    return scale;
  }
  for (double value : x) sum += (value / scale) * (value / scale);
  return scale * std::sqrt(sum);
}

double frobenius_norm(const Matrix& a) {
  return norm({a.data(), static_cast<std::size_t>(a.rows()) * static_cast<std::size_t>(a.columns())});
}

double max_norm(const Matrix& a) {
  double largest = 0.0;
  for (int j = 0; j < a.columns(); ++j)
    for (double value : a.column(j)) largest = std::max(largest, std::abs(value));
  return largest;
}

}  // namespace saltus
