// Solutions with A plus a few terms u v', against factors of the sum.
#include "linalg/low_rank_update.hpp"

#include <gtest/gtest.h>
#include <saltus/linalg/structured_lu.hpp>

#include <cmath>
#include <limits>
#include <random>

namespace saltus {
namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();

Matrix sum_of(const std::vector<RankOne>& terms, int n) {
  Matrix sum(n, n);
  for (const RankOne& term : terms)
    for (std::size_t i = 0; i < term.u.place.size(); ++i)
      for (std::size_t j = 0; j < term.v.place.size(); ++j)
        sum(term.u.place[i], term.v.place[j]) += term.u.value[i] * term.v.value[j];
  return sum;
}

TEST(LowRankTerms, AResistanceBetweenTwoNodesIsOneTerm) {
  const double g = 0.3, C = 7.0, D = 0.11;  // rows are divided by heat capacities
  const std::vector<ChangedEntry> entries = {
      {4, 4, g / C, eps}, {4, 9, -g / C, eps}, {9, 4, -g / D, eps}, {9, 9, g / D, eps}};
  const auto terms = low_rank_terms(entries, 5);
  ASSERT_TRUE(terms);
  ASSERT_EQ(terms->size(), 1u);
  const Matrix sum = sum_of(*terms, 10);
  for (const ChangedEntry& e : entries) EXPECT_NEAR(sum(e.row, e.column), e.change, 4.0 * eps * g / D);
}

TEST(LowRankTerms, ChangesApartHaveTermsThatDoNotDependOnEachOther) {
  const std::vector<ChangedEntry> one = {{2, 2, 3.0, eps}, {2, 5, -1.0, eps}},
                                  both = {{7, 7, 8.0, eps}, {2, 2, 3.0, eps}, {2, 5, -1.0, eps}};
  const auto alone = low_rank_terms(one, 2), together = low_rank_terms(both, 2);
  ASSERT_TRUE(alone && together);
  ASSERT_EQ(alone->size(), 1u);
  ASSERT_EQ(together->size(), 2u);
  EXPECT_EQ((*alone)[0].u, (*together)[1].u);
  EXPECT_EQ((*alone)[0].v, (*together)[1].v);
  EXPECT_FALSE(low_rank_terms(both, 1));
  EXPECT_TRUE(low_rank_terms({}, 0));
}

TEST(LowRankTerms, AColumnIsOneTermAndPlacesMayOccurTwice) {
  std::vector<ChangedEntry> entries;
  for (int i = 0; i < 40; ++i) entries.push_back({i, 3, 1.0 + i, eps});
  entries.push_back({7, 3, 2.0, eps});
  const auto terms = low_rank_terms(entries, 1);
  ASSERT_TRUE(terms);
  ASSERT_EQ(terms->size(), 1u);
  const Matrix sum = sum_of(*terms, 40);
  for (int i = 0; i < 40; ++i) EXPECT_NEAR(sum(i, 3), 1.0 + i + (i == 7 ? 2.0 : 0.0), 40.0 * 2.0 * eps);
}

TEST(LowRankTerms, RandomMatricesOfKnownRankAreFound) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> number(-1.0, 1.0);
  for (int rank = 1; rank <= 6; ++rank) {
    const int n = 12;
    Matrix A(n, n);
    for (int k = 0; k < rank; ++k) {
      std::vector<double> u(n), v(n);
      for (int i = 0; i < n; ++i) u[i] = number(random), v[i] = number(random);
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) A(i, j) += u[i] * v[j];
    }
    std::vector<ChangedEntry> entries;
    // a sum of `rank` products below 1 has errors of 2 rank eps at most
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) entries.push_back({i, j, A(i, j), 2.0 * rank * eps});
    const auto terms = low_rank_terms(entries, n);
    ASSERT_TRUE(terms);
    EXPECT_EQ(static_cast<int>(terms->size()), rank);
    const Matrix sum = sum_of(*terms, n);
    // what is left is below the uncertainties, which elimination at most quadruples
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) EXPECT_NEAR(sum(i, j), A(i, j), 2.0 * rank * eps * std::pow(4.0, rank));
  }
}

/// Heat in a plate of m x m cells, implicitly: 1 + 4 s on the diagonal, -s for each neighbour.
struct Plate {
  explicit Plate(int m, double s) : n(m * m) {
    std::vector<std::pair<int, int>> places;
    std::vector<double> entries;
    const auto add = [&](int i, int j, double value) {
      places.emplace_back(i, j);
      entries.push_back(value);
    };
    for (int i = 0; i < n; ++i) {
      add(i, i, 1.0 + 4.0 * s);
      if (i % m > 0) add(i, i - 1, -s);
      if (i % m < m - 1) add(i, i + 1, -s);
      if (i >= m) add(i, i - m, -s);
      if (i < n - m) add(i, i + m, -s);
    }
    std::vector<int> position;
    pattern = make_pattern(n, n, places, &position);
    values.resize(entries.size());
    for (std::size_t k = 0; k < entries.size(); ++k) values[position[k]] = entries[k];
  }
  double& at(int i, int j) {
    for (int k = pattern.start[j]; k < pattern.start[j + 1]; ++k)
      if (pattern.row[k] == i) return values[k];
    throw std::logic_error("no such entry");
  }
  int n;
  SparsePattern pattern;
  std::vector<double> values;
};

TEST(LowRankUpdate, SolvesAsFactorsOfTheSumDo) {
  const double s = 50.0;
  Plate before(25, s), now(25, s);
  std::vector<ChangedEntry> entries;
  const auto change = [&](int i, int j, double by) {
    now.at(i, j) += by;
    entries.push_back({i, j, by, eps * s});
  };
  for (const int cell : {30, 31, 200, 624}) change(cell, cell, 3.0 * s);
  for (const auto& [i, j, sign] : {std::tuple{400, 400, 1.0}, {400, 401, -1.0}, {401, 400, -1.0}, {401, 401, 1.0}})
    change(i, j, sign * 0.9 * s);
  StructuredLu old_factors, factors;
  old_factors.set_pattern(before.pattern);
  factors.set_pattern(now.pattern);
  ASSERT_TRUE(old_factors.factorise(before.values) && factors.factorise(now.values));
  int solutions = 0;
  const auto solve = [&](std::span<double> b) {
    ++solutions;
    old_factors.solve(b);
  };
  LowRankUpdate update;
  ASSERT_TRUE(update.set_terms(now.n, *low_rank_terms(entries, 8), solve));
  EXPECT_EQ(update.rank(), 5);
  EXPECT_EQ(solutions, 5);
  std::vector<double> b(static_cast<std::size_t>(now.n));
  for (int i = 0; i < now.n; ++i) b[i] = std::sin(i * i);
  std::vector<double> x = b, expected = b, product(b.size(), 0.0);
  old_factors.solve(x);
  update.correct(x);
  factors.solve(expected);
  // the condition number is 1 + 8 s, that of the small matrix about 4, and solutions are below 1
  for (int i = 0; i < now.n; ++i) EXPECT_NEAR(x[i], expected[i], 10.0 * 4.0 * (1.0 + 8.0 * s) * eps) << i;
  multiply_add(before.pattern, before.values, x, 1.0, product);
  update.multiply_add(x, product);
  for (int i = 0; i < now.n; ++i) EXPECT_NEAR(product[i], b[i], 10.0 * 4.0 * (1.0 + 8.0 * s) * eps) << i;

  // one of the changes is taken back: all solutions are there
  entries.erase(entries.begin());
  ASSERT_TRUE(update.set_terms(now.n, *low_rank_terms(entries, 8), solve));
  EXPECT_EQ(update.rank(), 4);
  EXPECT_EQ(solutions, 5);
  update.clear_terms();
  x = b;
  update.correct(x);
  EXPECT_EQ(x, b);
  update.forget();
  ASSERT_TRUE(update.set_terms(now.n, *low_rank_terms(entries, 8), solve));
  EXPECT_EQ(solutions, 9);
}

TEST(LowRankUpdate, ManyLeftFactorsTakeTheRoomOfOldOnes) {
  Plate plate(10, 2.0);
  StructuredLu lu;
  lu.set_pattern(plate.pattern);
  ASSERT_TRUE(lu.factorise(plate.values));
  LowRankUpdate update;
  for (int cell = 0; cell + 1 < plate.n; ++cell) {
    const std::vector<ChangedEntry> entries = {{cell, cell, 2.0, 0.0}, {cell + 1, cell + 1, 3.0, 0.0}};
    ASSERT_TRUE(update.set_terms(plate.n, *low_rank_terms(entries, 2), [&](std::span<double> b) { lu.solve(b); }));
    Plate sum = plate;
    sum.at(cell, cell) += 2.0;
    sum.at(cell + 1, cell + 1) += 3.0;
    std::vector<double> x(static_cast<std::size_t>(plate.n), 1.0), b(x.size(), 0.0);
    multiply_add(sum.pattern, sum.values, x, 1.0, b);
    lu.solve(b);
    update.correct(b);
    for (int i = 0; i < plate.n; ++i) ASSERT_NEAR(b[i], 1.0, 1e-12) << cell;  // condition 17, times 100 eps and some
  }
}

TEST(LowRankUpdate, ASingularSumIsRefused) {
  LowRankUpdate update;
  const std::vector<ChangedEntry> entries = {{1, 1, -2.0, 0.0}};
  const auto halve = [](std::span<double> b) {  // A = 2 I
    for (double& value : b) value *= 0.5;
  };
  EXPECT_FALSE(update.set_terms(3, *low_rank_terms(entries, 1), halve));
  EXPECT_TRUE(update.empty());
}

}  // namespace
}  // namespace saltus
