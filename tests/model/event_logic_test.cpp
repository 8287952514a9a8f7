// Rounds of the discrete part by hand, and what a compiled model does when it is asked again and again: nothing that is kept from one call may
// be seen in the next.
#include <gtest/gtest.h>
#include <saltus/model/compiled_model.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace saltus {
namespace {

int guard_named(const CompiledModel& c, const std::string& name) {
  for (std::size_t k = 0; k < c.guards().size(); ++k)
    if (c.guards()[k].name == name) return static_cast<int>(k);
  throw UsageError(name);
}

/// One run of the discrete part after the other, by hand.
struct Hand {
  CompiledModel& model;
  std::vector<double> before, xp;
  Transition now;

  Hand(CompiledModel& m, std::vector<double> x, const std::vector<int>& sides) : model(m), before(x), xp(x.size(), 0.0) {
    now.mode = m.initial_mode();
    now.x = std::move(x);
    for (std::size_t k = 0; k < sides.size(); ++k) place(static_cast<int>(k), sides[k]);
    m.transition({.t = 0.0, .x_before = before, .xp_before = xp, .initial = true}, now);
  }
  bool at(double t) {
    before = now.x;
    now.reset.assign(now.x.size(), 0);
    return model.transition({.t = t, .x_before = before, .xp_before = xp}, now);
  }
  void place(int guard, int side) {
    model.set_side(now.mode, guard, side);
    now.mode.sees[static_cast<std::size_t>(guard)] = static_cast<signed char>(side);
  }
  bool side(int guard, int side, double t) {
    place(guard, side);
    return at(t);
  }
};

TEST(EventLogic, AClauseActsOnEachEdgeOfItsCondition) {
  Model m("ball");
  const Expr h = m.variable("h", 1.0), v = m.variable("v", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == -9.81);
  m.when(h < 0.0).reset(v, -0.5 * v);
  CompiledModel c(m);
  Hand ball(c, {0.0, -4.0}, {+1});
  EXPECT_FALSE(ball.at(0.5));  // nothing has happened
  for (const double after : {2.0, -1.0, 0.5}) {
    EXPECT_TRUE(ball.side(0, -1, 1.0));
    EXPECT_EQ(ball.now.x, (std::vector{0.0, after}));
    EXPECT_EQ(ball.now.reset, (std::vector<char>{0, 1}));
    EXPECT_FALSE(ball.at(1.0));             // the condition still holds
    EXPECT_FALSE(ball.side(0, +1, 1.0));  // it falls
    EXPECT_EQ(ball.now.x, (std::vector{0.0, after}));
    EXPECT_EQ(ball.now.reset, (std::vector<char>{0, 0}));
  }
}

TEST(EventLogic, ResetsAreSeenFromTheNextRoundOn) {
  Model m("rounds");
  const Expr x = m.variable("x", 5.0), y = m.variable("y", 0.0), z = m.variable("z", 0.0), w = m.variable("w", 0.0);
  const BoolExpr q = m.discrete("q", false);
  for (const Expr& e : {x, y, z, w}) m.equation(der(e) == 0.0);
  m.when(m.time() > 1.0).reset(x, 7.0).assign(q, BoolExpr(true));
  m.when(m.time() > 1.0).reset(z, x);                            // the same round: x is still 5
  m.when(q).reset(w, x + 1000.0 * z);                            // the same round, after the first clause
  m.when(m.pre(q)).reset(y, x + 100.0 * m.pre(x) + 1000.0 * z);  // the next round, with pre(x) from before that round
  CompiledModel c(m);
  Hand hand(c, {5.0, 0.0, 0.0, 0.0}, {-1});
  EXPECT_TRUE(hand.side(0, +1, 1.0));
  EXPECT_EQ(hand.now.x, (std::vector{7.0, 0.0, 5.0, 5.0}));
  EXPECT_EQ(hand.now.fired.size(), 3u);
  EXPECT_TRUE(hand.at(1.0));
  EXPECT_EQ(hand.now.x, (std::vector{7.0, 7.0 + 700.0 + 5000.0, 5.0, 5.0}));
  EXPECT_EQ(hand.now.fired.size(), 4u);
  EXPECT_FALSE(hand.at(1.0));
}

TEST(EventLogic, TwoResetsOfOneRoundWithDifferentValuesAreReported) {
  Model m("twice");
  const Expr x = m.variable("x", 5.0);
  m.equation(der(x) == 0.0);
  m.when(m.time() > 1.0).reset(x, 7.0);
  m.when(m.time() > 1.0).reset(x, x + 1.0);
  CompiledModel c(m);
  Hand hand(c, {5.0}, {-1});
  EXPECT_TRUE(hand.side(0, +1, 1.0));
  ASSERT_EQ(hand.now.contradictions.size(), 1u);
  EXPECT_EQ(hand.now.contradictions[0].variable, "x");
  EXPECT_EQ(hand.now.contradictions[0].first_value, 7.0);
  EXPECT_EQ(hand.now.contradictions[0].second_value, 6.0);
}

TEST(EventLogic, ARelationHasTheTruthOfTheValuesOfItsRound) {
  Model m("timer");
  const Expr x = m.variable("x", 0.0), t0 = m.discrete("t0", 0.0);
  const BoolExpr armed = m.discrete("armed", false), done = m.discrete("done", false);
  m.equation(der(x) == 1.0);
  m.when(x > 2.0).assign(t0, m.time()).assign(armed, BoolExpr(true));
  m.when(armed && m.time() > t0 + 1.0).assign(done, BoolExpr(true));
  CompiledModel c(m);
  Hand hand(c, {2.0}, {-1, +1});
  ASSERT_EQ(c.guards()[1].name, "time > t0 + 1");
  EXPECT_TRUE(hand.side(0, +1, 2.0));  // the timer begins to run in this round
  EXPECT_EQ(hand.now.mode.discrete, (std::vector{2.0, 1.0, 0.0}));
  EXPECT_FALSE(hand.side(1, -1, 2.0));
  EXPECT_TRUE(hand.side(1, +1, 3.0));
  EXPECT_EQ(hand.now.mode.discrete, (std::vector{2.0, 1.0, 1.0}));
}

TEST(EventLogic, NumbersThatNeedEachOtherAreSolved) {
  Model m("loop");
  const Expr x = m.variable("x", 0.0), a = m.discrete("a", 0.0), b = m.discrete("b", 0.0);
  m.equation(der(x) == 1.0);
  m.when(x > 1.0).assign(a, 2.0 * b + 1.0);
  m.when(x > 1.0).assign(b, 3.0 - a);
  CompiledModel c(m);
  Hand hand(c, {1.0}, {-1});
  EXPECT_TRUE(hand.side(0, +1, 1.0));
  EXPECT_FALSE(hand.now.failed) << hand.now.message;
  EXPECT_NEAR(hand.now.mode.discrete[0], 7.0 / 3.0, 1e-11);  // the accuracy of the iteration
  EXPECT_NEAR(hand.now.mode.discrete[1], 2.0 / 3.0, 1e-11);
}

TEST(EventLogic, TruthsThatNeedEachOtherAreRefused) {
  Model m("loop");
  const Expr x = m.variable("x", 0.0);
  const BoolExpr a = m.discrete("a", false), b = m.discrete("b", false);
  m.equation(der(x) == 1.0);
  m.when(x > 1.0).assign(a, b);
  m.when(x > 1.0).assign(b, a);
  CompiledModel c(m);
  Hand hand(c, {1.0}, {-1});
  EXPECT_TRUE(hand.side(0, +1, 1.0));
  EXPECT_TRUE(hand.now.failed);
  EXPECT_NE(hand.now.message.find("'a', 'b'"), std::string::npos) << hand.now.message;
}

TEST(EventLogic, AChangeOfModeSeesTheValuesBeforeTheRound) {
  Model m("modes");
  const Expr x = m.variable("x", 3.0), y = m.variable("y", 0.0);
  m.equation(der(y) == 0.0);
  const ExplicitMode first = m.mode("first"), second = m.mode("second");
  ExplicitMode(first).equation(der(x) == 0.0);
  ExplicitMode(second).equation(der(x) == 1.0);
  m.when(m.time() > 1.0).reset(x, -1.0);
  ExplicitMode(first).transition(m.time() > 1.0).to(second).reset(y, x);
  ExplicitMode(second).transition(m.time() > 5.0).to(first);
  CompiledModel c(m);
  Hand hand(c, {3.0, 0.0}, {-1, -1});
  EXPECT_TRUE(hand.side(guard_named(c, "time > 1"), +1, 1.0));
  EXPECT_EQ(hand.now.x, (std::vector{-1.0, 3.0}));
  EXPECT_EQ(hand.now.mode.automaton, 1);
}

TEST(EventLogic, AnEndIsReportedByTheRoundThatAsksForIt) {
  Model m("end");
  const Expr x = m.variable("x", 0.0);
  m.equation(der(x) == 1.0);
  m.when(x > 1.0).reset(x, 0.5).terminate("far enough");
  m.assertion(x < 10.0, "not too far");
  CompiledModel c(m);
  Hand hand(c, {1.0}, {-1, -1});
  EXPECT_TRUE(hand.side(guard_named(c, "x > 1"), +1, 1.0));
  EXPECT_TRUE(hand.now.terminate);
  EXPECT_FALSE(hand.now.failed);
  EXPECT_EQ(hand.now.message, "far enough");
  EXPECT_EQ(hand.now.x, std::vector{0.5});
}

TEST(EventLogic, AssertionsAreCheckedAfterTheActions) {
  Model m("checked");
  const Expr x = m.variable("x", 0.0), q = m.discrete("q", 0.0);
  m.equation(der(x) == 1.0);
  m.when(x > 1.0).assign(q, q + 2.0);
  m.assertion(!BoolExpr(q), "q stays zero");
  CompiledModel c(m);
  Hand hand(c, {1.0}, {-1});
  EXPECT_FALSE(hand.at(0.5));
  EXPECT_FALSE(hand.now.failed);
  EXPECT_TRUE(hand.side(0, +1, 1.0));
  EXPECT_FALSE(hand.now.failed);
  c.end_instant({.t = 1.0, .x_before = hand.before, .xp_before = hand.xp}, hand.now);
  EXPECT_TRUE(hand.now.failed);
  EXPECT_NE(hand.now.message.find("q stays zero"), std::string::npos) << hand.now.message;
}

TEST(EventLogic, TwoRunsOfOneModelDoNotSeeEachOther) {
  Model m("counter");
  const Expr x = m.variable("x", 1.0), n = m.discrete("n", 0.0);
  m.equation(der(x) == n);
  m.when(x < 0.0).assign(n, m.pre(n) + 1.0).reset(x, m.pre(x) + n);
  CompiledModel c(m);
  Hand a(c, {1.0}, {+1}), b(c, {100.0}, {+1});
  for (int k = 1; k <= 3; ++k) {
    EXPECT_TRUE(a.side(0, -1, k));
    EXPECT_FALSE(b.at(k));
    EXPECT_FALSE(a.side(0, +1, k));
  }
  EXPECT_EQ(a.now.mode.discrete, std::vector{3.0});
  EXPECT_EQ(a.now.x, std::vector{1.0 + 1.0 + 2.0 + 3.0});
  EXPECT_EQ(b.now.mode.discrete, std::vector{0.0});
  EXPECT_EQ(b.now.x, std::vector{100.0});
  EXPECT_TRUE(b.side(0, -1, 4.0));
  EXPECT_EQ(b.now.x, std::vector{101.0});
}

TEST(CompiledModel, SystemsFollowTheModeWhoeverAskedBefore) {
  Model m("m");
  const Expr x = m.variable("x", 1.0), u = m.discrete("u", 2.0), p = m.parameter("p", 3.0);
  m.equation(der(x) == if_else(x > p * u, 1.0 / u, -1.0 / u));
  CompiledModel c(m);
  Mode above = c.initial_mode(), below = above;
  c.set_side(above, 0, +1);
  c.set_side(below, 0, -1);
  below.discrete[0] = 4.0;
  const std::vector<double> point{1.0};
  const auto check = [&](const Mode& mode, double slope) {
    System& s = c.system(mode);
    double xp[1], g[1];
    s.rhs(0.0, point, xp);
    EXPECT_EQ(xp[0], slope);
    s.guards(0.0, point, {xp, 1}, g);
    EXPECT_EQ(g[0], 1.0 - 3.0 * mode.discrete[0]);
    ASSERT_EQ(s.linear_guards().size(), 1u);
    EXPECT_EQ(s.linear_guards()[0].constant, -3.0 * mode.discrete[0]);
  };
  for (int k = 0; k < 2; ++k) {
    check(above, 0.5);
    check(below, -0.25);
    check(below, -0.25);
  }
  above.discrete[0] = 0.0;  // by hand, also to the other zero
  check(above, INFINITY);
  above.discrete[0] = -0.0;
  check(above, -INFINITY);
  c.set_side(above, 0, -1);
  check(above, INFINITY);
}

// All of them at once, each asked while the others are held.
TEST(CompiledModel, SystemsOfTwoModesAreIndependent) {
  Model m("m");
  const Expr x = m.variable("x", 1.0), u = m.discrete("u", 2.0), n = m.discrete("n", 0.0);
  m.equation(der(x) == if_else(x > u, 1.0 / u, -x));
  m.when(x > 7.0).assign(n, m.pre(n) + 1.0);
  CompiledModel c(m);
  std::vector<Mode> modes;
  std::vector<System*> systems;
  for (int k = 0; k < 200; ++k) {
    Mode& mode = modes.emplace_back(c.initial_mode());
    c.set_side(mode, 0, k % 2 == 0 ? +1 : -1);
    mode.discrete[0] = 1.0 + k;
    systems.push_back(&c.system(mode));
  }
  const std::vector<double> point{3.0};
  for (std::size_t k = 0; k < modes.size(); ++k) {
    System& s = *systems[k];
    EXPECT_EQ(&c.system(modes[k]), &s);
    double xp[1], g[2];
    s.rhs(0.0, point, xp);
    EXPECT_EQ(xp[0], k % 2 == 0 ? 1.0 / modes[k].discrete[0] : -3.0);
    s.guards(0.0, point, {xp, 1}, g);
    EXPECT_EQ(g[0], 3.0 - modes[k].discrete[0]);
    EXPECT_EQ(s.linear_guards()[0].constant, -modes[k].discrete[0]);
  }
  EXPECT_EQ(systems[4]->linear_guards()[0].constant, -5.0);  // as before
  // a counter is no part of the equations
  Mode counted = modes[0];
  counted.discrete[1] = 17.0;
  EXPECT_EQ(&c.system(counted), systems[0]);
  // those that are kept stay as they are, whatever becomes of the others
  const System* const kept[] = {systems[3], systems[4]};
  c.forget_systems(kept);
  for (int k = 0; k < 500; ++k) {
    modes[0].discrete[0] = 1000.0 + k;
    c.system(modes[0]);
  }
  for (const std::size_t k : {3u, 4u}) {
    double xp[1];
    systems[k]->rhs(0.0, point, xp);
    EXPECT_EQ(xp[0], k % 2 == 0 ? 1.0 / modes[k].discrete[0] : -3.0);
    EXPECT_EQ(&c.system(modes[k]), systems[k]);
  }
}

TEST(CompiledModel, InitialConditionsOfTwoModesAreIndependent) {
  Model m("m");
  const Expr x = m.variable("x", 1.0), u = m.discrete("u", 2.0);
  m.equation(der(x) == -x);
  m.initial_equation(x == u);
  CompiledModel c(m);
  Mode one = c.initial_mode(), other = one;
  other.discrete[0] = 5.0;
  ExtraConditions *a = c.initial_conditions(one), *b = c.initial_conditions(other);
  double h[1];
  const double point[1] = {3.0}, slope[1] = {0.0};
  a->residual(0.0, point, slope, h);
  const double first = h[0];
  b->residual(0.0, point, slope, h);
  EXPECT_EQ(std::abs(first), 1.0);
  EXPECT_EQ(std::abs(h[0]), 2.0);
  EXPECT_EQ(c.initial_conditions(one), a);
}

TEST(CompiledModel, HasAGraphOfItsOwn) {
  Model m("m");
  const Expr x = m.variable("x", 1.0), p = m.parameter("p", 2.0);
  m.equation(der(x) == -p * x);
  const std::size_t before = m.data().graph->size();
  CompiledModel c(m);
  const Mode mode = c.initial_mode();
  std::vector<double> xp(1), Ft(1);
  c.system(mode).time_derivative(0.0, std::vector{1.0}, xp, Ft);
  EXPECT_EQ(m.data().graph->size(), before);
  m.set("p", 3.0);
  const Expr more = sin(x) * cos(x);
  c.system(mode).rhs(0.0, std::vector{1.0}, xp);
  EXPECT_EQ(xp[0], -2.0);
}

TEST(CompiledModel, SidesFollowDiscreteValuesAndExplicitModes) {
  Model m("m");
  const Expr x = m.variable("x"), y = m.variable("y"), q = m.discrete("q", 0.0);
  m.equation(der(y) == if_else(BoolExpr(q), if_else(x > 1.0, Expr(1.0), Expr(2.0)), Expr(3.0)) + floor(y));
  const ExplicitMode first = m.mode("first"), second = m.mode("second");
  ExplicitMode(first).equation(der(x) == if_else(x > 2.0, Expr(1.0), Expr(2.0)));
  ExplicitMode(second).equation(der(x) == 1.0);
  ExplicitMode(first).transition(m.time() > 1.0).to(second);
  ExplicitMode(second).transition(m.time() < 0.0).to(first);
  const CompiledModel c(m);
  const int inner = guard_named(c, "x > 1"), own = guard_named(c, "x > 2"), low = guard_named(c, "y falls below an integer");
  Mode mode = c.initial_mode();
  c.set_side(mode, inner, +1);
  const auto sides = [&] { return std::vector{c.side(mode, inner), c.side(mode, own), c.side(mode, low)}; };
  EXPECT_EQ(sides(), (std::vector{0, -1, +1}));
  EXPECT_EQ(c.dormant(mode).size(), 1u);
  mode.discrete[0] = 1.0;
  EXPECT_EQ(sides(), (std::vector{+1, -1, +1}));
  EXPECT_TRUE(c.dormant(mode).empty());
  c.set_side(mode, own, +1);
  c.set_side(mode, low, -1);  // to the integer below: inside again
  EXPECT_EQ(sides(), (std::vector{+1, +1, +1}));
  mode.automaton = 1;
  EXPECT_EQ(sides(), (std::vector{+1, 0, +1}));
  mode.automaton = 0;
  mode.sliding = {own};
  EXPECT_EQ(sides(), (std::vector{+1, 0, +1}));
  mode.sliding.clear();
  c.begin_contact(mode, inner, +1);
  EXPECT_EQ(sides(), (std::vector{0, +1, +1}));
}

TEST(CompiledModel, EquationsAreTheSameWhereNothingThatTheyAskForDiffers) {
  Model m("m");
  const Expr x = m.variable("x"), y = m.variable("y"), q = m.discrete("q", 1.0), n = m.discrete("n", 0.0);
  m.equation(der(x) == if_else(x > 0.0, if_else(y > 1.0, Expr(1.0), Expr(2.0)), Expr(3.0)) + q);
  m.equation(der(y) == if_else(x > 0.0, if_else(y > 2.0, x, Expr(0.0)), Expr(3.0)));  // decides where the Jacobian vanishes
  m.when(x > 4.0).assign(n, m.pre(n) + 1.0);
  const CompiledModel c(m);
  const int outer = guard_named(c, "x > 0"), inner = guard_named(c, "y > 1"), structural = guard_named(c, "y > 2"),
            condition = guard_named(c, "x > 4");
  const auto same = [&](bool in_branch, int changed) {
    Mode a = c.initial_mode();
    c.set_side(a, outer, in_branch ? +1 : -1);
    Mode b = a;
    c.set_side(b, changed, c.side(a, changed) > 0 ? -1 : +1);
    return c.same_equations(a, b) && c.same_equations(b, a);
  };
  EXPECT_FALSE(same(true, outer));
  EXPECT_FALSE(same(false, outer));
  EXPECT_FALSE(same(true, inner));
  EXPECT_TRUE(same(false, inner));  // in a branch that is not taken
  EXPECT_FALSE(same(false, structural));
  EXPECT_TRUE(same(true, condition));  // asked for by a clause, not by the equations
  const Mode a = c.initial_mode();
  Mode b = a;
  b.discrete[1] = 7.0;  // n
  EXPECT_TRUE(c.same_equations(a, b));
  b.discrete[0] = 7.0;  // q
  EXPECT_FALSE(c.same_equations(a, b));
  b = a;
  b.sliding = {outer};
  EXPECT_FALSE(c.same_equations(a, b));
}

TEST(CompiledModel, ObservedAreStatesThenDiscreteVariables) {
  const auto observed = [](bool with_discrete, bool with_output) {
    Model m("m");
    const Expr x = m.variable("x", 1.0), y = with_output ? m.variable("y") : x, z = m.variable("z", 3.0);
    m.equation(der(x) == 0.0);
    if (with_output) m.equation(y == 10.0 * x);
    m.equation(der(z) == 0.0);
    if (with_discrete) m.discrete("q", 4.0);
    m.when(m.sample(0.0, 1.0)).record();  // its own discrete variables are hidden
    CompiledModel c(m);
    std::vector<double> values(c.observed().size());
    c.observe(c.initial_mode(), 0.0, std::vector{5.0, 6.0}, std::vector{0.0, 0.0}, values);
    return values;
  };
  EXPECT_EQ(observed(false, false), (std::vector{5.0, 6.0}));
  EXPECT_EQ(observed(true, false), (std::vector{5.0, 6.0, 4.0}));
  EXPECT_EQ(observed(false, true), (std::vector{5.0, 50.0, 6.0}));
  EXPECT_EQ(observed(true, true), (std::vector{5.0, 50.0, 6.0, 4.0}));
}

}  // namespace
}  // namespace saltus
