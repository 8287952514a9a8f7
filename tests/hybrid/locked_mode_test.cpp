// lock_mode promises: the start is settled as always, and nothing switches after it.
#include <gtest/gtest.h>
#include <saltus/hybrid/locked_mode.hpp>
#include <saltus/modelica/modelica.hpp>
#include <saltus/saltus.hpp>

#include <cmath>
#include <memory>
#include <string>

namespace saltus {
namespace {

std::shared_ptr<HybridSystem> model(const std::string& text) {
  return std::make_shared<CompiledModel>(load_modelica("model M " + text + " end M;", "M.mo").model);
}

const char* const many_events = R"(
  Real x(start = 1, fixed = true), v(start = 0, fixed = true), y;
  discrete Real n(start = 0, fixed = true);
equation
  der(x) = v;
  der(v) = if x > 0 then -4*x else -x;
  y = if time > 1 then 2 else 1;
  when sample(0.25, 0.5) then
    n = pre(n) + 1;
  end when;
  when x < -0.5 then
    reinit(v, 7);
  end when;)";

// With x > 0 taken as true for ever the solution is cos(2 t).
TEST(LockedMode, StaysInTheModeOfItsStart) {
  for (const Method method : {Method::automatic, Method::dop853, Method::taylor, Method::radau}) {
    const Trajectory run =
        simulate(lock_mode(model(many_events)), {.stop = 10.0, .rtol = 1e-9, .atol = 1e-11, .method = method});
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    EXPECT_EQ(run.events().size(), 0u);
    EXPECT_NEAR(run.at(10.0, "x"), std::cos(20.0), 1e-6) << to_string(method);
    EXPECT_EQ(run.at(10.0, "y"), 1.0);
    EXPECT_EQ(run.at(10.0, "n"), 0.0);
  }
  EXPECT_GT(simulate(model(many_events), {.stop = 10.0}).events().size(), 10u);
}

TEST(LockedMode, ClausesOfTheStartAct) {
  const Trajectory run = simulate(lock_mode(model(R"(
    Real x(start = 2, fixed = true);
    Integer n(start = 0, fixed = true);
  equation
    der(x) = if x > 3 then -1 else 1;
    when initial() then
      reinit(x, 5);
      n = 7;
    end when;)")),
                                  {.stop = 4.0});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NEAR(run.at(4.0, "x"), 1.0, 1e-9);  // x > 3 was true
  EXPECT_EQ(run.at(4.0, "n"), 7.0);
}

TEST(LockedMode, TwoRunsOfOneSystemDoNotDisturbEachOther) {
  const auto locked = lock_mode(model(many_events));
  const Trajectory first = simulate(locked, {.stop = 3.0, .rtol = 1e-9}),
                   second = simulate(locked, {.stop = 3.0, .rtol = 1e-9});
  EXPECT_EQ(first.final(), second.final());
}

TEST(LockedMode, StartsOnSurfacesAndInputsAreRefused) {
  const Status slides =
      simulate(lock_mode(model("Real x(start = 0, fixed = true); equation der(x) = -sign(x);")), {.stop = 1.0})
          .status();
  EXPECT_FALSE(slides.ok());
  EXPECT_NE(slides.message.find("cannot be locked"), std::string::npos) << slides.message;
  EXPECT_THROW(lock_mode(model("input Real u; Real x(start = 0, fixed = true); equation der(x) = u;")), UsageError);
}

}  // namespace
}  // namespace saltus
