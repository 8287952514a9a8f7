// Limits of events that the options set: their number and their intervals.
#include <gtest/gtest.h>
#include <saltus/base/error.hpp>
#include <saltus/saltus.hpp>

#include <string>

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

}  // namespace
}  // namespace saltus
