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

TEST(Dae, AModelWithoutStatesFollowsItsFormulas) {
  Model m("formulas");
  const Expr y = m.variable("y"), z = m.variable("z"), t = m.time();
  m.equation(y == sin(t));
  m.equation(z == if_else(y > 0.5, 2.0 * y, y));
  const Trajectory run = simulate(m, to(3.0, 1e-6));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NEAR(run.at(1.0, "y"), std::sin(1.0), 1e-4);
  EXPECT_NEAR(run.at(3.0, "y"), std::sin(3.0), 1e-6);
  EXPECT_NEAR(run.at(3.0, "z"), std::sin(3.0), 1e-6);
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

// Cartesian pendulum, index 3: at t = 10 from rest at the horizontal; reference from the closed form with elliptic functions.
TEST(Dae, ThePendulumOfIndexThreeKeepsItsConstraints) {
  Model m("pendulum");
  const Expr x = m.variable("x", 1.0, {.fixed = true}), y = m.variable("y", 0.0), u = m.variable("u", 0.0, {.fixed = true}),
             v = m.variable("v", 0.0), s = m.variable("s", 0.0);
  m.equation(der(x) == u);
  m.equation(der(y) == v);
  m.equation(der(u) == -s * x);
  m.equation(der(v) == -s * y - 9.81);
  m.equation(x * x + y * y == 1.0);
  const Trajectory run = simulate(m, to(10.0, 1e-8));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  const auto& end = run.final();
  // the period error dominates: about a thousand steps, each with an error of the tolerance
  EXPECT_NEAR(end[0], 0.2750874625761, 1e-5);
  EXPECT_NEAR(end[1], -0.9614192050991, 1e-5);
  EXPECT_NEAR(end[4], 28.2945672060672, 1e-3);
  // position and velocity constraint hold to the tolerance: there is no drift
  EXPECT_NEAR(end[0] * end[0] + end[1] * end[1], 1.0, 1e-8);
  EXPECT_NEAR(end[0] * end[2] + end[1] * end[3], 0.0, 1e-8 * 5.0);  // speeds are about 5
}

// Two inertias and a clutch that engages at t = 1: index 1 before, index 2 after; momentum is conserved in the jump.
TEST(Dae, AClutchEngagesWithTheMomentumConserved) {
  Model m("clutch");
  const Expr w1 = m.variable("w1", 10.0, {.fixed = true}), w2 = m.variable("w2", 2.0, {.fixed = true}), tau = m.variable("tau", 0.0);
  m.equation(1.0 * der(w1) == -tau);
  m.equation(3.0 * der(w2) == tau);
  m.equation(if_else(m.time() >= 1.0, w1 - w2, tau) == 0.0);
  const Trajectory run = simulate(m, to(2.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_EQ(run.events()[0].t, 1.0);
  EXPECT_NEAR(run.events()[0].after[0], 4.0, 1e-9);
  EXPECT_NEAR(run.final()[1], 4.0, 1e-9);
  EXPECT_NEAR(run.events()[0].jump, 6.0, 1e-9);
}

// The same clutch with a discrete variable that a `when` clause sets: what decides the index need not be a relation.
TEST(Dae, ADiscreteVariableMayChangeTheIndex) {
  Model m("clutch");
  const Expr w1 = m.variable("w1", 10.0, {.fixed = true}), w2 = m.variable("w2", 2.0, {.fixed = true}), tau = m.variable("tau", 0.0);
  const BoolExpr engaged = m.discrete("engaged", false);
  m.equation(1.0 * der(w1) == -tau);
  m.equation(3.0 * der(w2) == tau);
  m.equation(if_else(engaged, w1 - w2, tau) == 0.0);
  m.when(m.time() >= 1.0).assign(engaged, BoolExpr(true));
  const Trajectory run = simulate(m, to(2.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_NEAR(run.events()[0].after[0], 4.0, 1e-9);
  EXPECT_NEAR(run.final()[1], 4.0, 1e-9);
}

// The analysis is one of matrices with many equal singular values, whose places depend on the order of the variables.
TEST(Dae, APendulumAmongOtherVariablesInAnyOrder) {
  std::vector<double> alone;
  for (int others = 0; others < 9; ++others)
    for (int place = 0; place <= others; ++place) {
      SCOPED_TRACE(std::to_string(place) + " of " + std::to_string(others) + " come before the pendulum");
      Model m("order");
      for (int k = 0; k <= others; ++k) {
        if (k == place) {
          const Expr x = m.variable("x", 1.0), y = m.variable("y", 0.0), u = m.variable("u", 0.0), v = m.variable("v", 0.0),
                     force = m.variable("force", 0.0);
          m.equation(der(x) == u);
          m.equation(der(y) == v);
          m.equation(der(u) == -force * x - 0.3 * u);
          m.equation(der(v) == -force * y - 1.0 - 0.3 * v);
          m.equation(x * x + y * y == 1.0);
        } else {
          const Expr z = m.variable("z" + std::to_string(k), 0.1 * (k < place ? k + 1 : k));
          m.equation(der(z) == 1.0);
        }
      }
      const Trajectory run = simulate(m, to(0.5, 1e-6));
      ASSERT_TRUE(run.status().ok()) << run.status().message;
      std::vector<double> pendulum;
      for (const char* name : {"x", "y", "u", "v", "force"}) pendulum.push_back(run.final()[run.index(name)]);
      if (others == 0) alone = pendulum;
      for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(pendulum[i], alone[i], 1e-5) << i;  // ten tolerances
      for (int k = 0; k <= others; ++k) {
        if (k == place) continue;
        EXPECT_NEAR(run.final()[run.index("z" + std::to_string(k))], 0.1 * (k < place ? k + 1 : k) + 0.5, 1e-8);
      }
    }
}

// A pendulum whose rope is a constraint until it goes slack: dimension and index change. Here only the free flight after a cut.
TEST(Dae, ACutRopeTurnsAPendulumIntoFreeFlight) {
  Model m("cut");
  const Expr x = m.variable("x", 1.0, {.fixed = true}), y = m.variable("y", 0.0), u = m.variable("u", 0.0, {.fixed = true}),
             v = m.variable("v", 0.0), s = m.variable("s", 0.0);
  m.equation(der(x) == u);
  m.equation(der(y) == v);
  m.equation(der(u) == -s * x);
  m.equation(der(v) == -s * y - 9.81);
  m.equation(if_else(m.time() < 0.5, x * x + y * y - 1.0, s) == 0.0);
  const Trajectory run = simulate(m, to(1.0, 1e-9));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 1u);
  const auto& cut = run.events()[0].after;
  EXPECT_NEAR(run.final()[0], cut[0] + 0.5 * cut[2], 1e-8);
  EXPECT_NEAR(run.final()[1], cut[1] + 0.5 * cut[3] - 0.5 * 9.81 * 0.25, 1e-8);
}

/// A pendulum that starts horizontally at rest; a quarter of its period is K(sin(pi/4)) / sqrt(g).
Model horizontal_pendulum() {
  Model m("pendulum");
  const Expr x = m.variable("x", 1.0), y = m.variable("y", 0.0), u = m.variable("u", 0.0), v = m.variable("v", 0.0),
             force = m.variable("force", 0.0);
  m.equation(der(x) == u);
  m.equation(der(y) == v);
  m.equation(der(u) == -force * x);
  m.equation(der(v) == -force * y - 9.81);
  m.equation(x * x + y * y == 1.0);
  return m;
}
const double quarter = std::comp_ellint_1(std::sqrt(0.5)) / std::sqrt(9.81);

// At its lowest point the height, a free coordinate at the start, determines nothing: events there must not lose the speed.
TEST(Dae, EventsAtTheLowestPointOfAPendulumDoNotDisturbIt) {
  for (const Method method : {Method::radau5, Method::radau9}) {
    Model m = horizontal_pendulum();
    m.when(m.symbol("x") < 0.0).record();
    const double tolerance = 1e-9;
    const Trajectory run = simulate(m, {.stop = 10.0, .rtol = tolerance, .atol = tolerance, .method = method});
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    ASSERT_EQ(run.events().size(), static_cast<std::size_t>((10.0 / quarter + 1.0) / 2.0));
    for (std::size_t k = 0; k < run.events().size(); ++k) {
      EXPECT_NEAR(run.events()[k].t, (2.0 * static_cast<double>(k) + 1.0) * quarter, 1e3 * tolerance) << k;
      EXPECT_NEAR(std::abs(run.events()[k].after[2]), std::sqrt(2.0 * 9.81), 1e4 * tolerance) << k;
    }
  }
}

// A reset there is obeyed: the speed is halved, and a quarter of the energy is left.
TEST(Dae, AResetAtTheLowestPointIsObeyed) {
  Model m = horizontal_pendulum();
  const Expr x = m.symbol("x"), u = m.symbol("u"), v = m.symbol("v");
  m.when(x < 0.0).reset(u, 0.5 * u).reset(v, 0.5 * v);
  const double tolerance = 1e-9;
  const Trajectory run = simulate(m, {.stop = 1.0, .rtol = tolerance, .atol = tolerance});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_NEAR(run.events()[0].after[2], -0.5 * std::sqrt(2.0 * 9.81), 1e4 * tolerance);
  const auto end = run.final();
  EXPECT_NEAR(0.5 * (end[2] * end[2] + end[3] * end[3]) + 9.81 * (end[1] + 1.0), 9.81 / 4.0, 1e4 * tolerance);
}

// From a mode in which y rests at 0 through one in which it is 2 x, for an instant, to one in which it rests again: at 2, and the reset on the way sees that.
TEST(Dae, TransitionsThatFollowEachOtherSeeTheValuesOfTheModesBetween) {
  for (const bool with_reset : {false, true}) {
    Model m("passing");
    const Expr x = m.variable("x", 0.0), y = m.variable("y", 0.0), z = m.variable("z", 0.0);
    auto before = m.mode("before"), between = m.mode("between"), after = m.mode("after");
    for (auto* mode : {&before, &between, &after}) mode->equation(der(x) == 1.0).equation(der(z) == 0.0);
    before.equation(der(y) == 0.0);
    between.equation(y == 2.0 * x);
    after.equation(der(y) == 0.0);
    before.transition(x > 1.0).to(between);
    auto onwards = between.transition(y > 1.5).to(after);
    if (with_reset) onwards.reset(z, 3.0 * y);
    for (const Method method : {Method::automatic, Method::radau5, Method::taylor}) {
      const double tolerance = 1e-9;
      const Trajectory run = simulate(m, {.stop = 2.0, .rtol = tolerance, .atol = tolerance, .method = method});
      ASSERT_TRUE(run.status().ok()) << run.status().message;
      ASSERT_EQ(run.events().size(), 1u);
      EXPECT_NEAR(run.events()[0].t, 1.0, 10.0 * tolerance);
      EXPECT_NEAR(run.final()[1], 2.0, 100.0 * tolerance);
      EXPECT_NEAR(run.final()[2], with_reset ? 6.0 : 0.0, 100.0 * tolerance);
    }
  }
}

// At f = 0 the equation f^2 = 4 does not determine f: values that violate it are no start.
TEST(DaeStart, AGuessAtWhichTheEquationsAreSingularIsNamed) {
  Model m("root");
  const auto y = m.variable("y", 1.0, {.fixed = true}), f = m.variable("f", 0.0);
  m.equation(der(y) == f);
  m.equation(f * f == 4.0, "square");
  const Trajectory run = simulate(m, {.stop = 1.0});
  EXPECT_EQ(run.status().code, StatusCode::initialisation_failed);
  EXPECT_NE(run.status().message.find("'square' by -4"), std::string::npos) << run.status().message;
  EXPECT_NE(run.status().message.find("give other start values"), std::string::npos) << run.status().message;
  m.set("f", 1.0);
  EXPECT_NEAR(simulate(m, {.stop = 1.0}).final()[0], 3.0, 1e-5);
}

}  // namespace
}  // namespace saltus
