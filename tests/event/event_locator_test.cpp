#include <gtest/gtest.h>
#include <saltus/event/event_locator.hpp>

#include <algorithm>
#include <cmath>
#include <random>

#include "event/signals.hpp"

namespace saltus {
namespace {

using testing::all_events;
using testing::FoundEvents;
using testing::Signal;
using testing::SignalSystem;
using testing::time_step;

TEST(EventLocator, FindsACrossingToTheLastBit) {
  const FoundEvents found = all_events([](double t) { return t * t - 2.0; }, 1.0, 2.0);
  ASSERT_EQ(found.times.size(), 1u);
  EXPECT_NEAR(found.times[0], std::sqrt(2.0), 4e-16);
  EXPECT_EQ(found.directions[0], 1);
  EXPECT_TRUE(found.strict);
  EXPECT_TRUE(found.proved);
}

TEST(EventLocator, FindsAllRootsOfRandomPolynomials) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  int cases = 0;
  while (cases < 3000) {
    std::vector<double> r(1 + random() % 6);
    for (double& x : r) x = uniform(random);
    std::sort(r.begin(), r.end());
    bool separate = r.front() > 1e-3 && r.back() < 1.0 - 1e-3;
    for (std::size_t i = 1; i < r.size(); ++i) separate = separate && r[i] - r[i - 1] > 1e-3;
    if (!separate) continue;
    ++cases;
    const double lead = std::pow(10.0, 12.0 * uniform(random) - 6.0) * (random() % 2 ? 1.0 : -1.0);
    const Signal g = [&](double t) {
      double value = lead;
      for (const double x : r) value *= t - x;
      return value;
    };
    const FoundEvents found = all_events(g, 0.0, 1.0);
    ASSERT_EQ(found.times.size(), r.size()) << "case " << cases;
    // In product form the guard has its exact sign everywhere: the bracket contains the root.
    for (std::size_t i = 0; i < r.size(); ++i) ASSERT_NEAR(found.times[i], r[i], 4.5e-16) << "case " << cases;
    ASSERT_TRUE(found.strict);
    ASSERT_TRUE(found.proved);
  }
}

}  // namespace
}  // namespace saltus
