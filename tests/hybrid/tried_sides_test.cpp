// Where a solution comes to slide, sides are tried that it never takes: nothing may happen for them, and what really happens happens once.
#include <gtest/gtest.h>
#include <saltus/hybrid/simulate.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace saltus {
namespace {

/// A variable that is pushed to zero with speed 1 from both sides, and away with speed 2 while `push` is not zero.
struct Relay {
  Model m{"relay"};
  Expr x, push, above, below;

  explicit Relay(double start) : x(m.variable("x", start)), push(m.discrete("push", 0.0)), above(count(x > 0.0, "above")), below(count(x < 0.0, "below")) {
    m.equation(der(x) == if_else(x > 0.0, -1.0, 1.0) + 2.0 * push);
  }
  Expr count(const BoolExpr& condition, const std::string& name) {
    const Expr n = m.discrete(name, 0.0);
    m.when(condition).assign(n, m.pre(n) + 1.0);
    return n;
  }
  Trajectory run(double stop) const {
    Trajectory result = simulate(m, {.stop = stop});
    EXPECT_TRUE(result.status().ok()) << result.status().message;
    return result;
  }
};

std::size_t actions(const Trajectory& run, const std::string& name) {
  std::size_t found = 0;
  for (const Event& e : run.events()) found += static_cast<std::size_t>(std::count(e.actions.begin(), e.actions.end(), name));
  return found;
}

TEST(TriedSides, ASolutionThatComesToSlideHasNotCrossed) {
  for (const double start : {0.5, -0.5}) {
    Relay relay(start);
    const Trajectory run = relay.run(1.0);
    EXPECT_EQ(run.at(1.0, "above"), 0.0);
    EXPECT_EQ(run.at(1.0, "below"), 0.0);
    EXPECT_EQ(actions(run, "when x > 0") + actions(run, "when x < 0"), 0u);
  }
}

TEST(TriedSides, AResetThatLeadsToSlidingActsOnceAndAlone) {
  for (const bool sampled : {false, true})
    for (const double start : {5.0, -5.0})
      for (const double away : {1.0, -1.0}) {
        Relay relay(start);
        const Expr n = relay.m.discrete("n", 0.0);
        relay.m.when(sampled ? relay.m.sample(1.0, 10.0) : relay.m.time() >= 1.0).reset(relay.x, 0.0).assign(n, relay.m.pre(n) + 1.0);
        relay.m.when(relay.m.time() >= 2.0).assign(relay.push, away);
        const Trajectory run = relay.run(3.0);
        EXPECT_EQ(run.at(1.5, "n"), 1.0);
        EXPECT_EQ(run.at(1.5, "above"), 0.0);
        EXPECT_EQ(run.at(1.5, "below"), 0.0);
        // it leaves with speed 1; on the surface neither relation held
        EXPECT_NEAR(run.at(3.0, "x"), away, 1e-6);
        EXPECT_EQ(run.at(3.0, "above"), away > 0.0 ? 1.0 : 0.0);
        EXPECT_EQ(run.at(3.0, "below"), away < 0.0 ? 1.0 : 0.0);
      }
}

TEST(TriedSides, ARunThatBeginsOnTheSurfaceHasTheTruthOfZeroThere) {
  for (const double away : {1.0, -1.0}) {
    Relay relay(0.0);
    relay.count(relay.x >= 0.0, "at_least");
    relay.count(relay.x <= 0.0, "at_most");
    const Expr which = relay.m.discrete("which", 0.0);
    relay.m.define(which, if_else(relay.x > 0.0, 1.0, if_else(relay.x >= 0.0, 2.0, 3.0)));
    relay.m.when(relay.m.time() >= 1.0).assign(relay.push, away);
    const Trajectory run = relay.run(2.0);
    EXPECT_EQ(run.at(0.5, "which"), 2.0);
    EXPECT_EQ(run.at(0.5, "above") + run.at(0.5, "below") + run.at(0.5, "at_least") + run.at(0.5, "at_most"), 0.0);
    EXPECT_NEAR(run.at(2.0, "x"), away, 1e-6);
    EXPECT_EQ(run.at(2.0, "which"), away > 0.0 ? 1.0 : 3.0);
    EXPECT_EQ(run.at(2.0, "above"), away > 0.0 ? 1.0 : 0.0);
    EXPECT_EQ(run.at(2.0, "below"), away > 0.0 ? 0.0 : 1.0);
    EXPECT_EQ(run.at(2.0, "at_least") + run.at(2.0, "at_most"), 0.0);
  }
}

TEST(TriedSides, AResetOffTheSurfaceIsSeen) {
  for (const double to : {0.25, -0.25}) {
    Relay relay(0.5);  // slides from t = 0.5
    relay.m.when(relay.m.time() >= 1.0).reset(relay.x, to);
    const Trajectory run = relay.run(2.0);  // back at zero at t = 1.25
    EXPECT_EQ(run.at(1.0, "below"), to < 0.0 ? 1.0 : 0.0);
    EXPECT_EQ(run.at(2.0, "below"), to < 0.0 ? 1.0 : 0.0);
    EXPECT_EQ(run.at(2.0, "above"), to > 0.0 ? 1.0 : 0.0);
    EXPECT_NEAR(run.at(2.0, "x"), 0.0, 1e-9);
  }
}

TEST(TriedSides, NoResetRecordOrEndHappensForThem) {
  Relay relay(5.0);
  const Expr z = relay.m.variable("z", 0.0);
  relay.m.equation(der(z) == 0.0);
  relay.m.when(relay.x < 0.0).reset(z, z + 1.0).record();
  relay.m.when(relay.x < 0.0).terminate("below");
  relay.m.when(relay.x < 0.0).assertion(relay.x > 7.0, "never");
  relay.m.when(relay.m.time() >= 1.0).reset(relay.x, 0.0);
  const Trajectory run = relay.run(2.0);
  EXPECT_EQ(run.status().code, StatusCode::success);
  EXPECT_EQ(run.at(2.0, "z"), 0.0);
  EXPECT_EQ(run.events().size(), 1u);

  Relay crossing(0.5);
  crossing.m.when(crossing.m.time() >= 0.1).assign(crossing.push, -1.0);
  crossing.m.when(crossing.x < 0.0).terminate("below");
  EXPECT_EQ(simulate(crossing.m, {.stop = 2.0}).status().code, StatusCode::terminated);
}

// A condition that holds before and on the surface has no edge.
TEST(TriedSides, AConditionThatHoldsOnTheSurfaceTooDoesNotAct) {
  Relay relay(-5.0);
  relay.count(relay.x <= 0.0, "at_most");
  relay.m.when(relay.m.time() >= 1.0).reset(relay.x, 0.0);
  EXPECT_EQ(relay.run(2.0).at(2.0, "at_most"), 0.0);
}

// Fields in which a reset to the corner is followed by x < 0 and y > 0; the sides (-, -), which are tried, are not taken.
TEST(TriedSides, WhereTwoSurfacesMeetOnlyTheSidesThatAreTakenCount) {
  Model m("corner");
  const Expr x = m.variable("x", 9.0), y = m.variable("y", 9.0);
  m.equation(der(x) == -1.0);
  m.equation(der(y) == if_else(x > 0.0, -1.0, 1.25) + if_else(y > 0.0, 0.0, 0.5));
  for (const char* name : {"left", "low", "corner"}) {
    const Expr n = m.discrete(name, 0.0);
    m.when(name == std::string("left") ? x < 0.0 : name == std::string("low") ? y < 0.0 : x < 0.0 && y < 0.0).assign(n, m.pre(n) + 1.0);
  }
  m.when(m.time() >= 1.0).reset(x, 0.0).reset(y, 0.0);
  const Trajectory run = simulate(m, {.stop = 2.0});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_EQ(run.at(2.0, "left"), 1.0);
  EXPECT_EQ(run.at(2.0, "low"), 0.0);
  EXPECT_EQ(run.at(2.0, "corner"), 0.0);
  EXPECT_NEAR(run.at(2.0, "x"), -1.0, 1e-6);
  EXPECT_NEAR(run.at(2.0, "y"), 1.25, 1e-6);
}

// Clauses that turn the field round at the surface have really acted, although both sides are left again.
TEST(TriedSides, AClauseThatTurnsTheFieldRoundActs) {
  Model m("turn");
  const Expr x = m.variable("x", 1.0), d = m.discrete("d", -2.0), n = m.discrete("n", 0.0), k = m.discrete("k", 0.0);
  m.equation(der(x) == d + if_else(x > 0.0, 0.0, 0.5));
  m.when(x < 0.0).assign(d, 2.0).assign(n, m.pre(n) + 1.0);
  m.when(x > 0.0).assign(k, m.pre(k) + 1.0);
  const Trajectory run = simulate(m, {.stop = 1.0});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_EQ(run.at(1.0, "n"), 1.0);
  EXPECT_EQ(run.at(1.0, "k"), 1.0);
  EXPECT_NEAR(run.at(1.0, "x"), 1.0, 1e-6);
}

TEST(TriedSides, BetweenExplicitModesToo) {
  for (const double start : {5.0, -5.0}) {
    Model m("modes");
    const Expr x = m.variable("x", start), n = m.discrete("n", 0.0), k = m.discrete("k", 0.0);
    auto above = m.mode("above"), below = m.mode("below");
    above.equation(der(x) == -1.0);
    below.equation(der(x) == 1.0);
    above.transition(x < 0.0).to(below);
    below.transition(x > 0.0).to(above);
    m.start_in(start > 0.0 ? above : below);
    m.when(x < 0.0).assign(n, m.pre(n) + 1.0);
    m.when(x > 0.0).assign(k, m.pre(k) + 1.0);
    m.when(m.time() >= 1.0).reset(x, 0.0);
    m.when(m.time() >= 2.0).reset(x, -start);  // comes back at t = 7
    const Trajectory run = simulate(m, {.stop = 8.0});
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    EXPECT_EQ(run.at(1.5, "n") + run.at(1.5, "k"), 0.0);
    EXPECT_EQ(run.at(8.0, "n"), start > 0.0 ? 1.0 : 0.0);
    EXPECT_EQ(run.at(8.0, "k"), start > 0.0 ? 0.0 : 1.0);
    EXPECT_NEAR(run.at(8.0, "x"), 0.0, 1e-9);
  }
}

// x'' = -3 sign(x) - sign(v) + d stays at x = v = 0 while |d| < 4, from a start there or a reset.
TEST(TriedSides, WhereSurfacesMeetInSpirals) {
  for (const bool from_start : {true, false}) {
    Model m("spiral");
    const Expr x = m.variable("x", from_start ? 0.0 : 1.0), v = m.variable("v", 0.0), n = m.discrete("n", 0.0), k = m.discrete("k", 0.0);
    m.equation(der(x) == v);
    m.equation(der(v) == -3.0 * sign(x) - sign(v) + if_else(m.time() > 2.0, 5.0, 0.0));
    m.when(x > 0.0).assign(n, m.pre(n) + 1.0);
    m.when(v > 0.0).assign(k, m.pre(k) + 1.0);
    if (!from_start) m.when(m.time() >= 0.1).reset(x, 0.0).reset(v, 0.0);
    const Trajectory run = simulate(m, {.stop = 3.0});
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    EXPECT_EQ(run.at(1.5, "n") + run.at(1.5, "k"), 0.0);
    EXPECT_NEAR(run.at(1.5, "x"), 0.0, 1e-9);
    EXPECT_EQ(run.at(3.0, "n"), 1.0);
    EXPECT_EQ(run.at(3.0, "k"), 1.0);
    EXPECT_NEAR(run.at(3.0, "x"), 0.5, 1e-5);
  }
}

// z = x' jumps with the side of x, and is 0 while x slides.
TEST(TriedSides, GuardsThatJumpWithASideThatIsTriedDoNotFire) {
  for (const double start : {1.0, -1.0})
    for (const bool reset : {false, true}) {
      Model m("speed");
      const Expr x = m.variable("x", start), z = m.variable("z", 0.0), n = m.discrete("n", 0.0);
      m.equation(der(x) == z);
      m.equation(z == 0.5 - sign(x));
      m.when(start > 0.0 ? z > 1.0 : z < -0.2).terminate("it is on the other side");
      m.when(abs(z) < 0.1).assign(n, m.pre(n) + 1.0);
      if (reset) m.when(m.time() >= 0.5).reset(x, 0.0);
      const Trajectory run = simulate(m, {.stop = 3.0});
      ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
      EXPECT_EQ(run.at(3.0, "n"), 1.0);
      EXPECT_NEAR(run.at(3.0, "x"), 0.0, 1e-9);
    }
}

// The weight of a slide is found by an iteration. Where it has become zero the solution rests instead, and x >= 0 holds.
TEST(TriedSides, AWeightThatBecomesZeroIsRest) {
  Model m("rest");
  const Expr x = m.variable("x", 0.25), y = m.variable("y", 0.0), w = m.variable("w", 0.0);
  const Expr f = if_else(m.time() < 1.0, if_else(x >= 0.0, -0.5, 0.5), if_else(x > 0.0, 0.0, 1.0) - 1.0);
  m.equation(der(x) == w);
  m.equation(w + 0.1 * w * w * w == f + 0.1 * f * f * f);
  m.equation(der(y) == if_else(x >= 0.0, 4.0, 0.0));
  const Trajectory run = simulate(m, {.stop = 2.0});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NEAR(run.at(2.0, "x"), 0.0, 1e-6);
  EXPECT_NEAR(run.at(2.0, "y"), 2.0 + 1.0 + 4.0, 1e-5);  // above until t = 0.5, half and half until 1, at rest until 2
}

// Above the surface the field is exactly zero, so the solution slides with weight 1. The clause gives the guard a relation
// that differs at zero; whether it is declared first does not matter.
TEST(TriedSides, ASlideWithTheWholeWeightOnOneSide) {
  for (const bool clause_first : {false, true}) {
    Model m("limit");
    const Expr y = m.variable("y", -1.5), z = m.variable("z", 0.0), k = m.discrete("k", 0.0);
    const auto clause = [&] { m.when(y < 0.0).assign(k, m.pre(k) + 1.0); };
    if (clause_first) clause();
    m.equation(der(y) == if_else(y > 0.0, 0.0, 2.25));
    m.equation(der(z) == if_else(y > 0.0, 1.0, 3.0));
    if (!clause_first) clause();
    const Trajectory run = simulate(m, {.stop = 2.0});
    ASSERT_TRUE(run.status().ok()) << clause_first << ": " << run.status().message;
    EXPECT_NEAR(run.at(2.0, "y"), 0.0, 1e-9) << clause_first;
    EXPECT_NEAR(run.at(2.0, "z"), 3.0 * 2.0 / 3.0 + 4.0 / 3.0, 1e-5) << clause_first;  // below until t = 2/3
    EXPECT_EQ(run.at(2.0, "k"), 0.0) << clause_first;
  }
}

}  // namespace
}  // namespace saltus
