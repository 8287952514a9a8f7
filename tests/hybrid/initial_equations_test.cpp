// Equations that hold at the start only. Expected values are the exact solutions of small systems, so that rounding is
// the only error.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>

namespace saltus {
namespace {

SimulateOptions to(double stop) {
  return {.stop = stop, .rtol = 1e-8, .atol = 1e-8};
}

bool mentions(const Status& status, const std::string& text) {
  return status.message.find(text) != std::string::npos;
}

// x' = y - x^3, y' = 1 - x y rests where x^4 = 1; x = y = 1 is stable (eigenvalues of [-3 1; -1 -1] are -2).
TEST(InitialEquations, AnOdeStartsAtRest) {
  Model m("rest");
  const Expr x = m.variable("x", 2.0), y = m.variable("y", 0.5);
  m.equation(der(x) == y - x * x * x);
  m.equation(der(y) == 1.0 - x * y);
  m.initial_equation(der(x) == 0.0);
  m.initial_equation(der(y) == 0.0);
  const Trajectory run = simulate(m, to(5.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_EQ(run.status().message, "");
  EXPECT_NEAR(run.at(0.0, "x"), 1.0, 1e-13);
  EXPECT_NEAR(run.at(0.0, "y"), 1.0, 1e-13);
  EXPECT_NEAR(run.at(5.0, "x"), 1.0, 1e-12);
}

// The same with x fixed: y follows from one equation, 1 - 2 y = 0.
TEST(InitialEquations, FixedStartValuesAreKept) {
  Model m("fixed");
  const Expr x = m.variable("x", 2.0, {.fixed = true}), y = m.variable("y", 7.0);
  m.equation(der(x) == y - x * x * x);
  m.equation(der(y) == 1.0 - x * y);
  m.initial_equation(der(y) == 0.0);
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_EQ(run.at(0.0, "x"), 2.0);
  EXPECT_NEAR(run.at(0.0, "y"), 0.5, 1e-14);
}

// x' = 1 - y, y + y^3 = x rests at y = 1, x = 2.
TEST(InitialEquations, AnIndexOneModelStartsAtRest) {
  for (const bool by_the_algebraic_variable : {false, true}) {
    Model m("rest");
    const Expr x = m.variable("x", 0.3), y = m.variable("y", 0.1);
    m.equation(der(x) == 1.0 - y);
    m.equation(y + y * y * y == x);
    // y' = x' / (1 + 3 y^2): known only once the second equation has been differentiated
    m.initial_equation(der(by_the_algebraic_variable ? y : x) == 0.0);
    const Trajectory run = simulate(m, to(1.0));
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    EXPECT_NEAR(run.at(0.0, "y"), 1.0, 1e-12);
    EXPECT_NEAR(run.at(0.0, "x"), 2.0, 1e-12);
    EXPECT_NEAR(run.at(1.0, "x"), 2.0, 1e-10);
  }
}

struct Pendulum {
  Model m{"pendulum"};
  Expr x = m.variable("x", 0.4), y = m.variable("y", -0.9), u = m.variable("u", 0.2), v = m.variable("v", 0.0),
       s = m.variable("s", 0.0);

  explicit Pendulum(double side_force = 0.0) {
    m.equation(der(x) == u);
    m.equation(der(y) == v);
    m.equation(der(u) == -s * x + side_force);
    m.equation(der(v) == -s * y - 9.81);
    m.equation(x * x + y * y == 1.0, "length");
  }
};

// A pendulum in a side wind hangs along the total force (2, -9.81), whose length is the force in the rod. All four
// derivatives are given, although there are two degrees of freedom only: der(x) = der(u) = 0 alone also holds at the
// horizontal, where it begins to fall.
TEST(InitialEquations, AnIndexThreeModelStartsAtRest) {
  Pendulum p(2.0);
  for (const Expr& z : {p.x, p.y, p.u, p.v}) p.m.initial_equation(der(z) == 0.0);
  const Trajectory run = simulate(p.m, to(1.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  const double force = std::hypot(2.0, 9.81);
  EXPECT_NEAR(run.at(0.0, "x"), 2.0 / force, 1e-12);
  EXPECT_NEAR(run.at(0.0, "y"), -9.81 / force, 1e-12);
  EXPECT_NEAR(run.at(0.0, "s"), force, 1e-11);
  EXPECT_NEAR(run.at(0.0, "v"), 0.0, 1e-12);
  EXPECT_NEAR(run.at(1.0, "x"), 2.0 / force, 1e-8);
}

TEST(InitialEquations, TheForceInTheRodCanBeGiven) {
  Pendulum p;
  p.m.initial_equation(p.s == 12.0);  // s = v^2 - g y
  p.m.initial_equation(p.x == 0.6);
  const Trajectory run = simulate(p.m, to(0.1));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  const double speed = std::hypot(run.at(0.0, "u"), run.at(0.0, "v"));
  EXPECT_NEAR(run.at(0.0, "y"), -0.8, 1e-12);
  EXPECT_NEAR(speed * speed, 12.0 - 9.81 * 0.8, 1e-11);
}

TEST(InitialEquations, MayDependOnParametersDiscreteValuesAndTheMode) {
  Model m("mode");
  const Expr x = m.variable("x", -1.0), y = m.variable("y", 0.0), p = m.parameter("p", 3.0), q = m.discrete("q", 2.0);
  m.equation(der(x) == -x + if_else(y > 1.0, 1.0, 0.0));
  m.equation(der(y) == x);
  m.initial_equation(y == p * q);
  m.initial_equation(der(x) == 0.0);  // x = 1, since y = 6 > 1, although the guess is on the other side
  const Trajectory run = simulate(m, to(0.1));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NEAR(run.at(0.0, "y"), 6.0, 1e-13);
  EXPECT_NEAR(run.at(0.0, "x"), 1.0, 1e-13);
}

// A rod with ends at 0 and 1 in thermal equilibrium: a straight line. As an explicit ODE, and with the ends as
// algebraic variables.
TEST(InitialEquations, ALargeModelStartsInEquilibrium) {
  constexpr int n = 3000;
  for (const bool algebraic_ends : {false, true}) {
    Model m("rod");
    std::vector<Expr> u;
    for (int i = 0; i <= n + 1; ++i)
      u.push_back((i == 0 || i == n + 1) && !algebraic_ends ? Expr(i == 0 ? 0.0 : 1.0)
                                                            : m.variable("u" + std::to_string(i), 0.5));
    if (algebraic_ends) {
      m.equation(u[0] * (1.0 + u[0] * u[0]) == 0.0);
      m.equation(u[n + 1] * (1.0 + u[n + 1] * u[n + 1]) == 2.0);
    }
    for (int i = 1; i <= n; ++i) {
      m.equation(der(u[i]) == (n + 1.0) * (n + 1.0) * (u[i - 1] - 2.0 * u[i] + u[i + 1]));
      m.initial_equation(der(u[i]) == 0.0);
    }
    const Trajectory run = simulate(m, {.stop = 0.0});  // the start only
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    // the condition number of the second difference is about n^2
    for (const int i : {1, n / 3, n})
      EXPECT_NEAR(run.at(0.0, "u" + std::to_string(i)), i / (n + 1.0), 10.0 * n * n * 2.2e-16) << i;
  }
}

TEST(InitialEquations, ThatContradictAFixedStartValueAreNamedWithIt) {
  Model m("contradiction");
  const Expr x = m.variable("x", 2.0, {.fixed = true}), y = m.variable("y", 1.0, {.fixed = true});
  m.equation(der(x) == -x);
  m.equation(der(y) == -y);
  m.initial_equation(x == 3.0);
  const Status status = simulate(m, to(1.0)).status();
  EXPECT_EQ(status.code, StatusCode::initialisation_failed);
  EXPECT_TRUE(mentions(status, "x = 3")) << status.message;
  EXPECT_TRUE(mentions(status, "one of x")) << status.message;  // and not y, which has nothing to do with it
  EXPECT_FALSE(mentions(status, "y")) << status.message;
}

TEST(InitialEquations, ThatContradictEachOtherAreNamed) {
  Model m("contradiction");
  const Expr x = m.variable("x", 2.0), y = m.variable("y", 1.0);
  m.equation(der(x) == -x);
  m.equation(der(y) == -y);
  m.initial_equation(x == 1.0);
  m.initial_equation(der(x) == -2.0);
  const Status status = simulate(m, to(1.0)).status();
  EXPECT_EQ(status.code, StatusCode::initialisation_failed);
  EXPECT_TRUE(mentions(status, "'x = 1'")) << status.message;
  EXPECT_TRUE(mentions(status, "'der(x) = -2'")) << status.message;
}

TEST(InitialEquations, ThatContradictAConstraintAreNamedWithIt) {
  Pendulum p;
  p.m.initial_equation(p.x == 0.5);
  p.m.initial_equation(p.y == 0.5);
  const Status status = simulate(p.m, to(1.0)).status();
  EXPECT_EQ(status.code, StatusCode::initialisation_failed);
  EXPECT_TRUE(mentions(status, "length")) << status.message;
  EXPECT_TRUE(mentions(status, "x = 0.5")) << status.message;
  EXPECT_TRUE(mentions(status, "y = 0.5")) << status.message;
}

TEST(InitialEquations, RedundantOnesAreFine) {
  Pendulum p;
  p.m.initial_equation(p.x == 0.6);
  p.m.initial_equation(p.y == -0.8);
  p.m.initial_equation(p.u == 0.0);
  const Trajectory run = simulate(p.m, to(0.1));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NEAR(run.at(0.0, "s"), 9.81 * 0.8, 1e-11);
}

TEST(InitialEquations, ThatLeaveFreedomAreFilledUpWithStartValues) {
  Model m("underspecified");
  const Expr x = m.variable("x", 2.0), y = m.variable("y", 1.0), z = m.variable("z", 4.0);
  m.equation(der(x) == y - x);
  m.equation(der(y) == -y);
  m.equation(der(z) == -z);
  m.initial_equation(x == 3.0);
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NEAR(run.at(0.0, "y"), 1.0, 1e-13);
  EXPECT_NEAR(run.at(0.0, "z"), 4.0, 1e-13);
  EXPECT_NEAR(run.at(0.0, "x"), 3.0, 1e-14);
  EXPECT_TRUE(mentions(run.status(), "2 more initial equations")) << run.status().message;
}

}  // namespace
}  // namespace saltus
