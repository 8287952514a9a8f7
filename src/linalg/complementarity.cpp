// Lemke's method (R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem, 1992, algorithm 4.4.1):
// w = q + M z + d z_0 has a solution for a large z_0, from which complementary pivots lead to one with z_0 = 0. Rows
// are compared lexicographically (4.9), so that no basis comes back where several rows are equally good.
//
// The tableau has the columns w_1 … w_n, z_1 … z_n, z_0, q. The columns of w are the inverse of the basis.
#include "linalg/complementarity.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace saltus {

namespace {

class Tableau {
 public:
  Tableau(const Matrix& M, std::span<const double> q, std::span<const double> cover)
      : n_(M.rows()), table_(n_, 2 * n_ + 2), basis_(static_cast<std::size_t>(n_)) {
    for (int i = 0; i < n_; ++i) {
      const auto row = static_cast<std::size_t>(i);
      double size = 1.0;
      for (int j = 0; j < n_; ++j) size = std::max(size, std::abs(M(i, j)));
      for (int j = 0; j < n_; ++j) table_(i, n_ + j) = -M(i, j) / size;
      table_(i, i) = 1.0 / size;
      table_(i, artificial()) = -(cover.empty() ? 1.0 : cover[row]);
      table_(i, right()) = q[row] / size;
      basis_[row] = i;
    }
  }

  std::optional<std::vector<double>> solve() {
    const int first = first_row();
    if (first < 0) return solution();
    int entering = pivot(first, artificial());
    const int most = 50 * (n_ + 1);
    for (int count = 0; count < most; ++count) {
      const int row = leaving_row(entering);
      if (row < 0) return {};  // a ray: z_0 cannot become smaller
      const bool done = basis_[static_cast<std::size_t>(row)] == artificial();
      entering = pivot(row, entering);
      if (done) return solution();
    }
    return {};
  }

 private:
  int artificial() const { return 2 * n_; }
  int right() const { return 2 * n_ + 1; }

  /// True if row a, divided by its number in a column, is lexicographically less than row b. `sign` is that of both
  /// numbers.
  bool less(int a, int b, int column) const {
    const double p = table_(a, column), r = table_(b, column);
    const auto differ = [&](int j) {
      const double left = table_(a, j) / p, other = table_(b, j) / r;
      const double size = std::abs(left) + std::abs(other);
      return std::abs(left - other) <= negligible * size ? 0.0 : left - other;
    };
    if (const double d = differ(right()); d != 0.0) return d < 0.0;
    for (int j = 0; j < n_; ++j)
      if (const double d = differ(j); d != 0.0) return d < 0.0;
    return false;
  }

  /// The row that z_0 replaces first: afterwards all numbers on the right are positive. -1: they are so already.
  int first_row() const {
    int best = -1;
    for (int i = 0; i < n_; ++i)
      if (table_(i, right()) < 0.0 && (best < 0 || less(best, i, artificial()))) best = i;
    return best;
  }

  int leaving_row(int column) const {
    double largest = 0.0;
    for (int i = 0; i < n_; ++i) largest = std::max(largest, std::abs(table_(i, column)));
    int best = -1;
    for (int i = 0; i < n_; ++i) {
      if (!(table_(i, column) > negligible * largest)) continue;
      if (best < 0 || less(i, best, column)) best = i;
    }
    // where z_0 is as good as another one, the search is over
    for (int i = 0; best >= 0 && i < n_; ++i)
      if (basis_[static_cast<std::size_t>(i)] == artificial() && table_(i, column) > negligible * largest &&
          table_(i, right()) / table_(i, column) <=
              table_(best, right()) / table_(best, column) + negligible * std::abs(table_(i, right())))
        best = i;
    return best;
  }

  /// Brings a column into the basis. Returns the complement of what leaves it: the column to enter next.
  int pivot(int row, int column) {
    const double factor = 1.0 / table_(row, column);
    for (int j = 0; j < table_.columns(); ++j) {
      if (table_(row, j) == 0.0) continue;
      const double value = table_(row, j) *= factor;
      for (int i = 0; i < n_; ++i)
        if (i != row) table_(i, j) -= value * (j == column ? 0.0 : table_(i, column));
    }
    for (int i = 0; i < n_; ++i) table_(i, column) = i == row ? 1.0 : 0.0;
    const int left = std::exchange(basis_[static_cast<std::size_t>(row)], column);
    return left < n_ ? left + n_ : left - n_;
  }

  std::vector<double> solution() const {
    std::vector<double> z(static_cast<std::size_t>(n_), 0.0);
    for (int i = 0; i < n_; ++i)
      if (const int k = basis_[static_cast<std::size_t>(i)]; k >= n_ && k < 2 * n_)
        z[static_cast<std::size_t>(k - n_)] = std::max(0.0, table_(i, right()));
    return z;
  }

  static constexpr double negligible = 1e-12;
  int n_;
  Matrix table_;
  std::vector<int> basis_;  // by row: the column of its variable
};

}  // namespace

std::optional<std::vector<double>> solve_complementarity(const Matrix& M, std::span<const double> q,
                                                         std::span<const double> cover) {
  return Tableau(M, q, cover).solve();
}

}  // namespace saltus
