#include <gtest/gtest.h>
#include <saltus/base/error.hpp>
#include <saltus/linalg/lu.hpp>

#include <cmath>
#include <complex>
#include <random>

namespace saltus {
namespace {

using Complex = std::complex<double>;
using Pairs = std::vector<std::pair<int, int>>;

template <class Scalar>
Scalar random_scalar(std::mt19937& generator) {
  std::uniform_real_distribution<double> part(-1.0, 1.0);
  if constexpr (std::is_same_v<Scalar, double>)
    return part(generator);
  else
    return {part(generator), part(generator)};
}

template <class Scalar>
class Lu : public testing::Test {};
using Scalars = testing::Types<double, Complex>;
TYPED_TEST_SUITE(Lu, Scalars);

TYPED_TEST(Lu, DenseSolvesWithTheMatrixAndItsTranspose) {
  const int n = 30;
  std::mt19937 generator(1);
  std::vector<TypeParam> a(static_cast<std::size_t>(n * n)), x(n), b(n), bt(n);
  for (auto& value : a) value = random_scalar<TypeParam>(generator);
  for (int i = 0; i < n; ++i) a[i * n + i] += 10.0;  // condition number of a few
  for (auto& value : x) value = random_scalar<TypeParam>(generator);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      b[i] += a[j * n + i] * x[j];
      bt[j] += a[j * n + i] * x[i];
    }
  BasicDenseLu<TypeParam> lu;
  ASSERT_TRUE(lu.factorise(n, a));
  lu.solve(b);
  lu.solve_transposed(bt);
  for (int i = 0; i < n; ++i) {
    EXPECT_LT(std::abs(b[i] - x[i]), 1e-13);
    EXPECT_LT(std::abs(bt[i] - x[i]), 1e-13);
  }
  EXPECT_GT(lu.reciprocal_condition(), 1e-2);
}

TYPED_TEST(Lu, SparseSolvesWithTheMatrixAndItsTranspose) {
  const int n = 200;
  std::mt19937 generator(2);
  Pairs places;
  for (int i = 0; i < n; ++i)
    for (int j : {i, (i + 1) % n, (7 * i + 3) % n}) places.emplace_back(i, j);
  const SparsePattern pattern = make_pattern(n, n, places);
  BasicSparseLu<TypeParam> lu;
  ASSERT_TRUE(lu.analyse(pattern));
  for (int repeat = 0; repeat < 3; ++repeat) {  // the second and third time the pivots are reused
    std::vector<TypeParam> values(static_cast<std::size_t>(pattern.nonzeros())), x(n), b(n), bt(n);
    for (auto& value : values) value = random_scalar<TypeParam>(generator);
    for (auto& value : x) value = random_scalar<TypeParam>(generator);
    for (int j = 0; j < n; ++j)
      for (int k = pattern.start[j]; k < pattern.start[j + 1]; ++k) {
        if (pattern.row[k] == j) values[k] += 4.0;
        b[pattern.row[k]] += values[k] * x[j];
        bt[j] += values[k] * x[pattern.row[k]];
      }
    ASSERT_TRUE(lu.factorise(values));
    lu.solve(b);
    lu.solve_transposed(bt);
    for (int i = 0; i < n; ++i) {
      EXPECT_LT(std::abs(b[i] - x[i]), 1e-12);
      EXPECT_LT(std::abs(bt[i] - x[i]), 1e-12);
    }
    EXPECT_GT(lu.reciprocal_condition(), 1e-3);
  }
}

// Each of these blocks has one row.
TYPED_TEST(Lu, SparseSeesAPivotThatVanishesInAFactorisationWithOldPivots) {
  const SparsePattern diagonal = make_pattern(3, 3, Pairs{{0, 0}, {1, 1}, {2, 2}});
  BasicSparseLu<TypeParam> lu;
  ASSERT_TRUE(lu.analyse(diagonal));
  ASSERT_TRUE(lu.factorise(std::vector<TypeParam>{1.0, 2.0, 3.0}));
  EXPECT_FALSE(lu.factorise(std::vector<TypeParam>{1.0, 0.0, 3.0}));
  ASSERT_TRUE(lu.factorise(std::vector<TypeParam>{1.0, 2.0, 4.0}));
}

template <class Scalar>
void expect_no_solution(const std::vector<Scalar>& b) {
  for (const Scalar& value : b) EXPECT_TRUE(std::isnan(std::abs(value)));
}

// Before the first factorisation, after a failed one, and after a failed one that follows a good one.
TYPED_TEST(Lu, SolutionsWithoutFactorsAreNaN) {
  using Values = std::vector<TypeParam>;
  for (const int n : {1, 2, 3, 4, 5, 12}) {
    const auto size = static_cast<std::size_t>(n);
    Values regular(size * size, TypeParam(0.0));
    for (std::size_t i = 0; i < size; ++i) regular[i * size + i] = TypeParam(2.0);
    Values singular = regular, not_finite = regular;
    singular.back() = TypeParam(0.0);
    not_finite.front() = TypeParam(std::nan(""));
    Pairs places, band;
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) places.emplace_back(i, j);
    BasicDenseLu<TypeParam> dense;
    BasicSparseLu<TypeParam> sparse, fresh;
    BasicBandedLu<TypeParam> banded;
    ASSERT_TRUE(sparse.analyse(make_pattern(n, n, places)));
    banded.set_shape(n, std::min(n - 1, 1), std::min(n - 1, 1));
    const auto expect_none = [&] {
      Values b(size, TypeParam(1.0));
      dense.solve(b);
      expect_no_solution(b);
      b.assign(size, TypeParam(1.0));
      dense.solve_transposed(b);
      expect_no_solution(b);
      b.assign(size, TypeParam(1.0));
      sparse.solve(b);
      expect_no_solution(b);
      b.assign(size, TypeParam(1.0));
      sparse.solve_transposed(b);
      expect_no_solution(b);
      b.assign(size, TypeParam(1.0));
      banded.solve(b);
      expect_no_solution(b);
    };
    expect_none();
    Values b(size, TypeParam(1.0));
    fresh.solve(b);  // without a pattern
    expect_no_solution(b);
    for (const Values* bad : {&singular, &not_finite}) {
      banded.clear();
      for (int i = 0; i < n; ++i) banded.values()[banded.place(i, i)] = TypeParam(2.0);
      ASSERT_TRUE(dense.factorise(n, regular) && sparse.factorise(regular) && banded.factorise());
      banded.clear();
      for (int i = 0; i < n; ++i)
        banded.values()[banded.place(i, i)] = (*bad)[static_cast<std::size_t>(i) * (size + 1)];
      EXPECT_FALSE(dense.factorise(n, *bad)) << n;
      EXPECT_FALSE(sparse.factorise(*bad)) << n;
      EXPECT_FALSE(banded.factorise()) << n;
      expect_none();
    }
  }
}

TEST(DenseLu, SaysThatAMatrixIsSingularOrNotFinite) {
  DenseLu lu;
  EXPECT_FALSE(lu.factorise(2, std::vector{1.0, 2.0, 2.0, 4.0}));
  EXPECT_EQ(lu.reciprocal_condition(), 0.0);
  EXPECT_FALSE(lu.factorise(1, std::vector{std::nan("")}));
  EXPECT_TRUE(lu.factorise(0, {}));
}

TEST(DenseLu, EstimatesTheConditionNumber) {
  // Hilbert matrix of order 5: condition number in the 1-norm 943656
  std::vector<double> h(25);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 5; ++j) h[i * 5 + j] = 1.0 / (i + j + 1);
  DenseLu lu;
  ASSERT_TRUE(lu.factorise(5, h));
  EXPECT_NEAR(lu.reciprocal_condition() * 943656.0, 1.0, 0.5);
}

TEST(SparseLu, EstimatesTheConditionNumber) {
  Pairs places;
  std::vector<double> h;
  for (int j = 0; j < 5; ++j)
    for (int i = 0; i < 5; ++i) {
      places.emplace_back(i, j);
      h.push_back(1.0 / (i + j + 1));
    }
  SparseLu lu;
  ASSERT_TRUE(lu.analyse(make_pattern(5, 5, places)));
  ASSERT_TRUE(lu.factorise(h));
  EXPECT_NEAR(lu.reciprocal_condition() * 943656.0, 1.0, 0.5);
}

TEST(SparseLu, ChoosesFreshPivotsWhenTheOldOnesHaveBecomeBad) {
  const SparsePattern full = make_pattern(2, 2, Pairs{{0, 0}, {1, 0}, {0, 1}, {1, 1}});
  SparseLu lu;
  ASSERT_TRUE(lu.analyse(full));
  ASSERT_TRUE(lu.factorise(std::vector{1.0, 0.1, 0.1, 1.0}));
  ASSERT_TRUE(lu.factorise(std::vector{1e-20, 1.0, 1.0, 1.0}));  // the old pivot is now 1e-20
  std::vector b{1.0, 2.0};
  lu.solve(b);
  EXPECT_NEAR(b[0], 1.0, 1e-15);
  EXPECT_NEAR(b[1], 1.0, 1e-15);
}

// Cofactor expansion along the first row as the second method.
double determinant(const Matrix& a) {
  if (a.rows() == 0) return 1.0;
  double sum = 0.0;
  for (int j = 0; j < a.columns(); ++j) {
    std::vector<int> others;
    for (int k = 0; k < a.columns(); ++k)
      if (k != j) others.push_back(k);
    sum += (j % 2 == 0 ? 1.0 : -1.0) * a(0, j) * determinant(rows(select_columns(a, others), 1, a.rows() - 1));
  }
  return sum;
}

TEST(SparseLu, KnowsTheSignOfTheDeterminant) {
  std::mt19937 generator(7);
  for (int trial = 0; trial < 200; ++trial) {
    const int n = 1 + trial % 6;
    Matrix a(n, n);
    std::vector<std::pair<int, int>> places;
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i)
        if (generator() % 3 != 0) {
          a(i, j) = static_cast<double>(generator() % 19) - 9.0;  // integers: the expansion is exact
          places.emplace_back(i, j);
        }
    const SparsePattern pattern = make_pattern(n, n, places);
    std::vector<double> values;
    for (int j = 0; j < n; ++j)
      for (int k = pattern.start[j]; k < pattern.start[j + 1]; ++k) values.push_back(a(pattern.row[k], j));
    const double exact = determinant(a);
    SparseLu lu;
    if (!lu.analyse(pattern) || !lu.factorise(values)) {
      EXPECT_EQ(exact, 0.0);
      EXPECT_EQ(lu.determinant_sign(), 0);
    } else if (exact != 0.0) {  // rounding may hide that a matrix is singular
      EXPECT_EQ(lu.determinant_sign(), exact > 0.0 ? 1 : -1) << trial;
    }
  }
}

TEST(SparseLu, FactorisesAgainAfterItsMemoryWasGivenBack) {
  const SparsePattern pattern = make_pattern(3, 3, Pairs{{0, 0}, {1, 1}, {2, 2}, {0, 2}, {2, 0}});
  SparseLu lu;
  ASSERT_TRUE(lu.analyse(pattern));
  for (const double scale : {1.0, 2.0}) {
    std::vector<double> values = {2.0, 1.0, 4.0, 1.0, 3.0};  // columns: (2, 1), (4), (1, 3)
    for (double& value : values) value *= scale;
    ASSERT_TRUE(lu.factorise(values));
    std::vector<double> b = {3.0 * scale, 4.0 * scale, 4.0 * scale};
    lu.solve(b);
    for (const double x : b) EXPECT_NEAR(x, 1.0, 1e-15);
    EXPECT_EQ(lu.determinant_sign(), 1);
    lu.release_factors();
    EXPECT_EQ(lu.determinant_sign(), 0);
  }
}

TEST(SparseLu, SaysThatAMatrixIsSingular) {
  SparseLu lu;
  EXPECT_THROW(lu.analyse(make_pattern(2, 3, Pairs{})), UsageError);
  EXPECT_FALSE(lu.analyse(make_pattern(2, 2, Pairs{{0, 0}, {1, 0}})));
  EXPECT_FALSE(lu.factorise(std::vector{1.0, 1.0}));
  ASSERT_TRUE(lu.analyse(make_pattern(2, 2, Pairs{{0, 0}, {1, 0}, {0, 1}, {1, 1}})));
  EXPECT_FALSE(lu.factorise(std::vector{1.0, 2.0, 2.0, 4.0}));
  EXPECT_TRUE(lu.factorise(std::vector{1.0, 2.0, 2.0, 5.0}));
}

}  // namespace
}  // namespace saltus
