// One guard: what is found, what is no event, where the limits are.
#include <gtest/gtest.h>
#include <saltus/event/event_locator.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "event/properties.hpp"
#include "event/signals.hpp"

namespace saltus {
namespace {

using testing::check_property;
using testing::events_in;
using testing::events_over;
using testing::FoundEvents;
using testing::number_in;
using testing::real_in;
using testing::Signal;
using testing::SignalSystem;
using testing::time_step;

constexpr double eps = std::numeric_limits<double>::epsilon();
constexpr double pi = std::numbers::pi;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Steps from low to high with random ends between.
std::vector<double> random_steps(double low, double high) {
  std::vector<double> ends{low, high};
  for (auto i = number_in(0, 6); i > 0; --i) ends.push_back(real_in(low, high));
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ends;
}

/// Roots of sin(w t + phase) = c in (low, high), |c| < 1.
std::vector<double> sine_roots(double w, double phase, double c, double low, double high) {
  std::vector<double> roots;
  for (const double start : {std::asin(c), pi - std::asin(c)}) {
    for (double k = std::ceil((w * low + phase - start) / (2.0 * pi)); (start + 2.0 * pi * k - phase) / w < high;
         k += 1.0) {
      roots.push_back((start + 2.0 * pi * k - phase) / w);
    }
  }
  std::sort(roots.begin(), roots.end());
  return roots;
}

TEST(EventLocator, FindsACrossingToTheLastBit) {
  const FoundEvents found = events_in([](double t) { return t * t - 2.0; }, 1.0, 2.0);
  ASSERT_EQ(found.times.size(), 1u);
  EXPECT_NEAR(found.times[0], std::sqrt(2.0), 2.0 * eps);
  EXPECT_EQ(found.directions[0], 1);
  EXPECT_TRUE(found.strict);
  EXPECT_LE(found.width, 3.0 * eps);
  EXPECT_TRUE(found.resolved);
}

TEST(EventLocator, FindsAllRootsOfRandomPolynomialsForAnySteps) {
  check_property(4000, [] {
    std::vector<double> r(static_cast<std::size_t>(number_in(1, 7)));
    for (double& x : r) x = real_in(0.0, 1.0);
    std::sort(r.begin(), r.end());
    RC_PRE(r.front() > 1e-6);
    for (std::size_t i = 1; i < r.size(); ++i) RC_PRE(r[i] - r[i - 1] > 1e-3);
    const double lead = std::pow(10.0, real_in(-6.0, 6.0)) * (number_in(0, 2) == 0 ? 1.0 : -1.0);
    // In product form the guard has its exact sign everywhere: the bracket contains the root.
    const Signal g = [&](double t) {
      double value = lead;
      for (const double x : r) value *= t - x;
      return value;
    };
    const FoundEvents found = events_over(g, random_steps(0.0, 1.0));
    RC_ASSERT(found.times.size() == r.size());
    for (std::size_t i = 0; i < r.size(); ++i) RC_ASSERT(std::abs(found.times[i] - r[i]) <= 2.0 * eps);
    RC_ASSERT(found.strict);
    RC_ASSERT(found.width <= 3.0 * eps);
    RC_ASSERT(found.resolved);
  });
}

TEST(EventLocator, FindsAllRootsOfSinesForAnySteps) {
  check_property(3000, [] {
    const double w = std::exp(real_in(std::log(0.5), std::log(100.0)));
    const double phase = real_in(0.0, 6.0), c = real_in(-0.9999, 0.9999);
    const double low = real_in(-2.0, 2.0), high = low + real_in(0.01, 2.0);
    const Signal g = [=](double t) { return std::sin(w * t + phase) - c; };
    const std::vector<double> roots = sine_roots(w, phase, c, low, high);
    const FoundEvents found = events_over(g, random_steps(low, high));
    RC_ASSERT(found.times.size() == roots.size());
    // Rounding of the argument: eps * (w t + phase); of the values: 2 eps; over the slope w sqrt(1 - c^2).
    const double error = eps * (3.0 * (4.0 + 6.0 / w) + 4.0 / (w * std::sqrt(1.0 - c * c))) + 4.0 * eps * 4.0;
    for (std::size_t i = 0; i < roots.size(); ++i) RC_ASSERT(std::abs(found.times[i] - roots[i]) <= error);
    RC_ASSERT(found.strict);
    RC_ASSERT(found.width <= error);
    RC_ASSERT(found.resolved);
  });
}

TEST(EventLocator, BackwardSearchFindsTheSameRootsInReverse) {
  check_property(1000, [] {
    const double w = real_in(1.0, 30.0), phase = real_in(0.0, 6.0), c = real_in(-0.99, 0.99);
    const Signal g = [=](double t) { return std::sin(w * t + phase) - c; };
    std::vector<double> ends = random_steps(0.0, 1.0);
    std::reverse(ends.begin(), ends.end());
    const FoundEvents found = events_over(g, ends);
    std::vector<double> roots = sine_roots(w, phase, c, 0.0, 1.0);
    std::reverse(roots.begin(), roots.end());
    RC_ASSERT(found.times.size() == roots.size());
    for (std::size_t i = 0; i < roots.size(); ++i) RC_ASSERT(std::abs(found.times[i] - roots[i]) <= 100.0 * eps);
    RC_ASSERT(found.strict);
  });
}

TEST(EventLocator, SeparatesPairsDownToTheNoise) {
  // g between the roots is about 0.3 delta^2. On the whole step, where g is up to 1.4, rounding hides pairs below 1e-7; a
  // closer look at a surrounding of about 1e-7, where rounding of t moves g by some 1e-24, shows them down to 1e-10.
  for (const double delta : {1e-2, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10}) {
    const FoundEvents found = events_in([=](double t) { return (t - 0.3) * (t - 0.3 - delta) * (1.0 + t); }, 0.0, 1.0);
    ASSERT_EQ(found.times.size(), 2u) << delta;
    EXPECT_NEAR(found.times[0], 0.3, eps);
    EXPECT_NEAR(found.times[1], 0.3 + delta, eps);
    EXPECT_TRUE(found.strict);
  }
  // Multiplied out, the values have rounding errors of 1e-16 that no closer look removes.
  const FoundEvents below =
      events_in([](double t) { return t * t - (0.6 + 1e-8) * t + 0.3 * (0.3 + 1e-8); }, 0.0, 1.0);
  EXPECT_TRUE(below.times.empty());
  ASSERT_EQ(below.touches.size(), 1u);
  EXPECT_EQ(below.touches[0].kind, RootKind::even);
  EXPECT_LE(below.touches[0].t_low, 0.3);
  EXPECT_GE(below.touches[0].t_high, 0.3 + 1e-8);
  EXPECT_LE(below.touches[0].t_high - below.touches[0].t_low, 1e-6);
}

TEST(EventLocator, ATouchIsReportedAndIsNoEvent) {
  for (const double sign : {1.0, -1.0}) {
    for (const int power : {2, 4}) {
      const FoundEvents found = events_in([=](double t) { return sign * std::pow(t - 0.4, power); }, 0.0, 1.0);
      EXPECT_TRUE(found.times.empty());
      ASSERT_EQ(found.touches.size(), 1u);
      EXPECT_EQ(found.touches[0].kind, RootKind::even);
      EXPECT_LE(found.touches[0].t_low, 0.4);
      EXPECT_GE(found.touches[0].t_high, 0.4);
    }
  }
}

TEST(EventLocator, NearTouchesAreDecidedByTheNoise) {
  const auto count = [](double offset) {
    const FoundEvents found = events_in([=](double t) { return (t - 0.4) * (t - 0.4) + offset; }, 0.0, 1.0);
    return std::pair(found.times.size(), found.touches.size());
  };
  EXPECT_EQ(count(1e-4), (std::pair<std::size_t, std::size_t>(0, 0)));
  EXPECT_EQ(count(1e-12), (std::pair<std::size_t, std::size_t>(0, 0)));
  // the square is known well near 0.4
  EXPECT_EQ(count(1e-16), (std::pair<std::size_t, std::size_t>(0, 0)));
  EXPECT_EQ(count(-1e-16), (std::pair<std::size_t, std::size_t>(2, 0)));
  EXPECT_EQ(count(1e-40), (std::pair<std::size_t, std::size_t>(0, 1)));
  EXPECT_EQ(count(-1e-40), (std::pair<std::size_t, std::size_t>(0, 1)));
  EXPECT_EQ(count(-1e-12), (std::pair<std::size_t, std::size_t>(2, 0)));
  EXPECT_EQ(count(-1e-4), (std::pair<std::size_t, std::size_t>(2, 0)));
}

TEST(EventLocator, ATripleRootIsOneCrossing) {
  for (const double sign : {1.0, -1.0}) {
    const FoundEvents found = events_in([=](double t) { return sign * (t - 0.4) * (t - 0.4) * (t - 0.4); }, 0.0, 1.0);
    ASSERT_EQ(found.times.size(), 1u);
    EXPECT_NEAR(found.times[0], 0.4, eps);
    EXPECT_EQ(found.directions[0], sign);
  }
}

TEST(EventLocator, AGuardThatIsZeroThroughoutIsNoEvent) {
  const FoundEvents found = events_in([](double) { return 0.0; }, 0.0, 1.0);
  EXPECT_TRUE(found.times.empty());
  ASSERT_EQ(found.touches.size(), 1u);
  EXPECT_EQ(found.touches[0].kind, RootKind::zero);
}

TEST(EventLocator, ValuesBelowTheGivenNoiseHaveNoSign) {
  const Signal g = [](double t) { return 1e-18 * std::cos(50.0 * t); };
  const FoundEvents quiet = events_in(g, 0.0, 1.0, {.noise = 1e-16});
  EXPECT_TRUE(quiet.times.empty());
  // Without a noise level they are what they are: cos(50 t) has 16 roots up to 1.
  EXPECT_EQ(events_in(g, 0.0, 1.0).times.size(), 16u);
}

TEST(EventLocator, CancellationInTheGuardIsNoticed) {
  // x - 1e6 has steps of 1.2e-10: a touch from above by 1e-11 is no pair of crossings.
  const Signal touch = [](double t) { return (1e6 + (t - 0.4) * (t - 0.4)) - 1e6; };
  EXPECT_TRUE(events_in(touch, 0.0, 1.0).times.empty());
  const FoundEvents crossing = events_in([](double t) { return (1e6 + (t - 0.3)) - 1e6; }, 0.0, 1.0);
  ASSERT_EQ(crossing.times.size(), 1u);
  EXPECT_NEAR(crossing.times[0], 0.3, 2e-10);
}

TEST(EventLocator, TimeFarFromZeroLimitsTheResolution) {
  const FoundEvents found = events_in([](double t) { return std::sin(1000.0 * t); }, 1e6, 1e6 + 0.01);
  // (1e6 + x) 1000 modulo pi: the first root by exact reduction
  EXPECT_EQ(found.times.size(), 3u);
  EXPECT_TRUE(found.resolved);
}

// --- zeros at the start

TEST(EventLocator, TinyStartValuesOfEitherSignAreHarmless) {
  for (const double start : {0.0, 1e-17, -1e-17}) {
    for (const unsigned char known : {'\0', '\1'}) {
      const FoundEvents found =
          events_in([=](double t) { return start + t * (0.5 - t); }, 0.0, 1.0, {.side = 1, .known = known});
      ASSERT_EQ(found.times.size(), 1u) << start;
      EXPECT_NEAR(found.times[0], 0.5, 2.0 * eps);
      EXPECT_EQ(found.at_start, 0);
    }
  }
}

TEST(EventLocator, ASecondRootJustAfterTheStartIsFound) {
  for (const double delta : {1e-3, 1e-6, 1e-10}) {
    for (const double t0 : {0.0, 5.0}) {
      const FoundEvents found =
          events_in([=](double t) { return (t - t0) * (delta - (t - t0)); }, t0, t0 + 1.0, {.side = 1, .known = 1});
      ASSERT_EQ(found.times.size(), 1u) << delta;
      EXPECT_NEAR(found.times[0], t0 + delta, (t0 + 1.0) * eps);
      EXPECT_TRUE(found.strict);
    }
  }
}

TEST(EventLocator, ADoubleZeroAtTheStartIsDividedOut) {
  const Signal g = [](double t) { return t * t * (0.5 - t); };
  for (const unsigned char known : {'\0', '\1', '\2'}) {
    const FoundEvents found = events_in(g, 0.0, 1.0, {.side = 1, .known = known});
    ASSERT_EQ(found.times.size(), 1u) << int{known};
    EXPECT_NEAR(found.times[0], 0.5, 2.0 * eps);
  }
}

TEST(EventLocator, AResidualLeftByPolishingDoesNotFireAgain) {
  // The known root is not quite at the start: the guard has the old sign for 1e-9.
  const FoundEvents found =
      events_in([](double t) { return (t - 1e-9) * (0.5 - t); }, 0.0, 1.0, {.side = 1, .known = 1});
  ASSERT_EQ(found.times.size(), 1u);
  EXPECT_NEAR(found.times[0], 0.5, 2.0 * eps);
}

TEST(EventLocator, LeavingAtOnceIsAnEventAtTheStart) {
  SignalSystem system({[](double t) { return t * (1.0 - t); }});
  EventLocator locator;
  LocatedEvent event;
  for (const unsigned char known : {'\0', '\1'}) {
    const GuardWatch watch{-1, known, 0.0};
    ASSERT_TRUE(locator.earliest(system, time_step(0.0, 1.0), {&watch, 1}, event));
    EXPECT_TRUE(event.at_start);
    EXPECT_EQ(event.t_before, 0.0);
    EXPECT_LE(event.t_after, 2.0 * eps);
    EXPECT_EQ(event.directions[0], 1);
  }
  // out from the beginning
  const GuardWatch watch{-1, 0, 0.0};
  ASSERT_TRUE(locator.earliest(system, time_step(0.5, 0.75), {&watch, 1}, event));
  EXPECT_TRUE(event.at_start);
  EXPECT_EQ(event.t_before, 0.5);
}

// --- ends of steps

TEST(EventLocator, AZeroAtTheEndBelongsToTheStep) {
  const FoundEvents found = events_in([](double t) { return 1.0 - t; }, 0.0, 1.0);
  ASSERT_EQ(found.times.size(), 1u);
  EXPECT_NEAR(found.times[0], 1.0, 2.0 * eps);
}

TEST(EventLocator, AZeroWhereStepsMeetIsOneEvent) {
  for (const double place : {0.5, 0.5 - 1e-16, 0.5 + 1.1e-16, std::nextafter(0.5, 0.0), std::nextafter(0.5, 1.0)}) {
    for (const double curvature : {0.0, 0.3, -0.3}) {
      const FoundEvents found =
          events_over([=](double t) { return (place - t) * (1.0 + curvature * t); }, {0.0, 0.25, 0.5, 0.75, 1.0});
      ASSERT_EQ(found.times.size(), 1u) << place;
      EXPECT_NEAR(found.times[0], place, 4.0 * eps);
    }
  }
  // and a touch there is none
  const FoundEvents touch = events_over([](double t) { return (t - 0.5) * (t - 0.5); }, {0.0, 0.5, 1.0});
  EXPECT_TRUE(touch.times.empty());
}

TEST(EventLocator, ATouchAtTheEndIsNoEvent) {
  const FoundEvents found = events_in([](double t) { return (t - 1.0) * (t - 1.0); }, 0.0, 1.0);
  EXPECT_TRUE(found.times.empty());
}

TEST(EventLocator, EventsDoNotDependOnWhereStepsEnd) {
  check_property(1000, [] {
    const double a = real_in(0.1, 1.0), b = real_in(0.1, 1.0), w = real_in(3.0, 40.0), p = real_in(0.0, 6.0),
                 c = real_in(-1.0, 1.0);
    const Signal g = [=](double t) { return a * std::sin(w * t) + b * std::cos(1.7 * w * t + p) - c * t + 0.1; };
    const FoundEvents whole = events_in(g, 0.0, 1.0);
    const FoundEvents parts = events_over(g, random_steps(0.0, 1.0));
    RC_ASSERT(whole.times.size() == parts.times.size());
    for (std::size_t i = 0; i < whole.times.size(); ++i) {
      // The signs of g repeat in both, up to its rounding of 2 eps over the slope there.
      const double d = 1e-6;
      const double slope = (g(whole.times[i] + d) - g(whole.times[i] - d)) / (2.0 * d);
      RC_ASSERT(std::abs(whole.times[i] - parts.times[i]) <= 4.0 * eps + 8.0 * eps / std::abs(slope));
    }
    RC_ASSERT(whole.directions == parts.directions);
  });
}

// --- structure finer than the step

TEST(EventLocator, NarrowDipsBetweenThePointsAreFound) {
  check_property(1000, [] {
    // 0.5 - 0.6 exp(-((t - m)/w)^2) is negative within w sqrt(log 1.2) of m.
    const double w = real_in(0.02, 0.2), m = real_in(0.1, 0.9);
    const double reach = w * std::sqrt(std::log(1.2));
    const Signal g = [=](double t) { return 0.5 - 0.6 * std::exp(-((t - m) / w) * ((t - m) / w)); };
    const FoundEvents found = events_in(g, 0.0, 1.0);
    RC_ASSERT(found.times.size() == 2u);
    RC_ASSERT(std::abs(found.times[0] - (m - reach)) <= 20.0 * eps);
    RC_ASSERT(std::abs(found.times[1] - (m + reach)) <= 20.0 * eps);
  });
}

TEST(EventLocator, PairsAreSeparatedWhereTheGuardIsFast) {
  check_property(1000, [] {
    // cos(w (t - m)) = 1 - epsilon at m - r and m + r. The guard is known to 4 eps, far below epsilon, but for fast
    // ones only after the step was divided.
    const double w = real_in(1.0, 30.0), m = real_in(0.02, 0.98), epsilon = std::pow(10.0, real_in(-12.0, -6.0));
    const double r = std::acos(1.0 - epsilon) / w;
    const FoundEvents found = events_in([=](double t) { return std::cos(w * (t - m)) - (1.0 - epsilon); }, 0.0, 1.0);
    const auto near = [&](double place) {
      return std::count_if(found.times.begin(), found.times.end(),
                           [&](double t) { return std::abs(t - place) < 0.1 * r; });
    };
    RC_ASSERT(near(m - r) == 1);
    RC_ASSERT(near(m + r) == 1);
    RC_ASSERT(found.touches.empty());
  });
}

TEST(EventLocator, ManyOscillationsInOneStepAreResolved) {
  const FoundEvents found = events_in([](double t) { return 0.5 - std::sin(1000.0 * t); }, 0.0, 1.0);
  EXPECT_EQ(found.times.size(), sine_roots(1000.0, 0.0, 0.5, 0.0, 1.0).size());
  EXPECT_TRUE(found.resolved);
}

TEST(EventLocator, WhatCannotBeResolvedIsNotCalledResolved) {
  // A kink: no series converges there.
  const FoundEvents found = events_in([](double t) { return std::abs(t - 0.3) + 1e-9; }, 0.0, 1.0);
  EXPECT_TRUE(found.times.empty());
  EXPECT_FALSE(found.resolved);
  // A kink away from zero does not matter.
  const FoundEvents away = events_in([](double t) { return std::abs(t - 0.3) - 0.01; }, 0.0, 1.0);
  ASSERT_EQ(away.times.size(), 2u);
  EXPECT_NEAR(away.times[0], 0.29, 2.0 * eps);
  EXPECT_NEAR(away.times[1], 0.31, 2.0 * eps);
}

TEST(EventLocator, TheWorkIsBounded) {
  EventOptions options;
  options.max_evaluations = 500;
  SignalSystem system({[](double t) { return 1.01 + std::sin(1e9 * t) * std::sin(1e5 * t); }});
  EventLocator locator(options);
  LocatedEvent event;
  const GuardWatch watch{1, 0, 0.0};
  EXPECT_FALSE(locator.earliest(system, time_step(0.0, 1.0), {&watch, 1}, event));
  EXPECT_FALSE(locator.resolved());
  EXPECT_FALSE(locator.proved());
  // The pieces that are on the stack when the limit is reached are still sampled: 33 points for each of the 12 levels.
  EXPECT_LE(system.calls, 500 + 13 * 33);
}

// --- guards that end

TEST(EventLocator, ACrossingBeforeValuesEndIsFound) {
  SignalSystem system({[](double t) { return std::sqrt(0.7 - t) - 0.1; }});
  EventLocator locator;
  LocatedEvent event;
  const GuardWatch watch{1, 0, 0.0};
  ASSERT_TRUE(locator.earliest(system, time_step(0.0, 1.0), {&watch, 1}, event));
  EXPECT_NEAR(event.t_before, 0.69, 2.0 * eps);
  EXPECT_TRUE(locator.not_finite());
  EXPECT_NEAR(locator.finite_until(), 0.7, 4.0 * eps);
}

TEST(EventLocator, ValuesThatEndWithoutACrossingAreReported) {
  SignalSystem system({[](double t) { return t > 0.37 ? nan : 1.0 + t; }});
  EventLocator locator;
  LocatedEvent event;
  const GuardWatch watch{1, 0, 0.0};
  EXPECT_FALSE(locator.earliest(system, time_step(0.0, 1.0), {&watch, 1}, event));
  EXPECT_TRUE(locator.not_finite());
  EXPECT_LE(locator.finite_until(), 0.37);
  EXPECT_NEAR(locator.finite_until(), 0.37, 4.0 * eps);
  // not watched: does not matter
  const GuardWatch off{0, 0, 0.0};
  EXPECT_FALSE(locator.earliest(system, time_step(0.0, 1.0), {&off, 1}, event));
  EXPECT_FALSE(locator.not_finite());
  EXPECT_EQ(locator.finite_until(), 1.0);
}

TEST(EventLocator, NoValueAtTheStartEndsTheSearchThere) {
  SignalSystem system({[](double) { return nan; }});
  EventLocator locator;
  LocatedEvent event;
  const GuardWatch watch{1, 0, 0.0};
  EXPECT_FALSE(locator.earliest(system, time_step(2.0, 3.0), {&watch, 1}, event));
  EXPECT_TRUE(locator.not_finite());
  EXPECT_EQ(locator.finite_until(), 2.0);
}

}  // namespace
}  // namespace saltus
