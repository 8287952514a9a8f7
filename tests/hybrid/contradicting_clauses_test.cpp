// Clauses that set one variable in the same round: all see the values before, and the run ends unless they agree.
#include <gtest/gtest.h>
#include <saltus/hybrid/simulate.hpp>

#include <string>
#include <vector>

namespace saltus {
namespace {

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Three equal bodies on a line; those outside hit the one in the middle at t = 1.
struct Cradle {
  Model m{"cradle"};
  std::vector<Expr> x, v;

  Cradle() {
    for (const double side : {-1.0, 0.0, 1.0}) {
      x.push_back(m.variable("x" + std::to_string(x.size()), side));
      v.push_back(m.variable("v" + std::to_string(v.size()), -side));
      m.equation(der(x.back()) == v.back());
      m.equation(der(v.back()) == 0.0);
    }
  }
};

TEST(ContradictingClauses, ABodyThatIsHitFromBothSidesIsReported) {
  Cradle c;
  c.m.when(c.x[0] > c.x[1], {"cradle.mo", 7, 3}).reset(c.v[0], c.v[1]).reset(c.v[1], c.v[0]);
  c.m.when(c.x[1] > c.x[2], {"cradle.mo", 11, 3}).reset(c.v[1], c.v[2]).reset(c.v[2], c.v[1]);
  const Trajectory run = simulate(c.m, {.stop = 1.5});
  EXPECT_EQ(run.status().code, StatusCode::contradiction);
  EXPECT_NEAR(run.status().t, 1.0, 1e-9);
  const std::string& text = run.status().message;
  EXPECT_TRUE(says(text, "'when x0 > x1' (cradle.mo:7:3) sets 'v1' to 1 and 'when x1 > x2' (cradle.mo:11:3) sets it to -1")) << text;
  EXPECT_TRUE(says(text, "write one clause")) << text;
  EXPECT_FALSE(says(text, "'v0'") || says(text, "'v2'")) << text;
}

TEST(ContradictingClauses, OneClauseForBothConditionsIsNot) {
  Cradle c;
  const BoolExpr left = c.x[0] > c.x[1], right = c.x[1] > c.x[2];
  auto chain = c.m.when(left && right);
  chain.reset(c.v[0], c.v[2]).reset(c.v[2], c.v[0]);
  auto first = chain.otherwise_when(left);
  first.reset(c.v[0], c.v[1]).reset(c.v[1], c.v[0]);
  first.otherwise_when(right).reset(c.v[1], c.v[2]).reset(c.v[2], c.v[1]);
  const Trajectory run = simulate(c.m, {.stop = 2.0});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_EQ(run.status().message, "");
  for (const int k : {0, 1, 2}) EXPECT_NEAR(run.final()[static_cast<std::size_t>(2 * k)], k - 1.0, 1e-10);
  EXPECT_TRUE(says(run.events()[0].message, "'elsewhen x0 > x1' becomes true too, and does not act")) << run.events()[0].message;
}

/// A ramp that two clauses reset at t = 1, the second to `second`.
Trajectory two_resets(double second, double tolerance = 1e-6) {
  Model m("ramp");
  const auto x = m.variable("x", 0.0);
  m.equation(der(x) == 1.0);
  m.when(m.time() > 1.0).reset(x, 3.0);
  m.when(m.time() > 1.0).reset(x, second);
  return simulate(m, {.stop = 1.5, .rtol = tolerance, .atol = tolerance});
}

TEST(ContradictingClauses, ValuesThatAgreeWithinTheToleranceAreNot) {
  EXPECT_EQ(two_resets(3.0).status().message, "");
  EXPECT_EQ(two_resets(3.0 * (1.0 + 1e-9)).status().message, "");
  EXPECT_TRUE(says(two_resets(3.0 * (1.0 + 1e-9), 1e-12).status().message, "'x'"));  // more than a hundred tolerances
  EXPECT_TRUE(says(two_resets(3.1).status().message, "'x'"));
  EXPECT_EQ(two_resets(3.1).status().code, StatusCode::contradiction);
}

TEST(ContradictingClauses, DiscreteVariablesAreReportedToo) {
  for (const double second : {5.0, 7.0}) {
    Model m("discrete");
    const auto x = m.variable("x", 0.0), q = m.discrete("q", 5.0);
    m.equation(der(x) == q);
    m.when(m.time() > 1.0).assign(q, 7.0);
    m.when(m.time() > 1.0).assign(q, second);  // 5 is the value before: a wish all the same
    const Trajectory run = simulate(m, {.stop = 2.0});
    EXPECT_EQ(says(run.status().message, "'when time > 1' sets 'q' to 7 and 'when time > 1' sets it to 5"), second == 5.0) << run.status().message;
    EXPECT_EQ(run.status().ok(), second == 7.0);
  }
}

// x > 1 and x >= 1 become true in different rounds, in which x passes through zero.
TEST(ContradictingClauses, ClausesOfDifferentRoundsAreNot) {
  Model m("rounds");
  const auto x = m.variable("x", 0.0), q = m.discrete("q", 0.0);
  m.equation(der(x) == 1.0);
  m.when(x > 1.0).assign(q, 7.0);
  m.when(x >= 1.0).assign(q, 5.0);
  const Trajectory run = simulate(m, {.stop = 2.0});
  EXPECT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_EQ(run.final()[1], 7.0);
}

TEST(ContradictingClauses, AssignmentsThatBuildOnEachOtherAreNot) {
  Model m("counter");
  const auto x = m.variable("x", 0.0), n = m.discrete("n", 0.0);
  m.equation(der(x) == 1.0);
  m.when(m.time() > 1.0).assign(n, n + 1.0);
  m.when(m.time() >= 1.0).assign(n, n + 1.0);
  const Trajectory run = simulate(m, {.stop = 2.0});
  EXPECT_EQ(run.status().message, "");
  EXPECT_EQ(run.final()[1], 2.0);
}

// A branch that leaves the variable as it is has no say, in whatever order the clauses stand.
TEST(ContradictingClauses, ABranchThatChangesNothingDoesNotUndoAnother) {
  for (const bool conditional_last : {false, true}) {
    Model m("branch");
    const auto x = m.variable("x", 1.0), y = m.variable("y", -1.0), q = m.discrete("q", 1.0);
    m.equation(der(x) == 0.0);
    m.equation(der(y) == 0.0);
    const auto plain = [&] { m.when(m.time() > 1.0).reset(x, 4.0).assign(q, 4.0); };
    if (!conditional_last) m.when(m.time() >= 1.0).reset(x, if_else(y > 0.0, 9.0, m.pre(x))).assign(q, if_else(y > 0.0, 9.0, m.pre(q)));
    plain();
    if (conditional_last) m.when(m.time() >= 1.0).reset(x, if_else(y > 0.0, 9.0, x)).assign(q, if_else(y > 0.0, 9.0, q));
    const Trajectory run = simulate(m, {.stop = 2.0});
    EXPECT_EQ(run.status().message, "");
    EXPECT_EQ(run.final()[0], 4.0) << conditional_last;
    EXPECT_EQ(run.final()[2], 4.0) << conditional_last;
  }
}

TEST(ContradictingClauses, OneThatActsBecauseOfAnotherSeesItsValues) {
  Model m("cascade");
  const auto x = m.variable("x", 0.0);
  m.equation(der(x) == 1.0);
  m.when(m.time() > 1.0).reset(x, 10.0);
  m.when(x > 5.0).reset(x, 0.4 * x);
  const Trajectory run = simulate(m, {.stop = 1.0 + 0x1p-20});
  EXPECT_EQ(run.status().message, "");
  EXPECT_NEAR(run.final()[0], 4.0, 1e-5);
}

TEST(ContradictingClauses, AClauseAndATransitionAreReported) {
  Model m("both");
  const auto x = m.variable("x", 0.0);
  auto a = m.mode("a"), b = m.mode("b");
  a.equation(der(x) == 1.0);
  b.equation(der(x) == 0.0);
  m.when(m.time() > 1.0).reset(x, 3.0);
  a.transition(m.time() > 1.0).to(b).reset(x, 4.0);
  m.start_in(a);
  const Trajectory run = simulate(m, {.stop = 2.0});
  EXPECT_TRUE(says(run.status().message, "'when time > 1' sets 'x' to 3 and 'a -> b' sets it to 4")) << run.status().message;
}

TEST(ContradictingClauses, TheStartAndTheEndSaySoToo) {
  for (const bool at_start : {true, false}) {
    Model m("ends");
    const auto x = m.variable("x", 0.0), q = m.discrete("q", 0.0);
    m.equation(der(x) == 0.0);
    const BoolExpr then = at_start ? m.initial() : m.terminal();
    m.when(then).assign(q, 1.0);
    m.when(then || m.time() > 5.0).assign(q, 2.0);
    const Trajectory run = simulate(m, {.stop = 1.0});
    EXPECT_EQ(run.status().code, StatusCode::contradiction);
    EXPECT_EQ(run.status().t, at_start ? 0.0 : 1.0);
    EXPECT_TRUE(says(run.status().message, "sets 'q' to 1 and ")) << run.status().message;
  }
}

}  // namespace
}  // namespace saltus
