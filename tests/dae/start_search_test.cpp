// Consistent points where the guess itself leads nowhere. Exact answers; Newton's method leaves rounding errors.
#include <gtest/gtest.h>
#include <saltus/dae/start_search.hpp>
#include <saltus/model/record.hpp>
#include <saltus/saltus.hpp>

#include <cmath>

namespace saltus {
namespace {

System& system_of(CompiledModel& model) {
  return model.system(model.initial_mode());
}

TEST(StartSearch, TakesTheNearestZeroOfOneUnknown) {
  Model m("wave");
  const Expr x = m.variable("x");
  m.equation(sin(x) == 0.5 + 0.0 * m.time());
  CompiledModel model(m);
  const std::vector<double> guess{std::acos(0.0) + 0.1};  // the slope nearly vanishes; zeros at pi/6 and 5 pi/6
  const StartSearch found = search_start(system_of(model), 0.0, guess);
  ASSERT_TRUE(found.found);
  EXPECT_NEAR(found.start.x[0], 5.0 * std::acos(-1.0) / 6.0, 1e-12);
  EXPECT_EQ(found.values->u, 0);
}

TEST(StartSearch, PassesOverPoles) {
  Model m("pole");
  const Expr x = m.variable("x");
  m.equation((x - 7.0) / (x - 2.0) == 0.0);
  CompiledModel model(m);
  const StartSearch found = search_start(system_of(model), 0.0, std::vector{2.0});
  ASSERT_TRUE(found.found);
  EXPECT_NEAR(found.start.x[0], 7.0, 1e-12);
}

TEST(StartSearch, KeepsFixedValues) {
  Model m("fixed");
  const Expr x = m.variable("x"), y = m.variable("y");
  m.equation(x * x + y * y == 25.0);
  m.equation(der(y) == -y);
  CompiledModel model(m);
  const StartSearch found = search_start(system_of(model), 0.0, std::vector{0.0, -4.0}, {.fixed = {1}});
  ASSERT_TRUE(found.found);
  EXPECT_EQ(found.start.x[1], -4.0);
  EXPECT_NEAR(found.start.x[0], 3.0, 1e-12);
}

TEST(StartSearch, DoesNotLookWhereEveryGuessIsTheSame) {
  Model m("linear");
  const Expr x = m.variable("x"), y = m.variable("y");
  m.equation(x + y == 1.0);
  m.equation(x + y == 2.0);
  CompiledModel model(m);
  EXPECT_FALSE(search_start(system_of(model), 0.0, std::vector{0.0, 0.0}).found);
}

}  // namespace
}  // namespace saltus
