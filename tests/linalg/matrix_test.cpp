#include <gtest/gtest.h>
#include <saltus/base/error.hpp>
#include <saltus/linalg/decomposition.hpp>
#include <saltus/linalg/rank.hpp>

#include <cmath>
#include <limits>
#include <random>

namespace saltus {
namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();

Matrix random_matrix(int rows, int columns, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> entry(-1.0, 1.0);
  Matrix a(rows, columns);
  for (int j = 0; j < columns; ++j)
    for (double& value : a.column(j)) value = entry(generator);
  return a;
}

TEST(Matrix, ProductsAgreeWithTheirDefinition) {
  const Matrix a = random_matrix(3, 4, 1), b = random_matrix(4, 2, 2);
  const Matrix c = a * b;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 2; ++j) {
      double sum = 0.0;
      for (int k = 0; k < 4; ++k) sum += a(i, k) * b(k, j);
      EXPECT_NEAR(c(i, j), sum, 8 * eps);  // four products of size at most 1
    }
  EXPECT_LE(max_norm(transpose_times(transpose(a), b) - c), 8 * eps);
  EXPECT_THROW(Matrix(-1, 2), UsageError);
}

TEST(Matrix, PartsKeepTheirEntries) {
  const Matrix a = random_matrix(3, 4, 3);
  EXPECT_EQ(beside(columns(a, 0, 1), columns(a, 1, 3)), a);
  EXPECT_EQ(above(rows(a, 0, 2), rows(a, 2, 1)), a);
  EXPECT_EQ(select_columns(a, std::vector{2})(1, 0), a(1, 2));
  EXPECT_EQ(select_rows(a, std::vector{2})(0, 3), a(2, 3));
}

TEST(Norm, NeitherOverflowsNorUnderflows) {
  EXPECT_DOUBLE_EQ(norm(std::vector{3e200, 4e200}), 5e200);
  EXPECT_DOUBLE_EQ(norm(std::vector{3e-200, 4e-200}), 5e-200);
  EXPECT_EQ(norm(std::vector<double>{}), 0.0);
  EXPECT_TRUE(std::isnan(norm(std::vector{1.0, std::nan("")})));
}

TEST(PivotedQr, ReconstructsThePermutedMatrix) {
  const Matrix a = random_matrix(6, 4, 9);
  const PivotedQr qr = pivoted_qr(a);
  EXPECT_LE(max_norm(qr.Q * qr.R - select_columns(a, qr.permutation)), 60 * eps);
  for (std::size_t k = 1; k < qr.pivots.size(); ++k) EXPECT_LE(qr.pivots[k], qr.pivots[k - 1] * (1 + 10 * eps));
}

TEST(PseudoInverse, SolvesLeastSquaresWithMinimumNorm) {
  const Matrix a = random_matrix(5, 2, 4) * random_matrix(2, 4, 5);  // rank 2
  const Matrix p = pseudo_inverse(svd(a), 2);
  // Penrose's conditions; entries of size 10, condition number below 100
  EXPECT_LE(max_norm(a * p * a - a), 1e-12);
  EXPECT_LE(max_norm(p * a * p - p), 1e-12);
  EXPECT_LE(max_norm(transpose(a * p) - a * p), 1e-12);
  EXPECT_LE(max_norm(transpose(p * a) - p * a), 1e-12);
}

TEST(LeastSquares, AgreesWithThePseudoInverseForATruncatedMatrix) {
  for (const auto& [m, n] : {std::pair{6, 4}, {4, 6}, {5, 5}}) {
    const Matrix a = random_matrix(m, 3, 14) * random_matrix(3, n, 15);  // rank 3
    LeastSquares solver(a);
    EXPECT_LT(solver.pivots()[3], 1e-14);
    solver.truncate(3);
    const Matrix right_side = random_matrix(m, 1, 16);
    const auto b = right_side.column(0);
    const Matrix p = pseudo_inverse(svd(a), 3);
    const auto x = solver.solve(b), expected = times(p, b);
    for (int j = 0; j < n; ++j) EXPECT_NEAR(x[j], expected[j], 1e-12);
    EXPECT_NEAR(solver.unreachable(b), frobenius_norm(right_side - a * (p * right_side)), 1e-13);
  }
}

TEST(Norm2Estimate, IsNearTheLargestSingularValue) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Matrix a = random_matrix(30, 20, seed);
    const double exact = norm2(a), estimate = norm2_estimate(a);
    EXPECT_LE(estimate, exact * (1 + 1e-12));
    EXPECT_GE(estimate, 0.8 * exact);
  }
}

TEST(RankGap, IsClearWhenNothingLiesBetweenZeroAndNotZero) {
  const RankDecision d = rank_gap(std::vector{3.0, 0.2, 1e-3, 1e-16}, 10, 4.0);
  EXPECT_EQ(d.rank, 3);
  EXPECT_EQ(d.status, RankStatus::clear);
  EXPECT_DOUBLE_EQ(d.kept, 2.5e-4);
  EXPECT_DOUBLE_EQ(d.dropped, 2.5e-17);
}

TEST(RankGap, SplitsAGreyZoneAtTheLargestRatio) {
  const RankDecision d = rank_gap(std::vector{1.0, 1e-7, 1e-11}, 3, 1.0);
  EXPECT_EQ(d.status, RankStatus::grey);
  EXPECT_EQ(d.rank, 1);  // 1e7 between the first two, 1e4 between the others, 5e2 to the bound of zero
  EXPECT_EQ(rank_gap(std::vector{1.0, 1e-1, 1e-7, 1e-12}, 1, 1.0).rank, 2);
  EXPECT_EQ(rank_gap(std::vector{1e-8}, 1, 1.0).rank, 0);
}

TEST(RankGap, MeasuresAgainstTheWholeMatrix) {
  EXPECT_EQ(rank_gap(std::vector{1e-15}, 4, 1.0).rank, 0);
  EXPECT_EQ(rank_gap(std::vector{1e-15}, 4, 1e-15).rank, 1);
  EXPECT_EQ(rank_gap(std::vector{1.0, 1e-4}, 4, 1.0, 1e-3).rank, 1);  // below ten times the noise
  EXPECT_EQ(rank_gap({}, 4, 1.0).rank, 0);
}

}  // namespace
}  // namespace saltus
