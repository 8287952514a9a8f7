// Modes that are given as matrices: E x' = A x + f.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <Eigen/Dense>
#include <Eigen/Sparse>
#include <cmath>
#include <string>
#include <vector>

namespace saltus {
namespace {

SimulateOptions to(double stop) {
  return {.stop = stop, .rtol = 1e-9, .atol = 1e-9};
}

// One decaying component: errors of single steps, of a tolerance each, do not add up to more than some tolerances.
constexpr double some_tolerances = 1e-7;

TEST(LinearEquations, AnIndexTwoSystemGivenByMatrices) {
  Model m("index two");
  const Expr t = m.time(), x = m.variable("x", 0.0), y = m.variable("y", 0.0);
  // y' = x + 0, 0 = y - sin(t): x = cos(t)
  m.equations(linear_equations({{0, 1}, {0, 0}}, {{1, 0}, {0, 1}}, {x, y}, {Expr(0.0), -sin(t)}));
  const Trajectory run = simulate(m, to(2.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NEAR(run.final()[0], std::cos(2.0), some_tolerances);
  EXPECT_NEAR(run.final()[1], std::sin(2.0), some_tolerances);
}

// Charging, an open switch, and discharging: modes with other ranks of E, and resets between them.
TEST(LinearEquations, SeveralLinearModesWithTransitionsFormAModel) {
  Matrix E(2, 2), charging(2, 2), open(2, 2);
  E(0, 0) = 2.0;                           // capacity
  charging(0, 1) = open(0, 1) = 1.0;       // C v' = j
  charging(1, 0) = charging(1, 1) = -1.0;  // 0 = source - v - R j
  open(1, 1) = -1.0;                       // 0 = -j
  Model m("switch");
  const Expr v = m.variable("v", 0.0, {.fixed = true}), j = m.variable("j", 0.0), time = m.time();
  ExplicitMode first = m.mode("first"), second = m.mode("second"), third = m.mode("third");
  first.equations(linear_equations(E, charging, {v, j}, {Expr(0.0), Expr(1.0)}));
  second.equations(linear_equations(E, open, {v, j}, {Expr(0.0), Expr(0.0)}));
  third.equations(linear_equations(E, charging, {v, j}, {Expr(0.0), Expr(0.0)}));
  first.transition(time > 1.0).to(second);
  second.transition(time > 2.0).to(third).reset(v, 0.5 * v);
  m.start_in(first);
  const Trajectory run = simulate(m, to(3.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  const double charged = 1.0 - std::exp(-0.5);
  EXPECT_NEAR(run.at(1.5, "v"), charged, some_tolerances);
  EXPECT_NEAR(run.at(1.5, "j"), 0.0, some_tolerances);
  EXPECT_NEAR(run.at(3.0, "v"), 0.5 * charged * std::exp(-0.5), some_tolerances);
  EXPECT_EQ(run.events().size(), 2u);
}

// E(t) x' = A(t) x: x' = -tan(t) x has x = cos(t).
TEST(LinearEquations, EntriesMayDependOnTimeAndParameters) {
  Model m("varying");
  const Expr t = m.time(), p = m.parameter("p", 1.0), x = m.variable("x", 1.0, {.fixed = true});
  m.equations(linear_equations({{p * cos(t)}}, {{-sin(t)}}, {x}, {Expr(0.0)}));
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NEAR(run.final()[0], std::cos(1.0), some_tolerances);
}

// Heat in a rod, by dense and by sparse matrices of Eigen and by hand: the same equations, so the same bits.
TEST(LinearEquations, MatricesOfEigenAreTakenAsTheyAre) {
  constexpr int n = 12;
  Eigen::MatrixXd E = Eigen::MatrixXd::Identity(n, n), A = Eigen::MatrixXd::Zero(n, n);
  for (int i = 0; i < n; ++i) {
    A(i, i) = -2.0;
    if (i > 0) A(i, i - 1) = 1.0;
    if (i + 1 < n) A(i, i + 1) = 1.0;
  }
  const Eigen::SparseMatrix<double> sparse_E = E.sparseView(), sparse_A = A.sparseView();
  const auto rod = [&](const Coefficients& e, const Coefficients& a) {
    Model m("rod");
    std::vector<Expr> x, f(n, Expr(0.0));
    for (int i = 0; i < n; ++i)
      x.push_back(m.variable("x[" + std::to_string(i + 1) + "]", std::sin(M_PI * (i + 1) / (n + 1)), {.fixed = true}));
    m.equations(linear_equations(e, a, x, f));
    return simulate(m, to(1.0));
  };
  const Trajectory dense = rod(E, A), sparse = rod(sparse_E, sparse_A);
  ASSERT_TRUE(dense.status().ok()) << dense.status().message;
  EXPECT_EQ(Coefficients(sparse_A).entries().size(), static_cast<std::size_t>(3 * n - 2));
  EXPECT_EQ(dense.final(), sparse.final());
  const double rate = -2.0 + 2.0 * std::cos(M_PI / (n + 1));  // the eigenvalue of the slowest mode
  for (int i = 0; i < n; ++i)
    EXPECT_NEAR(dense.final()[static_cast<std::size_t>(i)], std::exp(rate) * std::sin(M_PI * (i + 1) / (n + 1)),
                some_tolerances);
}

// x = 1 and x = 3 at once: least squares, as for equations that are written out.
TEST(LinearEquations, MayBeOverdetermined) {
  Model m("contradiction");
  const Expr x = m.variable("x", 0.0), y = m.variable("y", 0.0, {.fixed = true});
  m.equations(linear_equations({{0, 0}, {0, 0}, {0, 1}}, {{1, 0}, {1, 0}, {1, 0}}, {x, y},
                               {Expr(-1.0), Expr(-3.0), Expr(0.0)}));
  m.allow_unbalanced();
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NEAR(run.final()[0], 2.0, 1e-9);
  EXPECT_NEAR(run.final()[1], 2.0, some_tolerances);
  EXPECT_NE(run.status().message.find("least squares"), std::string::npos) << run.status().message;
}

TEST(LinearEquations, WrongSizesAndEntriesAreRefused) {
  Model m("wrong");
  const Expr x = m.variable("x"), y = m.variable("y");
  const auto message = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(
      message([&] {
        linear_equations({{1, 0}}, {{1}, {1}}, {x, y}, {Expr(0.0)});
      }),
      "linear_equations: A has 2 rows and 1 columns; for 1 entries of f and 2 variables it needs 1 rows and 2 columns");
  EXPECT_NE(message([&] { Coefficients({{1, 0}, {1}}); }).find("row 2 has 1 entries"), std::string::npos);
  EXPECT_NE(message([&] {
              Coefficients(1, 1, {{1, 0, Expr(2.0)}});
            }).find("the entry (1, 0) lies outside"),
            std::string::npos);
  EXPECT_NE(message([&] {
              Coefficients(1, 1, {{0, 0, Expr(std::nan(""))}});
            }).find("not a finite number"),
            std::string::npos);
}

}  // namespace
}  // namespace saltus
