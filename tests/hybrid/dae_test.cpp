#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>

namespace saltus {
namespace {

SimulateOptions to(double stop, double tolerance = 1e-9) { return {.stop = stop, .rtol = tolerance, .atol = tolerance}; }

// x' = -y, y + y^3 = x: with y as the parameter t = -(ln y + 3/2 (y^2 - 1)) from y(0) = 1.
TEST(Dae, AnImplicitAlgebraicEquationIsSolvedAlong) {
  Model m("index 1");
  const Expr x = m.variable("x", 2.0, {.fixed = true}), y = m.variable("y", 0.7);
  m.equation(der(x) == -y);
  m.equation(y + y * y * y == x);
  m.when(y < 0.5).record();
  const Trajectory run = simulate(m, to(2.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NEAR(run.at(0.0, "y"), 1.0, 1e-9);  // the guess 0.7 was corrected
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_NEAR(run.events()[0].t, -(std::log(0.5) + 1.5 * (0.25 - 1.0)), 1e-6);
  const double y_end = run.at(2.0, "y");
  EXPECT_NEAR(-(std::log(y_end) + 1.5 * (y_end * y_end - 1.0)), 2.0, 1e-6);
  EXPECT_NEAR(y_end + y_end * y_end * y_end, run.at(2.0, "x"), 1e-8);
}

TEST(Dae, ContradictingStartValuesAreNamed) {
  Model m("index 1");
  const Expr x = m.variable("x", 2.0, {.fixed = true}), y = m.variable("y", 0.7, {.fixed = true});
  m.equation(der(x) == -y);
  m.equation(y + y * y * y == x);
  const Trajectory run = simulate(m, to(1.0));
  EXPECT_EQ(run.status().code, StatusCode::initialisation_failed);
  EXPECT_FALSE(run.status().message.empty());
}

}  // namespace
}  // namespace saltus
