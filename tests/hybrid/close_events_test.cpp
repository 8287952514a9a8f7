// Events that coincide, follow each other closely, are caused by one another, or fall on a special time. Each case is known to have gone
// wrong in some solver: a guard lost, fired twice, fired in the wrong order, or repeated for ever.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>
#include <limits>
#include <numbers>

namespace saltus {
namespace {

using std::numbers::pi;

constexpr double eps = std::numeric_limits<double>::epsilon();

SimulateOptions to(double stop, double tolerance = 1e-10) { return {.stop = stop, .rtol = tolerance, .atol = tolerance}; }

/// x = t from 0, with counters that clauses may use.
struct Clock : ::testing::Test {
  Model m{"clock"};
  Expr x = m.variable("x", 0.0), n = m.discrete("n", 0.0), k = m.discrete("k", 0.0);
  Clock() { m.equation(der(x) == 1.0); }
  Expr count(const Expr& q) { return m.pre(q) + 1.0; }
};

// --- two guards at the same or nearly the same time

TEST_F(Clock, TwoGuardsAtTheSameTimeAreOneEventWithBothNames) {
  const Expr y = m.variable("y", 0.0);
  m.equation(der(y) == 2.0);
  m.when(x > 0.3).assign(n, count(n));
  m.when(y > 0.6).assign(k, count(k));
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_EQ(run.events()[0].guards.size(), 2u) << run.events()[0].describe();
  EXPECT_EQ(run.final()[2], 1.0);
  EXPECT_EQ(run.final()[3], 1.0);
}

TEST_F(Clock, OneSurfaceInTwoSpellingsIsOneGuard) {
  m.when(x > 0.3).assign(n, count(n));
  m.when(2.0 * x > 0.6).assign(k, count(k));
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_EQ(run.events()[0].guards, std::vector<std::string>{"x > 0.3"});
  EXPECT_EQ(run.final()[1], 1.0);
  EXPECT_EQ(run.final()[2], 1.0);
}

TEST_F(Clock, TwoGuardsAShortTimeApartFireInTheirOrder) {
  for (const double gap : {1e-3, 1e-6, 1e-9, 1e-12, 1e-14}) {
    Model two("two");
    const Expr y = two.variable("y", 0.0), first = two.discrete("first", 0.0), second = two.discrete("second", 0.0);
    two.equation(der(y) == 1.0);
    two.when(y > 0.3 + gap).assign(second, two.pre(first) + 1.0);  // written first, fires second
    two.when(y > 0.3).assign(first, 1.0);
    const Trajectory run = simulate(two, to(1.0));
    ASSERT_EQ(run.events().size(), 2u) << gap;
    EXPECT_EQ(run.final()[2], 2.0) << gap;
    EXPECT_NEAR(run.events()[1].t - run.events()[0].t, gap, 4.0 * eps) << gap;
  }
}

TEST_F(Clock, TheEarlierGuardMayForbidTheLaterOne) {
  for (const double gap : {1e-3, 1e-9, 1e-13}) {
    Model two("two");
    const Expr y = two.variable("y", 0.0), n2 = two.discrete("n", 0.0);
    two.equation(der(y) == 1.0);
    two.when(y > 0.3).reset(y, -5.0);
    two.when(y > 0.3 + gap).assign(n2, 1.0);
    const Trajectory run = simulate(two, to(1.0));
    ASSERT_EQ(run.events().size(), 1u) << gap;
    EXPECT_EQ(run.final()[1], 0.0) << gap;
  }
}

// Implicit methods make a step of its own for an event. Its end is more accurate than the inside of the long step in which the event was seen, so
// that a guard may move behind another one. Here steps of the given order end without errors; the alarm comes first, and stops x.
TEST(CloseGuards, ThatChangePlacesInAMoreAccurateStepAreNotOneEvent) {
  struct Case {
    Method method;
    int order;
  };
  for (const auto [method, order] : {Case{Method::radau5, 5}, {Method::radau, 5}, {Method::rodas5p, 5}, {Method::rodas4, 4}})
    for (const double level : {0.2, 0.4, 0.6, 0.8, 0.9})
      for (const double gap : {1e-4, 1e-5, 1e-6, 1e-7}) {
        const double alarm = std::pow(level, 1.0 / order) - gap;
        Model m("alarm");
        const Expr x = m.variable("x", 0.0), y = m.variable("y", 0.0), on = m.discrete("on", 1.0);
        m.equation(der(x) == on * double(order) * pow(m.time(), order - 1));
        m.equation(der(y) == 1.0);
        m.when(x > level).record();
        m.when(y > alarm).assign(on, 0.0);
        const Trajectory run = simulate(m, {.stop = 2.0, .rtol = 1e-3, .atol = 1e-3, .method = method});
        ASSERT_TRUE(run.status().ok()) << run.status().message;
        ASSERT_EQ(run.events().size(), 1u) << to_string(method) << " " << level << " " << gap;
        EXPECT_EQ(run.events()[0].guards.size(), 1u) << to_string(method) << " " << level << " " << gap << ": " << run.events()[0].describe();
        EXPECT_NEAR(run.events()[0].t, alarm, 64.0 * eps) << to_string(method) << " " << level << " " << gap;
      }
}

TEST_F(Clock, TheSameConditionTwiceActsTwice) {
  m.when(x > 0.5).assign(n, count(n));
  m.when(x > 0.5).assign(k, count(k));
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_EQ(run.final()[1] + run.final()[2], 2.0);
}

TEST_F(Clock, OneConditionInBothDirectionsLosesNeither) {
  // x = t is not monotone enough: a triangle wave
  Model wave("wave");
  const Expr y = wave.variable("y", 0.0), up = wave.discrete("up", 0.0), down = wave.discrete("down", 0.0),
             slope = wave.discrete("slope", 1.0);
  wave.equation(der(y) == slope);
  wave.when(y > 1.0).assign(slope, -1.0);
  wave.when(y < -1.0).assign(slope, 1.0);
  wave.when(y > 0.25).assign(up, wave.pre(up) + 1.0);
  wave.when(y < 0.25).assign(down, wave.pre(down) + 1.0);
  const Trajectory run = simulate(wave, to(40.0));
  // y = 0.25 upwards at 0.25 + 4k, downwards at 1.75 + 4k
  EXPECT_EQ(run.final()[1], 10.0);
  EXPECT_EQ(run.final()[2], 10.0);
  EXPECT_EQ(run.events().size(), 40u);
}

TEST_F(Clock, AThresholdThatDependsOnTheModeFiresBothWays) {
  // a gear shift with hysteresis: up above 3, down below 1
  Model shift("shift");
  const Expr v = shift.variable("v", 0.0), gear = shift.discrete("gear", 1.0), t = shift.time();
  shift.equation(der(v) == 2.0 * cos(t));
  const Expr threshold = if_else(gear > 1.5, Expr(-1.0), Expr(1.0));
  shift.when(v > threshold).assign(gear, 2.0);
  shift.when(v < threshold).assign(gear, 1.0);
  const Trajectory run = simulate(shift, to(20.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  // 2 sin t = 1 first at pi/6, then -1 at 7 pi/6, then 1 at 13 pi/6, …
  double expected = pi / 6.0;
  for (const Event& e : run.events()) {
    EXPECT_NEAR(e.t, expected, 1e-8);
    expected += pi;
  }
  EXPECT_EQ(run.events().size(), 7u);
}

// --- resets that cause events

TEST_F(Clock, AResetThatMovesAnotherGuardThroughZeroFiresIt) {
  m.when(x > 0.5).reset(x, 2.0);
  m.when(x > 1.0).assign(n, count(n));
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_EQ(run.final()[1], 1.0);
  EXPECT_EQ(run.events()[0].guards.size(), 2u) << run.events()[0].describe();
}

TEST_F(Clock, AResetThatMovesItsOwnGuardBackFiresAgainAtTheNextPass) {
  m.when(x > 0.25).reset(x, 0.0).assign(n, count(n));
  const Trajectory run = simulate(m, to(10.1));
  ASSERT_EQ(run.events().size(), 40u);
  // each interval adds a rounding error of the clock and of the location
  for (std::size_t i = 0; i < 40; ++i)
    EXPECT_NEAR(run.events()[i].t, 0.25 * static_cast<double>(i + 1), 8.0 * eps * 10.0 * static_cast<double>(i + 1));
}

TEST_F(Clock, AResetOntoASurfaceGoesOnFromThere) {
  // reset exactly onto the surface of another guard: the field decides on which side it goes on; upwards, so it fires at once
  m.when(x > 0.5).reset(x, 1.0);
  m.when(x > 1.0).assign(n, count(n));
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_EQ(run.final()[1], 1.0);
  EXPECT_EQ(run.events().size(), 1u);
  EXPECT_NEAR(run.final()[0], 1.5, 1e-12);
}

TEST_F(Clock, AChainOfResetsEndsAtItsEnd) {
  // each guard moves x to the next threshold
  m.when(x > 0.1).reset(x, 1.1);
  m.when(x > 1.0).reset(x, 2.1);
  m.when(x > 2.0).reset(x, 3.1);
  m.when(x > 3.0).reset(x, 4.1).assign(n, count(n));
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_NEAR(run.events()[0].after[0], 4.1, 1e-12);
  EXPECT_EQ(run.final()[1], 1.0);
}

TEST_F(Clock, ADelayedGuardSeesTheValueThatTheResetLeft) {
  m.when(x > 0.5).reset(x, 0.4).assign(n, count(n));
  m.when(m.time() >= 0.55).assign(k, 10.0 + m.pre(n));
  const Trajectory run = simulate(m, to(0.58));
  EXPECT_EQ(run.final()[2], 11.0);
  EXPECT_NEAR(run.final()[0], 0.48, 1e-12);
}

// --- special times

TEST_F(Clock, AnEventAtTheEndIsReportedOnceOrNotAtAll) {
  // exactly at the end rounding decides whether x gets there; just before and just after it does not
  for (const double level : {1.0, 0.1 + 0.2 + 0.7, 1.0 / 3.0, 123.4})
    for (const double beyond : {-1e-12, 0.0, 1e-12}) {
      Model last("last");
      const Expr y = last.variable("y", 0.0), count_last = last.discrete("n", 0.0);
      last.equation(der(y) == 1.0);
      last.when(y >= level).assign(count_last, last.pre(count_last) + 1.0);
      const Trajectory run = simulate(last, to(level * (1.0 + beyond)));
      ASSERT_TRUE(run.status().ok());
      if (beyond == 0.0)
        EXPECT_LE(run.events().size(), 1u);
      else
        EXPECT_EQ(run.events().size(), beyond > 0.0 ? 1u : 0u) << level;
      EXPECT_EQ(run.final()[1], static_cast<double>(run.events().size()));
      EXPECT_EQ(run.t_end(), level * (1.0 + beyond));
    }
}

TEST_F(Clock, AnEventExactlyAtAnOutputIsReportedOnce) {
  m.when(x > 0.5).assign(n, count(n));
  Simulator s(std::make_shared<CompiledModel>(m), to(1.0));
  for (int i = 1; i <= 10; ++i) ASSERT_EQ(s.advance_to(i * 0.1), true);
  EXPECT_EQ(s.trajectory().events().size(), 1u);
  EXPECT_EQ(s.values()[1], 1.0);
}

TEST_F(Clock, AGuardThatIsZeroAtTheStartLeavesItOnceAndFiresWhenItComesBack) {
  Model circle("circle");
  const Expr c = circle.variable("c", 1.0), s = circle.variable("s", 0.0);
  circle.equation(der(c) == -s);
  circle.equation(der(s) == c);
  circle.when(s > 0.0).record();
  const Trajectory run = simulate(circle, to(15.0));
  ASSERT_EQ(run.events().size(), 5u);  // right after the start, then pi, 2 pi, 3 pi, 4 pi
  EXPECT_EQ(run.events()[0].kind, EventKind::initial);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(run.events()[i].t, pi * static_cast<double>(i), 1e-8);
}

TEST_F(Clock, ATimeEventAndAStateEventAtTheSameTimeAreOneInstant) {
  // 0.1 summed up three times is not 0.3: state and time come apart by rounding
  m.when(x > 0.3).assign(n, count(n));
  m.when(m.sample(0.1, 0.1)).assign(k, count(k));
  const Trajectory run = simulate(m, to(0.95));
  EXPECT_EQ(run.final()[1], 1.0);
  EXPECT_EQ(run.final()[2], 9.0);
  EXPECT_EQ(run.events().size(), 9u);
}

TEST_F(Clock, AShortWindowIsEnteredAndLeft) {
  for (const double width : {1e-2, 1e-5, 1e-8}) {
    Model window("window");
    const Expr y = window.variable("y", 0.0), t = window.time(), inside = window.variable("inside", 0.0);
    window.equation(der(y) == 1.0);
    window.equation(der(inside) == if_else(y > 0.4 && y < 0.4 + width, Expr(1.0), Expr(0.0)));
    const Trajectory run = simulate(window, to(1.0));
    ASSERT_EQ(run.events().size(), 2u) << width;
    EXPECT_NEAR(run.at(1.0, "inside"), width, 4.0 * eps) << width;
  }
}

TEST_F(Clock, AStateThatRestsDoesNotHideAGuardOfTimeAlone) {
  // nothing moves, so that the step could be of any length; the guard is not affine in time
  Model rest("rest");
  const Expr y = rest.variable("y", 1.0), t = rest.time();
  rest.equation(der(y) == 0.0 * y);
  rest.when(sin(3.0 * t) > 0.5).record();
  const Trajectory run = simulate(rest, to(100.0));
  // sin 3t = 1/2 at (pi/6 + 2 pi k)/3 and (5 pi/6 + 2 pi k)/3
  std::vector<double> exact;
  for (int i = 0; i < 60; ++i)
    for (const double phase : {pi / 6.0, 5.0 * pi / 6.0})
      if (const double t_i = (phase + 2.0 * pi * i) / 3.0; t_i < 100.0) exact.push_back(t_i);
  ASSERT_EQ(run.events().size(), exact.size());
  for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(run.events()[i].t, exact[i], 1e-12);
}

TEST_F(Clock, AGuardThatVanishesOnAnIntervalFiresOnceWhenItLeaves) {
  // g = max(x - 0.5, 0): zero up to 0.5, positive after
  m.when(max(x - 0.5, 0.0) > 0.0).assign(n, count(n));
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_EQ(run.final()[1], 1.0);
}

TEST_F(Clock, ATripleZeroIsOneCrossing) {
  m.when((x - 0.5) * (x - 0.5) * (x - 0.5) > 0.0).assign(n, count(n));
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_EQ(run.events().size(), 1u);
  // (t - 1/2)^3 has no sign where it is below its noise: a few eps of values around 1e-5 and smaller; the cube root of that
  EXPECT_NEAR(run.events()[0].t, 0.5, std::cbrt(16.0 * eps));
  EXPECT_EQ(run.final()[1], 1.0);
}

TEST_F(Clock, ATrueCycleOfDiscreteClausesEndsTheRun) {
  // the first guard sets a flag that arms the second, which clears it
  m.when(x > 0.5 && n < 0.5).assign(n, 1.0);
  m.when(n > 0.5).assign(k, count(k)).assign(n, 0.0);
  const Trajectory run = simulate(m, to(1.0));
  EXPECT_EQ(run.status().code, StatusCode::too_many_mode_changes);  // a true cycle: n = 0 with x > 0.5 arms the first again
  EXPECT_NEAR(run.t_end(), 0.5, 1e-12);
  EXPECT_FALSE(run.status().message.empty());
}

// --- guards that vanish identically in a mode

/// Two carts that stay together once they have met, until t = 3.3, if they part again.
Model carts(bool part_again) {
  Model m("carts");
  const Expr x1 = m.variable("x1", 0.0, {.fixed = true}), x2 = m.variable("x2", 1.0, {.fixed = true}),
             v1 = m.variable("v1", 1.3, {.fixed = true}), v2 = m.variable("v2", 0.1, {.fixed = true}), force = m.variable("force", 0.0);
  const Expr coupled = m.discrete("coupled", 0.0);
  m.equation(der(x1) == v1);
  m.equation(der(x2) == v2);
  m.equation(der(v1) == -force + sin(3.0 * m.time()));
  m.equation(2.0 * der(v2) == force - 0.3 * v2 + 0.2 * cos(m.time()));
  m.equation(if_else(coupled > 0.5, v1 - v2, force) == 0.0);
  m.when(x1 > x2).assign(coupled, 1.0);
  if (part_again) m.when(m.time() >= 3.3).assign(coupled, 0.0);
  return m;
}

TEST(VanishingGuards, DoNotFireByErrorsOfTheIntegration) {
  for (const Method method : {Method::automatic, Method::radau, Method::rodas5p, Method::bdf})
    for (const double tolerance : {1e-4, 1e-6, 1e-8}) {
      const Trajectory run = simulate(carts(false), {.stop = 50.0, .rtol = tolerance, .atol = tolerance, .method = method});
      ASSERT_TRUE(run.status().ok()) << run.status().message;
      ASSERT_EQ(run.events().size(), 1u) << to_string(method) << " " << tolerance;
      EXPECT_NEAR(run.at(50.0, "v1"), run.at(50.0, "v2"), 10.0 * tolerance);
      EXPECT_NEAR(run.at(50.0, "x1"), run.at(50.0, "x2"), 1e3 * tolerance);
    }
  for (const Method method : {Method::automatic, Method::radau}) {  // the length of a rope once it is taut, kept by its derivative
    Model m("rope");
    const Expr x = m.variable("x", 0.5, {.fixed = true}), y = m.variable("y", 0.0, {.fixed = true}), u = m.variable("u", 0.3, {.fixed = true}),
               v = m.variable("v", 0.0, {.fixed = true}), force = m.variable("force", 0.0), taut = m.discrete("taut", 0.0);
    m.equation(der(x) == u);
    m.equation(der(y) == v);
    m.equation(der(u) == -force * x);
    m.equation(der(v) == -force * y - 9.81);
    m.equation(if_else(taut > 0.5, x * u + y * v, force) == 0.0);
    m.when(x * x + y * y > 1.0).assign(taut, 1.0);
    m.when(force < 0.0).assign(taut, 0.0);
    const Trajectory run = simulate(m, {.stop = 10.0, .rtol = 1e-6, .atol = 1e-6, .method = method});
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    EXPECT_EQ(run.events().size(), 1u) << to_string(method);
  }
}

TEST(VanishingGuards, FireAgainInModesInWhichTheyDoNotVanish) {
  const auto times = [](double tolerance) {
    const Trajectory run = simulate(carts(true), {.stop = 20.0, .rtol = tolerance, .atol = tolerance});
    EXPECT_TRUE(run.status().ok()) << run.status().message;
    std::vector<double> list;
    for (const Event& event : run.events()) list.push_back(event.t);
    return list;
  };
  const std::vector<double> coarse = times(1e-6), fine = times(1e-10);
  ASSERT_GE(fine.size(), 3u);  // they meet, part, and meet again
  ASSERT_EQ(coarse.size(), fine.size());
  for (std::size_t k = 0; k < fine.size(); ++k) EXPECT_NEAR(coarse[k], fine[k], 100.0 * 1e-6) << k;
}

// --- discrete parts that go on in the new mode

TEST(EventIteration, TakesTransitionsWhoseConditionsHoldAlready) {
  Model m("modes");
  const Expr x = m.variable("x", 0.0), ready = m.discrete("ready", 1.0);
  ExplicitMode a = m.mode("a"), b = m.mode("b"), c = m.mode("c");
  a.equation(der(x) == 1.0);
  b.equation(der(x) == 2.0);
  c.equation(der(x) == 3.0);
  a.transition(x > 1.0).to(b);
  b.transition(ready > 0.5).to(c);
  const Trajectory run = simulate(m, {.stop = 2.0});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_EQ(run.events()[0].actions, (std::vector<std::string>{"a -> b", "b -> c"}));
  EXPECT_NEAR(run.at(2.0, "x"), 4.0, 1e-9);
}

TEST(EventIteration, DiscreteEquationsSeeTheValuesOfTheModeThatTheyChoose) {
  // a rope that is taut as long as it pulls, and becomes so when it is straight
  Model m("rope");
  const Expr x = m.variable("x", 0.5, {.fixed = true}), y = m.variable("y", 0.0, {.fixed = true}), u = m.variable("u", 0.3, {.fixed = true}),
             v = m.variable("v", 0.0, {.fixed = true}), force = m.variable("force", 0.0);
  const BoolExpr taut = m.discrete("taut", false);
  m.equation(der(x) == u);
  m.equation(der(y) == v);
  m.equation(der(u) == -force * x);
  m.equation(der(v) == -force * y - 9.81);
  m.equation(if_else(taut, x * u + y * v, force) == 0.0);
  m.define(taut.expr(), if_else(m.pre(taut), (force > 0.0).expr(), (x * x + y * y > 1.0).expr()));
  const Trajectory run = simulate(m, {.stop = 5.0, .rtol = 1e-8, .atol = 1e-8});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 1u);
  // free fall from (0.5, 0) with (0.3, 0) to the circle; then the swing never slackens
  const double t = run.events()[0].t;
  EXPECT_NEAR((0.5 + 0.3 * t) * (0.5 + 0.3 * t) + std::pow(0.5 * 9.81 * t * t, 2), 1.0, 1e-6);
  EXPECT_NEAR(run.at(5.0, "x") * run.at(5.0, "x") + run.at(5.0, "y") * run.at(5.0, "y"), 1.0, 1e-5);
  EXPECT_GT(run.at(5.0, "force"), 0.0);
}

// The dense output of dop853 has rounding errors of a hundred units; the end of the step, near which the crossing lies, has fewer.
TEST(CloseEvents, ACrossingAtTheEndOfAStepFiresOnce) {
  for (const Method method : {Method::dopri5, Method::tsit5, Method::dop853, Method::taylor, Method::bs3, Method::rodas5p, Method::radau5})
    for (const double start : {-0.05, 0.0, -0.21, -1.3, 0.11})
      for (const double speed : {1.5, 0.7, 1.0, 3.3, 0.013})
        for (const double level : {0.3, 0.5, 1.0, 2.7}) {
          Model m("counter");
          const Expr x = m.variable("x", start), n = m.discrete("n", 0.0);
          m.equation(der(x) == speed);
          m.when(x > level).assign(n, m.pre(n) + 1.0);
          const Trajectory run = simulate(m, {.stop = 2.0 * (level - start) / speed, .rtol = 1e-6, .atol = 1e-6, .method = method});
          EXPECT_EQ(run.final()[run.index("n")], 1.0) << to_string(method) << ' ' << start << ' ' << speed << ' ' << level;
        }
}

}  // namespace
}  // namespace saltus
