// Limits of events that the options set: their number, their intervals, mode changes at one instant, ambiguity.
#include <gtest/gtest.h>
#include <saltus/base/error.hpp>
#include <saltus/saltus.hpp>

#include <string>
#include <vector>

namespace saltus {
namespace {

/// GESDA report (Wunderlich 2009), appendix A: stick-slip with a hysteresis of 0.003 instead of sliding.
Model gesda_stick_slip() {
  constexpr double band = 0.003;
  Model m("stick-slip");
  const Expr v1 = m.variable("v1", 0.0), v2 = m.variable("v2", 0.0);
  auto right = m.mode("right"), left = m.mode("left");
  right.equation(der(v1) == sin(m.time()) - 0.4);
  right.equation(der(v2) == 0.4);
  left.equation(der(v1) == sin(m.time()) + 0.4);
  left.equation(der(v2) == -0.4);
  right.transition(v1 - v2 < -band).to(left);
  left.transition(v1 - v2 > band).to(right);
  return m;
}

// The report uses TOLC = 0.01: the first three switch points are closer, and the code says that the modes chatter.
TEST(EventLimits, GesdaStickSlipChattersByItsShortestInterval) {
  const Trajectory free = simulate(gesda_stick_slip(), {.stop = 10.0});
  ASSERT_TRUE(free.status().ok()) << free.status().message;
  std::size_t third = 2;
  while (free.events()[third].t - free.events()[third - 1].t >= 0.01 ||
         free.events()[third - 1].t - free.events()[third - 2].t >= 0.01)
    ++third;
  const Trajectory run = simulate(gesda_stick_slip(), {.stop = 10.0, .shortest_interval = 0.01});
  EXPECT_EQ(run.status().code, StatusCode::chattering);
  EXPECT_EQ(run.events().size(), third + 1);
  EXPECT_NEAR(run.t_end(), free.events()[third].t, 1e-9);
  EXPECT_NE(run.status().message.find("closer than shortest_interval = 0.01"), std::string::npos)
      << run.status().message;
  ASSERT_FALSE(run.status().culprits.empty());
  // no two intervals in a row are shorter than this
  EXPECT_TRUE(simulate(gesda_stick_slip(), {.stop = 10.0, .shortest_interval = 1e-3}).status().ok());
  // two close events are no chattering: the solution passes a band
  Model band("band");
  const Expr x = band.variable("x", 0.0, {.fixed = true}), n = band.discrete("n", 0.0);
  band.equation(der(x) == 1.0);
  for (const double level : {0.5, 0.501}) band.when(x > level).assign(n, band.pre(n) + 1.0);
  EXPECT_TRUE(simulate(band, {.stop = 1.0, .shortest_interval = 0.01}).status().ok());
  band.when(x > 0.502).assign(n, band.pre(n) + 1.0);
  EXPECT_EQ(simulate(band, {.stop = 1.0, .shortest_interval = 0.01}).status().code, StatusCode::chattering);
  EXPECT_EQ(simulate(band, {.start = 1.0, .stop = 0.0, .shortest_interval = 0.01}).status().code, StatusCode::success);
}

// Time events have the intervals that the model gives them.
TEST(EventLimits, SamplesDoNotChatter) {
  Model m("sampled");
  const Expr x = m.variable("x", 0.0, {.fixed = true}), n = m.discrete("n", 0.0);
  m.equation(der(x) == 1.0);
  m.when(m.sample(0.0, 1e-3)).assign(n, m.pre(n) + 1.0);
  EXPECT_TRUE(simulate(m, {.stop = 1.0, .shortest_interval = 0.1}).status().ok());
}

TEST(EventLimits, MoreEventsThanAllowedEndTheRun) {
  const Trajectory free = simulate(gesda_stick_slip(), {.stop = 10.0});
  const auto all = static_cast<std::int64_t>(free.events().size());
  EXPECT_TRUE(simulate(gesda_stick_slip(), {.stop = 10.0, .max_events = all}).status().ok());
  for (const std::int64_t most : {std::int64_t{0}, std::int64_t{7}, all - 1}) {
    // also where the run would fly, and for events of time
    const Trajectory run = simulate(gesda_stick_slip(), {.stop = 10.0, .max_events = most, .flights_after = 10});
    EXPECT_EQ(run.status().code, StatusCode::too_many_steps);
    EXPECT_EQ(run.events().size(), static_cast<std::size_t>(most) + 1);
    EXPECT_NE(run.status().message.find(std::to_string(most) + " events were not enough"), std::string::npos)
        << run.status().message;
  }
  EXPECT_THROW(simulate(gesda_stick_slip(), {.max_events = -1}), UsageError);
  EXPECT_THROW(simulate(gesda_stick_slip(), {.shortest_interval = -1.0}), UsageError);
}

/// From the first mode a chain of immediate transitions leads to the last one.
Model chain(int modes) {
  Model m("chain");
  const Expr x = m.variable("x", 0.0, {.fixed = true});
  std::vector<ExplicitMode> list;
  for (int k = 0; k < modes; ++k) list.push_back(m.mode("m" + std::to_string(k)));
  for (auto& mode : list) mode.equation(der(x) == 1.0);
  for (int k = 0; k + 1 < modes; ++k)
    list[static_cast<std::size_t>(k)].transition(x > 0.5).to(list[static_cast<std::size_t>(k) + 1]);
  return m;
}

TEST(EventLimits, ModeChangesAtOneInstantAreCounted) {
  EXPECT_TRUE(simulate(chain(5), {.stop = 1.0, .max_mode_changes = 4}).status().ok());
  const Trajectory run = simulate(chain(5), {.stop = 1.0, .max_mode_changes = 3});
  EXPECT_EQ(run.status().code, StatusCode::too_many_mode_changes);
  EXPECT_NE(run.status().message.find("more than 3 mode changes at t = 0.5"), std::string::npos)
      << run.status().message;
  EXPECT_TRUE(simulate(chain(102), {.stop = 1.0, .max_mode_changes = 101}).status().ok());
  EXPECT_EQ(simulate(chain(102), {.stop = 1.0}).status().code, StatusCode::too_many_mode_changes);
}

// Each time round a counter or a state is another one, so no point comes back: the names do.
TEST(EventLimits, CyclesWithAResetOnTheWayAreNamed) {
  Model m("round");
  const Expr x = m.variable("x", 0.0, {.fixed = true}), y = m.variable("y", 0.0, {.fixed = true});
  auto a = m.mode("a"), b = m.mode("b"), c = m.mode("c");
  for (auto* mode : {&a, &b, &c}) {
    mode->equation(der(x) == 1.0);
    mode->equation(der(y) == 0.0);
  }
  a.transition(x > 0.5).to(b).reset(y, y + 1.0);
  b.transition(x > 0.25).to(c);
  c.transition(y > 0.5).to(a);
  const Trajectory run = simulate(m, {.stop = 1.0});
  EXPECT_EQ(run.status().code, StatusCode::too_many_mode_changes);
  EXPECT_NE(run.status().message.find("more than 100 mode changes at t = 0.5: in a cycle through "), std::string::npos)
      << run.status().message;
  EXPECT_EQ(run.status().culprits.size(), 3u);

  Model clauses("clauses");
  const Expr u = clauses.variable("u", 0.0, {.fixed = true}), v = clauses.variable("v", 0.0, {.fixed = true});
  const Expr n = clauses.variable("n", 0.0, {.fixed = true});
  clauses.equation(der(u) == 1.0);
  clauses.equation(der(v) == 0.0);
  clauses.equation(der(n) == 0.0);
  clauses.when(u > 0.5).reset(u, 0.0).reset(v, 1.0).reset(n, n + 1.0);
  clauses.when(v > 0.5).reset(v, 0.0).reset(u, 1.0);
  const Trajectory endless = simulate(clauses, {.stop = 1.0});
  EXPECT_EQ(endless.status().code, StatusCode::too_many_mode_changes);
  EXPECT_NE(endless.status().message.find("in a cycle through "), std::string::npos) << endless.status().message;
  EXPECT_EQ(endless.status().culprits.size(), 2u);
}

TEST(EventLimits, AmbiguousTransitionsEndTheRunIfTheOptionsSaySo) {
  const auto model = [](bool same_target) {
    Model m("ambiguous");
    const Expr x = m.variable("x", 0.0, {.fixed = true});
    auto a = m.mode("a"), b = m.mode("b"), c = m.mode("c");
    a.equation(der(x) == 1.0);
    b.equation(der(x) == 2.0);
    c.equation(der(x) == -1.0);
    a.transition(x > 0.5).to(b);
    a.transition(x > 0.5).to(same_target ? b : c).reset(x, Expr(0.25));
    return m;
  };
  for (const bool same_target : {false, true}) {
    const Trajectory chosen = simulate(model(same_target), {.stop = 1.0});
    ASSERT_TRUE(chosen.status().ok()) << chosen.status().message;
    ASSERT_EQ(chosen.events().size(), 1u);
    EXPECT_NE(chosen.events()[0].message.find("is possible too"), std::string::npos) << chosen.events()[0].message;
    EXPECT_NEAR(chosen.final()[0], 1.5, 1e-9);
    const Trajectory ended = simulate(model(same_target), {.stop = 1.0, .stop_if_non_unique = true});
    EXPECT_EQ(ended.status().code, StatusCode::non_unique);
    EXPECT_NEAR(ended.t_end(), 0.5, 1e-9);
    EXPECT_NE(ended.status().message.find("is ambiguous"), std::string::npos) << ended.status().message;
  }
  EXPECT_TRUE(simulate(chain(5), {.stop = 1.0, .stop_if_non_unique = true}).status().ok());
}

}  // namespace
}  // namespace saltus
