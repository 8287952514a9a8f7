#include <gtest/gtest.h>

#include <cmath>

#include "step/step_controller.hpp"

namespace saltus {
namespace {

/// Attempts until the error c h^exponent is at most 1, from h = 1.
int attempts(double c, double exponent) {
  StepController controller(4, 0.0, 0.2, 6.0);
  controller.restart();
  double h = 1.0;
  for (int k = 1; k < 100; ++k) {
    const double error = c * std::pow(h, exponent);
    if (error <= 1.0) return k;
    h *= controller.after_rejection(error, h);
  }
  return 100;
}

TEST(StepController, NeedsOneRepetitionWhereTheErrorHasItsOrder) {
  EXPECT_EQ(attempts(30.0, 4.0), 2);
  EXPECT_EQ(attempts(5000.0, 4.0), 3);  // a factor below 0.2 is not taken at once
}

TEST(StepController, LearnsFromFailedAttemptsThatTheErrorFallsMoreSlowly) {
  // a jump in a boundary value: like the square root; with the fourth root of the error as factor these would be 16
  // and 14
  EXPECT_LE(attempts(60.0, 0.5), 4);
  EXPECT_LE(attempts(30.0, 1.0), 4);
}

}  // namespace
}  // namespace saltus
