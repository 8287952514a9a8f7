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

}  // namespace
}  // namespace saltus
