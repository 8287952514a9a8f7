// Relations on one expression that differ at zero only: x > 0, x < 0, x >= 0, x <= 0. Where x rests at zero exactly, each has its own truth;
// where x crosses, the crossing is one event; where both sides push back, the solution slides.
#include <gtest/gtest.h>
#include <saltus/hybrid/simulate.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace saltus {
namespace {

const Method all_methods[] = {Method::automatic, Method::taylor, Method::tsit5,   Method::dopri5, Method::dop853,
                              Method::rodas4,    Method::rodas5p, Method::radau5, Method::bdf};

/// 1, 2, 4, 8 for x > 0, x < 0, x >= 0, x <= 0: the sum says which of them hold.
Expr holding(const Expr& x) {
  return if_else(x > 0.0, 1.0, 0.0) + if_else(x < 0.0, 2.0, 0.0) + if_else(x >= 0.0, 4.0, 0.0) + if_else(x <= 0.0, 8.0, 0.0);
}
constexpr double positive = 1.0 + 4.0, negative = 2.0 + 8.0, zero = 4.0 + 8.0;

TEST(RestingRelations, EachHasItsOwnTruthWhereTheSolutionStartsAtZeroAndStays) {
  for (const Method method : all_methods) {
    Model m("still");
    const auto x = m.variable("x", 0.0), y = m.variable("y", 0.0), z = m.variable("z", 0.0);
    m.equation(der(x) == 0.0);
    m.equation(der(y) == if_else(x > 0.0, 1.0, if_else(x < 0.0, -1.0, 0.5)));
    m.equation(der(z) == holding(x));
    const Trajectory run = simulate(m, {.stop = 2.0, .method = method});
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    EXPECT_NEAR(run.final()[1], 1.0, 1e-12) << to_string(method);  // constant slopes: exact up to rounding
    EXPECT_NEAR(run.final()[2], 2.0 * zero, 1e-12) << to_string(method);
    EXPECT_TRUE(run.events().empty());
  }
}

TEST(RestingRelations, TheOrderInWhichTheyAreWrittenDoesNotMatter) {
  for (const bool weak_first : {false, true}) {
    Model m("order");
    const auto x = m.variable("x", 0.0), y = m.variable("y", 0.0);
    m.equation(der(x) == 0.0);
    const Expr first = weak_first ? if_else(x >= 0.0, 1.0, 0.0) : if_else(x > 0.0, 1.0, 0.0);
    const Expr second = weak_first ? if_else(x > 0.0, 1.0, 0.0) : if_else(x >= 0.0, 1.0, 0.0);
    m.equation(der(y) == first + second);
    EXPECT_NEAR(simulate(m, {.stop = 1.0}).final()[1], 1.0, 1e-12) << weak_first;
  }
}

// x falls to zero at t = 1 and stays, because the equation says so.
TEST(RestingRelations, EachHasItsOwnTruthWhereTheSolutionArrivesAtZeroAndStays) {
  for (const double from : {1.0, -1.0})
    for (const Method method : all_methods) {
      Model m("arrival");
      const auto x = m.variable("x", from), z = m.variable("z", 0.0);
      m.equation(der(x) == (from > 0.0 ? if_else(x > 0.0, -1.0, 0.0) : if_else(x < 0.0, 1.0, 0.0)));
      m.equation(der(z) == holding(x));
      // a later event, at which x is looked at again, with the rounding errors that it has kept
      const auto n = m.discrete("n", 0.0);
      m.when(m.time() > 2.0).assign(n, 1.0);
      const Trajectory run = simulate(m, {.stop = 3.0, .method = method});
      ASSERT_TRUE(run.status().ok()) << to_string(method) << ": " << run.status().message;
      EXPECT_NEAR(run.final()[0], 0.0, 1e-12);
      EXPECT_NEAR(run.final()[1], (from > 0.0 ? positive : negative) + 2.0 * zero, 1e-10) << to_string(method) << ' ' << from;
      ASSERT_EQ(run.events().size(), 2u) << to_string(method);
      EXPECT_EQ(run.events()[0].guards.size(), 1u);
      EXPECT_EQ(run.events()[0].direction[0], from > 0.0 ? -1 : +1);
    }
}

TEST(RestingRelations, EachHasItsOwnTruthAfterAResetToZero) {
  for (const double from : {1.0, -1.0})
    for (const Method method : all_methods) {
      Model m("reset");
      const auto x = m.variable("x", from), z = m.variable("z", 0.0);
      m.equation(der(x) == -x);
      m.equation(der(z) == holding(x));
      m.when(m.time() > 1.0).reset(x, 0.0);
      m.when(m.time() > 2.0).reset(x, -from);
      const Trajectory run = simulate(m, {.stop = 3.0, .method = method});
      ASSERT_TRUE(run.status().ok()) << to_string(method) << ": " << run.status().message;
      EXPECT_NEAR(run.final()[1], positive + zero + negative, 1e-10) << to_string(method) << ' ' << from;
      ASSERT_EQ(run.events().size(), 2u);
    }
}

// Equality as a condition, in a clause, a discrete equation and a transition.
TEST(RestingRelations, DiscretePartsSeeThemToo) {
  Model m("discrete");
  const auto x = m.variable("x", 1.0), still = m.discrete("still", 0.0), sign_of_x = m.discrete("sign_of_x", 0.0),
             arrived = m.discrete("arrived", 0.0);
  m.equation(der(x) == if_else(x > 0.0, -1.0, 0.0));
  m.define(still, if_else(x >= 0.0 && x <= 0.0, 1.0, 0.0));
  m.define(sign_of_x, if_else(x > 0.0, 1.0, if_else(x < 0.0, -1.0, 0.0)));
  m.when(x >= 0.0 && x <= 0.0).assign(arrived, m.pre(arrived) + 1.0);
  const Trajectory run = simulate(m, {.stop = 2.0});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_EQ(run.final()[1], 1.0);
  EXPECT_EQ(run.final()[2], 0.0);
  EXPECT_EQ(run.final()[3], 1.0);
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_EQ(run.events()[0].mode_after.find("x = 0") != std::string::npos, true) << run.events()[0].mode_after;
}

TEST(RestingRelations, ACrossingIsOneEventAndItsEquationsAreNeverAtZero) {
  for (const Method method : all_methods) {
    Model m("crossing");
    const auto x = m.variable("x", 1.0), v = m.variable("v", 0.0), z = m.variable("z", 0.0), at_zero = m.discrete("at_zero", 0.0);
    m.equation(der(x) == v);
    m.equation(der(v) == -x);
    m.equation(der(z) == if_else(x > 0.0, 1.0, if_else(x < 0.0, -1.0, 100.0)));
    m.when(x >= 0.0 && x <= 0.0).assign(at_zero, 1.0);
    const double pi = 3.14159265358979323846;
    const Trajectory run = simulate(m, {.stop = 2.0 * pi, .rtol = 1e-8, .atol = 1e-8, .method = method});
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    ASSERT_EQ(run.events().size(), 2u) << to_string(method);
    for (const auto& e : run.events()) EXPECT_EQ(e.guards.size(), 1u);
    EXPECT_NEAR(run.final()[2], 0.0, 1e-6) << to_string(method);  // 100 tolerances
    EXPECT_EQ(run.final()[3], 1.0);  // conditions see it pass through zero
  }
}

// The second derivative takes x away from zero again: to either side, at an event or by itself.
TEST(RestingRelations, LeavingZeroIsAnEventToEitherSide) {
  for (const double to : {1.0, -1.0})
    for (const Method method : all_methods) {
      Model m("leaving");
      const auto x = m.variable("x", 0.0), z = m.variable("z", 0.0);
      m.equation(der(x) == if_else(m.time() > 1.0, to, 0.0));
      m.equation(der(z) == holding(x));
      const Trajectory run = simulate(m, {.stop = 2.0, .method = method});
      ASSERT_TRUE(run.status().ok()) << run.status().message;
      EXPECT_NEAR(run.final()[1], zero + (to > 0.0 ? positive : negative), 1e-10) << to_string(method) << ' ' << to;
    }
}

// x = to (t^12) leaves zero with its twelfth derivative, which nobody looks at: it rests until it is out of the errors that it may have.
TEST(RestingRelations, LeavingZeroSlowlyIsNoticedOnEitherSide) {
  for (const double to : {1.0, -1.0})
    for (const Method method : {Method::automatic, Method::dopri5, Method::radau5}) {
      Model m("slowly");
      const auto x = m.variable("x", 0.0), z = m.variable("z", 0.0);
      Expr s = m.time();
      for (int k = 1; k < 11; ++k) s = s * m.time();
      m.equation(der(x) == to * 12.0 * s);
      m.equation(der(z) == holding(x));
      const double tol = 1e-8;
      const Trajectory run = simulate(m, {.stop = 1.0, .rtol = tol, .atol = tol, .method = method});
      ASSERT_TRUE(run.status().ok()) << run.status().message;
      ASSERT_EQ(run.events().size(), 1u) << to_string(method);
      const double left = run.events()[0].t;
      EXPECT_LE(std::pow(left, 12.0), 1e3 * tol) << to_string(method);  // up to so many tolerances it may mean nothing
      EXPECT_NEAR(run.final()[1], zero * left + (to > 0.0 ? positive : negative) * (1.0 - left), 1e-7) << to_string(method) << ' ' << to;
      EXPECT_EQ(run.events()[0].direction[0], to > 0.0 ? +1 : -1);
      EXPECT_NE(run.events()[0].mode_before.find("x = 0"), std::string::npos);
    }
}

TEST(RestingRelations, AStartAtZeroWithASlopeIsDecidedByTheSlope) {
  for (const double slope : {1.0, -1.0}) {
    Model m("slope");
    const auto x = m.variable("x", 0.0), z = m.variable("z", 0.0);
    m.equation(der(x) == slope);
    m.equation(der(z) == holding(x));
    const Trajectory run = simulate(m, {.stop = 1.0});
    EXPECT_NEAR(run.final()[1], slope > 0.0 ? positive : negative, 1e-12);
  }
}

TEST(RestingRelations, TimeMayRunBackwards) {
  Model m("backwards");
  const auto x = m.variable("x", 0.0), z = m.variable("z", 0.0);
  m.equation(der(x) == if_else(m.time() < -1.0, -1.0, 0.0));
  m.equation(der(z) == holding(x));
  const Trajectory run = simulate(m, {.start = 0.0, .stop = -2.0});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NEAR(run.final()[1], -(zero + positive), 1e-10);
}

// Both sides push back: the field is the mean of the two that keeps x at zero. What the equation says for x = 0 has no part in it.
TEST(RestingRelations, SlidingMixesTheTwoSidesOnly) {
  for (const double start : {1.0, 0.0, -1.0})
    for (const double at_zero : {0.0, 7.0})
      for (const Method method : {Method::automatic, Method::dopri5, Method::radau5}) {
        Model m("sliding");
        const auto x = m.variable("x", start), y = m.variable("y", 0.0), z = m.variable("z", 0.0);
        m.equation(der(x) == if_else(x > 0.0, -1.0, if_else(x < 0.0, 3.0, at_zero)));  // weight 3/4 of the positive side
        m.equation(der(y) == if_else(x > 0.0, 1.0, if_else(x < 0.0, -1.0, at_zero)));
        m.equation(der(z) == if_else(x > 0.0 || x >= 0.0, 1.0, 0.0));
        const Trajectory run = simulate(m, {.stop = 2.0, .method = method});
        ASSERT_TRUE(run.status().ok()) << run.status().message;
        const double arrival = start > 0.0 ? 1.0 : start < 0.0 ? 1.0 / 3.0 : 0.0;
        EXPECT_NEAR(run.final()[0], 0.0, 1e-12);
        EXPECT_NEAR(run.final()[1], start * arrival + 0.5 * (2.0 - arrival), 1e-10) << start << ' ' << at_zero;
        EXPECT_NEAR(run.final()[2], (start > 0.0 ? arrival : 0.0) + 0.75 * (2.0 - arrival), 1e-10) << start << ' ' << at_zero;
      }
}

// Dry friction with a branch of its own for rest: the mass sticks while the force is small and then breaks loose.
TEST(RestingRelations, FrictionWithABranchForRestSticksAndBreaksLoose) {
  Model m("friction");
  const auto v = m.variable("v", 0.0), f = m.variable("f", 0.0);
  const Expr force = m.time() - 1.0;
  m.equation(f == if_else(v > 0.0, 1.0, if_else(v < 0.0, -1.0, force)));
  m.equation(der(v) == force - f);
  const Trajectory run = simulate(m, {.start = 0.5, .stop = 4.0});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NEAR(run.final()[0], 2.0, 1e-5);  // sticks until t = 2, then (t - 2)^2 / 2; ten tolerances
}

// A relation in a branch that is not taken is locked at events, as if it had been watched.
TEST(RestingRelations, DormantRelationsRestToo) {
  Model m("dormant");
  const auto x = m.variable("x", 0.0), z = m.variable("z", 0.0);
  m.equation(der(x) == 0.0);
  m.equation(der(z) == if_else(m.time() > 1.0, if_else(x > 0.0, 1.0, if_else(x < 0.0, -1.0, 0.25)), 0.0));
  const Trajectory run = simulate(m, {.stop = 2.0});
  EXPECT_NEAR(run.final()[1], 0.25, 1e-12);
}

// On its way to rest the solution is never on the other side, and no clause sees it there.
TEST(RestingRelations, ClausesDoNotActForTheOtherSide) {
  for (const bool reset : {false, true})
    for (const double from : {1.0, -1.0}) {
      Model m("clauses");
      const auto x = m.variable("x", from), above = m.discrete("above", 0.0), below = m.discrete("below", 0.0), there = m.discrete("there", 0.0);
      if (reset) {  // at t = 1 the equation of the side that is left leads across, that of the other one does not lead back
        m.equation(der(x) == (from > 0.0 ? if_else(x > 0.0, -0.5, 0.0) : if_else(x < 0.0, 0.5, 0.0)));
        m.when(m.time() > 1.0).reset(x, 0.0);
      } else {
        m.equation(der(x) == (from > 0.0 ? if_else(x > 0.0, -1.0, 0.0) : if_else(x < 0.0, 1.0, 0.0)));
      }
      m.when(x > 0.0).assign(above, m.pre(above) + 1.0);
      m.when(x < 0.0).assign(below, m.pre(below) + 1.0);
      m.when(x >= 0.0 && x <= 0.0).assign(there, m.pre(there) + 1.0);
      const Trajectory run = simulate(m, {.stop = 3.0});
      ASSERT_TRUE(run.status().ok()) << run.status().message;
      EXPECT_EQ(run.final()[1], 0.0);
      EXPECT_EQ(run.final()[2], 0.0);
      EXPECT_EQ(run.final()[3], 1.0);
    }
}

// Relations of other guards are settled first: which field moves x is known only then.
TEST(RestingRelations, AtTheStartTheFieldOfTheRightBranchDecides) {
  Model m("branches");
  const auto x = m.variable("x", 0.0), z = m.variable("z", 0.0);
  m.equation(der(x) == if_else(m.time() > -1.0, if_else(x > 0.0, 1.0, if_else(x >= 0.0, 0.0, 2.0)), 0.0));
  m.equation(der(z) == holding(x));
  const Trajectory run = simulate(m, {.stop = 1.0});
  EXPECT_NEAR(run.final()[0], 1.0, 1e-12);
  EXPECT_NEAR(run.final()[1], positive, 1e-12);
}

TEST(RestingRelations, ResultsThatAreNotUniqueSaySo) {
  Model m("literally");
  const auto x = m.variable("x", 0.0), y = m.variable("y", 0.0);
  m.equation(der(x) == if_else(x > 0.0, 1.0, 0.0));
  m.equation(der(y) == holding(x));
  const Trajectory run = simulate(m, {.stop = 1.0});
  EXPECT_NEAR(run.final()[1], zero, 1e-12);
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_NE(run.events()[0].message.find("2 continuations"), std::string::npos) << run.events()[0].message;
}

/// sign(x) in an equation, an observed variable, a nonlinear one, a discrete equation, and conditions.
struct Signs {
  Model m{"signs"};
  Expr x, y;

  explicit Signs(double start, bool algebraic) {
    x = m.variable("x", start);
    y = m.variable("y", 0.0);
    const Expr seen = m.variable("seen", 0.0), known = m.discrete("known", 0.0), above = m.discrete("above", 0.0), below = m.discrete("below", 0.0),
               still = m.discrete("still", 0.0);
    m.equation(seen == 2.0 * sign(-x));
    m.define(known, sign(x));
    m.when(sign(x) > 0.0).assign(above, m.pre(above) + 1.0);
    m.when(sign(x) < -0.5).assign(below, m.pre(below) + 1.0);
    m.when(equal(sign(x), 0.0)).assign(still, m.pre(still) + 1.0);
    if (!algebraic) {
      m.equation(der(y) == sign(x) + 10.0);
      return;
    }
    const Expr w = m.variable("w", 0.0);
    m.equation(der(y) == w + 10.0);
    m.equation(w + w * w * w == 2.0 * sign(x));  // w = sign(x)
  }
};

bool solves_algebraic(Method method) {
  return method == Method::automatic || method == Method::taylor || method == Method::radau5 || method == Method::bdf || method == Method::rodas5p;
}

// x is from - t until it comes to zero, where it stays for a while; then it leaves to the other side, and is reset to zero in the end.
TEST(RestingRelations, SignIsZeroWhereItsArgumentRests) {
  for (const double from : {1.0, -1.0, 0.0})
    for (const bool algebraic : {false, true})
      for (const Method method : all_methods) {
        if (algebraic && !solves_algebraic(method)) continue;
        SCOPED_TRACE(::testing::Message() << "from " << from << ", " << to_string(method) << (algebraic ? ", algebraic" : ""));
        Signs signs(from, algebraic);
        Model& m = signs.m;
        const Expr x = signs.x, t = m.time();
        const Expr before = from > 0.0 ? if_else(x > 0.0, -1.0, 0.0) : from < 0.0 ? if_else(x < 0.0, 1.0, 0.0) : Expr(0.0);
        const double away = from > 0.0 ? -1.0 : 1.0;
        m.equation(der(x) == if_else(t < 2.0, before, if_else(t < 3.0, Expr(away), Expr(0.0))));
        m.when(t > 3.5).reset(x, 0.0);
        const Trajectory run = simulate(m, {.stop = 5.0, .method = method});
        ASSERT_TRUE(run.status().ok()) << run.status().message;
        const double arrival = std::abs(from), sum = from * arrival + away * 1.5;
        EXPECT_NEAR(run.final()[run.index("y")], 50.0 + sum, 1e-5);  // ten tolerances
        for (const double when : {1.5, 4.0}) {
          EXPECT_EQ(run.at(when, "seen"), 0.0);
          EXPECT_EQ(run.at(when, "known"), 0.0);
        }
        EXPECT_EQ(run.at(2.5, "seen"), -2.0 * away);
        EXPECT_EQ(run.at(2.5, "known"), away);
        EXPECT_EQ(run.at(5.0, "above"), away > 0.0 ? 1.0 : 0.0);  // what holds at the start is no edge
        EXPECT_EQ(run.at(5.0, "below"), away < 0.0 ? 1.0 : 0.0);
        EXPECT_EQ(run.at(5.0, "still"), from == 0.0 ? 1.0 : 2.0);
      }
}

// Friction sticks by its sign, which is what it must be between -1 and 1, and not zero.
TEST(RestingRelations, SignOfASpeedThatStandsStillByFrictionIsTheWeight) {
  for (const bool algebraic : {false, true})
    for (const double start : {1.0, 0.0, -1.0})
      for (const Method method : {Method::automatic, Method::radau5, Method::bdf}) {
        Model m("friction");
        const Expr v = m.variable("v", start), f = m.variable("f", 0.0), force = 0.5 * (m.time() - 3.0);
        m.equation(der(v) == force - f);
        m.equation(algebraic ? f + f * f * f == sign(v) + sign(v) * sign(v) * sign(v) : f == sign(v));
        const Trajectory run = simulate(m, {.stop = 6.0, .method = method});
        SCOPED_TRACE(::testing::Message() << start << ", " << to_string(method) << (algebraic ? ", algebraic" : ""));
        ASSERT_TRUE(run.status().ok()) << run.status().message;
        EXPECT_NEAR(run.at(4.0, "v"), 0.0, 1e-12);
        EXPECT_NEAR(run.at(4.0, "f"), 0.5, 1e-8);
        EXPECT_NEAR(run.final()[0], 0.25, 1e-5);  // loose from t = 5 on: (t - 5)^2 / 4; ten tolerances
      }
}

// Nothing moves x, and then it slides: friction that is switched on at rest holds against a force, and lets go.
TEST(RestingRelations, FrictionThatBeginsAtRestSticks) {
  for (const Method method : all_methods) {
    Model m("brake");
    const Expr v = m.variable("v", 0.0), t = m.time();
    m.equation(der(v) == if_else(t < 1.0, Expr(0.0), -sign(v)) + if_else(t < 2.0, Expr(0.0), if_else(t < 3.0, Expr(0.5), Expr(2.0))));
    const Trajectory run = simulate(m, {.stop = 4.0, .method = method});
    ASSERT_TRUE(run.status().ok()) << to_string(method) << ": " << run.status().message;
    EXPECT_NEAR(run.at(2.9, "v"), 0.0, 1e-12) << to_string(method);
    EXPECT_NEAR(run.final()[0], 1.0, 1e-5) << to_string(method);
  }
}

}  // namespace
}  // namespace saltus
