#include <gtest/gtest.h>
#include <saltus/base/error.hpp>
#include <saltus/linalg/structured_lu.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>
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
class Structured : public testing::Test {
 protected:
  std::mt19937 generator{7};

  std::vector<int> shuffle(int n) {
    std::vector<int> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), generator);
    return order;
  }

  /// Solves A x = b for a known x; returns the largest error.
  double error(const SparsePattern& pattern, std::span<const Scalar> values, BasicStructuredLu<Scalar>& lu) {
    const auto n = static_cast<std::size_t>(pattern.columns);
    std::vector<Scalar> x(n), b(n);
    for (auto& value : x) value = random_scalar<Scalar>(generator);
    for (int j = 0; j < pattern.columns; ++j)
      for (int k = pattern.start[j]; k < pattern.start[j + 1]; ++k) b[pattern.row[k]] += values[k] * x[j];
    EXPECT_TRUE(lu.factorise(values));
    lu.solve(b);
    double largest = 0.0;
    for (std::size_t j = 0; j < n; ++j) largest = std::max(largest, std::abs(b[j] - x[j]));
    return largest;
  }
};
using Scalars = testing::Types<double, Complex>;
TYPED_TEST_SUITE(Structured, Scalars);

TYPED_TEST(Structured, BandedSolvesWithRowExchanges) {
  for (const auto& [lower, upper] : Pairs{{0, 0}, {1, 1}, {2, 2}, {1, 3}, {4, 0}, {0, 2}, {5, 3}}) {
    const int n = 40;
    BasicBandedLu<TypeParam> lu;
    lu.set_shape(n, lower, upper);
    for (int repeat = 0; repeat < 2; ++repeat) {
      lu.clear();
      std::vector<TypeParam> x(n), b(n);
      for (auto& value : x) value = random_scalar<TypeParam>(this->generator);
      for (int i = 0; i < n; ++i)
        for (int j = std::max(0, i - lower); j <= std::min(n - 1, i + upper); ++j) {
          // triangular matrices need dominance to be well-conditioned; the others get none, so that rows must change
          const bool triangular = lower == 0 || upper == 0;
          const TypeParam a = random_scalar<TypeParam>(this->generator) + (i == j && triangular ? 5.0 : 0.0);
          lu.values()[lu.place(i, j)] = a;
          b[i] += a * x[j];
        }
      ASSERT_TRUE(lu.factorise());
      lu.solve(b);
      // condition numbers of random band matrices of this size stay below 1e6
      for (int i = 0; i < n; ++i) EXPECT_LT(std::abs(b[i] - x[i]), 1e-10) << lower << " + " << upper;
    }
  }
}

TYPED_TEST(Structured, TridiagonalMatricesOfAllSizesWithAndWithoutExchanges) {
  // dominant: from both ends; with one small pivot anywhere: rows change places, and back again
  for (int n = 1; n <= 12; ++n)
    for (int small = -1; small < n; ++small) {
      BasicBandedLu<TypeParam> lu;
      lu.set_shape(n, 1, 1);
      std::vector<TypeParam> x(static_cast<std::size_t>(n)), b(x.size());
      for (auto& value : x) value = random_scalar<TypeParam>(this->generator);
      lu.clear();
      for (int i = 0; i < n; ++i)
        for (int j = std::max(0, i - 1); j <= std::min(n - 1, i + 1); ++j) {
          TypeParam value = random_scalar<TypeParam>(this->generator);
          if (i == j) value = i == small && n > 1 ? TypeParam(1e-3) : value + 4.0;
          lu.values()[lu.place(i, j)] = value;
          b[i] += value * x[j];
        }
      ASSERT_TRUE(lu.factorise()) << n << ", " << small;
      lu.solve(b);
      // condition numbers: at most 4 + 2 over the pivots, whose smallest is 1/5 after its neighbours with |a_ij| >= 1e-2
      for (int i = 0; i < n; ++i) EXPECT_LT(std::abs(b[i] - x[i]), 1e-11) << n << ", " << small << ", " << i;
    }
}

TYPED_TEST(Structured, BandedSaysWhatIsSingularOrNotFinite) {
  BasicBandedLu<TypeParam> lu;
  lu.set_shape(3, 1, 1);
  for (int i = 0; i < 3; ++i) lu.values()[lu.place(i, i)] = i == 1 ? 0.0 : 1.0;
  EXPECT_FALSE(lu.factorise());
  lu.clear();
  for (int i = 0; i < 3; ++i) lu.values()[lu.place(i, i)] = i == 2 ? std::nan("") : 1.0;
  EXPECT_FALSE(lu.factorise());
}

TYPED_TEST(Structured, FindsTheBandOfAShuffledMatrix) {
  const int n = 300;
  const auto p = this->shuffle(n), q = this->shuffle(n);
  Pairs places;
  for (int i = 0; i < n; ++i)
    for (int j = std::max(0, i - 2); j <= std::min(n - 1, i + 2); ++j) places.emplace_back(p[i], q[j]);
  const SparsePattern pattern = make_pattern(n, n, places);
  std::vector<TypeParam> values(pattern.row.size());
  for (auto& value : values) value = random_scalar<TypeParam>(this->generator) + 0.1;
  BasicStructuredLu<TypeParam> lu;
  lu.set_pattern(pattern);
  EXPECT_LT(this->error(pattern, values, lu), 1e-9);  // condition numbers below 1e6
  EXPECT_EQ(lu.kind(), MatrixKind::banded);
  EXPECT_EQ(lu.eliminated(), 0);
}

TYPED_TEST(Structured, EliminatesVariablesWithSimpleEquations) {
  // y_i = e(T_i) beside a tridiagonal system for T that uses y: n/2 unknowns remain, and they are tridiagonal
  const int m = 100, n = 2 * m;
  const auto p = this->shuffle(n), q = this->shuffle(n);
  Pairs places;
  for (int i = 0; i < m; ++i) {
    places.emplace_back(p[2 * i], q[2 * i]);
    for (int j = std::max(0, i - 1); j <= std::min(m - 1, i + 1); ++j) places.emplace_back(p[2 * i], q[2 * j + 1]);
    places.emplace_back(p[2 * i + 1], q[2 * i]);
    places.emplace_back(p[2 * i + 1], q[2 * i + 1]);
  }
  const SparsePattern pattern = make_pattern(n, n, places);
  std::vector<char> simple(static_cast<std::size_t>(n), 0);
  for (int i = 0; i < m; ++i) simple[p[2 * i + 1]] = 1;
  BasicStructuredLu<TypeParam> lu;
  lu.set_pattern(pattern, simple);
  std::vector<TypeParam> values(pattern.row.size());
  for (auto& value : values) value = random_scalar<TypeParam>(this->generator) + 1.5;
  EXPECT_LT(this->error(pattern, values, lu), 1e-8);  // condition numbers below 1e7
  EXPECT_EQ(lu.eliminated(), m);
  EXPECT_EQ(lu.kind(), MatrixKind::banded);
  EXPECT_EQ(lu.description(), "banded (1 + 1), 100 of 200 eliminated");
  // in a workspace of the caller
  std::vector<TypeParam> b(static_cast<std::size_t>(n), TypeParam(1)), same = b, workspace(b.size());
  lu.solve(b);
  lu.solve(same, workspace);
  EXPECT_EQ(b, same);
}

TYPED_TEST(Structured, EliminatesEquationsOfDifferentLengths) {
  // z_i = a few of the y, from none to four, occurs in one or two equations for y: neither lists of one length nor of two
  const int m = 60;
  Pairs places;
  std::vector<TypeParam> entries;
  const auto put = [&](int i, int j, TypeParam value) {
    places.emplace_back(i, j);
    entries.push_back(value);
  };
  for (int i = 0; i < m; ++i) {
    put(i, i, 6.0);
    if (i > 0) put(i, i - 1, random_scalar<TypeParam>(this->generator));
    if (i + 1 < m) put(i, i + 1, random_scalar<TypeParam>(this->generator));
    put(i, m + i, random_scalar<TypeParam>(this->generator));
    if (i % 3 == 0) put((i + 1) % m, m + i, random_scalar<TypeParam>(this->generator));
    put(m + i, m + i, 1.0);
    for (int k = 0; k < (i % 3 == 0 ? std::min(i % 5, 2) : i % 5); ++k)
      put(m + i, (i + k) % m, 0.2 * random_scalar<TypeParam>(this->generator));
  }
  std::vector<int> position;
  const SparsePattern pattern = make_pattern(2 * m, 2 * m, places, &position);
  std::vector<TypeParam> values(pattern.row.size());
  for (std::size_t k = 0; k < entries.size(); ++k) values[position[k]] = entries[k];
  std::vector<char> simple(2 * m, 0);
  std::fill(simple.begin() + m, simple.end(), 1);
  BasicStructuredLu<TypeParam> lu;
  lu.set_pattern(pattern, simple);
  EXPECT_LT(this->error(pattern, values, lu), 1e-13);
  EXPECT_GT(lu.eliminated(), m / 2);
  for (auto& value : values) value *= 1.5;  // the same lists again
  EXPECT_LT(this->error(pattern, values, lu), 1e-13);
}

TYPED_TEST(Structured, ChoosesOtherPivotsWhenValuesMakeThemVanish) {
  const int m = 20, n = 2 * m;
  Pairs places;
  for (int i = 0; i < m; ++i)
    for (const auto& [r, c] : Pairs{{0, 0}, {0, 1}, {1, 0}, {1, 1}}) places.emplace_back(2 * i + r, 2 * i + c);
  const SparsePattern pattern = make_pattern(n, n, places);
  std::vector<char> simple(static_cast<std::size_t>(n), 0);
  for (int i = 0; i < m; ++i) simple[2 * i + 1] = 1;
  BasicStructuredLu<TypeParam> lu;
  lu.set_pattern(pattern, simple);
  std::vector<TypeParam> values(pattern.row.size(), TypeParam(1.0));
  for (int i = 0; i < m; ++i) values[pattern.start[2 * i] + 0] = 3.0;
  EXPECT_LT(this->error(pattern, values, lu), 1e-13);
  EXPECT_EQ(lu.eliminated(), m);
  for (const int zero : {0, 1}) {  // the entry of the simple row in the first, then in the second column vanishes
    std::vector<TypeParam> changed = values;
    for (int i = 0; i < m; ++i) changed[pattern.start[2 * i + zero] + 1] = 0.0;
    EXPECT_LT(this->error(pattern, changed, lu), 1e-13);
    EXPECT_EQ(lu.eliminated(), m);
  }
}

TYPED_TEST(Structured, KeepsSmallMatricesDenseAndIrregularOnesSparse) {
  const int n = 8;
  Pairs places;
  for (int i = 0; i < n; ++i) places.emplace_back(i, (i + 1) % n), places.emplace_back(i, i);
  BasicStructuredLu<TypeParam> lu;
  SparsePattern pattern = make_pattern(n, n, places);
  std::vector<TypeParam> values(pattern.row.size());
  for (auto& value : values) value = random_scalar<TypeParam>(this->generator) + 2.0;
  lu.set_pattern(pattern);
  EXPECT_LT(this->error(pattern, values, lu), 1e-12);
  EXPECT_EQ(lu.kind(), MatrixKind::dense);

  const int large = 2000;  // a tree: no band is narrow, the elimination brings nothing
  places.clear();
  for (int i = 0; i < large; ++i) {
    places.emplace_back(i, i);
    if (i > 0) places.emplace_back(i, (i - 1) / 2), places.emplace_back((i - 1) / 2, i);
  }
  pattern = make_pattern(large, large, places);
  values.resize(pattern.row.size());
  for (int j = 0; j < large; ++j)
    for (int k = pattern.start[j]; k < pattern.start[j + 1]; ++k)
      values[k] = random_scalar<TypeParam>(this->generator) + (pattern.row[k] == j ? 5.0 : 0.0);
  lu.set_pattern(pattern);
  EXPECT_LT(this->error(pattern, values, lu), 1e-12);
  EXPECT_EQ(lu.kind(), MatrixKind::sparse);
}

TYPED_TEST(Structured, SolutionsWithoutFactorsAreNaN) {
  for (const int n : {1, 2, 4, 11, 12, 40, 300})
    for (const bool wide : {false, true}) {
      Pairs places;
      for (int i = 0; i < n; ++i) {
        places.emplace_back(i, i);
        if (i > 0) places.emplace_back(i, wide ? 0 : i - 1), places.emplace_back(wide ? 0 : i - 1, i);
      }
      const SparsePattern pattern = make_pattern(n, n, places);
      const auto size = static_cast<std::size_t>(n);
      BasicStructuredLu<TypeParam> lu;
      lu.set_pattern(pattern, std::vector<char>(size, 1));
      std::vector<TypeParam> values(pattern.row.size(), TypeParam(0.25)), zeros(values.size(), TypeParam(0.0));
      for (int j = 0; j < n; ++j)
        for (int k = pattern.start[j]; k < pattern.start[j + 1]; ++k)
          if (pattern.row[k] == j) values[k] = TypeParam(4.0 + n);
      std::vector<TypeParam> not_finite = values;
      not_finite.back() = TypeParam(std::nan(""));
      const auto expect_none = [&] {
        std::vector<TypeParam> b(size, TypeParam(1.0)), workspace(size);
        lu.solve(b);
        for (const TypeParam& value : b) EXPECT_TRUE(std::isnan(std::abs(value))) << n;
        b.assign(size, TypeParam(1.0));
        lu.solve(b, workspace);
        for (const TypeParam& value : b) EXPECT_TRUE(std::isnan(std::abs(value))) << n;
      };
      expect_none();
      for (const auto* bad : {&not_finite, &zeros}) {
        EXPECT_FALSE(lu.factorise(*bad));
        expect_none();
        ASSERT_TRUE(lu.factorise(values));
        EXPECT_FALSE(lu.factorise(*bad));
        expect_none();
      }
      EXPECT_LT(this->error(pattern, values, lu), 1e-12);
    }
}

TYPED_TEST(Structured, RefusesWhatIsSingular) {
  const int n = 20;
  Pairs places;
  for (int i = 0; i < n; ++i) places.emplace_back(0, i), places.emplace_back(1, i);
  const SparsePattern pattern = make_pattern(n, n, places);
  BasicStructuredLu<TypeParam> lu;
  lu.set_pattern(pattern);
  std::vector<TypeParam> values(pattern.row.size(), TypeParam(1.0));
  EXPECT_FALSE(lu.factorise(values));
  values[3] = std::nan("");
  EXPECT_FALSE(lu.factorise(values));
  std::vector<TypeParam> b(static_cast<std::size_t>(n), TypeParam(1.0));
  lu.solve(b);
  for (const TypeParam& value : b) EXPECT_TRUE(std::isnan(std::abs(value)));
  EXPECT_THROW(lu.set_pattern(make_pattern(2, 3, {})), UsageError);
  EXPECT_THROW(lu.set_pattern(pattern, {1, 1}), UsageError);
}

}  // namespace
}  // namespace saltus
