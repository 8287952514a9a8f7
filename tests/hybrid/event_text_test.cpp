// Events in words: what a guard does, and what jumps from where to where.
#include <gtest/gtest.h>
#include <saltus/hybrid/event_text.hpp>
#include <saltus/saltus.hpp>

#include <functional>
#include <string>
#include <vector>

namespace saltus {
namespace {

TEST(EventText, GuardsChangeInWords) {
  EXPECT_EQ(guard_change("x > 3", +1, +1), "x > 3 becomes true");
  EXPECT_EQ(guard_change("h < 0", -1, +1), "h < 0 becomes true");
  EXPECT_EQ(guard_change("T < T_high", -1, -1), "T < T_high becomes false");
  EXPECT_EQ(guard_change("x > 3", 0, 0), "x > 3: both sides become equal for an instant");
  EXPECT_EQ(guard_change("sample(0, 0.1)", +1, 0), "sample(0, 0.1) is due");
  EXPECT_EQ(guard_change("input u", +1, 0), "input u changes");
  EXPECT_EQ(guard_change("3*x reaches an integer", -1, 0), "3*x reaches an integer");
  EXPECT_EQ(guard_change("indicator 1", -1, 0), "indicator 1 (falling)");
}

TEST(EventText, ARelationIsTrueOnTheSideOnWhichItIsWritten) {
  GuardInfo above{.name = "h >= 0"}, below{.name = "h < 0", .true_side = -1}, none{.name = "indicator 1"};
  EXPECT_EQ(truth_change(above, -1), -1);
  EXPECT_EQ(truth_change(below, -1), +1);
  EXPECT_EQ(truth_change(below, 0), 0);
  EXPECT_EQ(truth_change(none, +1), 0);
}

TEST(EventText, BothSpellingsOfAModelKeepTheirs) {
  const auto first_event = [](const std::function<BoolExpr(const Expr&)>& condition) {
    Model m("fall");
    const auto h = m.variable("h", 1.0);
    m.equation(der(h) == -1.0);
    m.when(condition(h)).terminate("down");
    return simulate(m, {.stop = 2.0}).events().at(0);
  };
  const Event below = first_event([](const Expr& h) { return h < 0; });
  EXPECT_EQ(below.guards, (std::vector<std::string>{"h < 0"}));
  EXPECT_EQ(below.becomes, (std::vector<int>{+1}));
  EXPECT_EQ(below.direction, (std::vector<int>{-1}));
  const Event above = first_event([](const Expr& h) { return !(h >= 0); });
  EXPECT_EQ(above.guards, (std::vector<std::string>{"h >= 0"}));
  EXPECT_EQ(above.becomes, (std::vector<int>{-1}));
}

TEST(EventText, AClauseMayHaveAName) {
  Model m("fall");
  const auto h = m.variable("h", 1.0);
  m.equation(der(h) == -1.0);
  m.when(h < 0).named("impact").terminate("down");
  EXPECT_EQ(simulate(m, {.stop = 2.0}).events().at(0).actions, (std::vector<std::string>{"impact"}));
}

TEST(EventText, AJumpNamesItsVariablesAndTheirValues) {
  Model m("ball");
  const auto h = m.variable("h", 10.0, {.unit = "m"}), v = m.variable("v", 0.0, {.unit = "m/s"});
  m.equation(der(h) == v);
  m.equation(der(v) == -9.8);
  m.when(h < 0).reset(v, -0.9 * v);
  const Trajectory run = simulate(m, {.stop = 2.0, .rtol = 1e-10, .atol = 1e-10});
  ASSERT_EQ(run.events().size(), 1u);
  // v = -sqrt(2*9.8*10) = -14
  EXPECT_EQ(event_text(run.events()[0], run.variables()),
            "reset: h < 0 becomes true; when h < 0; v jumps from -14 to 12.6 m/s");
  EXPECT_EQ(run.events()[0].describe(), "reset: h < 0 becomes true; when h < 0; jump 26.6");
}

TEST(EventText, ManyJumpsAreCounted) {
  Model m("many");
  const auto t = m.variable("t", 0.0);
  m.equation(der(t) == 1.0);
  auto when = m.when(t > 0.5);
  for (const char* name : {"a", "b", "c", "d"}) {
    const auto x = m.variable(name, 1.0);
    m.equation(der(x) == 0.0);
    when.reset(x, 2.0 * x);
  }
  const Trajectory run = simulate(m, {.stop = 1.0});
  ASSERT_EQ(run.events().size(), 1u);
  const std::string text = event_text(run.events()[0], run.variables());
  EXPECT_NE(text.find("; a jumps from 1 to 2; b jumps from 1 to 2; 2 more variables jump"), std::string::npos) << text;
  EXPECT_EQ(jump_texts(run.events()[0], run.variables(), 10).size(), 4u);
  EXPECT_EQ(jump_texts(run.events()[0], {}, 10), (std::vector<std::string>{"largest jump 1"}));
}

}  // namespace
}  // namespace saltus
