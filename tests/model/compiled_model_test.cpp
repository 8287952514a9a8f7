#include <gtest/gtest.h>
#include <saltus/model/compiled_model.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace saltus {
namespace {

TEST(CompiledModel, RelationsOnOneFunctionAreOneGuard) {
  Model m("m");
  const Expr x = m.variable("x"), y = m.variable("y");
  m.equation(der(x) == sign(x - y) + abs(x - y));
  m.equation(der(y) == max(x, y));
  m.when(x > y).reset(x, y);
  CompiledModel c(m);
  ASSERT_EQ(c.guards().size(), 2u);
  EXPECT_EQ(c.guards()[0].name, "x > y");
  EXPECT_EQ(c.guards()[1].same_as, 0);  // sign is 0 where x rests at y
}

// x < y is written as not (x >= y), which differs from x > y where x rests at y, and there alone.
TEST(CompiledModel, RelationsThatDifferAtZeroShareAGuardAndHaveASecondOneThere) {
  for (const bool weak_first : {false, true}) {
    Model m("m");
    const Expr x = m.variable("x"), y = m.variable("y");
    if (weak_first) {
      m.equation(der(x) == if_else(x >= y, 3.0, 1.0));
      m.equation(der(y) == if_else(x > y, 5.0, 4.0));
    } else {
      m.equation(der(y) == if_else(x > y, 5.0, 4.0));
      m.equation(der(x) == if_else(x >= y, 3.0, 1.0));
    }
    CompiledModel c(m);
    ASSERT_EQ(c.guards().size(), 2u);
    EXPECT_EQ(c.guards()[0].same_as, -1);
    EXPECT_EQ(c.guards()[1].same_as, 0);
    Mode mode = c.initial_mode();
    double xp[2];
    const auto slopes = [&] {
      c.system(mode).rhs(0.0, std::vector{0.0, 0.0}, xp);
      return std::vector{xp[0], xp[1]};
    };
    for (const int side : {+1, -1}) {
      c.set_side(mode, 0, side);
      EXPECT_EQ(c.side(mode, 0), side);
      EXPECT_EQ(c.side(mode, 1), 0);
      EXPECT_FALSE(c.rests(mode, 0));
      EXPECT_EQ(slopes(), side > 0 ? (std::vector{3.0, 5.0}) : (std::vector{1.0, 4.0}));
      EXPECT_EQ(c.describe(mode), side > 0 ? "x > y" : "x < y");
      c.rest(mode, 0);
      EXPECT_TRUE(c.rests(mode, 0));
      EXPECT_TRUE(c.rests(mode, 1));
      EXPECT_EQ(c.side(mode, 0) * c.side(mode, 1), -1);  // it is watched on both sides
      EXPECT_EQ(slopes(), (std::vector{3.0, 4.0}));
      EXPECT_EQ(c.describe(mode), "x - y = 0");
    }
    const int second = c.side(mode, 1);
    c.set_side(mode, 1, -second);  // leaves zero
    EXPECT_EQ(c.side(mode, 0), -second);
    EXPECT_EQ(c.side(mode, 1), 0);
  }
}

// With 2*x - 1 in the place of y the relation becomes the opposite one of k > 2*x - 1.
TEST(CompiledModel, RelationsOnEliminatedVariablesAreNamedAsTheyAreWritten) {
  for (const bool weak : {false, true}) {
    Model m("m");
    const Expr x = m.variable("x", 1.0), y = m.variable("y"), z = m.variable("z"), k = m.parameter("k", 0.5);
    m.equation(der(x) == -1.0);
    m.equation(y == 2.0 * x - 1.0);
    m.equation(der(z) == if_else(weak ? y >= k : k > y, Expr(0.0), Expr(1.0)));
    const CompiledModel c(m);
    ASSERT_EQ(c.guards().size(), 1u);
    const std::string& name = c.guards()[0].name;
    EXPECT_TRUE(name == "y >= k" || name == "k > y" || name == "y < k" || name == "k <= y") << name;
  }
}

TEST(CompiledModel, OneProgramServesAllLocks) {
  Model m("m");
  const Expr x = m.variable("x", 1.0);
  m.equation(der(x) == if_else(x > 0.0, Expr(-1.0), Expr(3.0)));
  CompiledModel c(m);
  Mode mode = c.initial_mode();
  double xp[1];
  c.set_side(mode, 0, +1);
  c.system(mode).rhs(0.0, std::vector{-5.0}, xp);  // locked: the value of x does not matter
  EXPECT_EQ(xp[0], -1.0);
  c.set_side(mode, 0, -1);
  c.system(mode).rhs(0.0, std::vector{5.0}, xp);
  EXPECT_EQ(xp[0], 3.0);
  EXPECT_EQ(c.describe(mode), "x <= 0");
}

TEST(CompiledModel, DiscreteRelationsAreNotGuards) {
  Model m("m");
  const Expr x = m.variable("x"), n = m.discrete("n", 2.0);
  m.equation(der(x) == if_else(n >= 3.0, Expr(1.0), Expr(0.0)));
  m.when(m.time() > 1.0).assign(n, m.pre(n) + 1.0);
  CompiledModel c(m);
  ASSERT_EQ(c.guards().size(), 1u);
  EXPECT_TRUE(c.guards()[0].time_only);
  Transition t;
  t.mode = c.initial_mode();
  t.x = {0.0};
  const std::vector<double> x0{0.0}, xp0{0.0};
  c.transition({.t = 0.0, .x_before = x0, .xp_before = xp0, .initial = true}, t);
  double xp[1];
  c.system(t.mode).rhs(0.0, x0, xp);
  EXPECT_EQ(xp[0], 0.0);
  t.mode.sees[0] = +1;
  EXPECT_TRUE(c.transition({.t = 1.0, .x_before = x0, .xp_before = xp0}, t));
  EXPECT_EQ(t.mode.discrete[0], 3.0);
  c.system(t.mode).rhs(1.0, x0, xp);
  EXPECT_EQ(xp[0], 1.0);
}

TEST(CompiledModel, TimeEventsAreKnownInAdvance) {
  Model m("m");
  const Expr x = m.variable("x"), p = m.parameter("p", 4.0);
  m.equation(der(x) == if_else(m.time() > 0.5 * p, Expr(1.0), Expr(0.0)) + if_else(7.0 < m.time(), Expr(1.0), Expr(0.0)));
  CompiledModel c(m);
  Mode mode = c.initial_mode();
  for (int k = 0; k < 2; ++k) c.set_side(mode, k, -1);
  std::vector<int> guards;
  EXPECT_EQ(c.next_time_event(mode, 0.0, +1, guards), 2.0);
  EXPECT_EQ(guards.size(), 1u);
  guards.clear();
  EXPECT_EQ(c.next_time_event(mode, 2.0, +1, guards), 7.0);
  guards.clear();
  EXPECT_EQ(c.next_time_event(mode, 8.0, +1, guards), INFINITY);
}

TEST(CompiledModel, ElsewhenActsOnlyIfTheFirstDoesNot) {
  Model m("m");
  const Expr x = m.variable("x", 0.0), a = m.discrete("a", 0.0), b = m.discrete("b", 0.0);
  m.equation(der(x) == 1.0);
  auto w = m.when(x > 1.0);
  w.assign(a, 1.0);
  w.otherwise_when(x > 2.0).assign(b, 1.0);
  CompiledModel c(m);
  ASSERT_EQ(c.guards().size(), 2u);
  const std::vector<double> x0{3.0}, xp0{1.0};
  const auto fire = [&](bool first, bool second) {
    Transition t;
    t.mode = c.initial_mode();
    t.x = {0.0};
    t.mode.sees = {-1, -1};
    c.transition({.t = 0.0, .x_before = x0, .xp_before = xp0, .initial = true}, t);
    if (first) t.mode.sees[0] = +1;
    if (second) t.mode.sees[1] = +1;
    c.transition({.t = 1.0, .x_before = x0, .xp_before = xp0}, t);
    return std::pair(t.mode.discrete[0], t.mode.discrete[1]);
  };
  EXPECT_EQ(fire(true, false), std::pair(1.0, 0.0));
  EXPECT_EQ(fire(false, true), std::pair(0.0, 1.0));
  EXPECT_EQ(fire(true, true), std::pair(1.0, 0.0));
}

TEST(CompiledModel, ClausesOfOneInstantSeeTheValuesBefore) {
  // two resets that exchange values must not see each other
  Model m("swap");
  const Expr x = m.variable("x", 1.0), y = m.variable("y", 2.0);
  m.equation(der(x) == 0.0);
  m.equation(der(y) == 0.0);
  m.when(m.time() > 1.0).reset(x, y);
  m.when(m.time() > 1.0).reset(y, x);
  CompiledModel c(m);
  Transition t;
  t.mode = c.initial_mode();
  t.x = {1.0, 2.0};
  const std::vector<double> x0{1.0, 2.0}, xp0{0.0, 0.0};
  c.transition({.t = 0.0, .x_before = x0, .xp_before = xp0, .initial = true}, t);
  t.mode.sees[0] = +1;
  c.transition({.t = 1.0, .x_before = x0, .xp_before = xp0}, t);
  EXPECT_EQ(t.x, (std::vector{2.0, 1.0}));
}

TEST(CompiledModel, ARoundTakesDiscreteEquationsOnce) {
  Model m("flip");
  const Expr x = m.variable("x"), q = m.discrete("q", 0.0);
  m.equation(der(x) == q);
  m.define(q, 1.0 - m.pre(q));
  CompiledModel c(m);
  Transition t;
  t.mode = c.initial_mode();
  t.x = {0.0};
  const std::vector<double> x0{0.0};
  for (int k = 1; k < 5; ++k) {
    EXPECT_TRUE(c.transition({.t = 0.0, .x_before = x0, .xp_before = x0, .initial = k == 1}, t));
    EXPECT_EQ(t.mode.discrete[0], k % 2);
  }
}

TEST(CompiledModel, EliminatesVariablesWithAFactor) {
  // a resistor at a capacitor, v = R i as it stands in books: an ordinary differential equation
  const auto variables = [](double R, int spelling) {
    Model m("rc");
    const Expr r = m.parameter("R", R), v = m.variable("v", 1.0), i = m.variable("i", 0.0);
    m.equation(der(v) == -i);
    if (spelling == 0) m.equation(v == r * i);
    if (spelling == 1) m.equation(i * r == v);
    if (spelling == 2) m.equation(v == i / r);
    if (spelling == 3) m.equation(v == -i);
    if (spelling == 4) m.equation((1.0 + r) * i == v);
    return CompiledModel(m).variables().size();
  };
  for (int spelling = 0; spelling < 5; ++spelling) EXPECT_EQ(variables(2.0, spelling), 1u) << spelling;
  EXPECT_EQ(variables(0.0, 0), 2u);  // 0 = v: nothing gives i
  EXPECT_EQ(variables(1e-320, 0), 2u);
}

TEST(CompiledModel, EliminatesChainsOfDefinitionsAndKeepsLoops) {
  Model m("m");
  const Expr x = m.variable("x", 2.0), a = m.variable("a"), b = m.variable("b"), c = m.variable("c"), d = m.variable("d");
  m.equation(b == a + 1.0);
  m.equation(x * x == a);
  m.equation(der(x) == b);
  m.equation(c == 0.5 * cos(d));
  m.equation(d == c + x);
  CompiledModel compiled(m);
  // a and b go; c goes and leaves an implicit equation for d
  ASSERT_EQ(compiled.variables().size(), 2u);
  EXPECT_EQ(compiled.observed().size(), 5u);
  std::vector<double> values(5);
  compiled.observe(compiled.initial_mode(), 0.0, std::vector{2.0, 3.0}, std::vector{0.0, 0.0}, values);
  EXPECT_EQ(values[1], 4.0);
  EXPECT_EQ(values[2], 5.0);
  EXPECT_NEAR(values[3], 0.5 * std::cos(3.0), 1e-15);
  EXPECT_EQ(values[4], 3.0);
}

TEST(CompiledModel, KeepsAVariableWhoseStartValueIsTheGuessOfADerivative) {
  Model m("m");
  const Expr x = m.variable("x", 0.0), z = m.variable("z", -2.0), w = m.variable("w");
  m.equation(der(x) == z);
  m.equation(z * z == 1.0 + 0.0 * x);
  m.equation(w == der(x));  // no start value, nothing to lose
  CompiledModel compiled(m);
  ASSERT_EQ(compiled.variables().size(), 2u);
  EXPECT_EQ(compiled.variables()[1].name, "z");
  EXPECT_EQ(compiled.variables()[1].start, -2.0);
}

TEST(CompiledModel, AssignmentsOfAClauseSeeThoseBeforeThem) {
  // a long chain in one clause: q_k = q_{k-1} + 1, and the first one assigned again at the end
  Model m("m");
  const Expr x = m.variable("x");
  m.equation(der(x) == 1.0);
  constexpr int count = 2000;
  std::vector<Expr> q;
  for (int k = 0; k < count; ++k) q.push_back(m.discrete("q" + std::to_string(k), 0.0));
  When when = m.when(m.time() >= 0.0);
  when.assign(q[0], m.pre(q[0]) + 5.0);
  for (int k = 1; k < count; ++k) when.assign(q[k], q[k - 1] + 1.0);
  when.assign(q[0], q[count - 1]);
  CompiledModel c(m);
  Transition t;
  t.mode = c.initial_mode();
  t.mode.locks.assign(t.mode.locks.size(), 1.0);
  t.x = {0.0};
  const std::vector<double> x0{0.0};
  c.transition({.t = 0.0, .x_before = x0, .xp_before = x0}, t);
  EXPECT_EQ(t.mode.discrete[1], 6.0);
  EXPECT_EQ(t.mode.discrete[count - 1], 5.0 + count - 1);
  EXPECT_EQ(t.mode.discrete[0], 5.0 + count - 1);
}

TEST(Model, StartValuesOfParametersRefuseWhatIsNotKnownBeforeTheRun) {
  Model m("m");
  const Expr x = m.variable("x"), y = m.variable("y"), p = m.parameter("p", 2.0);
  EXPECT_NO_THROW(m.start(x, p * p));
  EXPECT_THROW(m.start(x, y), ModelError);
  EXPECT_THROW(m.start(x, m.time()), ModelError);
  EXPECT_THROW(m.start(p, p), ModelError);
}

TEST(CompiledModel, GuardsOfBranchesThatAreNotTakenAreDormant) {
  Model m("nested");
  const Expr x = m.variable("x"), v = m.variable("v"), y = m.variable("y");
  m.equation(der(x) == 1.0);
  m.equation(der(v) == 1.0);
  m.equation(der(y) == if_else(x > 0.0, if_else(v > 0.0, Expr(1.0), floor(v)), Expr(3.0)));
  const CompiledModel compiled(m);
  const auto guard = [&](const std::string& name) {
    for (std::size_t k = 0; k < compiled.guards().size(); ++k)
      if (compiled.guards()[k].name == name) return static_cast<int>(k);
    throw UsageError(name);
  };
  const int outer = guard("x > 0"), inner = guard("v > 0"), low = guard("v falls below an integer"), high = guard("v reaches an integer");
  const auto sides = [&](const Mode& mode) {
    return std::vector{compiled.side(mode, outer), compiled.side(mode, inner), compiled.side(mode, low), compiled.side(mode, high)};
  };
  const auto dormant = [&](const Mode& mode) {
    const auto found = compiled.dormant(mode);
    return std::vector<int>(found.begin(), found.end());
  };
  std::vector<int> all{inner, low, high}, rounding{low, high};
  std::sort(all.begin(), all.end());
  std::sort(rounding.begin(), rounding.end());
  Mode mode = compiled.initial_mode();
  EXPECT_EQ(sides(mode), (std::vector{-1, 0, 0, 0}));
  EXPECT_EQ(dormant(mode), all);
  EXPECT_TRUE(compiled.follow(mode, inner, 0.5, +1));
  EXPECT_FALSE(compiled.follow(mode, inner, 0.5, +1));
  compiled.set_side(mode, outer, +1);
  EXPECT_EQ(sides(mode), (std::vector{+1, +1, 0, 0}));
  EXPECT_EQ(dormant(mode), rounding);
  EXPECT_TRUE(compiled.follow(mode, low, -3.5, -1));  // v - 0 = -3.5
  EXPECT_FALSE(compiled.follow(mode, high, 4.5, +1));
  compiled.set_side(mode, inner, -1);
  EXPECT_EQ(sides(mode), (std::vector{+1, -1, +1, +1}));
  EXPECT_TRUE(dormant(mode).empty());
  EXPECT_NE(compiled.describe(mode).find("floor(v) = -4"), std::string::npos) << compiled.describe(mode);
  // on the surface x = 0 both branches are at work
  mode.sliding = {outer};
  EXPECT_EQ(sides(mode), (std::vector{0, -1, +1, +1}));
  // what differs in guards that nobody asks for changes nothing
  Mode a = compiled.initial_mode(), b = a;
  compiled.set_side(b, inner, +1);
  EXPECT_TRUE(compiled.same_equations(a, b));
  compiled.set_side(b, outer, +1);
  EXPECT_FALSE(compiled.same_equations(a, b));
}

}  // namespace
}  // namespace saltus
