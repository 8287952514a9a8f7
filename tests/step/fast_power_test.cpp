#include "step/fast_power.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace saltus {
namespace {

TEST(FastPower, IsGoodEnoughForStepSizes) {
  for (const double p : {-0.34, -0.2, -0.17, -0.125, 0.04, 0.06, 0.25, 1.0})
    for (double x = 1e-12; x < 1e30; x *= 1.037)
      EXPECT_NEAR(fast_power(x, p) / std::pow(x, p), 1.0, 4e-4) << x << "^" << p;
}

TEST(FastPower, IsContinuousAtPowersOfTwo) {
  for (const double x : {0.25, 0.5, 1.0, 2.0, 1024.0})
    EXPECT_NEAR(fast_power(x, -0.2) / fast_power(std::nextafter(x, 0.0), -0.2), 1.0, 3e-4);
}

}  // namespace
}  // namespace saltus
