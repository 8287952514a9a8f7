#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "step/step_limits.hpp"

namespace saltus {
namespace {

// Sizes from far below the resolution of time to far above it, limits from the next number on.
TEST(StepLimits, EveryStepEndsLaterThanItBeginsAndNotBeyondTheLimit) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> exponent(-310.0, 3.0), start(-2.0, 2.0);
  for (int k = 0; k < 20000; ++k) {
    const double t0 = k % 10 == 0 ? 0.0 : start(random) * std::pow(10.0, exponent(random) / 40.0);
    const double h = std::pow(10.0, exponent(random)), sign = k % 2 == 0 ? 1.0 : -1.0;
    const double infinite = sign * std::numeric_limits<double>::infinity();
    double limit = t0 + sign * std::pow(10.0, exponent(random) / 20.0);
    if (k % 7 == 0) limit = std::nextafter(t0, infinite);
    if (k % 11 == 0) limit = infinite;
    if (limit == t0) continue;
    const StepEnd end = step_end(t0, h, limit);
    EXPECT_GT(sign * (end.t - t0), 0.0) << t0 << " " << h << " " << limit;
    EXPECT_LE(sign * end.t, sign * limit) << t0 << " " << h << " " << limit;
    EXPECT_EQ(end.h, end.t - t0);
  }
}

}  // namespace
}  // namespace saltus
