#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/expr/derivative.hpp>
#include <saltus/model/linear_equations.hpp>

#include <cmath>

#include "model/expression_tests.hpp"

namespace saltus {

namespace {

std::vector<Coefficients::Entry> entries_of(const Matrix& matrix) {
  std::vector<Coefficients::Entry> entries;
  for (int j = 0; j < matrix.columns(); ++j)
    for (int i = 0; i < matrix.rows(); ++i) entries.push_back({i, j, Expr(matrix(i, j))});
  return entries;
}

int width(std::initializer_list<std::initializer_list<Expr>> rows) {
  return rows.size() == 0 ? 0 : static_cast<int>(rows.begin()->size());
}

std::vector<Coefficients::Entry> entries_of(std::initializer_list<std::initializer_list<Expr>> rows) {
  std::vector<Coefficients::Entry> entries;
  int i = 0;
  for (const auto& row : rows) {
    if (static_cast<int>(row.size()) != width(rows))
      throw UsageError(
          fmt::format("Coefficients: row {} has {} entries, the first one {}; give all rows the same length", i + 1,
                      row.size(), width(rows)));
    int j = 0;
    for (const Expr& value : row) entries.push_back({i, j++, value});
    ++i;
  }
  return entries;
}

/// The products of the entries with the values of their columns, by row.
std::vector<Expr> times(const Coefficients& matrix, std::span<const Expr> values) {
  std::vector<std::vector<Expr>> terms(static_cast<std::size_t>(matrix.rows()));
  for (const auto& [row, column, value] : matrix.entries())
    terms[static_cast<std::size_t>(row)].push_back(value * values[static_cast<std::size_t>(column)]);
  std::vector<Expr> result;
  for (const auto& row : terms) result.push_back(row.empty() ? Expr(0.0) : sum(row));
  return result;
}

void check_sizes(const char* name, const Coefficients& matrix, std::size_t rows, std::size_t columns) {
  if (static_cast<std::size_t>(matrix.rows()) == rows && static_cast<std::size_t>(matrix.columns()) == columns) return;
  throw UsageError(fmt::format(
      "linear_equations: {} has {} rows and {} columns; for {} entries of f and {} variables it needs {} rows "
      "and {} columns",
      name, matrix.rows(), matrix.columns(), rows, columns, rows, columns));
}

}  // namespace

Coefficients::Coefficients(int rows, int columns, std::vector<Entry> entries) : rows_(rows), columns_(columns) {
  for (Entry& e : entries) {
    if (e.row < 0 || e.row >= rows || e.column < 0 || e.column >= columns)
      throw UsageError(
          fmt::format("Coefficients: the entry ({}, {}) lies outside of a matrix with {} rows and {} columns "
                      "(rows and columns count from 0)",
                      e.row, e.column, rows, columns));
    if (e.value.is_constant() && !std::isfinite(e.value.constant_value()))
      throw UsageError(fmt::format("Coefficients: the entry ({}, {}) is not a finite number", e.row, e.column));
    if (!is_zero(e.value)) entries_.push_back(std::move(e));
  }
}

Coefficients::Coefficients(const Matrix& matrix)
    : Coefficients(matrix.rows(), matrix.columns(), saltus::entries_of(matrix)) {}

Coefficients::Coefficients(std::initializer_list<std::initializer_list<Expr>> rows)
    : Coefficients(static_cast<int>(rows.size()), width(rows), saltus::entries_of(rows)) {}

std::vector<Equation> linear_equations(const Coefficients& E, const Coefficients& A, std::span<const Expr> x,
                                       std::span<const Expr> f) {
  check_sizes("E", E, f.size(), x.size());
  check_sizes("A", A, f.size(), x.size());
  std::vector<char> differentiated(x.size(), 0);
  for (const auto& e : E.entries()) differentiated[static_cast<std::size_t>(e.column)] = 1;
  std::vector<Expr> slopes(x.size());
  for (std::size_t j = 0; j < x.size(); ++j)
    if (differentiated[j]) slopes[j] = der(x[j]);
  const std::vector<Expr> left = times(E, slopes), right = times(A, x);
  std::vector<Equation> equations;
  for (std::size_t i = 0; i < f.size(); ++i) equations.push_back(left[i] == right[i] + f[i]);
  return equations;
}

std::vector<Equation> linear_equations(const Coefficients& E, const Coefficients& A, std::initializer_list<Expr> x,
                                       std::initializer_list<Expr> f) {
  return linear_equations(E, A, std::span(x.begin(), x.size()), std::span(f.begin(), f.size()));
}

}  // namespace saltus
