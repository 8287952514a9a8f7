#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>
#include <numbers>

namespace saltus {
namespace {

using std::numbers::pi;

SimulateOptions to(double stop, double tolerance = 1e-10) { return {.stop = stop, .rtol = tolerance, .atol = tolerance}; }

std::vector<double> times(const Trajectory& run, EventKind kind) {
  std::vector<double> result;
  for (const Event& e : run.events())
    if (e.kind == kind) result.push_back(e.t);
  return result;
}

// GESDA report, appendix A: two masses, sliding from t = 0. Exits at asin(0.8) + k pi, entries by the closed form of the relative
// velocity.
TEST(Sliding, StickSlipSlidesFromTheStart) {
  Model m("stick-slip");
  const Expr t = m.time(), mu = m.parameter("mu", 0.4);
  const Expr p1 = m.variable("p1", 1), p2 = m.variable("p2", 1), v1 = m.variable("v1", 0), v2 = m.variable("v2", 0);
  m.equation(der(p1) == v1);
  m.equation(der(p2) == v2);
  m.equation(der(v1) == sin(t) - mu * sign(v1 - v2));
  m.equation(der(v2) == mu * sign(v1 - v2));
  const Trajectory run = simulate(m, to(10.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  const auto exits = times(run, EventKind::slide_exit), entries = times(run, EventKind::slide_enter);
  ASSERT_EQ(exits.size(), 3u);
  for (int k = 0; k < 3; ++k) EXPECT_NEAR(exits[k], std::asin(0.8) + k * pi, 1e-9);
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_EQ(entries[0], 0.0);
  EXPECT_NEAR(entries[1], 2.88700390598078, 1e-8);
  EXPECT_NEAR(entries[2], 6.028596559570573, 1e-8);
  EXPECT_NEAR(entries[3], 9.170189213160366, 1e-8);
  const auto end = run.final();
  EXPECT_NEAR(end[0], 6.365907816755, 1e-8);
  EXPECT_NEAR(end[1], 6.178113294134, 1e-8);
  EXPECT_NEAR(end[2], 0.919535764538, 1e-8);
  EXPECT_NEAR(end[2], end[3], 2.0 * 2.3e-16 * (end[2] + end[3]));  // rounding of the difference
  // the GESDA report needed 4737 steps
  EXPECT_LT(run.statistics().steps, 100);
}

// DISODE45 manual, first example: crossings at pi, 2 pi, 3 pi, then rest at x = -0.2 from 4 pi on.
TEST(Sliding, DryFrictionComesToRest) {
  Model m("friction");
  const Expr x = m.variable("x", 3.0), v = m.variable("v", 0.0);
  m.equation(der(x) == v);
  m.equation(der(v) == -x - 0.4 * sign(v));
  const Trajectory run = simulate(m, to(20.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 4u);
  const double x_at[] = {-2.2, 1.4, -0.6, -0.2};
  for (int k = 0; k < 4; ++k) {
    EXPECT_NEAR(run.events()[k].t, (k + 1) * pi, 1e-8);
    EXPECT_NEAR(run.events()[k].after[0], x_at[k], 1e-8);
  }
  EXPECT_EQ(run.events()[3].kind, EventKind::slide_enter);
  EXPECT_EQ(run.events()[3].surfaces, (std::vector<std::string>{"v = 0"}));
  EXPECT_NEAR(run.events()[3].weights[0], 0.75, 1e-8);  // -x - 0.4 (2 w - 1) = 0 at x = -0.2
  EXPECT_NEAR(run.final()[0], -0.2, 1e-8);
  EXPECT_EQ(run.final()[1], 0.0);
}

// Sliding along the unit circle for a long time: g stays at rounding level.
TEST(Sliding, StaysOnACurvedSurface) {
  Model m("circle");
  const Expr x = m.variable("x", 1.0), y = m.variable("y", 0.0);
  const Expr r = x * x + y * y - 1.0, s = if_else(r > 0.0, Expr(-1.0), Expr(1.0));
  m.equation(der(x) == -y + s * x);
  m.equation(der(y) == x + s * y);
  SimulateOptions o = to(200.0, 1e-6);
  const Trajectory run = simulate(m, o);
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  const auto end = run.final();
  EXPECT_NEAR(end[0] * end[0] + end[1] * end[1], 1.0, 4e-16 * 2);
  for (const auto& segment : run.segments())
    for (const auto& step : segment.steps) {
      const double a = step.polynomial.evaluate(step.polynomial.t0, 0), b = step.polynomial.evaluate(step.polynomial.t0, 1);
      EXPECT_NEAR(a * a + b * b, 1.0, 1e-12);
    }
}

TEST(Sliding, ObservedForcesAreTheWeightedOnes) {
  Model m("brick");
  const Expr v = m.variable("v", 0.0), F = m.variable("F");
  m.equation(F == -1.0 * sign(v));
  m.equation(der(v) == 0.5 * sin(m.time()) + F);
  const Trajectory run = simulate(m, to(6.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_EQ(run.final()[0], 0.0);
  EXPECT_NEAR(run.at(2.0, "F"), -0.5 * std::sin(2.0), 1e-12);  // friction balances the load
}

TEST(Sliding, AVisibleTangencyLeavesTheSurface) {
  // x' = 1, y' = x above the surface y = 0 and y' = 1 below: from (-1, 0) sliding until x = 0, then up
  Model m("fold");
  const Expr x = m.variable("x", -1.0), y = m.variable("y", 0.0);
  m.equation(der(x) == 1.0);
  m.equation(der(y) == if_else(y > 0.0, x, Expr(1.0)));
  const Trajectory run = simulate(m, to(3.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 2u);
  EXPECT_EQ(run.events()[0].kind, EventKind::slide_enter);
  EXPECT_EQ(run.events()[1].kind, EventKind::slide_exit);
  EXPECT_NEAR(run.events()[1].t, 1.0, 1e-9);
  EXPECT_NEAR(run.final()[1], 2.0, 1e-8);  // y = (t-1)^2/2
}

TEST(Sliding, AStartFromWhichTheSolutionIsNotUniqueSaysSo) {
  // both sides lead away from x = 0
  Model m("repelling");
  const Expr x = m.variable("x", 0.0);
  m.equation(der(x) == sign(x));
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NEAR(std::abs(run.final()[0]), 1.0, 1e-9);
}

// The solution comes to the surface and slides there: no clause acts for the other side until it goes there.
TEST(Sliding, ClausesOnItsSurfaceDoNotActForSidesThatAreTried) {
  for (const double start : {1.0, -1.0})
    for (const bool above : {true, false}) {
      Model m("relay");
      const auto x = m.variable("x", start), n = m.discrete("n", 0.0);
      m.equation(der(x) == if_else(m.time() > 2.0, 3.0, 0.0) - sign(x));  // pushed up in the end
      m.when(above ? x > 0.0 : x < 0.0).assign(n, m.pre(n) + 1.0);
      const Trajectory run = simulate(m, {.stop = 3.0});
      ASSERT_TRUE(run.status().ok()) << run.status().message;
      EXPECT_NEAR(run.final()[0], 2.0, 1e-6);
      EXPECT_EQ(run.at(1.5, "n"), 0.0);
      EXPECT_EQ(run.final()[1], above ? 1.0 : 0.0);  // on the surface x > 0 is false, wherever it came from
    }
}

}  // namespace
}  // namespace saltus
