#include <gtest/gtest.h>
#include <saltus/dae/sequential_jacobian.hpp>
#include <saltus/linalg/lu.hpp>

#include <cmath>
#include <random>

namespace saltus {
namespace {

/// A mode without hidden constraints whose system Jacobian is triangular up to permutations of its equations and variables; some
/// variables are differentiated. `loop`: two equations need each other's variables.
struct Example {
  Structure structure;
  std::vector<double> Fx, Fxp;
  StructuralAnalysis analysis;

  Example(int n, unsigned seed, bool loop) {
    std::mt19937 random(seed);
    std::vector<int> row(n), column(n);
    for (int k = 0; k < n; ++k) row[k] = column[k] = k;
    std::shuffle(row.begin(), row.end(), random);
    std::shuffle(column.begin(), column.end(), random);
    std::vector<std::pair<int, int>> x, xp;
    for (int j = 0; j < n; ++j) {
      auto& list = j % 3 == 0 ? xp : x;
      for (int i = j; i < n; ++i)
        if (i == j || random() % 4 == 0) list.emplace_back(row[i], column[j]);
    }
    // a differentiated variable occurs without its derivative, too, which is no part of the system Jacobian
    for (int j = 0; j < n; j += 3) x.emplace_back(row[n - 1 - j], column[j]);
    if (loop) x.emplace_back(row[1], column[2]), x.emplace_back(row[2], column[1]);
    structure.variables = structure.equations = n;
    structure.state_pattern = make_pattern(n, n, x);
    structure.derivative_pattern = make_pattern(n, n, xp);
    const auto fill = [&](std::vector<double>& values, std::size_t size) {
      for (std::size_t k = 0; k < size; ++k) values.push_back((random() % 2 == 0 ? 1.0 : -1.0) * (0.5 + static_cast<double>(random() % 1000) / 1000.0));
    };
    fill(Fx, structure.state_pattern.row.size());
    fill(Fxp, structure.derivative_pattern.row.size());
    analysis = analyse_structure(structure);
  }
};

class SequentialJacobianTest : public ::testing::TestWithParam<int> {};

TEST_P(SequentialJacobianTest, SolvesAndEstimatesLikeFactors) {
  const int n = GetParam();
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const Example e(n, seed, false);
    ASSERT_FALSE(e.analysis.singular());
    const std::vector<int> order = SequentialJacobian::order(e.structure, e.analysis);
    ASSERT_EQ(order.size(), static_cast<std::size_t>(n));
    const SequentialJacobian jacobian(e.structure, e.analysis, order, e.Fx, e.Fxp);
    const SystemJacobian copy(e.structure, e.analysis);
    std::vector<double> values(copy.pattern().row.size());
    copy.assemble(e.Fx, e.Fxp, values);
    SparseLu lu;
    ASSERT_TRUE(lu.analyse(copy.pattern()) && lu.factorise(values));

    std::vector<double> b(n), expected, found(n);
    for (int i = 0; i < n; ++i) b[i] = std::sin(i + 1.0);
    expected = b;
    lu.solve(expected);
    ASSERT_TRUE(jacobian.solve(b, [&](int j, double z) { found[j] = z; }));
    // the rounding errors of both, magnified by the condition number
    const double tolerance = 100.0 * std::numeric_limits<double>::epsilon() / lu.reciprocal_condition();
    double size = 0.0;
    for (const double z : expected) size = std::max(size, std::abs(z));
    for (int j = 0; j < n; ++j) EXPECT_NEAR(found[j], expected[j], tolerance * size);

    // the exact norm of the inverse, column by column; the estimate is a lower bound that is rarely off by more than a factor 3
    double norm = 0.0;
    for (int k = 0; k < n; ++k) {
      std::vector<double> unit(n, 0.0);
      unit[k] = 1.0;
      lu.solve(unit);
      double sum = 0.0;
      for (const double v : unit) sum += std::abs(v);
      norm = std::max(norm, sum);
    }
    const std::vector<std::int8_t> unscaled(n, 0), doubled(n, 1);
    std::vector<double> workspace;
    const double estimate = jacobian.inverse_norm(unscaled, unscaled, workspace);
    EXPECT_LE(estimate, norm * (1.0 + tolerance));
    EXPECT_GE(estimate, norm / 3.0);
    EXPECT_DOUBLE_EQ(jacobian.inverse_norm(doubled, doubled, workspace), 0.25 * estimate);
  }
}
INSTANTIATE_TEST_SUITE_P(Sizes, SequentialJacobianTest, ::testing::Values(1, 2, 5, 40));

TEST(SequentialJacobian, TheSignOfTheDeterminantFollowsThePivots) {
  Example e(12, 3, false);
  const std::vector<int> order = SequentialJacobian::order(e.structure, e.analysis);
  const auto sign = [&] { return SequentialJacobian(e.structure, e.analysis, order, e.Fx, e.Fxp).determinant_sign(); };
  const auto sign_of_factors = [&] {
    const SystemJacobian copy(e.structure, e.analysis);
    std::vector<double> values(copy.pattern().row.size());
    copy.assemble(e.Fx, e.Fxp, values);
    SparseLu lu;
    return lu.analyse(copy.pattern()) && lu.factorise(values) ? lu.determinant_sign() : 0;
  };
  const int relation = sign() * sign_of_factors();
  int changes = 0;
  for (double& value : e.Fxp) {  // only pivots matter
    const int before = sign();
    value = -value;
    changes += sign() != before;
    EXPECT_EQ(sign() * sign_of_factors(), relation);
  }
  EXPECT_EQ(changes, 4);  // of the four differentiated variables
  std::fill(e.Fxp.begin(), e.Fxp.end(), 0.0);
  EXPECT_EQ(sign(), 0);
  std::vector<double> b(12, 1.0);
  EXPECT_FALSE(SequentialJacobian(e.structure, e.analysis, order, e.Fx, e.Fxp).solve(b, [](int, double) {}));
}

TEST(SequentialJacobian, ThereIsNoOrderWhereEquationsNeedEachOther) {
  const Example e(12, 5, true);
  ASSERT_FALSE(e.analysis.singular());
  EXPECT_TRUE(SequentialJacobian::order(e.structure, e.analysis).empty());
}

}  // namespace
}  // namespace saltus
