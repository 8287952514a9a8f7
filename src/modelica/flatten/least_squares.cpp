// Linear least squares for parameters: what LAPACK's dgelsy gives.
//
// Golub and Van Loan, Matrix Computations, 5.4 and 5.5: Householder reflections with column pivoting give A P = Q R; R
// is cut where its diagonal falls below a part of its first element. Reflections from the right turn the rows that are
// left into a triangle T: the shortest solution is P Z' (T^-1 c, 0), where c are the first elements of Q' b.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "modelica/flatten/flattener.hpp"

namespace saltus::modelica {

namespace {

using Column = std::vector<double>;

/// The reflection I - factor v v' that makes all elements of x from `from` on zero but the first.
struct Reflection {
  Column v;
  double factor = 0.0;

  explicit Reflection(Column x) : v(std::move(x)) {
    double size = 0.0;
    for (const double value : v) size = std::hypot(size, value);
    if (size == 0.0) return;
    v.front() += std::copysign(size, v.front());
    double square = 0.0;
    for (const double value : v) square += value * value;
    factor = 2.0 / square;
  }

  /// Applies it to the elements from `from` on.
  void apply(Column& x, std::size_t from) const {
    double sum = 0.0;
    for (std::size_t k = 0; k < v.size(); ++k) sum += v[k] * x[from + k];
    for (std::size_t k = 0; k < v.size(); ++k) x[from + k] -= factor * sum * v[k];
  }
};

/// The columns of a matrix are reduced to a triangle, and so is b. Returns the rank.
std::size_t triangulate(std::vector<Column>& a, Column& b, std::vector<std::size_t>& order, double least_ratio) {
  const std::size_t rows = b.size(), steps = std::min(rows, a.size());
  double first = 0.0;
  for (std::size_t k = 0; k < steps; ++k) {
    const auto size = [&](const Column& column) {
      double sum = 0.0;
      for (std::size_t i = k; i < rows; ++i) sum = std::hypot(sum, column[i]);
      return sum;
    };
    std::size_t largest = k;
    for (std::size_t j = k + 1; j < a.size(); ++j)
      if (size(a[j]) > size(a[largest])) largest = j;
    const double diagonal = size(a[largest]);
    if (k == 0) first = diagonal;
    if (diagonal == 0.0 || diagonal <= least_ratio * first) return k;
    std::swap(a[k], a[largest]);
    std::swap(order[k], order[largest]);
    const Reflection reflection(Column(a[k].begin() + static_cast<std::ptrdiff_t>(k), a[k].end()));
    for (std::size_t j = k; j < a.size(); ++j) reflection.apply(a[j], k);
    reflection.apply(b, k);
  }
  return steps;
}

/// The shortest solution of the first `rank` rows of a triangle R x = c.
Column shortest(const std::vector<Column>& r, const Column& c, std::size_t rank) {
  const std::size_t n = r.size();
  std::vector<Column> rows(rank, Column(n));  // R' by columns; reduced from the last one up, from the right
  for (std::size_t i = 0; i < rank; ++i)
    for (std::size_t j = 0; j < n; ++j) rows[i][j] = j < i ? 0.0 : r[j][i];
  std::vector<Reflection> used;
  for (std::size_t i = rank; i-- > 0 && n > rank;) {
    Column tail{rows[i][i]};
    tail.insert(tail.end(), rows[i].begin() + static_cast<std::ptrdiff_t>(rank), rows[i].end());
    used.emplace_back(std::move(tail));
    for (std::size_t other = 0; other <= i; ++other) {
      Column part{rows[other][i]};
      part.insert(part.end(), rows[other].begin() + static_cast<std::ptrdiff_t>(rank), rows[other].end());
      used.back().apply(part, 0);
      rows[other][i] = part[0];
      std::copy(part.begin() + 1, part.end(), rows[other].begin() + static_cast<std::ptrdiff_t>(rank));
    }
  }
  Column x(n, 0.0);
  for (std::size_t i = rank; i-- > 0;) {
    double sum = c[i];
    for (std::size_t j = i + 1; j < rank; ++j) sum -= rows[i][j] * x[j];
    x[i] = sum / rows[i][i];
  }
  for (std::size_t k = used.size(); k-- > 0;) {  // the reflection of row rank - 1 - k
    const std::size_t i = rank - 1 - k;
    Column part{x[i]};
    part.insert(part.end(), x.begin() + static_cast<std::ptrdiff_t>(rank), x.end());
    used[k].apply(part, 0);
    x[i] = part[0];
    std::copy(part.begin() + 1, part.end(), x.begin() + static_cast<std::ptrdiff_t>(rank));
  }
  return x;
}

}  // namespace

Flattener::LeastSquares Flattener::least_squares(const Value& matrix, const Value& right, const Value& least_ratio,
                                                 const Location& where) {
  const auto rows = static_cast<std::size_t>(matrix.dims[0]), columns = static_cast<std::size_t>(matrix.dims[1]);
  for (const Value* value : {&matrix, &right, &least_ratio})
    if (value->variability < Variability::parameter)
      throw Fault{where, "least squares are taken of parameters and constants only", reference_page};
  charge(static_cast<std::int64_t>(rows * columns * (columns + 2)), where);
  const auto numbers = [&](const Value& value) {
    std::vector<double> all;
    for (const Expr& e : value.elements) all.push_back(used_value(e, "the solution of linear equations"));
    return all;
  };
  const std::vector<double> a = numbers(matrix), all = numbers(right);
  std::vector<Column> by_column(columns, Column(rows));
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) by_column[j][i] = a[i * columns + j];
  Column b(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(rows));
  std::vector<std::size_t> order(columns);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t rank = triangulate(by_column, b, order, numbers(least_ratio).front());
  const Column x = shortest(by_column, b, rank);
  LeastSquares result{.x = right, .rank = static_cast<std::int64_t>(rank)};
  for (Expr& e : result.x.elements) e = Expr(0.0);
  for (std::size_t k = 0; k < columns; ++k) result.x.elements[order[k]] = Expr(x[k]);
  result.x.variability = join(matrix.variability, right.variability);
  return result;
}

}  // namespace saltus::modelica
