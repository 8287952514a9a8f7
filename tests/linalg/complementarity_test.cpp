// Linear complementarity problems: solutions are checked by their definition, and against all combinations.
#include "linalg/complementarity.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace saltus {
namespace {

/// Checks z >= 0, w = q + M z >= 0 and w z = 0, up to rounding errors of so many operations.
void expect_solves(const Matrix& M, const std::vector<double>& q, const std::vector<double>& z) {
  const int n = M.rows();
  double size = 1.0;
  for (const double value : q) size = std::max(size, std::abs(value));
  for (int i = 0; i < n; ++i) {
    double w = q[static_cast<std::size_t>(i)];
    for (int j = 0; j < n; ++j) w += M(i, j) * z[static_cast<std::size_t>(j)];
    EXPECT_GE(z[static_cast<std::size_t>(i)], 0.0);
    EXPECT_GE(w, -1e-9 * size);
    EXPECT_NEAR(std::min(w, z[static_cast<std::size_t>(i)]), 0.0, 1e-9 * size);
  }
}

TEST(Complementarity, IsZeroWhereNothingIsNegative) {
  Matrix M(2, 2);
  M(0, 0) = M(1, 1) = 1.0;
  EXPECT_EQ(solve_complementarity(M, std::vector<double>{1.0, 0.0}), (std::vector<double>{0.0, 0.0}));
}

// 2 z_1 + z_2 - 5 = w_1, z_1 + 2 z_2 - 6 = w_2: both are zero at z = (4/3, 7/3)
TEST(Complementarity, SolvesATextbookExample) {
  Matrix M(2, 2);
  M(0, 0) = M(1, 1) = 2.0;
  M(0, 1) = M(1, 0) = 1.0;
  const auto z = solve_complementarity(M, std::vector<double>{-5.0, -6.0});
  ASSERT_TRUE(z);
  EXPECT_NEAR((*z)[0], 4.0 / 3.0, 1e-14);
  EXPECT_NEAR((*z)[1], 7.0 / 3.0, 1e-14);
}

TEST(Complementarity, SaysWhereThereIsNoSolution) {
  Matrix M(2, 2);  // w = q: negative
  EXPECT_FALSE(solve_complementarity(M, std::vector<double>{-1.0, 1.0}));
}

// M = A A^T + B - B^T is positive semidefinite, of low rank in half of the cases; q = w - M z for known w, z >= 0
TEST(Complementarity, SolvesSemidefiniteProblemsThatHaveASolution) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  for (int n : {1, 2, 5, 10, 20, 40})
    for (int repetition = 0; repetition < 20; ++repetition) {
      const int rank = repetition % 2 == 0 ? n : (n + 1) / 2;
      Matrix A(n, rank), M(n, n);
      for (int j = 0; j < rank; ++j)
        for (int i = 0; i < n; ++i) A(i, j) = normal(random);
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
          for (int k = 0; k < rank; ++k) M(i, j) += A(i, k) * A(j, k);
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < i; ++j) {
          const double skew = normal(random);
          M(i, j) += skew;
          M(j, i) -= skew;
        }
      std::vector<double> q(static_cast<std::size_t>(n));
      for (int i = 0; i < n; ++i) {
        const double value = normal(random);  // z where positive, -w where negative
        q[static_cast<std::size_t>(i)] += std::max(0.0, -value);
        for (int k = 0; k < n; ++k) q[static_cast<std::size_t>(k)] -= M(k, i) * std::max(0.0, value);
      }
      const auto z = solve_complementarity(M, q);
      ASSERT_TRUE(z) << n << ' ' << repetition;
      expect_solves(M, q, *z);
    }
}

// every row is equally good at every pivot: without a rule the method may come back to a basis
TEST(Complementarity, EndsWhereManyRowsAreEqual) {
  Matrix M(8, 8);
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) M(i, j) = i == j ? 1.0 : i < j ? 2.0 : 0.0;
  const std::vector<double> q(8, -1.0);
  const auto z = solve_complementarity(M, q);
  ASSERT_TRUE(z);
  expect_solves(M, q, *z);
}

}  // namespace
}  // namespace saltus
