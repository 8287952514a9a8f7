// Bodies in contact after infinitely many impacts: relations on the surface have their truth at zero exactly, in equations, observed variables, discrete
// equations and clauses; the clause that made the impacts does not act once more; the solution goes back to the side from which it came.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "hybrid/random_relations.hpp"

namespace saltus {
namespace {

const Method all_methods[] = {Method::automatic, Method::taylor, Method::dopri5, Method::dop853, Method::rodas5p, Method::radau5, Method::bdf};
constexpr double tol = 1e-7;

/// Contacts of modes with algebraic equations have hidden constraints.
bool solves_algebraic(Method method) { return method != Method::dopri5 && method != Method::dop853 && method != Method::rodas5p; }

/// 1, 2, 4, 8 for x > 0, x < 0, x >= 0, x <= 0, and 16 sign(x): the sum says which of them hold.
Expr holding(const Expr& x) {
  return if_else(x > 0.0, 1.0, 0.0) + if_else(x < 0.0, 2.0, 0.0) + if_else(x >= 0.0, 4.0, 0.0) + if_else(x <= 0.0, 8.0, 0.0) + 16.0 * sign(x);
}
double holds(int side) { return side > 0 ? 21.0 : side < 0 ? -6.0 : 12.0; }

std::vector<const Event*> of_kind(const Trajectory& run, EventKind kind) {
  std::vector<const Event*> found;
  for (const Event& e : run.events())
    if (e.kind == kind) found.push_back(&e);
  return found;
}

/// What makes the impacts of a ball.
enum class Clause { below, not_above, strictly, falling, by_sign, defined, transition };
constexpr Clause all_clauses[] = {Clause::below, Clause::not_above, Clause::strictly, Clause::falling, Clause::by_sign, Clause::defined, Clause::transition};

/// A ball at a distance x from a floor (up = 1) or a ceiling (up = -1): it is pressed by 2, comes to rest at t = 3 with e = 1/2, and lifts off as
/// 2 (t - 4) does after t = 3.5, to come back when it is pressed again, from t = 5 on.
struct Ball {
  Model m{"ball"};
  Expr x, v, impacts;

  Ball(int up, bool algebraic, Clause clause, double floor = 0.0) {
    const Expr t = m.time(), position = m.variable("position", floor + static_cast<double>(up));
    x = position - floor;
    v = m.variable("v", 0.0);
    impacts = m.discrete("impacts", 0.0);
    const Expr force = static_cast<double>(up) * if_else(t < 3.5, Expr(-2.0), if_else(t < 5.0, 2.0 * (t - 4.0), Expr(-2.0))), f = m.variable("f", 0.0);
    m.equation(der(position) == v);
    m.equation(der(v) == f);
    if (algebraic)
      m.equation(f + 0.1 * f * f * f == force + 0.1 * force * force * force);  // f = force
    else
      m.equation(f == force);
    const Expr h = static_cast<double>(up) * x, flag = m.discrete("flag", 0.0);
    if (clause == Clause::transition) {
      ExplicitMode fly = m.mode("fly");
      fly.transition(h <= 0.0).to(fly).reset(v, -0.5 * v).assign(impacts, impacts + 1.0);
      return;
    }
    if (clause == Clause::defined) m.define(flag, if_else(h <= 0.0, 1.0, 0.0));
    const BoolExpr condition = clause == Clause::below      ? h <= 0.0
                               : clause == Clause::not_above ? !(h > 0.0)
                               : clause == Clause::strictly  ? h < 0.0
                               : clause == Clause::falling   ? h <= 0.0 && static_cast<double>(up) * v < 0.0
                               : clause == Clause::by_sign   ? sign(h) <= 0.0
                                                             : flag > 0.5;
    m.when(condition).reset(v, -0.5 * v).assign(impacts, m.pre(impacts) + 1.0);
  }
};

TEST(RelationsInContact, EachHasItsTruthAtZeroUntilTheRelease) {
  for (const int up : {+1, -1})
    for (const bool algebraic : {false, true})
      for (const Clause clause : all_clauses)
        for (const Method method : all_methods) {
          if (algebraic && !solves_algebraic(method)) continue;
          Ball ball(up, algebraic, clause);
          Model& m = ball.m;
          const Expr y = m.variable("y", 0.0), seen = m.variable("seen", 0.0), known = m.discrete("known", 0.0), rested = m.discrete("rested", 0.0),
                     left = m.discrete("left", 0.0);
          m.equation(der(y) == holding(ball.x));
          m.equation(seen == holding(ball.x));
          m.define(known, holding(ball.x));
          m.when(ball.x <= 0.0 && ball.x >= 0.0).assign(rested, m.pre(rested) + 1.0);
          m.when(up > 0 ? ball.x > 0.0 : ball.x < 0.0).assign(left, m.pre(left) + 1.0);
          const Trajectory run = simulate(m, {.stop = 5.5, .rtol = tol, .atol = tol, .method = method});
          SCOPED_TRACE(::testing::Message() << "up " << up << ", clause " << static_cast<int>(clause) << (algebraic ? ", algebraic, " : ", ") << to_string(method));
          ASSERT_TRUE(run.status().ok()) << run.status().message;
          const auto contacts = of_kind(run, EventKind::contact), releases = of_kind(run, EventKind::release), bounces = of_kind(run, EventKind::reset);
          const auto transitions = of_kind(run, EventKind::transition);
          ASSERT_EQ(contacts.size(), 1u);
          ASSERT_EQ(releases.size(), 1u);
          const double begin = contacts[0]->t, end = releases[0]->t;
          EXPECT_NEAR(begin, 3.0, 1e-4);  // flights lower than about 1e-12 are not seen: they take 1e-6 each
          EXPECT_NEAR(end, 4.0, 10.0 * tol);
          const auto value = [&](const Event* e, const char* name) { return e->after[run.index(name)]; };
          EXPECT_EQ(value(contacts[0], "seen"), holds(0));
          EXPECT_EQ(value(contacts[0], "known"), holds(0));
          EXPECT_EQ(run.at(3.7, "seen"), holds(0));
          EXPECT_EQ(value(releases[0], "seen"), holds(up));
          EXPECT_EQ(value(releases[0], "known"), holds(up));
          EXPECT_NEAR(run.at(5.5, "y"), holds(up) * (begin + 5.5 - end) + holds(0) * (end - begin), 100.0 * tol);
          // at each impact it passes through zero, once more on its way back from below; in the last one it stays there
          EXPECT_EQ(run.at(5.5, "rested"), (clause == Clause::strictly ? 2.0 : 1.0) * run.at(5.5, "impacts"));
          EXPECT_EQ(run.at(5.5, "impacts"), static_cast<double>(bounces.size() + transitions.size()));  // no one more by the contact
          EXPECT_EQ(run.at(5.5, "left"), run.at(5.5, "impacts") + 1.0);  // after each, and at the release
          const double lifted = 1.0 / 3.0 + 0.5 - 0.25;  // (t - 4)^3/3 until 5, then with the speed 1 and -2
          EXPECT_NEAR(up * run.final()[0], lifted, 100.0 * tol);
          EXPECT_EQ(contacts[0]->contacts, std::vector<std::string>{"position = 0"});
          EXPECT_EQ(releases[0]->direction, std::vector<int>{up});
        }
}

TEST(RelationsInContact, DescriptionsOfModesSaySo) {
  for (const int up : {+1, -1}) {
    Ball ball(up, false, Clause::below);
    const Expr y = ball.m.variable("y", 0.0);
    ball.m.equation(y == holding(ball.x));
    const Trajectory run = simulate(ball.m, {.stop = 5.0});
    const auto contacts = of_kind(run, EventKind::contact), releases = of_kind(run, EventKind::release);
    ASSERT_EQ(contacts.size(), 1u);
    ASSERT_EQ(releases.size(), 1u);
    const std::string beside = up > 0 ? "position > 0" : "position < 0", on_surface = "in contact with position = 0";
    const auto says = [](const std::string& mode, const std::string& text) { return mode.find(text) != std::string::npos; };
    EXPECT_TRUE(says(contacts[0]->mode_before, beside) && !says(contacts[0]->mode_before, on_surface)) << contacts[0]->mode_before;
    EXPECT_TRUE(!says(contacts[0]->mode_after, beside) && says(contacts[0]->mode_after, on_surface)) << contacts[0]->mode_after;
    EXPECT_TRUE(says(releases[0]->mode_after, beside) && !says(releases[0]->mode_after, on_surface)) << releases[0]->mode_after;
  }
}

// It comes to rest once more after the release, and where the floor is not at zero.
TEST(RelationsInContact, LaterImpactsAndContacts) {
  for (const Method method : all_methods) {
    Ball ball(+1, false, Clause::below, 0.3);
    const Expr y = ball.m.variable("y", 0.0);
    ball.m.equation(der(y) == holding(ball.x));
    const Trajectory run = simulate(ball.m, {.stop = 12.0, .rtol = tol, .atol = tol, .method = method});
    ASSERT_TRUE(run.status().ok()) << to_string(method) << ": " << run.status().message;
    const auto contacts = of_kind(run, EventKind::contact), releases = of_kind(run, EventKind::release);
    ASSERT_EQ(contacts.size(), 2u) << to_string(method);
    ASSERT_EQ(releases.size(), 1u) << to_string(method);
    // at 5 it flies up with 1 from 1/3: down after t1 = (1 + sqrt(1 + 4/3))/2 with the speed 2 t1 - 1, and each flight is half as long as the one before
    const double t1 = 0.5 * (1.0 + std::sqrt(7.0 / 3.0)), rest = 5.0 + t1 + (2.0 * t1 - 1.0) * 0.5 * 2.0;
    EXPECT_NEAR(contacts[1]->t, rest, 1e-4) << to_string(method);
    const double still = releases[0]->t - contacts[0]->t + 12.0 - contacts[1]->t;
    EXPECT_NEAR(run.final()[run.index("y")], holds(+1) * (12.0 - still) + holds(0) * still, 100.0 * tol) << to_string(method);
    EXPECT_NEAR(run.final()[0], 0.3, tol) << to_string(method);
  }
}

// The speed is set while the ball lies: upwards it flies, downwards it bounces.
TEST(RelationsInContact, ResetsEndThem) {
  for (const bool algebraic : {false, true})
    for (const Clause clause : all_clauses)
      for (const double speed : {-1.0, 1.0}) {
        Model m("kick");
        const Expr h = m.variable("h", 1.0), v = m.variable("v", 0.0), f = m.variable("f", -2.0), y = m.variable("y", 0.0), flag = m.discrete("flag", 0.0);
        m.equation(der(h) == v);
        m.equation(der(v) == f);
        m.equation(algebraic ? f + 0.1 * f * f * f == -2.8 : f == -2.0 + 0.0 * v);
        m.equation(der(y) == holding(h));
        m.when(m.time() > 4.0).reset(v, speed);
        if (clause == Clause::transition) {
          ExplicitMode fly = m.mode("fly");
          fly.transition(h <= 0.0).to(fly).reset(v, -0.5 * v);
        } else {
          if (clause == Clause::defined) m.define(flag, if_else(h <= 0.0, 1.0, 0.0));
          m.when(clause == Clause::below      ? h <= 0.0
                 : clause == Clause::not_above ? !(h > 0.0)
                 : clause == Clause::strictly  ? h < 0.0
                 : clause == Clause::falling   ? h <= 0.0 && v < 0.0
                 : clause == Clause::by_sign   ? sign(h) <= 0.0
                                               : flag > 0.5)
              .reset(v, -0.5 * v);
        }
        const Trajectory run = simulate(m, {.stop = 8.0, .rtol = tol, .atol = tol});
        SCOPED_TRACE(::testing::Message() << "clause " << static_cast<int>(clause) << ", speed " << speed << (algebraic ? ", algebraic" : ""));
        ASSERT_TRUE(run.status().ok()) << run.status().message;
        const auto contacts = of_kind(run, EventKind::contact);
        ASSERT_EQ(contacts.size(), 2u);
        // with the speed u upwards it flies for u, then u/2, …: 2 u together; -1 becomes 1/2 first
        EXPECT_NEAR(contacts[1]->t, speed > 0.0 ? 6.0 : 5.0, 1e-4);
        const double still = 4.0 - contacts[0]->t + 8.0 - contacts[1]->t;
        EXPECT_NEAR(run.final()[run.index("y")], holds(+1) * (8.0 - still) + holds(0) * still, 100.0 * tol);
        EXPECT_NEAR(run.final()[0], 0.0, tol);
      }
}

// At t = 4 an event by time alone: in contact it has a side as elsewhere.
TEST(RelationsInContact, TimeEventsDoNotRest) {
  for (const bool strict : {false, true}) {
    Model m("time");
    const Expr h = m.variable("h", 1.0), v = m.variable("v", 0.0), t = m.time();
    m.equation(der(h) == v);
    m.equation(der(v) == if_else(strict ? t > 4.0 : t >= 4.0, t - 6.0, -2.0));
    m.when(h < 0.0).reset(v, -0.5 * v);
    const Trajectory run = simulate(m, {.stop = 7.0, .rtol = tol, .atol = tol});
    ASSERT_EQ(of_kind(run, EventKind::release).size(), 1u) << strict;
    EXPECT_NEAR(of_kind(run, EventKind::release)[0]->t, 6.0, 10.0 * tol) << strict;
    EXPECT_NEAR(run.final()[0], 1.0 / 6.0, 10.0 * tol) << strict;
  }
}

// From the floor to the ceiling, to which it comes from below.
TEST(RelationsInContact, TwoSurfaces) {
  Model m("between");
  const Expr h = m.variable("h", 1.0), v = m.variable("v", 0.0), low = m.variable("low", 0.0), high = m.variable("high", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == if_else(m.time() < 4.0, -2.0, 2.0));
  m.equation(low == holding(h));
  m.equation(high == holding(h - 2.0));
  m.when(h <= 0.0 || h >= 2.0).reset(v, -0.5 * v);  // one clause: in contact with one of them it must see the other
  const Trajectory run = simulate(m, {.stop = 12.0, .rtol = tol, .atol = tol});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(of_kind(run, EventKind::contact).size(), 2u);
  EXPECT_EQ(run.at(3.5, "low"), holds(0));
  EXPECT_EQ(run.at(3.5, "high"), holds(-1));
  EXPECT_EQ(run.at(12.0, "low"), holds(+1));
  EXPECT_EQ(run.at(12.0, "high"), holds(0));
  EXPECT_NEAR(run.final()[0], 2.0, tol);
}

/// A ball whose weight is 2 beside the floor and `on_floor` on it, where a force that grows as t - 4 from t = 4 on lifts it.
Model supported(double on_floor, bool algebraic, double slope) {
  Model m("supported");
  const Expr h = m.variable("h", 1.0), v = m.variable("v", 0.0), f = m.variable("f", -2.0);
  const Expr force = if_else(h > 0.0, Expr(-2.0), Expr(-on_floor)) + if_else(m.time() > 4.0, slope * (m.time() - 4.0), 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == f);
  m.equation(algebraic ? f + 0.1 * f * f * f == force + 0.1 * force * force * force : f == force);
  m.when(h < 0.0).reset(v, -0.5 * v);
  return m;
}

// On the floor it weighs 3, or nothing: it stays until 3 are lifted; or it stays without a force, as long as nothing moves it.
TEST(RelationsInContact, EquationsThatContainThemDecide) {
  for (const bool algebraic : {false, true})
    for (const Method method : all_methods) {
      if (algebraic && !solves_algebraic(method)) continue;
      SCOPED_TRACE(::testing::Message() << to_string(method) << (algebraic ? ", algebraic" : ""));
      const Trajectory heavy = simulate(supported(3.0, algebraic, 1.0), {.stop = 8.0, .rtol = tol, .atol = tol, .method = method});
      ASSERT_TRUE(heavy.status().ok()) << heavy.status().message;
      ASSERT_EQ(of_kind(heavy, EventKind::release).size(), 1u);
      EXPECT_NEAR(of_kind(heavy, EventKind::release)[0]->t, 7.0, 10.0 * tol);
      EXPECT_NEAR(heavy.final()[0], 0.5 + 1.0 / 6.0, 100.0 * tol);  // h'' = 1 + (t - 7) from 7 on
      const Trajectory still = simulate(supported(0.0, algebraic, 0.0), {.stop = 8.0, .rtol = tol, .atol = tol, .method = method});
      ASSERT_TRUE(still.status().ok()) << still.status().message;
      EXPECT_EQ(of_kind(still, EventKind::contact).size(), 1u);
      EXPECT_TRUE(of_kind(still, EventKind::release).empty());
      EXPECT_NEAR(still.final()[0], 0.0, tol);
      EXPECT_NEAR(still.final()[1], 0.0, tol);
    }
}

// Equations that deny the contact: on the floor the ball is pushed up, or it is lifted off a floor to which it falls back at once.
TEST(RelationsInContact, EquationsThatContradictTheContactAreNamed) {
  for (const bool algebraic : {false, true}) {
    const Trajectory pushed = simulate(supported(-1.0, algebraic, 0.0), {.stop = 8.0, .rtol = tol, .atol = tol});
    EXPECT_EQ(pushed.status().code, StatusCode::zeno);
    EXPECT_NEAR(pushed.t_end(), 3.0, 1e-4);
    EXPECT_NE(pushed.status().message.find("a relation on the surface of 'h > 0'"), std::string::npos) << pushed.status().message;
    const Trajectory lifted = simulate(supported(0.5, algebraic, 1.0), {.stop = 8.0, .rtol = tol, .atol = tol});
    EXPECT_EQ(lifted.status().code, StatusCode::no_forward_solution);
    EXPECT_NEAR(lifted.t_end(), 4.5, 10.0 * tol);
    EXPECT_NE(lifted.status().message.find("opens by the equations that hold there"), std::string::npos) << lifted.status().message;
  }
}

// Random functions of all kinds of relations on the height, in equations, observed and discrete variables and clauses: the events say when the ball flies
// and when it lies.
TEST(RelationsInContact, RandomFunctionsOfThem) {
  const std::vector<double> rates{0.0, 1.0, 2.0, 5.0, -3.0, 7.0};
  for (unsigned seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    const int up = pick(random, 2) == 0 ? 1 : -1;
    const bool algebraic = pick(random, 2) == 0;
    const Clause clause = all_clauses[pick(random, 7)];
    const bool below_first = clause == Clause::strictly;
    Ball ball(up, algebraic, clause, pick(random, 2) == 0 ? 0.0 : -0.7);
    Model& m = ball.m;
    const Choice slope = random_choice(random, ball.x, rates, 2), observed = random_choice(random, ball.x, rates, 2), defined = random_choice(random, ball.x, rates, 2);
    const Relation edge = random_relation(random, ball.x, 2);
    const Expr y = m.variable("y", 0.0), z = m.variable("z", 0.0), o = m.variable("o", 0.0), d = m.discrete("d", 0.0), n = m.discrete("n", 0.0);
    m.equation(der(y) == slope.expr);
    m.equation(o == observed.expr);
    m.define(d, defined.expr);
    m.equation(der(z) == d);
    m.when(edge.expr).assign(n, m.pre(n) + 1.0);
    const Method method = algebraic ? std::vector{Method::automatic, Method::radau5, Method::bdf}[static_cast<std::size_t>(pick(random, 3))]
                                    : all_methods[pick(random, 7)];
    const Trajectory run = simulate(m, {.stop = 9.0, .rtol = tol, .atol = tol, .method = method});
    SCOPED_TRACE(::testing::Message() << "seed " << seed << ", " << to_string(method));
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    int state = up, edges = 0;
    double last = 0.0, y_end = 0.0, z_end = 0.0;
    const auto enter = [&](int next) {
      edges += edge.truth(next) && !edge.truth(state);
      state = next;
    };
    const auto go_to = [&](double t) {
      y_end += (t - last) * slope.value(state);
      z_end += (t - last) * defined.value(state);
      last = t;
    };
    for (const Event& e : run.events()) {
      go_to(e.t);
      if (e.kind == EventKind::reset || e.kind == EventKind::transition) {  // through zero; back from below only if it has been there
        enter(0);
        if (below_first) enter(-up), enter(0);
        enter(up);
      }
      if (e.kind == EventKind::contact) state = 0;  // conditions have seen it there
      if (e.kind == EventKind::release) enter(up);
      EXPECT_NEAR(e.after[run.index("o")], observed.value(state), 1e-12);
    }
    go_to(9.0);
    EXPECT_EQ(of_kind(run, EventKind::contact).size(), 2u);
    EXPECT_NEAR(run.final()[run.index("y")], y_end, 1e3 * tol);
    EXPECT_NEAR(run.final()[run.index("z")], z_end, 1e3 * tol);
    EXPECT_EQ(run.final()[run.index("n")], edges);
  }
}

TEST(RelationsInContact, AContactBeginsAndEndsOnce) {
  Model m("ball");
  const Expr h = m.variable("h", 1.0), v = m.variable("v", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == -9.81);
  m.when(h < 0.0).reset(v, -0.5 * v);
  const CompiledModel ball(m);
  Mode mode = ball.initial_mode();
  EXPECT_THROW(ball.end_contact(mode, 0), UsageError);
  ball.begin_contact(mode, 0, +1);
  EXPECT_EQ(mode.contact_sides, std::vector<int>{+1});
  EXPECT_THROW(ball.begin_contact(mode, 0, +1), UsageError);
  ball.end_contact(mode, 0);
  EXPECT_TRUE(mode.contacts.empty() && mode.contact_sides.empty());
  EXPECT_EQ(ball.side(mode, 0), +1);
}

}  // namespace
}  // namespace saltus
