// GMRES, SuperLU, and which of the ways to solve a large sparse system is chosen.
#include <gtest/gtest.h>
#include <saltus/linalg/structured_lu.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <random>

#include "linalg/gmres.hpp"
#include "linalg/supernodal_lu.hpp"

namespace saltus {
namespace {

using Complex = std::complex<double>;
using Pairs = std::vector<std::pair<int, int>>;

template <class Scalar>
struct SampleMatrix {
  SparsePattern pattern;
  std::vector<Scalar> values;

  /// `value(i, j)` at all places.
  template <class Value>
  SampleMatrix(int n, const Pairs& places, Value value)
      : pattern(make_pattern(n, n, places)), values(pattern.row.size()) {
    for (int j = 0; j < n; ++j)
      for (int k = pattern.start[j]; k < pattern.start[j + 1]; ++k) values[k] = value(pattern.row[k], j);
  }
  std::vector<Scalar> times(const std::vector<Scalar>& x) const {
    std::vector<Scalar> y(x.size());
    for (int j = 0; j < pattern.columns; ++j)
      for (int k = pattern.start[j]; k < pattern.start[j + 1]; ++k) y[pattern.row[k]] += values[k] * x[j];
    return y;
  }
};

template <class Scalar>
Scalar random_scalar(std::mt19937& generator) {
  std::uniform_real_distribution<double> part(-1.0, 1.0);
  if constexpr (std::is_same_v<Scalar, double>)
    return part(generator);
  else
    return {part(generator), part(generator)};
}

/// A cube of n x n x n cells, each with its neighbours.
Pairs cube(int n) {
  Pairs places;
  const auto link = [&](int i, int j) {
    places.emplace_back(i, j);
    places.emplace_back(j, i);
  };
  for (int i = 0; i < n * n * n; ++i) {
    places.emplace_back(i, i);
    if (i % n > 0) link(i, i - 1);
    if (i / n % n > 0) link(i, i - n);
    if (i / (n * n) > 0) link(i, i - n * n);
  }
  return places;
}

/// A step of diffusion: 1 + 6 s on the diagonal, about -s beside it, not symmetric.
SampleMatrix<double> diffusion(int n, double s) {
  return {n * n * n, cube(n),
          [s](int i, int j) { return i == j ? 1.0 + 6.0 * s : -s * (1.0 + 0.1 * std::sin(i + 2.0 * j)); }};
}

double largest_error(std::span<const double> found, std::span<const double> right, std::span<const double> weights) {
  double largest = 0.0;
  for (std::size_t j = 0; j < right.size(); ++j)
    largest = std::max(largest, std::abs(found[j] - right[j]) / weights[j]);
  return largest;
}

template <class Scalar>
class LargeSystems : public testing::Test {};
using Scalars = testing::Types<double, Complex>;
TYPED_TEST_SUITE(LargeSystems, Scalars);

TYPED_TEST(LargeSystems, GmresSolvesRandomMatricesWithLargeEntriesAnywhereAsExactlyAsAsked) {
  std::mt19937 generator(1);
  for (int round = 0; round < 30; ++round) {
    const int n = 20 + 40 * round;
    // row i has its large entry in column order[i]
    std::vector<int> order(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), generator);
    Pairs places;
    for (int i = 0; i < n; ++i) {
      places.emplace_back(i, order[i]);
      for (int k = 0; k < 4; ++k) places.emplace_back(i, static_cast<int>(generator() % static_cast<unsigned>(n)));
    }
    // units of rows and columns over many decades; the large entry is as large as the others of its row together
    std::vector<double> row(order.size()), column(order.size());
    std::uniform_real_distribution<double> decade(-4.0, 4.0);
    for (double& u : row) u = std::pow(10.0, decade(generator));
    for (double& u : column) u = std::pow(10.0, round % 2 ? 0.0 : 0.1 * decade(generator));
    const SampleMatrix<TypeParam> A(n, places, [&](int i, int j) {
      return row[i] * column[j] * (order[i] == j ? TypeParam(6.0) : random_scalar<TypeParam>(generator));
    });
    std::vector<TypeParam> x(order.size());
    std::vector<double> weights(order.size());
    for (std::size_t j = 0; j < x.size(); ++j) {
      x[j] = random_scalar<TypeParam>(generator) / column[j];
      weights[j] = 1e-3 / column[j];
    }
    BasicGmres<TypeParam> gmres;
    ASSERT_TRUE(gmres.set_pattern(A.pattern, A.values));
    ASSERT_TRUE(gmres.factorise(A.values));
    for (const double tolerance : {1.0, 1e-3, 1e-6}) {
      std::vector<TypeParam> b = A.times(x);
      ASSERT_TRUE(gmres.solve(b, weights, tolerance, 200)) << n << ", " << tolerance;
      double largest = 0.0;
      for (std::size_t j = 0; j < x.size(); ++j) largest = std::max(largest, std::abs(b[j] - x[j]) / weights[j]);
      // "about": the factor by which residuals underestimate errors is an estimate; and rounding, 1e-16 of the values
      EXPECT_LE(largest, 3.0 * tolerance + 1e-12 / 1e-3) << n << ", " << tolerance;
      EXPECT_LE(gmres.iterations(), 60);
    }
  }
}

TYPED_TEST(LargeSystems, SuperLuAgreesWithKluOnMatricesWithAndWithoutSymmetry) {
  if (!BasicSupernodalLu<TypeParam>::available()) GTEST_SKIP() << "built without SuperLU";
  std::mt19937 generator(2);
  for (int round = 0; round < 20; ++round) {
    const int n = 3 + 30 * round;
    Pairs places;
    for (int i = 0; i < n; ++i) {
      if (round % 2 == 0) places.emplace_back(i, i);
      if (round % 2 == 1) places.emplace_back(i, (i + 1) % n);  // nothing on the diagonal is sure
      for (int k = 0; k < 3; ++k) {
        const int j = static_cast<int>(generator() % static_cast<unsigned>(n));
        places.emplace_back(i, j);
        if (round % 2 == 0) places.emplace_back(j, i);
      }
    }
    BasicSupernodalLu<TypeParam> supernodal;
    BasicSparseLu<TypeParam> klu;
    SampleMatrix<TypeParam> A(n, places, [](int, int) { return TypeParam(0); });
    supernodal.set_pattern(A.pattern);
    klu.analyse(A.pattern);
    for (int again = 0; again < 3; ++again) {  // the ordering serves other values
      for (auto& value : A.values) value = random_scalar<TypeParam>(generator);
      const bool regular = klu.factorise(A.values);
      ASSERT_EQ(supernodal.factorise(A.values), regular) << n;
      if (!regular) continue;
      std::vector<TypeParam> x(static_cast<std::size_t>(n), TypeParam(1)), b = A.times(x);
      supernodal.solve(b);
      // errors of a stable factorisation: rounding times the condition number
      const double allowed = 1e3 * 2.2e-16 / klu.reciprocal_condition() + 1e-14;
      for (std::size_t j = 0; j < x.size(); ++j) EXPECT_LE(std::abs(b[j] - x[j]), allowed) << n;
      EXPECT_GE(supernodal.entries(), n);
    }
  }
}

TYPED_TEST(LargeSystems, SuperLuSaysThatAMatrixIsSingularOrNotFinite) {
  if (!BasicSupernodalLu<TypeParam>::available()) GTEST_SKIP() << "built without SuperLU";
  Pairs places;
  for (int i = 0; i < 12; ++i)
    for (int j = std::max(0, i - 1); j <= std::min(11, i + 1); ++j) places.emplace_back(i, j);
  const auto value = [](int i, int j) { return TypeParam(i == j ? 3.0 : -1.0); };
  SampleMatrix<TypeParam> A(12, places, value);
  BasicSupernodalLu<TypeParam> lu;
  lu.set_pattern(A.pattern);
  EXPECT_TRUE(lu.factorise(A.values));
  SampleMatrix<TypeParam> empty_row = A;
  for (std::size_t k = 0; k < A.values.size(); ++k)
    if (A.pattern.row[k] == 5) empty_row.values[k] = 0.0;
  EXPECT_FALSE(lu.factorise(empty_row.values));
  A.values[7] = std::nan("");
  EXPECT_FALSE(lu.factorise(A.values));
  A = SampleMatrix<TypeParam>(12, places, value);
  ASSERT_TRUE(lu.factorise(A.values));
  std::vector<TypeParam> b(12, TypeParam(1));
  lu.solve(b);
  for (const auto& r : A.times(b)) EXPECT_LE(std::abs(r - 1.0), 1e-14);
}

TEST(Gmres, RefusesMatricesWithoutLargeEntriesInDifferentColumns) {
  Gmres gmres;
  const SampleMatrix<double> A(3, {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 2}}, [](int, int) { return 1.0; });
  EXPECT_FALSE(gmres.set_pattern(A.pattern, A.values));
  const SampleMatrix<double> without_row(2, {{0, 0}, {0, 1}}, [](int, int) { return 1.0; });
  EXPECT_FALSE(gmres.set_pattern(without_row.pattern, without_row.values));
}

TEST(Gmres, SaysThatItDoesNotConvergeAndLeavesTheRightHandSide) {
  // without a loss or a cold side the heat of a cube is conserved: the matrix is singular, b is not in its range
  const int n = 6;
  SampleMatrix<double> A(n * n * n, cube(n), [](int i, int j) { return i == j ? 0.0 : -1.0; });
  for (int j = 0; j < A.pattern.columns; ++j)
    for (int k = A.pattern.start[j]; k < A.pattern.start[j + 1]; ++k)
      if (A.pattern.row[k] == j) A.values[k] = A.pattern.start[j + 1] - A.pattern.start[j] - 1;
  Gmres gmres;
  ASSERT_TRUE(gmres.set_pattern(A.pattern, A.values));
  std::vector<double> b(static_cast<std::size_t>(n * n * n), 1.0);
  const std::vector<double> weights(b.size(), 1.0), before = b;
  if (gmres.factorise(A.values)) {
    EXPECT_FALSE(gmres.solve(b, weights, 1e-6, 300));
    EXPECT_EQ(b, before);
  }
}

TEST(Gmres, DoesNotSolveWithValuesOrWeightsThatMeanNothing) {
  const int n = 5;
  const SampleMatrix<double> A = diffusion(n, 1.0);
  Gmres gmres;
  ASSERT_TRUE(gmres.set_pattern(A.pattern, A.values));
  ASSERT_TRUE(gmres.factorise(A.values));
  std::vector<double> b(static_cast<std::size_t>(n * n * n), 1.0), weights(b.size(), 1.0);
  weights[3] = 0.0;  // an absolute tolerance of zero, and a value that is zero
  EXPECT_FALSE(gmres.solve(b, weights, 1e-3, 100));
  weights[3] = 1.0;
  b[7] = std::nan("");
  EXPECT_FALSE(gmres.solve(b, weights, 1e-3, 100));
  b[7] = 1.0;
  EXPECT_TRUE(gmres.solve(b, weights, 1e-3, 100));
}

TEST(Gmres, WhatItCallsSolvedIsSolvedForNearlySingularMatrices) {
  for (const double loss : {1e-1, 1e-3, 1e-5}) {
    const int n = 8;
    SampleMatrix<double> A(n * n * n, cube(n), [](int i, int j) { return i == j ? 0.0 : -1.0; });
    for (int j = 0; j < A.pattern.columns; ++j)
      for (int k = A.pattern.start[j]; k < A.pattern.start[j + 1]; ++k)
        if (A.pattern.row[k] == j) A.values[k] = A.pattern.start[j + 1] - A.pattern.start[j] - 1 + loss;
    std::vector<double> x(static_cast<std::size_t>(n * n * n)), weights(x.size(), 1e-4);
    for (std::size_t j = 0; j < x.size(); ++j) x[j] = 1.0 + std::sin(static_cast<double>(j * j));
    Gmres gmres;
    ASSERT_TRUE(gmres.set_pattern(A.pattern, A.values));
    ASSERT_TRUE(gmres.factorise(A.values));
    std::vector<double> b = A.times(x);
    const bool solved = gmres.solve(b, weights, 1e-2, 300);
    EXPECT_TRUE(solved || loss < 1e-3);
    EXPECT_TRUE(!solved || largest_error(b, x, weights) <= 0.05) << loss;
  }
}

TEST(LargeMatrices, AreSolvedByGmresWhereThatIsAllowedAndFactorsAreExpensive) {
  const int n = 20;
  const SampleMatrix<double> A = diffusion(n, 10.0);
  std::vector<double> x(static_cast<std::size_t>(n * n * n)), weights(x.size());
  for (std::size_t j = 0; j < x.size(); ++j) {
    x[j] = std::sin(0.01 * static_cast<double>(j));
    weights[j] = 1e-6 + 1e-5 * std::abs(x[j]);
  }
  StructuredLu lu;
  lu.allow_iteration(8);
  lu.set_pattern(A.pattern);
  ASSERT_TRUE(lu.factorise(A.values));
  EXPECT_EQ(lu.kind(), MatrixKind::iterative);
  ASSERT_TRUE(lu.iterates());
  lu.set_accuracy(weights, 0.01);
  std::vector<double> b = A.times(x);
  lu.solve(b);
  EXPECT_LE(largest_error(b, x, weights), 0.03);
  EXPECT_NE(lu.description().find("iterative (GMRES, "), std::string::npos) << lu.description();
  EXPECT_NE(lu.description().find("factors would have 211 entries per unknown"), std::string::npos) << lu.description();

  StructuredLu direct;
  direct.set_pattern(A.pattern);
  ASSERT_TRUE(direct.factorise(A.values));
  EXPECT_NE(direct.kind(), MatrixKind::iterative);
  std::vector<double> c = A.times(x);
  direct.solve(c);
  EXPECT_LE(largest_error(b, c, weights), 0.03);

  StructuredLu small;  // cheap factors
  const SampleMatrix<double> B = diffusion(6, 10.0);
  small.allow_iteration(8);
  small.set_pattern(B.pattern);
  ASSERT_TRUE(small.factorise(B.values));
  EXPECT_NE(small.kind(), MatrixKind::iterative);
}

TEST(LargeMatrices, SayTheirFill) {
  const SampleMatrix<double> A = diffusion(10, 1.0);
  StructuredLu lu;
  lu.set_pattern(A.pattern);
  ASSERT_TRUE(lu.factorise(A.values));
  EXPECT_EQ(lu.kind(), MatrixKind::sparse);
  SparseLu klu;
  klu.analyse(A.pattern);
  EXPECT_EQ(lu.description(),
            "sparse (" + std::to_string(std::lround(klu.expected_entries() / 1000.0)) + " entries per unknown)");
}

TEST(LargeMatrices, AreFactorisedWhereGmresFails) {
  const int n = 20;
  const SampleMatrix<double> easy = diffusion(n, 10.0);
  // strong flow around circles: large entries beside the diagonal with opposite signs
  SampleMatrix<double> hard = easy;
  for (int j = 0; j < n * n * n; ++j)
    for (int k = hard.pattern.start[j]; k < hard.pattern.start[j + 1]; ++k)
      hard.values[k] = hard.pattern.row[k] == j ? 1.0 : hard.pattern.row[k] < j ? 30.0 : -30.0;
  StructuredLu lu;
  lu.allow_iteration(8);
  lu.set_pattern(easy.pattern);
  std::vector<double> x(static_cast<std::size_t>(n * n * n)), weights(x.size(), 1e-6);
  for (std::size_t j = 0; j < x.size(); ++j) x[j] = std::cos(static_cast<double>(j));
  const auto error = [&](const SampleMatrix<double>& A) {
    EXPECT_TRUE(lu.factorise(A.values));
    if (lu.iterates()) lu.set_accuracy(weights, 0.01);
    std::vector<double> b = A.times(x);
    lu.solve(b);
    return largest_error(b, x, weights);
  };
  EXPECT_LE(error(easy), 0.03);
  EXPECT_EQ(lu.kind(), MatrixKind::iterative);
  EXPECT_LE(error(hard), 1e-3);  // factors: rounding errors times the condition number
  EXPECT_EQ(lu.kind(), MatrixKind::sparse);
  EXPECT_LE(error(easy), 0.03);  // once is not enough to give up
  EXPECT_EQ(lu.kind(), MatrixKind::iterative);
  EXPECT_LE(error(hard), 1e-3);
  EXPECT_LE(error(easy), 1e-3);
  EXPECT_EQ(lu.kind(), MatrixKind::sparse);
  EXPECT_NE(lu.description().find("GMRES failed 2 times"), std::string::npos) << lu.description();
}

TEST(LargeMatrices, WithMuchWorkAreFactorisedBySuperLu) {
  // a ring with links across it, which no order makes narrow
  const int n = 10000;
  std::mt19937 generator(1);
  Pairs places;
  const auto link = [&](int i, int j) {
    places.emplace_back(i, j);
    places.emplace_back(j, i);
  };
  for (int i = 0; i < n; ++i) {
    places.emplace_back(i, i);
    link(i, (i + 1) % n);
    if (i % 4 < 3) link(i, static_cast<int>(generator() % static_cast<unsigned>(n)));
  }
  const SampleMatrix<double> A(n, places,
                               [](int i, int j) { return i == j ? 50.0 : -1.0 + 0.1 * std::sin(i + 2.0 * j); });
  StructuredLu lu;
  lu.set_pattern(A.pattern);
  ASSERT_TRUE(lu.factorise(A.values));
  EXPECT_EQ(lu.kind(), BasicSupernodalLu<double>::available() ? MatrixKind::supernodal : MatrixKind::sparse);
  std::vector<double> x(static_cast<std::size_t>(n), 1.0), b = A.times(x);
  lu.solve(b);
  for (const double value : b) EXPECT_NEAR(value, 1.0, 1e-12);
}

TEST(LargeMatrices, OfEliminatedVariablesAreSolvedIteratively) {
  // a cube whose fluxes are variables of their own: the equations of the fluxes come first, in another order
  const int n = 18, cells = n * n * n;
  Pairs places;
  for (int i = 0; i < cells; ++i) {
    places.emplace_back(i, cells + (i + 7) % cells);  // q_(i+7) = 2 T_(i+7)
    places.emplace_back(i, (i + 7) % cells);
  }
  for (const auto& [i, j] : cube(n)) places.emplace_back(cells + i, j);
  for (int i = 0; i < cells; ++i) places.emplace_back(cells + i, cells + i);
  const SampleMatrix<double> A(2 * cells, places, [cells](int i, int j) {
    if (i < cells) return j >= cells ? 1.0 : -2.0;
    if (j >= cells) return 0.5;
    return i - cells == j ? 61.0 : -10.0;
  });
  std::vector<char> simple(static_cast<std::size_t>(2 * cells), 0);
  std::fill_n(simple.begin(), cells, 1);
  StructuredLu lu;
  lu.allow_iteration(8);
  lu.set_pattern(A.pattern, simple);
  ASSERT_TRUE(lu.factorise(A.values));
  EXPECT_EQ(lu.eliminated(), cells);
  ASSERT_TRUE(lu.iterates()) << lu.description();
  std::vector<double> x(static_cast<std::size_t>(2 * cells)), weights(x.size(), 1e-6), b;
  for (std::size_t j = 0; j < x.size(); ++j) x[j] = std::cos(0.1 * static_cast<double>(j));
  b = A.times(x);
  lu.set_accuracy(weights, 0.01);
  lu.solve(b);
  EXPECT_LE(largest_error(b, x, weights), 0.06);  // the flux has twice the error of the temperature
}

}  // namespace
}  // namespace saltus
