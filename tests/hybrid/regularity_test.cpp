// Modes whose characteristic values change along the solution (they must be reported), and modes that only look so.
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

// (x - 1) y' = y with x = t has the solutions y = C (t - 1): smooth, so that no step fails, but at t = 1 the second
// equation is an algebraic one for y, and every C goes through the same point.
TEST(Regularity, AnEquationThatLosesItsDerivativeIsNoticedAlthoughTheSolutionIsSmooth) {
  Model m("lost derivative");
  const Expr x = m.variable("x", 0.0, {.fixed = true}), y = m.variable("y", -1.0, {.fixed = true});
  m.equation(der(x) == 1.0);
  m.equation((x - 1.0) * der(y) == y);
  const Trajectory run = simulate(m, to(2.0));
  EXPECT_EQ(run.status().code, StatusCode::singular_mode) << run.status().message;
  // y is followed with the tolerance, x exactly
  EXPECT_NEAR(run.t_end(), 1.0, 1e-12);
  EXPECT_NEAR(run.final()[1], 0.0, 1e-6);
  EXPECT_TRUE(mentions(run.status(), "index 0 with 2 degrees of freedom")) << run.status().message;
}

TEST(Regularity, ACoefficientThatDependsOnTimePassesThroughZero) {
  Model m("time");
  const Expr y = m.variable("y", -1.0, {.fixed = true});
  m.equation(m.time() * der(y) == y);  // y = t
  SimulateOptions options = to(1.0);
  options.start = -1.0;
  const Trajectory run = simulate(m, options);
  EXPECT_EQ(run.status().code, StatusCode::singular_mode) << run.status().message;
  EXPECT_NEAR(run.t_end(), 0.0, 1e-12);
}

// A constraint that loses its grip: 0 = (1 - t) z - 1 determines z = 1 / (1 - t) until t = 1.
TEST(Regularity, AConstraintThatNoLongerDeterminesItsVariableIsTheReasonGivenForTheFailure) {
  Model m("pole");
  const Expr x = m.variable("x", 1.0, {.fixed = true}), z = m.variable("z", 1.0);
  m.equation(der(x) - z == 0.0);
  m.equation((1.0 - m.time()) * z * z * z == 1.0 + 0.1 * sin(x));
  const Trajectory run = simulate(m, to(2.0));
  EXPECT_EQ(run.status().code, StatusCode::singular_mode) << run.status().message;
  EXPECT_NEAR(run.t_end(), 1.0, 1e-3);
}

// Index 3 with a rope whose lever arm vanishes: c(t) x = 0.5 c(t), c = 1 - t. The force is not determined at t = 1.
TEST(Regularity, AHiddenConstraintThatVanishesIsNoticed) {
  Model m("lever");
  const Expr x = m.variable("x", 0.0), v = m.variable("v", 0.0), f = m.variable("f", 0.0);
  m.equation(der(x) == v);
  m.equation(der(v) == (1.0 - m.time()) * f);
  m.equation(x == 0.1 * m.time());
  const Trajectory run = simulate(m, to(2.0));
  EXPECT_EQ(run.status().code, StatusCode::singular_mode) << run.status().message;
  EXPECT_NEAR(run.t_end(), 1.0, 1e-9);
}

// The difference of the equations is (1 - t) (y - sin t) = 0, which no matching of equations and variables shows: there
// is no certificate and no determinant, only a singular value that touches zero between two steps.
TEST(Regularity, AChangeIsNoticedWithoutACertificateToo) {
  Model m("difference");
  const Expr x = m.variable("x", 1.0, {.fixed = true}), y = m.variable("y", 0.0), t = m.time();
  m.equation(der(x) + der(y) == -x);
  m.equation(der(x) + der(y) + (1.0 - t) * (y - sin(t)) == -x);
  const Trajectory run = simulate(m, to(3.0));
  EXPECT_EQ(run.status().code, StatusCode::singular_mode) << run.status().message;
  EXPECT_NEAR(run.t_end(), 1.0, 1e-6);
  EXPECT_TRUE(mentions(run.status(), "index 1 with 1 degree of freedom")) << run.status().message;
}

TEST(Regularity, AMarginThatSwingsWithoutVanishingIsHarmless) {
  Model m("swing");
  const Expr x = m.variable("x", 1.0, {.fixed = true}), y = m.variable("y", 0.0), t = m.time();
  m.equation(der(x) + der(y) == -x);
  m.equation(der(x) + der(y) + (1.01 + sin(3.0 * t)) * (y - sin(t)) == -x);
  const Trajectory run = simulate(m, to(10.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NEAR(run.final()[1], std::sin(10.0), 1e-6);
}

// The Cartesian pendulum turns over: at four angles per turn x, y, u or v vanish, and with them entries of every
// matrix.
TEST(Regularity, APendulumThatGoesThroughAllAnglesRaisesNoAlarm) {
  Model m("pendulum");
  const Expr x = m.variable("x", 0.0, {.fixed = true}), y = m.variable("y", -1.0),
             u = m.variable("u", 7.0, {.fixed = true}), v = m.variable("v", 0.0), s = m.variable("s", 0.0);
  m.equation(der(x) == u);
  m.equation(der(y) == v);
  m.equation(der(u) == -s * x);
  m.equation(der(v) == -s * y - 9.81);
  m.equation(x * x + y * y == 1.0);
  m.when(y > 0.99).record();  // proof that it turns over: 7^2 / 2 > 2 * 9.81
  const Trajectory run = simulate(m, to(10.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_GE(run.events().size(), 5u);
}

// A coefficient that falls by eight orders of magnitude without vanishing: looked into, and found to be harmless.
TEST(Regularity, ASmallCoefficientIsNotAChange) {
  Model m("decay");
  const Expr x = m.variable("x", 1.0, {.fixed = true}), y = m.variable("y", 1.0);
  m.equation(exp(-m.time()) * der(x) == -exp(-m.time()) * y);
  m.equation(y * (1.0 + 0.1 * y * y) == x * (1.0 + 0.1 * x * x));
  const Trajectory run = simulate(m, to(20.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NEAR(run.final()[0], std::exp(-20.0), 1e-7);
}

}  // namespace
}  // namespace saltus
