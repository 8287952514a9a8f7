// Events in words: what a guard does, and what jumps from where to where.
#include <gtest/gtest.h>
#include <saltus/hybrid/event_text.hpp>
#include <saltus/saltus.hpp>

namespace saltus {
namespace {

TEST(EventText, GuardsChangeInWords) {
  EXPECT_EQ(guard_change("x > 3", +1), "x > 3 becomes true");
  EXPECT_EQ(guard_change("T < T_high", -1), "T < T_high becomes false");
  EXPECT_EQ(guard_change("x > 3", 0), "x > 3: both sides become equal for an instant");
  EXPECT_EQ(guard_change("sample(0, 0.1)", +1), "sample(0, 0.1) is due");
  EXPECT_EQ(guard_change("input u", +1), "input u changes");
  EXPECT_EQ(guard_change("floor", -1), "floor (falling)");
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
            "reset: h >= 0 becomes false; when h < 0; v jumps from -14 to 12.6 m/s");
  EXPECT_EQ(run.events()[0].describe(), "reset: h >= 0 becomes false; when h < 0; jump 26.6");
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
