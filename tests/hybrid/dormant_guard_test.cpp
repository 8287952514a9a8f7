// Relations in branches that are not taken make no events, and lie on the right side when their branch is taken.
#include <gtest/gtest.h>
#include <saltus/modelica/modelica.hpp>
#include <saltus/saltus.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "event/properties.hpp"
#include "suites/every_method.hpp"

namespace saltus {
namespace {

using std::numbers::pi;
using testing::check_property;
using testing::number_in;
using testing::real_in;

const std::vector<Method> all_methods = suite::every_method();

SimulateOptions to(double stop, double tolerance = 1e-10, Method method = Method::automatic) {
  return {.stop = stop, .rtol = tolerance, .atol = tolerance, .method = method};
}

std::vector<double> times(const Trajectory& run) {
  std::vector<double> result;
  for (const Event& e : run.events()) result.push_back(e.t);
  return result;
}

/// x = t - 1 beside v = cos(2 pi t), which crosses zero at 1/4, 3/4, …; y' depends on v for x > 0 only.
struct Nested {
  Model m{"nested"};
  Expr x = m.variable("x", -1.0), v = m.variable("v", 1.0), w = m.variable("w", 0.0), y = m.variable("y", 0.0);
  Nested() {
    m.equation(der(x) == 1.0);
    m.equation(der(v) == -2.0 * pi * w);
    m.equation(der(w) == 2.0 * pi * v);
  }
};

TEST(DormantGuard, AnInnerConditionMakesNoEventsWhileTheOuterOneIsFalse) {
  for (const Method method : all_methods) {
    Nested n;
    n.m.equation(der(n.y) == if_else(n.x > 0.0, if_else(n.v > 0.0, Expr(1.0), Expr(2.0)), Expr(3.0)));
    const Trajectory run = simulate(n.m, to(2.0, 1e-9, method));
    ASSERT_TRUE(run.status().ok()) << to_string(method) << ": " << run.status().message;
    // t = 1, 5/4, 7/4 with an error of some tolerances over the slope
    ASSERT_EQ(run.events().size(), 3u) << to_string(method);
    EXPECT_EQ(run.events()[0].guards, (std::vector<std::string>{"x > 0"}));
    EXPECT_EQ(run.events()[1].guards, (std::vector<std::string>{"v > 0"}));
    EXPECT_EQ(run.events()[1].direction, (std::vector{-1}));
    EXPECT_NEAR(run.events()[0].t, 1.0, 1e-7);
    EXPECT_NEAR(run.events()[1].t, 1.25, 1e-7);
    EXPECT_NEAR(run.events()[2].t, 1.75, 1e-7);
    EXPECT_NEAR(run.final()[3], 3.0 + 0.25 + 1.0 + 0.25, 1e-6);
  }
}

TEST(DormantGuard, TheInnerConditionHasTheSideOfTheSolutionWhenItsBranchIsTaken) {
  Nested n;  // the branch is taken at t = 1.5, where v = -1; v has crossed zero three times by then
  n.m.equation(der(n.y) == if_else(n.x > 0.5, if_else(n.v > 0.0, Expr(1.0), Expr(2.0)), Expr(3.0)));
  const Trajectory run = simulate(n.m, to(1.7));
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_NEAR(run.events()[0].t, 1.5, 1e-8);
  EXPECT_NEAR(run.final()[3], 3.0 * 1.5 + 2.0 * 0.2, 1e-8);
}

TEST(DormantGuard, StepsAreThoseOfTheModelWithoutTheBranch) {
  // implicit methods look after all variables that guards read inside their steps
  for (const Method method : {Method::dopri5, Method::tsit5, Method::bs3, Method::dop853, Method::taylor}) {
    Nested with, without;
    with.m.equation(der(with.y) == if_else(with.x > 0.0, if_else(with.v > 0.0, Expr(1.0), Expr(2.0)), with.v));
    without.m.equation(der(without.y) == if_else(without.x > 0.0, Expr(1.0), without.v));
    const Trajectory a = simulate(with.m, to(0.9, 1e-8, method)), b = simulate(without.m, to(0.9, 1e-8, method));
    EXPECT_TRUE(a.events().empty());
    EXPECT_EQ(a.statistics().steps, b.statistics().steps) << to_string(method);
    EXPECT_EQ(a.statistics().evaluations, b.statistics().evaluations) << to_string(method);
    EXPECT_EQ(a.statistics().events, 0);
    EXPECT_EQ(a.final(), b.final()) << to_string(method);
  }
}

TEST(DormantGuard, NeedNotBeDefined) {
  Model m("root");
  const Expr x = m.variable("x", -1.0), y = m.variable("y", 0.0);
  m.equation(der(x) == 1.0);
  m.equation(der(y) == if_else(x > 0.0, if_else(sqrt(x) > 0.5, Expr(1.0), Expr(2.0)), Expr(3.0)));
  const Trajectory run = simulate(m, to(2.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 2u);
  EXPECT_NEAR(run.events()[1].t, 1.25, 1e-8);
  EXPECT_NEAR(run.final()[1], 3.0 + 0.5 + 0.75, 1e-8);
}

// x and v cross zero together: the inner relation must have the side on which the solution goes on.
TEST(DormantGuard, BothConditionsMayChangeAtTheSameTime) {
  for (const double speed : {2.0, -2.0})
    for (const int direction : {+1, -1})
      for (const Method method : {Method::dopri5, Method::taylor, Method::radau5, Method::rodas5p}) {
        Model m("corner");
        const Expr x = m.variable("x", -direction * 1.0), v = m.variable("v", -speed), y = m.variable("y", 0.0);
        m.equation(der(x) == 1.0 * direction);
        m.equation(der(v) == speed);
        m.equation(der(y) == if_else(x > 0.0, if_else(v > 0.0, Expr(1.0), Expr(2.0)), Expr(3.0)));
        const Trajectory run = simulate(m, to(2.0, 1e-10, method));
        ASSERT_TRUE(run.status().ok()) << run.status().message;
        ASSERT_EQ(run.events().size(), 1u) << speed << ' ' << direction;
        EXPECT_NEAR(run.events()[0].t, 1.0, 1e-9);
        const double inside = direction > 0 ? (speed > 0 ? 1.0 : 2.0) : (speed > 0 ? 2.0 : 1.0);
        EXPECT_NEAR(run.final()[2], 3.0 + inside, 1e-8) << speed << ' ' << direction;
        // an inner relation that nobody asked for before has not fired
        if (direction > 0) {
          EXPECT_EQ(run.events()[0].guards, (std::vector<std::string>{"x > 0"}));
        }
      }
}

TEST(DormantGuard, TimeEventsWaitToo) {
  Nested n;
  n.m.equation(der(n.y) == if_else(n.x > 0.0, if_else(n.m.time() > 1.5, Expr(1.0), if_else(n.m.time() > 0.5, Expr(2.0), Expr(4.0))), Expr(3.0)));
  const Trajectory run = simulate(n.m, to(2.0));
  ASSERT_EQ(run.events().size(), 2u);
  EXPECT_NEAR(run.events()[0].t, 1.0, 1e-9);
  EXPECT_EQ(run.events()[1].t, 1.5);
  EXPECT_NEAR(run.final()[3], 3.0 + 2.0 * 0.5 + 0.5, 1e-8);
}

TEST(DormantGuard, RoundingsWaitToo) {
  Model m("stairs");
  const Expr x = m.variable("x", 0.0), y = m.variable("y", 0.0), z = m.variable("z", 0.0);
  m.equation(der(x) == 1.0);
  m.equation(der(y) == if_else(x > 2.6, floor(4.0 * x), Expr(0.0)));
  m.equation(z == if_else(x > 4.0, floor(x), Expr(-1.0)));
  const Trajectory run = simulate(m, to(3.6));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  const std::vector<double> found = times(run), exact{2.6, 2.75, 3.0, 3.25, 3.5};
  ASSERT_EQ(found.size(), exact.size());
  for (std::size_t k = 0; k < exact.size(); ++k) EXPECT_NEAR(found[k], exact[k], 1e-9);
  EXPECT_NEAR(run.final()[1], 10 * 0.15 + 0.25 * (11 + 12 + 13) + 14 * 0.1, 1e-8);
  EXPECT_EQ(run.final()[2], -1.0);
}

TEST(DormantGuard, TheSameBackwards) {
  for (const Method method : all_methods) {
    Model m("back");  // x = t - 1, v = cos 2 pi t from t = 2 to 0
    const Expr x = m.variable("x", 1.0), v = m.variable("v", 1.0), w = m.variable("w", 0.0), y = m.variable("y", 0.0);
    m.equation(der(x) == 1.0);
    m.equation(der(v) == -2.0 * pi * w);
    m.equation(der(w) == 2.0 * pi * v);
    m.equation(der(y) == if_else(x > 0.0, Expr(3.0), if_else(v > 0.0, Expr(1.0), Expr(2.0))));
    const Trajectory run = simulate(m, {.start = 2.0, .stop = 0.0, .rtol = 1e-9, .atol = 1e-9, .method = method});
    ASSERT_TRUE(run.status().ok()) << to_string(method) << ": " << run.status().message;
    const std::vector<double> found = times(run), exact{1.0, 0.75, 0.25};
    ASSERT_EQ(found.size(), exact.size()) << to_string(method);
    for (std::size_t k = 0; k < exact.size(); ++k) EXPECT_NEAR(found[k], exact[k], 1e-7);
    EXPECT_NEAR(run.final()[3], -(3.0 + 0.25 + 1.0 + 0.25), 1e-6);
  }
}

// z^3 + z = x: z = 1/2 at x = 5/8, z = 1 at x = 2
TEST(DormantGuard, ConditionsOnAlgebraicVariablesWaitToo) {
  for (const Method method : {Method::automatic, Method::taylor, Method::rodas4, Method::rodas5p, Method::radau, Method::radau5, Method::radau9, Method::radau13, Method::bdf}) {
    Model m("implicit");
    const Expr x = m.variable("x", 0.0), y = m.variable("y", 0.0), z = m.variable("z", 0.0);
    m.equation(der(x) == 1.0);
    m.equation(z * z * z + z == x);
    m.equation(der(y) == if_else(x > 1.0, if_else(z > 0.5, if_else(z > 1.0, Expr(4.0), Expr(1.0)), Expr(2.0)), Expr(3.0)));
    const Trajectory run = simulate(m, to(2.5, 1e-9, method));
    ASSERT_TRUE(run.status().ok()) << to_string(method) << ": " << run.status().message;
    ASSERT_EQ(run.events().size(), 2u) << to_string(method);
    EXPECT_NEAR(run.events()[0].t, 1.0, 1e-8);
    EXPECT_EQ(run.events()[0].guards.size(), 1u);
    EXPECT_NEAR(run.events()[1].t, 2.0, 1e-7);
    EXPECT_NEAR(run.final()[1], 3.0 + 1.0 + 2.0, 1e-6);
  }
}

// The threshold of a condition in a branch is itself a choice.
TEST(DormantGuard, ThresholdsMayHaveConditions) {
  Nested n;  // from t = 1 on the threshold of w is 1/2 while v > 0 and -1/2 while v < 0
  n.m.equation(der(n.y) == if_else(n.x > 0.0, if_else(n.w > if_else(n.v > 0.0, Expr(0.5), Expr(-0.5)), Expr(1.0), Expr(2.0)), Expr(3.0)));
  const Trajectory run = simulate(n.m, to(2.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  // w = sin 2 pi t crosses 1/2 at 13/12 and -1/2 at 19/12; v changes sign at 5/4 (w = 1) and 7/4 (w = -1)
  const std::vector<double> found = times(run), exact{1.0, 13.0 / 12.0, 1.25, 19.0 / 12.0, 1.75};
  ASSERT_EQ(found.size(), exact.size());
  for (std::size_t k = 0; k < exact.size(); ++k) EXPECT_NEAR(found[k], exact[k], 1e-8);
  EXPECT_NEAR(run.final()[3], 3.0 + 2.0 / 12.0 + 0.5 + 2.0 * 5.0 / 12.0, 1e-8);
}

// Alternatives that are too deep to say which of them count are all watched.
TEST(DormantGuard, LongChainsOfAlternativesChooseTheRightOne) {
  Model m("table");
  const Expr x = m.variable("x", 0.0), y = m.variable("y", 0.0);
  Expr chosen = 0.0;
  double exact = 0.0;
  for (int k = 60; k > 0; --k) {
    chosen = if_else(x < 1.0 * k, Expr(1.0 / k), chosen);
    exact += 1.0 / k;
  }
  m.equation(der(x) == 1.0);
  m.equation(der(y) == chosen);
  const Trajectory run = simulate(m, to(65.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 60u);
  for (int k = 1; k <= 60; ++k) EXPECT_NEAR(run.events()[static_cast<std::size_t>(k) - 1].t, k, 1e-9 * k);
  EXPECT_NEAR(run.final()[1], exact, 1e-8);
}

TEST(DormantGuard, AndAndOrAskForWhatDecidesOnly) {
  for (const bool with_or : {false, true}) {
    Nested n;  // v > 0 until 1/4, from 3/4 to 5/4, from 7/4; x > 0 from 1 on
    const BoolExpr both = with_or ? !(n.x <= 0.0 || n.v <= 0.0) : n.x > 0.0 && n.v > 0.0;
    n.m.equation(der(n.y) == if_else(both, Expr(1.0), Expr(0.0)));
    const Trajectory run = simulate(n.m, to(2.0));
    const std::vector<double> found = times(run), exact{1.0, 1.25, 1.75};
    ASSERT_EQ(found.size(), exact.size());
    for (std::size_t k = 0; k < exact.size(); ++k) EXPECT_NEAR(found[k], exact[k], 1e-8);
    EXPECT_NEAR(run.final()[3], 0.5, 1e-8);
  }
  // the first operand is true and false while the second is false: nobody notices
  Nested n;
  n.m.equation(der(n.y) == if_else(n.v > 0.0 && n.x > 0.9, Expr(1.0), Expr(0.0)));
  const Trajectory run = simulate(n.m, to(2.0));
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_NEAR(run.events()[0].t, 1.9, 1e-8);
  EXPECT_EQ(run.events()[0].guards, (std::vector<std::string>{"x > 0.9"}));
  EXPECT_NEAR(run.final()[3], 0.1, 1e-8);
}

// Sliding on v = 0 begins at the moment at which the inner condition gets a meaning, and ends when it loses it.
TEST(DormantGuard, SlidingBeginsAndEndsWithTheOuterCondition) {
  for (const Method method : all_methods) {
    Model m("brake");
    const Expr x = m.variable("x", -1.0), v = m.variable("v", 0.0);
    m.equation(der(x) == if_else(m.time() > 2.0, Expr(-1.0), Expr(1.0)));
    m.equation(der(v) == if_else(x > 0.0, 0.25 + if_else(v > 0.0, Expr(-1.0), Expr(1.0)), 0.0 * v));
    const Trajectory run = simulate(m, to(4.0, 1e-9, method));
    ASSERT_TRUE(run.status().ok()) << to_string(method) << ": " << run.status().message;
    ASSERT_EQ(run.events().size(), 3u) << to_string(method);
    EXPECT_EQ(run.events()[0].kind, EventKind::slide_enter);
    EXPECT_NEAR(run.events()[0].t, 1.0, 1e-8);
    EXPECT_EQ(run.events()[0].guards, (std::vector<std::string>{"x > 0"}));
    ASSERT_EQ(run.events()[0].weights.size(), 1u);
    EXPECT_NEAR(run.events()[0].weights[0], 0.625, 1e-9);  // 1/4 = 2 w - 1
    EXPECT_EQ(run.events()[1].t, 2.0);
    EXPECT_EQ(run.events()[2].kind, EventKind::slide_exit);
    EXPECT_NEAR(run.events()[2].t, 3.0, 1e-8);
    EXPECT_NEAR(run.final()[1], 0.0, 1e-8);
  }
}

// The same, reached from a distance: v falls to the surface while the branch is taken.
TEST(DormantGuard, SlidingInABranchStopsWhenTheBranchIsLeft) {
  Model m("brake");
  const Expr x = m.variable("x", -1.0), v = m.variable("v", 0.5);
  m.equation(der(x) == if_else(m.time() > 2.0, Expr(-1.0), Expr(1.0)));
  m.equation(der(v) == if_else(x > 0.0, if_else(v > 0.0, Expr(-1.0), Expr(1.0)), Expr(-0.25)));
  const Trajectory run = simulate(m, to(5.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  // v = 1/2 - t/4 until 1, then -1 per second until 5/4; it rests until x = 0 again at 3
  const std::vector<double> found = times(run), exact{1.0, 1.25, 2.0, 3.0};
  ASSERT_EQ(found.size(), exact.size());
  for (std::size_t k = 0; k < exact.size(); ++k) EXPECT_NEAR(found[k], exact[k], 1e-8);
  EXPECT_EQ(run.events()[1].kind, EventKind::slide_enter);
  EXPECT_NEAR(run.final()[1], -0.5, 1e-8);
}

TEST(DormantGuard, SlidingOnTheOuterSurfaceAsksForBothBranches) {
  Model m("both");
  const Expr x = m.variable("x", -0.5), v = m.variable("v", -1.0), y = m.variable("y", 0.0);
  m.equation(der(x) == if_else(x > 0.0, if_else(v > 0.0, Expr(-1.0), Expr(-3.0)), Expr(1.0)));
  m.equation(der(v) == 1.0);
  m.equation(der(y) == if_else(x > 0.0, Expr(1.0), Expr(0.0)));  // the weight of the positive side
  const Trajectory run = simulate(m, to(2.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 2u);
  EXPECT_NEAR(run.events()[0].t, 0.5, 1e-9);
  EXPECT_NEAR(run.events()[1].t, 1.0, 1e-9);
  EXPECT_EQ(run.events()[1].guards, (std::vector<std::string>{"v > 0"}));
  EXPECT_NEAR(run.final()[2], 0.25 * 0.5 + 0.5 * 1.0, 1e-8);
}

// A bouncing ball whose clause asks for the speed, too: the apex is no event; DISODE45 manual, example 5, for the impacts.
TEST(DormantGuard, ClausesAskForWhatDecidesOnly) {
  for (const bool with_apex : {false, true}) {
    Model m("ball");
    const Expr h = m.variable("h", 10.0), v = m.variable("v", 0.0), tops = m.discrete("tops", 0.0);
    m.equation(der(h) == v);
    m.equation(der(v) == -9.8);
    m.when(h < 0.0 && v < 0.0).reset(v, -0.9 * v);
    if (with_apex) m.when(v < 0.0).assign(tops, tops + 1.0);
    const Trajectory run = simulate(m, to(20.0));
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    std::vector<double> exact;
    double impact = 10.0 / 7.0, interval = 2.0 * impact;
    int tops_reached = 0;
    if (with_apex) {  // the first one is the start
      exact.push_back(0.0);
      ++tops_reached;
    }
    while (impact < 20.0) {
      exact.push_back(impact);
      interval *= 0.9;
      if (with_apex && impact + 0.5 * interval < 20.0) {
        exact.push_back(impact + 0.5 * interval);
        ++tops_reached;
      }
      impact += interval;
    }
    const std::vector<double> found = times(run);
    ASSERT_EQ(found.size(), exact.size());
    for (std::size_t k = 0; k < exact.size(); ++k) EXPECT_NEAR(found[k], exact[k], 1e-7);
    EXPECT_EQ(run.final()[2], tops_reached);
  }
}

TEST(DormantGuard, EdgesAndValuesBeforeAnEventAreRight) {
  const ModelicaModel loaded = load_modelica(R"(model M
  Real x(start = -1, fixed = true), v(start = 1, fixed = true), w(start = 0, fixed = true);
  Boolean b, c;
  Integer rises(start = 0, fixed = true), falls(start = 0, fixed = true), ups(start = 0, fixed = true);
equation
  der(x) = 1;
  der(v) = -2*3.14159265358979323846*w;
  der(w) = 2*3.14159265358979323846*v;
  b = x > 0 and v > 0;
  c = if b then w > 0.5 else false;
  when edge(b) then rises = pre(rises) + 1; end when;
  when not b then falls = pre(falls) + 1; end when;
  when c then ups = pre(ups) + 1; end when;
end M;
)",
                                             "m.mo");
  const Trajectory run = simulate(loaded.model, to(3.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  // b from 1 to 5/4, 7/4 to 9/4, 11/4 to 3; there w = sin(2 pi t) > 1/2 from 13/12 to 5/4 and from 25/12 to 9/4
  const std::vector<double> found = times(run), exact{1.0, 13.0 / 12.0, 1.25, 1.75, 25.0 / 12.0, 2.25, 2.75};
  ASSERT_EQ(found.size(), exact.size());
  for (std::size_t k = 0; k < exact.size(); ++k) EXPECT_NEAR(found[k], exact[k], 1e-8);
  EXPECT_EQ(run.final()[run.index("rises")], 3.0);
  EXPECT_EQ(run.final()[run.index("falls")], 2.0);
  EXPECT_EQ(run.final()[run.index("ups")], 2.0);
}

TEST(DormantGuard, AThermostatAsksForOneThresholdAtATime) {
  Model m("thermostat");
  const Expr x = m.variable("x", 1.5);
  const BoolExpr on = m.discrete("on", true);
  m.equation(der(x) == if_else(on, Expr(1.0), Expr(-1.0)));
  m.define(on.expr(), if_else(m.pre(on), x < 2.0, x < 1.0).expr());
  // seen at the start, below the upper and above the lower threshold
  const Trajectory run = simulate(m, to(5.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  const std::vector<double> found = times(run), exact{0.5, 1.5, 2.5, 3.5, 4.5};
  ASSERT_EQ(found.size(), exact.size());
  for (std::size_t k = 0; k < exact.size(); ++k) {
    EXPECT_NEAR(found[k], exact[k], 1e-9);
    EXPECT_EQ(run.events()[k].guards.size(), 1u);
  }
}

TEST(DormantGuard, ConditionsOfAModeThatIsEnteredHaveNotFired) {
  Model m("modes");
  const Expr x = m.variable("x", 0.0), y = m.variable("y", 0.0);
  m.equation(der(x) == 1.0);
  auto first = m.mode("first"), second = m.mode("second");
  first.equation(der(y) == 1.0);
  first.transition(x > 2.0).to(second);
  second.equation(der(y) == if_else(x > 1.0, if_else(x > 3.0, Expr(5.0), Expr(2.0)), Expr(7.0)));
  const Trajectory run = simulate(m, to(4.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 2u);
  EXPECT_EQ(run.events()[0].guards, (std::vector<std::string>{"x > 2"}));
  EXPECT_EQ(run.events()[1].guards, (std::vector<std::string>{"x > 3"}));
  EXPECT_NEAR(run.final()[1], 2.0 + 2.0 + 5.0, 1e-8);
}

TEST(DormantGuard, InitialEquationsAndTheLastInstantSeeTheRightSides) {
  Model m("ends");
  const Expr x = m.variable("x", -1.0, {.fixed = true}), y = m.variable("y", 0.0), last = m.discrete("last", 0.0);
  m.equation(der(x) == 1.0);
  m.equation(der(y) == if_else(x > 10.0, if_else(x > -2.0, Expr(1.0), Expr(2.0)), Expr(0.0)));
  m.initial_equation(y == if_else(x > -2.0, Expr(5.0), Expr(6.0)));
  m.when(m.terminal()).assign(last, if_else(x > -2.0, Expr(1.0), Expr(2.0)));
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NEAR(run.at(0.0, "y"), 5.0, 1e-9);
  EXPECT_EQ(run.final()[2], 1.0);
}

/// A tree of conditions whose leaves are different numbers, as an expression and as a function of the truth of its relations.
struct Tree {
  std::vector<int> condition;  // relations; negative: negated (~k)
  bool conjunction = true;
  double leaf = 0.0;
  std::vector<Tree> branches;  // none: a leaf

  /// Each relation occurs once, at most, on the way to a leaf.
  static Tree random(std::vector<int> relations, double& next) {
    Tree tree;
    if (relations.empty() || number_in(0, 5) == 0) {
      tree.leaf = next;
      next += 1.0;
      return tree;
    }
    for (auto count = number_in(1, 4); count > 0 && !relations.empty(); --count) {
      const auto place = relations.begin() + static_cast<std::ptrdiff_t>(number_in(0, static_cast<std::int64_t>(relations.size())));
      tree.condition.push_back(number_in(0, 2) == 0 ? *place : ~*place);
      relations.erase(place);
    }
    tree.conjunction = number_in(0, 2) == 0;
    for (int k = 0; k < 2; ++k) tree.branches.push_back(random(relations, next));
    return tree;
  }

  Expr expression(const std::vector<BoolExpr>& relations) const {
    if (branches.empty()) return leaf;
    const auto literal = [&](int k) { return k >= 0 ? relations[static_cast<std::size_t>(k)] : !relations[static_cast<std::size_t>(~k)]; };
    BoolExpr all = literal(condition.front());
    for (std::size_t k = 1; k < condition.size(); ++k) all = conjunction ? all && literal(condition[k]) : all || literal(condition[k]);
    return if_else(all, branches[0].expression(relations), branches[1].expression(relations));
  }

  double value(const std::vector<bool>& truth) const {
    if (branches.empty()) return leaf;
    const auto literal = [&](int k) { return k >= 0 ? truth[static_cast<std::size_t>(k)] : !truth[static_cast<std::size_t>(~k)]; };
    const bool all = conjunction ? std::all_of(condition.begin(), condition.end(), literal) : std::any_of(condition.begin(), condition.end(), literal);
    return branches[all ? 0 : 1].value(truth);
  }
};

// Oscillations that nothing disturbs cross thresholds at known times; the events are those crossings at which the number that the tree of
// conditions chooses changes.
TEST(DormantGuard, RandomNestedConditionsMakeTheEventsThatChangeSomething) {
  check_property(300, [] {
    const int count = static_cast<int>(number_in(2, 6));
    const double stop = 6.0, tolerance = 1e-9;
    struct Crossing {
      double t;
      int relation;
    };
    std::vector<Crossing> crossings;
    std::vector<bool> truth;
    Model m("tree"), watching("all relations asked for");
    std::vector<BoolExpr> relations, watched;
    Expr sum = 0.0;
    for (int k = 0; k < count; ++k) {
      const double w = real_in(0.5, 4.0), phase = real_in(0.0, 2.0 * pi), level = real_in(-0.8, 0.8);
      for (Model* each : {&m, &watching}) {
        const Expr p = each->variable("p" + std::to_string(k), std::cos(phase)), q = each->variable("q" + std::to_string(k), std::sin(phase));
        each->equation(der(p) == -w * q);
        each->equation(der(q) == w * p);
        (each == &m ? relations : watched).push_back(p > level);
      }
      sum = sum + if_else(watched.back(), Expr(1.0), Expr(0.0));
      truth.push_back(std::cos(phase) > level);
      for (const double angle : {std::acos(level), -std::acos(level)})
        for (int turn = 0; turn < 10; ++turn)
          if (const double t = (angle + 2.0 * pi * turn - phase) / w; t > -1e-4 && t < stop + 1e-4) crossings.push_back({t, k});
    }
    std::sort(crossings.begin(), crossings.end(), [](const Crossing& a, const Crossing& b) { return a.t < b.t; });
    for (std::size_t k = 0; k < crossings.size(); ++k)
      RC_PRE(crossings[k].t > 1e-4 && crossings[k].t < stop - 1e-4 && (k == 0 || crossings[k].t - crossings[k - 1].t > 1e-4));
    double next = 1.0;
    std::vector<int> names(static_cast<std::size_t>(count));
    std::iota(names.begin(), names.end(), 0);
    const Tree tree = Tree::random(names, next);
    for (Model* each : {&m, &watching}) {
      const Expr y = each->variable("y", 0.0);
      each->equation(der(y) == tree.expression(each == &m ? relations : watched));
    }
    const Expr seen = watching.variable("seen");
    watching.equation(seen == sum);

    std::vector<Crossing> exact;
    double y = 0.0, since = 0.0, rate = tree.value(truth);
    for (const Crossing& c : crossings) {
      truth[static_cast<std::size_t>(c.relation)] = !truth[static_cast<std::size_t>(c.relation)];
      if (tree.value(truth) == rate) continue;
      exact.push_back(c);
      y += rate * (c.t - since);
      since = c.t;
      rate = tree.value(truth);
    }
    y += rate * (stop - since);

    constexpr Method methods[] = {Method::dopri5, Method::dop853, Method::taylor, Method::rodas5p, Method::radau5};
    const Method method = methods[number_in(0, 5)];
    const Trajectory run = simulate(std::make_shared<CompiledModel>(m, ProgramOptions{.backend = Backend::interpreter}), to(stop, tolerance, method));
    RC_LOG() << to_string(tree.expression(relations), 1000) << '\n';
    for (const Event& e : run.events()) RC_LOG() << e.t << ' ' << e.describe() << '\n';
    for (const Crossing& c : crossings) RC_LOG() << c.t << " p" << c.relation << '\n';
    RC_ASSERT(run.status().ok());
    RC_ASSERT(run.events().size() == exact.size());
    // phases are known to some hundred tolerances at the end, slopes are 0.5*0.6 at least
    const double accuracy = 1e3 * tolerance;
    for (std::size_t k = 0; k < exact.size(); ++k) {
      RC_ASSERT(std::abs(run.events()[k].t - exact[k].t) < accuracy);
      RC_ASSERT(run.events()[k].guards.size() == 1u);
      RC_ASSERT(run.events()[k].guards[0].starts_with("p" + std::to_string(exact[k].relation) + " "));
    }
    RC_ASSERT(std::abs(run.final()[run.index("y")] - y) < accuracy * next * static_cast<double>(1 + exact.size()));

    const Trajectory all = simulate(std::make_shared<CompiledModel>(watching, ProgramOptions{.backend = Backend::interpreter}), to(stop, tolerance, method));
    RC_ASSERT(all.status().ok());
    RC_ASSERT(all.events().size() == crossings.size());
    RC_ASSERT(std::abs(all.final()[all.index("y")] - y) < accuracy * next * static_cast<double>(1 + exact.size()));
  });
}

}  // namespace
}  // namespace saltus
