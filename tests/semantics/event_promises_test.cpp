// The promises of docs/developer/architecture.md about the values at an event, one group of tests per sentence: 1, 5, 6, 8, 12 and 13.
// guard_accuracy_test.cpp has 3, promises_test.cpp the others.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>
#include <limits>
#include <numbers>

#include "event/properties.hpp"

namespace saltus {
namespace {

using std::numbers::pi;
using testing::check_property;
using testing::real_in;

constexpr double eps = std::numeric_limits<double>::epsilon();
constexpr Method all_methods[] = {Method::dopri5, Method::tsit5,  Method::bs3,    Method::dop853, Method::taylor,
                                  Method::rodas4, Method::rodas5p, Method::radau5, Method::radau9, Method::radau13};

SimulateOptions to(double stop, double tolerance = 1e-10, Method method = Method::automatic) {
  return {.stop = stop, .rtol = tolerance, .atol = tolerance, .method = method};
}

// --- 1. During a step all locks are fixed: the right-hand side is smooth. If it cannot be evaluated beyond a surface, the step is
// shortened. No NaN enters a result.

TEST(Promise01, ADiscontinuityCostsNoAccuracy) {
  // x'' = -x - sign-like kink in the acceleration: each half is an exact arc; a method that steps over the switch would lose its order
  for (const Method method : all_methods) {
    Model m("kink");
    const Expr x = m.variable("x", 1.0), v = m.variable("v", 0.0);
    m.equation(der(x) == v);
    m.equation(der(v) == if_else(x > 0.0, -x, -9.0 * x));
    const double tolerance = method == Method::bs3 ? 1e-7 : 1e-9;
    const Trajectory run = simulate(m, to(2.0 * (pi / 2.0 + pi / 6.0) * 3.0, tolerance, method));  // three periods
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    EXPECT_EQ(run.events().size(), 6u) << to_string(method);
    EXPECT_NEAR(run.final()[0], 1.0, 100.0 * tolerance) << to_string(method);
    EXPECT_NEAR(run.final()[1], 0.0, 300.0 * tolerance) << to_string(method);  // times the frequency 3
    // half of the attempts lost at each event would be the price of stepping across unlocked switches
    EXPECT_LT(run.statistics().rejected, run.statistics().steps / 2 + 12) << to_string(method);
  }
}

TEST(Promise01, NoNanEntersAResultWhereAModelEndsAtASurface) {
  // x' = -sqrt(x): x = (1 - t/2)^2 reaches zero at t = 2 and has no equation beyond; it is to rest there
  for (const Method method : {Method::automatic, Method::dopri5, Method::radau5}) {
    Model m("outflow");
    const Expr x = m.variable("x", 1.0);
    m.equation(der(x) == if_else(x > 0.0, -sqrt(x), Expr(0.0)));
    const Trajectory run = simulate(m, to(3.0, 1e-8, method));
    for (const double t : {0.5, 1.0, 1.5, 1.9}) {
      ASSERT_GE(run.t_end(), t);
      EXPECT_NEAR(run.at(t, "x"), (1.0 - 0.5 * t) * (1.0 - 0.5 * t), 1e-7);
    }
    for (const auto& segment : run.segments())
      for (const auto& step : segment.steps)
        for (const double c : step.polynomial.c) ASSERT_TRUE(std::isfinite(c));
    for (const double value : run.final()) EXPECT_TRUE(std::isfinite(value));
    for (const Event& e : run.events())
      for (const double value : e.after) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(Promise01, NoNanEntersAResultWhereAGuardEnds) {
  // the guard needs x <= 1; it crosses just before
  Model m("guard");
  const Expr x = m.variable("x", 0.0), n = m.discrete("n", 0.0);
  m.equation(der(x) == if_else(n > 0.5, Expr(-1.0), Expr(1.0)));
  m.when(sqrt(1.0 - x) < 0.01).assign(n, 1.0);
  const Trajectory run = simulate(m, to(1.5));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_NEAR(run.events()[0].t, 1.0 - 1e-4, 1e-11);
}

// --- 5. A zero that touches without crossing is reported if the guard asks for it, and is never taken for two crossings.

TEST(Promise05, ATouchIsReportedIfTheGuardAsksForIt) {
  check_property(1000, [] {
    // touches between two crossings
    const double first = real_in(0.05, 0.4), touch = first + real_in(0.01, 0.25), second = touch + real_in(0.01, 0.25);
    Model m("touch");
    const Expr x = m.variable("x", 0.0);
    m.equation(der(x) == 1.0);
    m.when((x - first) * (x - touch) * (x - touch) * (x - second) > 0.0).record_touches().record();
    const Method method = all_methods[testing::number_in(0, 10)];
    const Trajectory run = simulate(m, to(1.0, 1e-6, method), {.backend = Backend::interpreter});
    RC_ASSERT(run.events().size() == 3u);
    RC_ASSERT(std::abs(run.events()[0].t - first) <= 1e-12);
    RC_ASSERT(std::abs(run.events()[2].t - second) <= 1e-12);
    RC_ASSERT(run.events()[1].kind == EventKind::touch);
    // the product is known to some eps, over half its curvature at the touch
    RC_ASSERT(std::abs(run.events()[1].t - touch) <= std::sqrt(256.0 * eps / ((touch - first) * (second - touch))));
  });
}

// --- 6. The state at an event is polished: it satisfies the equations of the old mode, and lies on the guard within the tolerance, on the side
// that the new mode needs.

TEST(Promise06, TheStateAtAnEventLiesOnTheGuardAndBeyondIt) {
  check_property(300, [] {
    const double level = real_in(-0.9, 0.9), w = real_in(0.5, 4.0);
    Model m("level");
    const Expr x = m.variable("x", 1.0), v = m.variable("v", 0.0);
    m.equation(der(x) == w * v);
    m.equation(der(v) == -w * x);
    m.when(x < level).record();
    m.when(x > level).record();
    const Method method = all_methods[testing::number_in(0, 5)];
    const Trajectory run = simulate(m, to(6.0, 1e-8, method), {.backend = Backend::interpreter});
    RC_ASSERT(!run.events().empty() || 6.0 * w < std::acos(level) + 1e-6);
    for (const Event& e : run.events()) {
      const double g = e.before[0] - level;
      RC_ASSERT(std::abs(g) <= 64.0 * eps * std::max(1.0, w * e.t));  // some units of time, at a slope of at most w
      RC_ASSERT(g * e.direction[0] >= 0.0);                             // on the new side, not before it
    }
  });
}

TEST(Promise06, TheStateAtAnEventSatisfiesTheEquationsOfTheOldMode) {
  // a pendulum of index 3 that hits a wall at x = 1/2; all constraints hold just before the event
  Model m("pendulum");
  const Expr x = m.variable("x", -0.8), y = m.variable("y", -0.6), u = m.variable("u", 0.0), v = m.variable("v", 0.0),
             lambda = m.variable("lambda", 0.0);
  m.equation(der(x) == u);
  m.equation(der(y) == v);
  m.equation(der(u) == -lambda * x);
  m.equation(der(v) == -lambda * y - 9.81);
  m.equation(x * x + y * y == 1.0);
  m.when(x > 0.5).reset(u, -u).reset(v, -v);
  const double tolerance = 1e-8;
  const Trajectory run = simulate(m, to(5.0, tolerance));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_GE(run.events().size(), 3u);
  for (const Event& e : run.events()) {
    const auto& b = e.before;
    EXPECT_NEAR(b[0], 0.5, 10.0 * tolerance);
    for (const auto* values : {&e.before, &e.after}) {
      const auto& a = *values;
      EXPECT_NEAR(a[0] * a[0] + a[1] * a[1], 1.0, 10.0 * tolerance);
      EXPECT_NEAR(a[0] * a[2] + a[1] * a[3], 0.0, 10.0 * tolerance);
      EXPECT_NEAR(a[2] * a[2] + a[3] * a[3] - a[4] - 9.81 * a[1], 0.0, 100.0 * tolerance);  // second derivative of the constraint
    }
    // energy, from rest at y = -0.6
    EXPECT_NEAR(0.5 * (b[2] * b[2] + b[3] * b[3]) + 9.81 * (b[1] + 0.6), 0.0, 100.0 * tolerance);
  }
}

TEST(Promise06, ConditionsSeeTheSideThatTheyFiredFor) {
  // both the clause and what it computes from the state see x on the far side
  Model m("side");
  const Expr x = m.variable("x", 0.0), seen = m.discrete("seen", 0.0);
  m.equation(der(x) == 0.7);
  m.when(x > 0.3).assign(seen, x - 0.3);
  for (const Method method : all_methods) {
    const Trajectory run = simulate(m, to(1.0, 1e-8, method));
    ASSERT_EQ(run.events().size(), 1u);
    EXPECT_GE(run.final()[1], 0.0) << to_string(method);
    EXPECT_LE(run.final()[1], 1024.0 * eps) << to_string(method);  // implicit methods go that far at most to be beyond
  }
}

// --- 8. Jumps.

TEST(Promise08, AResetIsObeyedThenMadeConsistentWithTheDifferentialComponentsHeld) {
  Model m("reset");
  const Expr x = m.variable("x", 1.0, {.fixed = true}), z = m.variable("z", 1.0);
  m.equation(der(x) == -z);
  m.equation(z * z * z == x);
  m.when(x < 0.5).reset(x, 8.0);
  const Trajectory run = simulate(m, to(0.8));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_GE(run.events().size(), 1u);
  EXPECT_EQ(run.events()[0].after[0], 8.0);
  EXPECT_NEAR(run.events()[0].after[1], 2.0, 1e-12);
  EXPECT_NEAR(run.events()[0].before[1], std::cbrt(0.5), 1e-8);
}

TEST(Promise08, AnImpulseConservesWhatItMust) {
  check_property(100, [] {
    // clutch: momentum; capacitors: charge
    const double J1 = real_in(0.2, 5.0), J2 = real_in(0.2, 5.0), w1 = real_in(-9.0, 9.0), w2 = real_in(-9.0, 9.0);
    Model m("clutch");
    const Expr a = m.variable("a", w1), b = m.variable("b", w2), tau = m.variable("tau", 0.0);
    m.equation(J1 * der(a) == -tau);
    m.equation(J2 * der(b) == tau);
    m.equation(if_else(m.time() >= 0.5, a - b, tau) == 0.0);
    const Trajectory run = simulate(m, to(1.0), {.backend = Backend::interpreter});
    RC_ASSERT(run.status().ok());
    RC_ASSERT(run.events().size() == 1u);
    const double common = (J1 * w1 + J2 * w2) / (J1 + J2);
    RC_ASSERT(std::abs(run.events()[0].after[0] - common) <= 1e-9 * (1.0 + std::abs(common)));
    RC_ASSERT(std::abs(run.events()[0].after[1] - common) <= 1e-9 * (1.0 + std::abs(common)));
    RC_ASSERT(run.events()[0].jump >= std::max(std::abs(w1 - common), std::abs(w2 - common)) - 1e-9);
  });
}

TEST(Promise08, EveryJumpIsRecordedWithItsSizeAndNoOtherEventHasOne) {
  Model m("jumps");
  const Expr x = m.variable("x", 0.0), y = m.variable("y", 5.0);
  m.equation(der(x) == 1.0);
  m.equation(der(y) == if_else(x > 0.25, Expr(0.0), Expr(1.0)));
  m.when(x > 0.5).reset(y, 2.0);
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_EQ(run.events().size(), 2u);
  EXPECT_EQ(run.events()[0].jump, 0.0);
  EXPECT_EQ(run.events()[0].before, run.events()[0].after);
  EXPECT_NEAR(run.events()[1].jump, 3.25, 1e-12);
  EXPECT_NEAR(run.before(run.events()[1].t)[1], 5.25, 1e-12);
  EXPECT_EQ(run.at(run.events()[1].t, "y"), 2.0);
}

// --- 12. Time events are exact: a step ends on them.

TEST(Promise12, AStepEndsOnEveryTimeEvent) {
  for (const Method method : all_methods) {
    Model m("times");
    const Expr x = m.variable("x", 0.0), t = m.time();
    m.equation(der(x) == if_else(t >= 0.1, Expr(1.0), Expr(0.0)) + if_else(t >= pi / 4.0, Expr(2.0), Expr(0.0)) + cos(40.0 * t));
    const Trajectory run = simulate(m, to(1.0, 1e-6, method));
    ASSERT_EQ(run.events().size(), 2u) << to_string(method);
    EXPECT_EQ(run.events()[0].t, 0.1);
    EXPECT_EQ(run.events()[1].t, pi / 4.0);
    ASSERT_EQ(run.segments().size(), 3u);
    EXPECT_EQ(run.segments()[0].steps.back().t_end, 0.1);
    EXPECT_EQ(run.segments()[0].steps.back().polynomial.t1(), 0.1);
    EXPECT_EQ(run.segments()[1].steps.front().polynomial.t0, 0.1);
  }
}

TEST(Promise12, ATimeEventMaySetTheNextOne) {
  // each firing schedules the next at a growing distance
  Model m("schedule");
  const Expr x = m.variable("x", 0.0), next = m.discrete("next", 0.125);
  m.equation(der(x) == 1.0);
  m.when(m.time() >= next).assign(next, 2.0 * m.pre(next));
  const Trajectory run = simulate(m, to(5.0));
  ASSERT_EQ(run.events().size(), 6u);  // 1/8, 1/4, …, 4
  for (int k = 0; k < 6; ++k) EXPECT_EQ(run.events()[static_cast<std::size_t>(k)].t, 0.125 * (1 << k));
}

// --- 13. Integration runs forward and backward in time.

TEST(Promise13, BackwardsTimeEventsSamplesAndResetsWork) {
  Model m("back");
  const Expr x = m.variable("x", 0.0), t = m.time(), n = m.discrete("n", 0.0);
  m.equation(der(x) == if_else(t >= 0.5, Expr(2.0), Expr(1.0)));
  m.when(x < -0.75).assign(n, m.pre(n) + 1.0).reset(x, 1.0);
  const Trajectory run = simulate(m, {.start = 1.0, .stop = 0.0, .rtol = 1e-10, .atol = 1e-10});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  // from 0 with slope 2 down to -0.75 at t = 0.625, reset to 1; 0.75 at t = 0.5; then 0.25 at 0
  ASSERT_EQ(run.events().size(), 2u);
  EXPECT_NEAR(run.events()[0].t, 0.625, 1e-12);
  EXPECT_EQ(run.events()[1].t, 0.5);
  EXPECT_NEAR(run.final()[0], 0.25, 1e-10);
  EXPECT_EQ(run.final()[1], 1.0);
}

TEST(Promise13, ForwardsAndBackAgainEndsWhereItBegan) {
  check_property(200, [] {
    const double level = real_in(-0.8, 0.8), k1 = real_in(0.5, 3.0), k2 = real_in(0.5, 3.0);
    const auto build = [&](double x0, double v0) {
      Model m("there and back");
      const Expr x = m.variable("x", x0), v = m.variable("v", v0);
      m.equation(der(x) == v);
      m.equation(der(v) == if_else(x > level, -k1 * (x - level), -k2 * (x - level)));
      return m;
    };
    const ProgramOptions interpreted{.backend = Backend::interpreter};
    const Trajectory there = simulate(build(1.0, 0.3), to(7.0, 1e-11), interpreted);
    const Trajectory back =
        simulate(build(there.final()[0], there.final()[1]), {.start = 7.0, .stop = 0.0, .rtol = 1e-11, .atol = 1e-11}, interpreted);
    RC_ASSERT(there.events().size() == back.events().size());
    RC_ASSERT(std::abs(back.final()[0] - 1.0) <= 1e-8);
    RC_ASSERT(std::abs(back.final()[1] - 0.3) <= 1e-8);
  });
}

}  // namespace
}  // namespace saltus
