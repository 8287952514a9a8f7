// Linear equations E x' = A x + f, given as matrices: of the whole model, or of one of its modes.
//
//   mode.equations(linear_equations(E, A, x, f));
#pragma once

#include <saltus/expr/expr.hpp>
#include <saltus/linalg/matrix.hpp>

#include <concepts>
#include <initializer_list>
#include <span>
#include <vector>

namespace saltus {

/// A matrix that visits its entries by rows or columns as the dense and sparse matrices of Eigen do.
template <class M>
concept IterableMatrix = requires(const M& m, typename M::InnerIterator it) {
  { m.rows() } -> std::convertible_to<long>;
  { m.cols() } -> std::convertible_to<long>;
  { m.outerSize() } -> std::convertible_to<long>;
  { it.row() } -> std::convertible_to<long>;
  { it.col() } -> std::convertible_to<long>;
  { it.value() } -> std::convertible_to<double>;
};

/// The entries of a matrix that are not zero. They are numbers or expressions of time, parameters and discrete
/// variables.
class Coefficients {
 public:
  struct Entry {
    int row, column;
    Expr value;
  };

  /// Entries at the same place are added. Throws UsageError for places outside of the matrix and numbers that are not
  /// finite.
  Coefficients(int rows, int columns, std::vector<Entry> entries);
  Coefficients(const Matrix& matrix);  // NOLINT: a matrix is what its entries are
  /// Row by row. Throws UsageError if the rows differ in length.
  Coefficients(std::initializer_list<std::initializer_list<Expr>> rows);
  template <IterableMatrix M>
  Coefficients(const M& matrix)
      : Coefficients(size(matrix.rows()), size(matrix.cols()), entries_of(matrix)) {}  // NOLINT

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  static int size(auto value) { return static_cast<int>(value); }
  template <class M>
  static std::vector<Entry> entries_of(const M& matrix) {
    std::vector<Entry> entries;
    for (int k = 0; k < size(matrix.outerSize()); ++k)
      for (typename M::InnerIterator it(matrix, k); it; ++it)
        entries.push_back({size(it.row()), size(it.col()), Expr(static_cast<double>(it.value()))});
    return entries;
  }

  int rows_, columns_;
  std::vector<Entry> entries_;
};

/// The rows of E x' = A x + f as equations. E and A have a row for each of f and a column for each of x; E may be
/// singular, and with Model::allow_unbalanced there may be more or fewer rows than columns. Throws UsageError if the
/// sizes do not fit.
std::vector<Equation> linear_equations(const Coefficients& E, const Coefficients& A, std::span<const Expr> x,
                                       std::span<const Expr> f);
/// The same with a list of expressions, {x, y}.
std::vector<Equation> linear_equations(const Coefficients& E, const Coefficients& A, std::initializer_list<Expr> x,
                                       std::initializer_list<Expr> f);

}  // namespace saltus
