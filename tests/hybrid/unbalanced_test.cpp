// Linear modes with more or fewer equations than variables.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>

namespace saltus {
namespace {

SimulateOptions to(double stop) {
  return {.stop = stop, .rtol = 1e-8, .atol = 1e-8};
}

TEST(Unbalanced, IsRefusedUnlessAskedFor) {
  Model m("redundant");
  const Expr x = m.variable("x", 1.0);
  m.equation(der(x) == -x);
  m.equation(x == exp(-m.time()));
  EXPECT_THROW(simulate(m, to(1.0)), ModelError);
  m.allow_unbalanced();
  EXPECT_TRUE(simulate(m, to(1.0)).status().ok());
}

// x' = -x + z, z = sin t, and the sum of a derivative of the second with the first: redundant, v = 1.
TEST(Unbalanced, RedundantEquationsDoNoHarm) {
  Model m("redundant");
  const Expr x = m.variable("x", 1.0, {.fixed = true}), z = m.variable("z", 0.0), t = m.time();
  m.equation(der(x) == -x + z);
  m.equation(z == sin(t));
  m.equation(der(x) + der(z) == -x + z + cos(t));
  m.allow_unbalanced();
  const Trajectory run = simulate(m, to(5.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_EQ(run.status().message, "");
  const double exact = 1.5 * std::exp(-5.0) + 0.5 * (std::sin(5.0) - std::cos(5.0));
  // one decaying component: errors of single steps do not add up to more than some tolerances
  EXPECT_NEAR(run.final()[0], exact, 1e-7);
  EXPECT_NEAR(run.final()[1], std::sin(5.0), 1e-10);
}

// Two equations, three variables: z enters only through z - w. z, the first of two variables with equal parts in what
// is open, stays what it is.
TEST(Unbalanced, UndeterminedComponentsStayConstant) {
  Model m("free");
  const Expr x = m.variable("x", 1.0, {.fixed = true}), z = m.variable("z", 2.0), w = m.variable("w", 2.0),
             t = m.time();
  m.equation(der(x) == -x + z - w);
  m.equation(z - w == sin(t));
  m.allow_unbalanced();
  const Trajectory run = simulate(m, to(5.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  const double exact = 1.5 * std::exp(-5.0) + 0.5 * (std::sin(5.0) - std::cos(5.0));
  EXPECT_NEAR(run.final()[0], exact, 1e-7);
  EXPECT_NEAR(run.final()[1] - run.final()[2], std::sin(5.0), 1e-10);
  EXPECT_NEAR(run.final()[1], 2.0, 1e-9);
}

// x = 1 and x = 3 at once, beside y' = x: least squares takes x = 2, and the run says so.
TEST(Unbalanced, ContradictoryEquationsAreSolvedInTheSenseOfLeastSquares) {
  Model m("contradiction");
  const Expr x = m.variable("x", 0.0), y = m.variable("y", 0.0, {.fixed = true});
  m.equation(x == 1.0);
  m.equation(x == 3.0);
  m.equation(der(y) == x);
  m.allow_unbalanced();
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NEAR(run.at(0.0, "x"), 2.0, 1e-9);
  EXPECT_NEAR(run.final()[1], 2.0, 1e-7);
  EXPECT_NE(run.status().message.find("least squares"), std::string::npos) << run.status().message;
}

// The sum of the squares of the residuals as they are written: (x - 1)^2 + (2x - 6)^2 is least at x = 13/5.
TEST(Unbalanced, LeastSquaresAreThoseOfTheEquationsAsWritten) {
  const auto solution = [](double first, double second) {
    Model m("weights");
    const Expr x = m.variable("x", 0.0), y = m.variable("y", 0.0, {.fixed = true});
    m.equation(first * x == first);
    m.equation(second * x == 3.0 * second);
    m.equation(der(y) == x);
    m.allow_unbalanced();
    const Trajectory run = simulate(m, to(1.0));
    EXPECT_TRUE(run.status().ok()) << run.status().message;
    EXPECT_NEAR(run.at(1.0, "x"), run.at(0.0, "x"), 1e-8);
    EXPECT_NEAR(run.final()[1], run.at(0.0, "x"), 1e-7);
    return run.at(0.0, "x");
  };
  for (const double weight : {1e-3, 0.1, 1.0, 2.0, 10.0, 1e3}) {
    const double square = weight * weight;
    EXPECT_NEAR(solution(1.0, weight), (1.0 + 3.0 * square) / (1.0 + square), 1e-8) << weight;
    EXPECT_NEAR(solution(1e3, 1e3 * weight), (1.0 + 3.0 * square) / (1.0 + square), 1e-8) << weight;
  }
}

// The same numbers of equations and variables, but one equation twice: u = v = 1.
TEST(Unbalanced, AnEquationWrittenTwiceLeavesAVariableFree) {
  Model m("twice");
  const Expr x = m.variable("x", 1.0, {.fixed = true}), w = m.variable("w", 7.0);
  m.equation(der(x) == -x);
  m.equation(2.0 * der(x) == -2.0 * x + 0.0 * w);
  m.allow_unbalanced();
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NEAR(run.final()[0], std::exp(-1.0), 1e-7);
  EXPECT_NEAR(run.final()[1], 7.0, 1e-9);
}

// z = t and z = t + t^5 agree at the start, with all derivatives that the analysis looks at, and nowhere else.
TEST(Unbalanced, EquationsThatBeginToContradictAreNoticed) {
  Model m("later");
  const Expr t = m.time(), z = m.variable("z", 0.0), y = m.variable("y", 0.0, {.fixed = true});
  m.equation(z == t);
  m.equation(z == t + pow(t, 5.0));
  m.equation(der(y) == 1.0);
  m.allow_unbalanced();
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NE(run.status().message.find("contradict the others at t = "), std::string::npos) << run.status().message;
  EXPECT_NEAR(run.final()[1], 1.0, 1e-7);
}

// x^2 = 1 + t, once more as its root, and the constraint of a pendulum, once more as its square.
TEST(Unbalanced, RedundantNonlinearEquationsDoNoHarm) {
  Model root("root");
  const Expr x = root.variable("x", 1.0), y = root.variable("y", 0.0, {.fixed = true}), t = root.time();
  root.equation(x * x == 1.0 + t);
  root.equation(x == sqrt(1.0 + t));
  root.equation(der(y) == x);
  root.allow_unbalanced();
  const Trajectory run = simulate(root, to(3.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_EQ(run.status().message, "");
  EXPECT_NEAR(run.final()[0], 2.0, 1e-9);
  EXPECT_NEAR(run.final()[1], 2.0 / 3.0 * (8.0 - 1.0), 1e-7);
  const auto pendulum = [](bool twice) {
    Model m("pendulum");
    const Expr a = m.variable("a", 0.6, {.fixed = true}), b = m.variable("b", -0.8),
               u = m.variable("u", 0.5, {.fixed = true}), v = m.variable("v", 0.375), pull = m.variable("pull", 0.0);
    m.equation(der(a) == u);
    m.equation(der(b) == v);
    m.equation(der(u) == -pull * a);
    m.equation(der(v) == -pull * b - 9.81);
    m.equation(a * a + b * b == 1.0);
    if (twice) m.equation(pow(a * a + b * b, 2.0) == 1.0);
    m.allow_unbalanced();
    const Trajectory swings = simulate(m, to(2.0));
    EXPECT_TRUE(swings.status().ok()) << swings.status().message;
    return swings.final();
  };
  const std::vector<double> once = pendulum(false), twice = pendulum(true);
  for (std::size_t j = 0; j < once.size(); ++j) EXPECT_NEAR(twice[j], once[j], 1e-5) << j;
}

// Steps follow least squares of linear equations only: nonlinear ones that contradict each other have no solution.
TEST(Unbalanced, NonlinearEquationsThatContradictEachOtherEndTheRun) {
  const auto status = [](double later) {
    Model m("contradiction");
    const Expr x = m.variable("x", 1.0), y = m.variable("y", 0.0, {.fixed = true}), t = m.time();
    m.equation(x * x == 1.0 + t);
    m.equation(x == sqrt(1.0 + t) + later + 0.1 * pow(t, 4.0));
    m.equation(der(y) == x);
    m.allow_unbalanced();
    return simulate(m, to(1.0)).status();
  };
  const Status start = status(2.0), way = status(0.0);
  EXPECT_EQ(start.code, StatusCode::initialisation_failed) << start.message;
  EXPECT_NE(start.message.find("contradict each other"), std::string::npos) << start.message;
  EXPECT_EQ(way.code, StatusCode::equation_violated) << way.message;
  EXPECT_NE(way.message.find("contradict"), std::string::npos) << way.message;
  EXPECT_LT(way.t, 0.3);
}

}  // namespace
}  // namespace saltus
