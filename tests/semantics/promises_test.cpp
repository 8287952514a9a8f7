// What happens at an event: one group of tests per promise of docs/developer/architecture.md, named after its sentence.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <saltus/saltus.hpp>

#include <cmath>
#include <numbers>
#include <random>

namespace saltus {
namespace {

using std::numbers::pi;

SimulateOptions to(double stop, double tolerance = 1e-10) { return {.stop = stop, .rtol = tolerance, .atol = tolerance}; }

// --- 2. A guard fires at the first time at which it leaves its side; the earliest wins; coinciding ones fire together.

TEST(Promise02, AllCrossingsOfAStepAreFoundHoweverLongTheStepIs) {
  // x = t exactly, so a step may span the whole run; the guard sin(10 x) has 31 zeros in (0, 10)
  Model m("many");
  const Expr x = m.variable("x", 0.05);
  m.equation(der(x) == 1.0);
  m.when(sin(10.0 * x) > 0.0).record();
  const Trajectory run = simulate(m, to(9.9));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 31u);
  for (std::size_t k = 0; k < 31; ++k)
    EXPECT_NEAR(run.events()[k].t + 0.05, static_cast<double>(k + 1) * pi / 10.0, 1e-12);
}

TEST(Promise02, TwoCrossingsCloseTogetherAreBothFound) {
  for (const double gap : {1e-2, 1e-4, 1e-6}) {
    Model m("pair");
    const Expr x = m.variable("x", 0.0);
    m.equation(der(x) == 1.0);
    m.when((x - 0.5) * (x - 0.5 - gap) < 0.0).record();
    const Trajectory run = simulate(m, to(1.0));
    ASSERT_EQ(run.events().size(), 2u) << gap;
    EXPECT_NEAR(run.events()[1].t - run.events()[0].t, gap, 1e-9);
  }
}

TEST(Promise02, GuardsThatCrossTogetherFireAsOneEvent) {
  Model m("together");
  const Expr x = m.variable("x", 0.0), n = m.discrete("n", 0.0), k = m.discrete("k", 0.0);
  m.equation(der(x) == 1.0);
  m.when(x > 0.5).assign(n, m.pre(n) + 1.0);
  m.when(2.0 - 4.0 * x < 0.0).assign(k, m.pre(k) + 1.0);
  m.when(m.time() >= 0.5).assign(k, m.pre(k) + 10.0);
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_EQ(run.events().size(), 1u) << run.events()[0].describe();
  EXPECT_EQ(run.final()[1], 1.0);
}

TEST(Promise02, TheEventsDoNotDependOnStepsOrMethods) {
  Model m("forced");
  const Expr x = m.variable("x", 1.0), v = m.variable("v", 0.0);
  m.equation(der(x) == v);
  m.equation(der(v) == -x - 0.02 * v + if_else(x > 0.3, Expr(0.2), Expr(-0.1)) + 0.3 * sin(2.0 * m.time()));
  const Trajectory reference = simulate(m, to(40.0, 1e-12));
  ASSERT_GT(reference.events().size(), 8u);
  for (const Method method : {Method::dopri5, Method::dop853, Method::taylor, Method::radau9})
    for (const double h : {0.0, 1e-5, 0.3}) {
      SimulateOptions o = to(40.0, 1e-9);
      o.method = method;
      o.initial_step = h;
      const Trajectory run = simulate(m, o);
      ASSERT_EQ(run.events().size(), reference.events().size()) << to_string(method);
      for (std::size_t k = 0; k < run.events().size(); ++k)
        EXPECT_NEAR(run.events()[k].t, reference.events()[k].t, 1e-6) << to_string(method) << " event " << k;
    }
}

// --- 4. A guard that is zero at (re)start does not fire again, and is not missed either.

TEST(Promise04, AnEventDoesNotFireTwice) {
  EXPECT_TRUE(rc::check("crossings of a random oscillation are counted once each", [] {
    const double w = *rc::gen::inRange(5, 60) / 10.0, c = *rc::gen::inRange(-90, 90) / 100.0;
    Model m("oscillation");
    const Expr x = m.variable("x", 1.0), v = m.variable("v", 0.0);
    m.equation(der(x) == v);
    m.equation(der(v) == -w * w * x);
    m.when(x > c).record();
    m.when(x < c).record();
    const Trajectory run = simulate(m, to(10.0, 1e-9));
    // cos(w t) = c at w t = ±acos(c) + 2 pi k
    int expected = 0;
    for (int k = 0; k < 40; ++k)
      for (const double phase : {std::acos(c), 2.0 * pi - std::acos(c)})
        if ((phase + 2.0 * pi * k) / w <= 10.0) ++expected;
    RC_ASSERT(static_cast<int>(run.events().size()) == expected);
  }));
}

TEST(Promise04, AStartOnASurfaceGoesToTheSideToWhichTheSolutionMoves) {
  for (const double v0 : {1.0, -1.0}) {
    Model m("start");
    const Expr x = m.variable("x", 0.0), v = m.variable("v", v0);
    m.equation(der(x) == v);
    m.equation(der(v) == if_else(x > 0.0, Expr(0.0), Expr(100.0)));
    const Trajectory run = simulate(m, to(0.01));
    EXPECT_NEAR(run.final()[1], v0 > 0 ? 1.0 : 0.0, 1e-9);
  }
}

TEST(Promise04, AStartOnASurfaceWithNoSpeedIsDecidedByTheAcceleration) {
  Model m("tangent");
  const Expr x = m.variable("x", 0.0), v = m.variable("v", 0.0), n = m.discrete("n", 0.0);
  m.equation(der(x) == v);
  m.equation(der(v) == -2.0);
  m.when(x < -0.25).assign(n, 1.0);
  m.when(x > 0.0).assign(n, 100.0);
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_NEAR(run.events()[0].t, 0.5, 1e-10);
}

// --- 5. A touching zero is never mistaken for two crossings.

TEST(Promise05, ATouchIsNotACrossing) {
  Model m("touch");
  const Expr x = m.variable("x", -1.0), n = m.discrete("n", 0.0);
  m.equation(der(x) == 1.0);
  m.when(x * x <= 0.0).assign(n, m.pre(n) + 1.0);
  const Trajectory run = simulate(m, to(2.0));
  EXPECT_EQ(run.final()[1], 0.0);
  EXPECT_TRUE(run.events().empty());
}

// --- 7. Clauses act on edges, to a fixed point.

TEST(Promise07, AResetThatTriggersAnotherGuardIsHandledAtTheSameInstant) {
  Model m("cascade");
  const Expr x = m.variable("x", 0.0), y = m.variable("y", 0.0), n = m.discrete("n", 0.0);
  m.equation(der(x) == 1.0);
  m.equation(der(y) == 0.0);
  m.when(x > 0.5).reset(y, 2.0);
  m.when(y > 1.0).reset(x, -1.0).assign(n, 1.0);
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_EQ(run.events()[0].after[0], -1.0);
  EXPECT_EQ(run.events()[0].after[1], 2.0);
  EXPECT_NEAR(run.final()[0], -0.5, 1e-9);
}

TEST(Promise07, AnEndlessCascadeEndsWithAStatusThatNamesIt) {
  Model m("endless");
  const Expr x = m.variable("x", 0.0), y = m.variable("y", 0.0);
  m.equation(der(x) == 1.0);
  m.equation(der(y) == 0.0);
  m.when(x > 0.5).reset(x, 0.0).reset(y, 1.0);
  m.when(y > 0.5).reset(y, 0.0).reset(x, 1.0);
  const Trajectory run = simulate(m, to(1.0));
  EXPECT_EQ(run.status().code, StatusCode::too_many_mode_changes);
  EXPECT_NE(run.status().message.find("x > 0.5"), std::string::npos) << run.status().message;
  EXPECT_NEAR(run.t_end(), 0.5, 1e-9);
  EXPECT_FALSE(run.status().culprits.empty());
}

// --- a no-op event leaves the trajectory as it is

TEST(NoOp, AnEventThatChangesNothingLeavesTheTrajectoryUnchanged) {
  const auto run = [](bool events) {
    Model m("pendulum");
    const Expr a = m.variable("a", 1.0), w = m.variable("w", 0.0);
    m.equation(der(a) == w);
    m.equation(der(w) == -sin(a));
    const Expr n = m.discrete("n", 0.0);
    if (events) m.when(a > 0.3).assign(n, m.pre(n) + 1.0);
    return simulate(m, to(100.0, 1e-11));
  };
  const Trajectory with = run(true), without = run(false);
  ASSERT_TRUE(with.status().ok()) << with.status().message;
  EXPECT_GT(with.events().size(), 20u);
  EXPECT_EQ(with.statistics().steps, without.statistics().steps);
  for (int k = 0; k < 2; ++k) EXPECT_EQ(with.final()[k], without.final()[k]);
  // in between, a step that an event has cut in two is one polynomial in two forms
  for (const Event& e : with.events())
    for (const double t : {e.t - 1e-3, e.t, e.t + 1e-3})
      for (int k = 0; k < 2; ++k) EXPECT_NEAR(with.at(t)[k], without.at(t)[k], 1e-14);
}

TEST(NoOp, ATimeEventThatChangesNothingLeavesTheTrajectoryUnchangedWithinTheTolerance) {
  const auto run = [](bool events) {
    Model m("pendulum");
    const Expr a = m.variable("a", 1.0), w = m.variable("w", 0.0);
    m.equation(der(a) == w);
    m.equation(der(w) == -sin(a));
    if (events) m.when(m.sample(0.05, 0.1)).record();
    return simulate(m, to(10.0, 1e-11)).final();
  };
  const auto with = run(true), without = run(false);
  // steps end on time events, so both are solutions with the same tolerance on different grids
  for (int k = 0; k < 2; ++k) EXPECT_NEAR(with[k], without[k], 1e-9);
}

// --- 9. Where both sides of a surface push towards it, the solution slides, without hysteresis and without a mode written by hand.

TEST(Promise09, WhereBothSidesPushTheSolutionSlidesAndLeavesWhereTheFieldPoints) {
  // v' = 2 sin t - sign v: at rest until |2 sin t| = 1
  Model m("stick");
  const Expr v = m.variable("v", 0.0);
  m.equation(der(v) == 2.0 * sin(m.time()) - sign(v));
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 2u);
  EXPECT_EQ(run.events()[0].kind, EventKind::slide_enter);
  EXPECT_EQ(run.events()[1].kind, EventKind::slide_exit);
  EXPECT_NEAR(run.events()[1].t, pi / 6.0, 1e-12);
  const auto speed = [](double t) { return 2.0 * (std::cos(pi / 6.0) - std::cos(t)) - (t - pi / 6.0); };
  EXPECT_NEAR(run.at(0.4, "v"), 0.0, 1e-15);
  EXPECT_NEAR(run.final()[0], speed(1.0), 1e-9);
}

TEST(Promise09, WhatIsNotUniqueIsReported) {
  Model m("repelling");
  const Expr x = m.variable("x", 0.0);
  m.equation(der(x) == sign(x));
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_NE(run.events()[0].message.find("not unique"), std::string::npos) << run.events()[0].message;
  SimulateOptions strict = to(1.0);
  strict.stop_if_non_unique = true;
  EXPECT_EQ(simulate(m, strict).status().code, StatusCode::non_unique);
}

// --- 10. Chattering that is not sliding is detected and reported with its guards; the run goes on, or stops, as the options say.

TEST(Promise10, ChatteringIsReportedWithItsGuards) {
  Model m("hysteresis");
  const Expr x = m.variable("x", 0.0);
  ExplicitMode up = m.mode("up"), down = m.mode("down");
  up.equation(der(x) == 1.0);
  down.equation(der(x) == -1.0);
  up.transition(x > 1e-5).to(down);  // a band of twenty tolerances
  down.transition(x < -1e-5).to(up);
  const Trajectory run = simulate(m, to(0.01, 1e-6));
  ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
  EXPECT_EQ(run.events().size(), 500u);  // at 1e-5, 3e-5, …, 999e-5
  ASSERT_EQ(run.chattering().size(), 1u);
  const Chattering& c = run.chattering()[0];
  EXPECT_EQ(c.events, 500);
  EXPECT_NEAR(c.from, 1e-5, 1e-12);
  EXPECT_NEAR(c.to, 0.00999, 1e-9);
  EXPECT_EQ(c.guards.size(), 2u);
  EXPECT_NE(run.status().message.find("chattering"), std::string::npos);
  SimulateOptions strict = to(0.01, 1e-6);
  strict.stop_if_chattering = true;
  const Trajectory stopped = simulate(m, strict);
  EXPECT_EQ(stopped.status().code, StatusCode::chattering);
  EXPECT_EQ(stopped.status().culprits, c.guards);
  EXPECT_LT(stopped.t_end(), 0.002);
}

// A hysteresis and a carrier switch as the model means it, however often: between two switchings their guards move by
// more than a hundred tolerances.
TEST(Promise10, AHysteresisAndACarrierThatWorkAsDesignedAreNoChattering) {
  Model relay("hysteresis");
  const Expr x = relay.variable("x", 0.0);
  ExplicitMode up = relay.mode("up"), down = relay.mode("down");
  up.equation(der(x) == 1.0);
  down.equation(der(x) == -1.0);
  up.transition(x > 1e-3).to(down);
  down.transition(x < -1e-3).to(up);
  const Trajectory band = simulate(relay, to(1.0, 1e-6));
  EXPECT_EQ(band.events().size(), 500u);
  EXPECT_TRUE(band.chattering().empty());

  Model carrier("pulse width modulation");
  const Expr d = carrier.variable("d", 0.3), y = carrier.variable("y", 0.0), t = carrier.time();
  carrier.equation(der(d) == 0.2 * cos(t));
  carrier.equation(der(y) == if_else(200.0 * t - floor(200.0 * t) < d, 1.0, 0.0) - y);
  SimulateOptions strict = to(1.0, 1e-6);
  strict.stop_if_chattering = true;
  const Trajectory run = simulate(carrier, strict);
  EXPECT_EQ(run.status().code, StatusCode::success) << run.status().message;
  EXPECT_GT(run.events().size(), 390u);  // two in each of 200 periods, some of them at one instant
  EXPECT_TRUE(run.chattering().empty());
}

TEST(Promise10, RareEventsAreNoChattering) {
  Model m("oscillator");
  const Expr x = m.variable("x", 1.0), v = m.variable("v", 0.0);
  m.equation(der(x) == v);
  m.equation(der(v) == -x);
  m.when(x > 0).record();
  const Trajectory run = simulate(m, to(200.0, 1e-8));
  EXPECT_EQ(run.events().size(), 64u);  // every pi, which is 1.6 % of the run
  EXPECT_TRUE(run.chattering().empty());
}

// --- 11. An accumulation of resets is recognised, and the solution goes on in the mode that the limit implies.

TEST(Promise11, AccumulatingResetsGoOnInContact) {
  Model m("ball");
  const Expr h = m.variable("h", 1.0), v = m.variable("v", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == if_else(m.time() < 3.5, -2.0, 1.0));  // gravity turns round
  m.when(h < 0).reset(v, -0.5 * v);
  const Trajectory run = simulate(m, to(4.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  // first impact at 1, flights of 1, 1/2, 1/4, …: they end at 3
  ASSERT_GE(run.events().size(), 10u);
  const Event &contact = run.events()[run.events().size() - 2], &release = run.events().back();
  EXPECT_EQ(contact.kind, EventKind::contact);
  EXPECT_NEAR(contact.t, 3.0, 1e-9);
  EXPECT_EQ(contact.contacts, (std::vector<std::string>{"h = 0"}));
  EXPECT_NE(contact.message.find("accumulate"), std::string::npos);
  EXPECT_EQ(release.kind, EventKind::release);
  EXPECT_EQ(release.t, 3.5);
  EXPECT_NEAR(run.at(3.25, "h"), 0.0, 1e-15);
  EXPECT_NEAR(run.final()[0], 0.125, 1e-10);
  EXPECT_NEAR(run.final()[1], 0.5, 1e-10);
}

TEST(Promise11, WhereNoContactExistsTheStatusSaysSo) {
  // the guard is an algebraic variable: what its speed depends on is hidden
  Model m("ball");
  const Expr h = m.variable("h", 1.0), v = m.variable("v", 0.0), z = m.variable("z", 0.7);
  m.equation(der(h) == v);
  m.equation(der(v) == -2.0);
  m.equation(z + z * z * z == h);
  m.when(z < 0).reset(v, -0.5 * v);
  const Trajectory run = simulate(m, to(4.0));
  EXPECT_EQ(run.status().code, StatusCode::zeno) << run.status().message;
  EXPECT_NEAR(run.t_end(), 3.0, 1e-6);
}

TEST(Promise11, ContactsExistInModesWithConstraintsToo) {
  // the ball hangs on a rail that the constraint makes: index 3, and the floor is hit along it
  Model m("bead");
  const Expr x = m.variable("x", 0.0), y = m.variable("y", 1.0), u = m.variable("u", 0.0), v = m.variable("v", 0.0),
             force = m.variable("force", 0.0);
  m.equation(der(x) == u);
  m.equation(der(y) == v);
  m.equation(der(u) == force);
  m.equation(der(v) == -4.0 + force);
  m.equation(x + y == 1.0);  // a slope of 45 degrees: half of gravity acts along y
  m.when(y < 0).reset(u, -0.5 * u).reset(v, -0.5 * v);
  const Trajectory run = simulate(m, to(4.0));
  ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
  const Event& contact = run.events().back();
  EXPECT_EQ(contact.kind, EventKind::contact);
  EXPECT_NEAR(std::stod(contact.message.substr(contact.message.find("t = ") + 4)), 3.0, 1e-8);  // as the ball that falls with 2
  EXPECT_NEAR(contact.t, 3.0, 1e-6);  // flights below 16 eps, the digits of x + y, are left out: with v = sqrt(4 16 eps) they take 2e-7 and less
  EXPECT_NEAR(run.final()[1], 0.0, 1e-12);
  EXPECT_NEAR(run.final()[0], 1.0, 1e-12);
}

// --- 12, 13. Time events are exact; time runs both ways.

TEST(Promise12, SamplesDoNotDrift) {
  Model m("samples");
  const Expr x = m.variable("x", 0.0);
  m.equation(der(x) == 1.0);
  m.when(m.sample(0.1, 0.1)).record();
  const Trajectory run = simulate(m, to(100.0, 1e-6));
  ASSERT_EQ(run.events().size(), 1000u);
  for (std::size_t k = 0; k < 1000; ++k) EXPECT_DOUBLE_EQ(run.events()[k].t, 0.1 + static_cast<double>(k) * 0.1);
}

TEST(Promise13, BackwardsTheCrossingsAreTheSameInReverse) {
  Model m("waves");
  const Expr x = m.variable("x", 1.0), v = m.variable("v", 0.0);
  m.equation(der(x) == v);
  m.equation(der(v) == if_else(x > 0.2, -x, -4.0 * x));
  const Trajectory forwards = simulate(m, to(7.0, 1e-11));
  Model back("back");
  const Expr y = back.variable("x", forwards.final()[0]), w = back.variable("v", forwards.final()[1]);
  back.equation(der(y) == w);
  back.equation(der(w) == if_else(y > 0.2, -y, -4.0 * y));
  const Trajectory backwards = simulate(back, {.start = 7.0, .stop = 0.0, .rtol = 1e-11, .atol = 1e-11});
  ASSERT_EQ(backwards.events().size(), forwards.events().size());
  const std::size_t n = forwards.events().size();
  for (std::size_t k = 0; k < n; ++k) EXPECT_NEAR(backwards.events()[k].t, forwards.events()[n - 1 - k].t, 1e-8);
  EXPECT_NEAR(backwards.final()[0], 1.0, 1e-8);
}

// Piecewise linear systems with random coefficients against their closed forms.
TEST(Exactness, RandomSwitchedRelaxationsHitTheirThresholdsInTime) {
  EXPECT_TRUE(rc::check("x' = a (b - x) between thresholds", [] {
    const double low = 1.0, high = 2.0;
    const double up = *rc::gen::inRange(25, 60) / 10.0, down = -*rc::gen::inRange(0, 40) / 10.0;
    const double rate_up = *rc::gen::inRange(3, 40) / 10.0, rate_down = *rc::gen::inRange(3, 40) / 10.0;
    Model m("hysteresis");
    const Expr x = m.variable("x", low), on = m.discrete("on", 1.0);
    m.equation(der(x) == if_else(on > 0.5, rate_up * (up - x), rate_down * (down - x)));
    m.when(x > high).assign(on, 0.0);
    m.when(x < low).assign(on, 1.0);
    const Trajectory run = simulate(m, to(8.0, 1e-10));
    const double rise = std::log((up - low) / (up - high)) / rate_up, fall = std::log((high - down) / (low - down)) / rate_down;
    double t = 0.0;
    std::size_t k = 0;
    for (; k < run.events().size(); ++k) {
      t += k % 2 == 0 ? rise : fall;
      RC_ASSERT(std::abs(run.events()[k].t - t) < 1e-7);
    }
    RC_ASSERT(t + (k % 2 == 0 ? rise : fall) > 8.0 - 1e-7);
  }));
}

}  // namespace
}  // namespace saltus
