// Which guards begin an event: as the run records it, and what the derivatives make of it.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>
#include <saltus/sens/adjoint.hpp>
#include <saltus/sens/sensitivities.hpp>

#include <algorithm>
#include <vector>

#include "hybrid/run_access.hpp"

namespace saltus {
namespace {

using Guards = std::vector<int>;

Guards causes_of(const Trajectory& run, std::size_t event) {
  const EventLog::Stored stored = RunAccess::events(run).stored(event);
  Guards causes(stored.causes.begin(), stored.causes.end());
  std::ranges::sort(causes);
  return causes;
}
Guards fired_at(const Trajectory& run, std::size_t event) {
  const EventLog::Stored stored = RunAccess::events(run).stored(event);
  Guards fired(stored.guards.begin(), stored.guards.end());
  std::ranges::sort(fired);
  return fired;
}

// The reset at x = p takes y across zero, to which it was as near as `gap`. Its guard fires because of that, and not
// because it happened to be near: z = x^2 at x = p has the derivative 2 p however small the gap is.
TEST(EventCauses, AGuardThatAResetTakesAcrossIsNone) {
  for (const double gap : {1e-2, 1e-4, 1e-5, 1e-7}) {
    SCOPED_TRACE(gap);
    Model m("near");
    const Expr p = m.parameter("p", 0.5);
    const Expr x = m.variable("x", 0.0), y = m.variable("y", 0.5 + gap), z = m.variable("z", 0.0);
    m.equation(der(x) == 1.0);
    m.equation(der(y) == -1.0);
    m.equation(der(z) == 0.0);
    m.when(x > p).reset(y, y - 1.0);
    m.when(y < 0.0).reset(z, z + x * x);
    const SensitivityRun run = simulate_with_sensitivities(m, {"p"}, {.stop = 1.0});
    ASSERT_EQ(run.why(), "");
    ASSERT_EQ(run.events().size(), 1u);
    EXPECT_EQ(fired_at(run.trajectory(), 0), (Guards{0, 1}));
    EXPECT_EQ(causes_of(run.trajectory(), 0), Guards{0});
    ASSERT_EQ(run.events()[0].dt.size(), 1u);
    EXPECT_NEAR(run.events()[0].dt[0], 1.0, 1e-9);
    EXPECT_EQ(run.events()[0].smoothness, Smoothness::smooth);
    EXPECT_NEAR(run.final("z", "p"), 1.0, 1e-6);
    const FunctionalGradient g = gradient(m, final_value("z"), {"p"}, {.stop = 1.0});
    ASSERT_EQ(g.why, "");
    EXPECT_NEAR(g.by("p"), 1.0, 1e-6);
  }
}

// The steps of dop853 are so long that rounding errors of y part the two by some units in the last place.
TEST(EventCauses, AreAllGuardsThatCrossTogether) {
  Model m("together");
  const Expr x = m.variable("x", 0.0), y = m.variable("y", -0.5), n = m.discrete("n", 0.0), t = m.time();
  m.equation(der(x) == 1.0);
  m.equation(der(y) == 3.0);
  m.when(x > 0.5).assign(n, m.pre(n) + 1.0);
  m.when(y * y * y > 1.0).assign(n, m.pre(n) + 1.0);
  m.when(t >= 0.75).assign(n, 0.0);
  for (const Method method : {Method::dopri5, Method::taylor, Method::radau}) {
    SCOPED_TRACE(std::string(to_string(method)));
    const Trajectory run = simulate(m, {.stop = 1.0, .rtol = 1e-9, .atol = 1e-9, .method = method});
    ASSERT_EQ(run.events().size(), 2u);
    EXPECT_EQ(causes_of(run, 0), (Guards{0, 1}));
    EXPECT_EQ(causes_of(run, 1), Guards{2});
  }
}

// A surface is left by a guard of the mode on it: the weight of the field on the side that takes over has become 1, so
// that one minus it, or the weight itself, is zero.
TEST(EventCauses, OfTheEndOfASlideIsTheWeight) {
  Model m("stick");
  const Expr v = m.variable("v", 0.1);
  m.equation(der(v) == 2.0 * sin(m.time()) - sign(v));
  const Trajectory run = simulate(m, {.stop = 1.0, .rtol = 1e-9, .atol = 1e-9});
  ASSERT_EQ(run.events().size(), 2u);
  EXPECT_EQ(run.events()[0].kind, EventKind::slide_enter);
  EXPECT_EQ(causes_of(run, 0), Guards{0});
  ASSERT_EQ(run.events()[1].kind, EventKind::slide_exit);
  CompiledModel model(m);
  std::vector<int> exits;
  model.exit_guards(run.mode(run.segments()[1]), exits);
  ASSERT_EQ(exits.size(), 1u);
  EXPECT_EQ(causes_of(run, 1), Guards{exits[0] + 1});
}

// Repeated events, and events in flight, have the causes that they had the first time.
TEST(EventCauses, DoNotDependOnWhatTheRunHasLearned) {
  Model m("relay");
  const Expr x = m.variable("x", 0.0), on = m.discrete("on", 1.0);
  m.equation(der(x) == 3.0 * on - 1.0 - 0.5 * x);
  m.when(x > 1.0).assign(on, 0.0);
  m.when(x < 0.0).assign(on, 1.0);
  const Trajectory loop = simulate(m, {.stop = 200.0, .rtol = 1e-7, .atol = 1e-7, .flights_after = -1}),
                   flight = simulate(m, {.stop = 200.0, .rtol = 1e-7, .atol = 1e-7, .flights_after = 100});
  EXPECT_GT(flight.statistics().flown, 0);
  ASSERT_GT(loop.events().size(), 50u);
  ASSERT_EQ(loop.events().size(), flight.events().size());
  for (std::size_t k = 0; k < loop.events().size(); ++k) {
    EXPECT_EQ(causes_of(loop, k), fired_at(loop, k)) << k;
    EXPECT_EQ(causes_of(flight, k), causes_of(loop, k)) << k;
  }
}

}  // namespace
}  // namespace saltus
