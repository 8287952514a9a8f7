// Singular value decompositions: A = U diag(s) Vᵀ with orthogonal factors, which is all there is to check, for matrices as modes
// have them: sparse, deficient in rank, in units far from each other.
#include <gtest/gtest.h>
#include <saltus/base/error.hpp>
#include <saltus/linalg/decomposition.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

namespace saltus {
namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();

/// Backward stable: errors are a small multiple of the dimension times eps (times the norm).
void expect_decomposed(const Matrix& a, SvdForm form = SvdForm::full) {
  const Svd d = svd(a, form);
  const int k = static_cast<int>(d.s.size());
  ASSERT_EQ(k, std::min(a.rows(), a.columns()));
  ASSERT_EQ(d.U.columns(), form == SvdForm::full ? a.rows() : k);
  ASSERT_EQ(d.V.columns(), form == SvdForm::full ? a.columns() : k);
  EXPECT_TRUE(std::ranges::is_sorted(d.s, std::greater<>()));
  EXPECT_GE(d.s.back(), 0.0);
  Matrix scaled = columns(d.U, 0, k);
  for (int j = 0; j < k; ++j)
    for (double& v : scaled.column(j)) v *= d.s[static_cast<std::size_t>(j)];
  const double bound = 20 * std::max(a.rows(), a.columns()) * eps;
  EXPECT_LE(max_norm(scaled * transpose(columns(d.V, 0, k)) - a), bound * d.s[0]);
  EXPECT_LE(max_norm(transpose_times(d.U, d.U) - Matrix::identity(d.U.columns())), bound);
  EXPECT_LE(max_norm(transpose_times(d.V, d.V) - Matrix::identity(d.V.columns())), bound);
  const std::vector<double> values = singular_values(a);
  for (int j = 0; j < k; ++j) EXPECT_NEAR(values[static_cast<std::size_t>(j)], d.s[static_cast<std::size_t>(j)], bound * d.s[0]);
}

/// A part of the entries, from [-1, 1].
Matrix random_matrix(int rows, int columns, std::mt19937& generator, double part = 1.0) {
  std::uniform_real_distribution<double> entry(-1.0, 1.0), chance(0.0, 1.0);
  Matrix a(rows, columns);
  for (int j = 0; j < columns; ++j)
    for (double& value : a.column(j))
      if (chance(generator) < part) value = entry(generator);
  return a;
}

TEST(Svd, ReconstructsTheMatrix) {
  std::mt19937 generator(7);
  for (const auto& [m, n] : {std::pair{1, 1}, {1, 4}, {4, 1}, {2, 2}, {5, 3}, {3, 5}, {40, 40}, {120, 80}, {80, 120}})
    for (const SvdForm form : {SvdForm::full, SvdForm::thin}) {
      SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n));
      expect_decomposed(random_matrix(m, n, generator), form);
    }
  EXPECT_EQ(svd(Matrix(2, 0)).U, Matrix::identity(2));
  EXPECT_THROW(svd(Matrix(2, 2, std::nan(""))), UsageError);
}

// divide and conquer is wrong by 0.3 here (Eigen 3.4.0)
TEST(Svd, SparseMatrixOfAPendulum) {
  struct Entry {
    int i, j;
    double value;
  };
  Matrix a(16, 16);
  for (const Entry& e : {Entry{0, 0, 1.1589579277317137},   {1, 1, 0.78744921488707376},  {2, 2, 1.1657796520826953},
                         {3, 3, 0.79182633508317124},       {5, 5, 0.71803381181085768},  {7, 7, 0.91231918375986953},
                         {8, 2, -1.1594506947981866},       {8, 8, 2.3179158554634278},   {9, 3, -0.78752755096686122},
                         {9, 9, 1.5748984297741475},        {10, 4, 1.1661483999508422},  {10, 10, 2.3315593041653906},
                         {11, 11, 1.5836526701663425},      {12, 0, 1.1526660052349944},  {13, 6, 0.71907389868470661},
                         {13, 13, 1.4360676236217156},      {14, 5, -0.71413564347718916}, {14, 6, 0.71313477037956119},
                         {15, 15, 1.8246383675197391}})
    a(e.i, e.j) = e.value;
  expect_decomposed(a);
}

TEST(Svd, SparseMatrices) {
  std::mt19937 generator(1);
  std::uniform_int_distribution<int> size(16, 60);
  std::uniform_real_distribution<double> part(0.01, 0.2);
  for (int k = 0; k < 300 && !HasFailure(); ++k) {
    SCOPED_TRACE(k);
    const int m = size(generator), n = k % 2 == 0 ? m : size(generator);
    Matrix a = random_matrix(m, n, generator, part(generator));
    if (k % 3 == 0)  // many equal singular values
      for (int j = 0; j < n; ++j)
        for (double& v : a.column(j)) v = v > 0.0 ? 1.0 : v < 0.0 ? -1.0 : 0.0;
    expect_decomposed(a, k % 5 == 0 ? SvdForm::thin : SvdForm::full);
  }
}

TEST(Svd, DeficientRanks) {
  std::mt19937 generator(3);
  for (const int rank : {0, 1, 5, 29}) {
    SCOPED_TRACE(rank);
    const Matrix a = random_matrix(30, rank, generator) * random_matrix(rank, 40, generator);
    for (const SvdForm form : {SvdForm::full, SvdForm::thin}) expect_decomposed(a, form);
    const std::vector<double> s = singular_values(a);
    EXPECT_LE(s[static_cast<std::size_t>(rank)], 40 * 20 * eps * s[0]);
    if (rank > 0) {
      EXPECT_GT(s[static_cast<std::size_t>(rank) - 1], 1e-4 * s[0]);
    }
  }
}

// Hadamard's matrix with columns in units far from each other: the columns stay orthogonal, so that their lengths are the singular
// values, and each has all its digits
TEST(Svd, UnitsFarFromEachOther) {
  constexpr int n = 16;
  Matrix a(n, n);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) a(i, j) = (std::popcount(static_cast<unsigned>(i & j)) % 2 == 0 ? 1.0 : -1.0) * std::pow(10.0, 100.0 - 8.0 * j);
  expect_decomposed(a);
  const std::vector<double> s = singular_values(a);
  for (int j = 0; j < n; ++j) {
    const double exact = 4.0 * std::pow(10.0, 100.0 - 8.0 * j);
    EXPECT_NEAR(s[static_cast<std::size_t>(j)], exact, 20 * n * eps * exact) << j;
  }
}

TEST(Svd, EntriesOverTheWholeRangeOfNumbers) {
  std::mt19937 generator(5);
  std::uniform_real_distribution<double> exponent(-300.0, 300.0);
  for (int k = 0; k < 50; ++k) {
    Matrix a = random_matrix(20, 20, generator, 0.3);
    for (int j = 0; j < 20; ++j)
      for (double& v : a.column(j)) v *= std::pow(10.0, exponent(generator));
    expect_decomposed(a);
  }
  expect_decomposed(Matrix(3, 3, std::numeric_limits<double>::denorm_min()));
  expect_decomposed(Matrix(3, 3, 1e307));
}

}  // namespace
}  // namespace saltus
