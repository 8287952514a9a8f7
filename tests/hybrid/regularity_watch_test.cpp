// RegularityWatch promises: where the system Jacobian changes the sign of its determinant, or its margin vanishes, the
// characteristic values decide, and time() says where; elsewhere it is silent.
#include "hybrid/regularity_watch.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "hybrid/small_systems.hpp"

namespace saltus {
namespace {

using saltus::testing::ModeBuilder;

/// x' = 1, s(x) y = s(x): y = 1 solves it everywhere, and F_y = s(x).
template <class Factor>
std::unique_ptr<RecordedSystem> with_factor(Factor s) {
  ModeBuilder m;
  const Expr x = m.variable("x"), y = m.variable("y");
  m.equation(der(x) - 1.0);
  m.equation(s(x) * y - s(x));
  return m.system();
}

/// The solution x = t, y = 1 over a step.
DensePolynomial step(double from, double to) {
  return {.t0 = from, .h = to - from, .degree = 1, .variables = 2, .c = {from, 1.0, to - from, 0.0}};
}

struct Watching {
  std::unique_ptr<RecordedSystem> system;
  CharacteristicValues values;
  RegularityWatch watch;

  Watching(std::unique_ptr<RecordedSystem> s, double t) : system(std::move(s)) {
    const std::vector<double> x{t, 1.0}, xp{1.0, 0.0};
    values = characteristic_values(*system, t, x);
    watch.begin(*system, &values, nullptr, t, x, xp);
  }
};

TEST(RegularityWatch, ExplicitAndConstantModesNeedNoWatch) {
  ModeBuilder m;
  const Expr x = m.variable("x"), y = m.variable("y");
  m.equation(der(x) + y);
  m.equation(2.0 * y - x);
  const auto system = m.system();
  ASSERT_TRUE(system->structure().constant_jacobian);
  const std::vector<double> at{2.0, 1.0}, xp{-1.0, -0.5};
  const CharacteristicValues values = characteristic_values(*system, 0.0, at);
  RegularityWatch watch;
  EXPECT_FALSE(watch.watches());
  watch.begin(*system, &values, nullptr, 0.0, at, xp);
  EXPECT_FALSE(watch.watches());
  watch.begin(*system, nullptr, nullptr, 0.0, at, xp);
  EXPECT_FALSE(watch.watches());
  EXPECT_FALSE(watch.check(step(0.0, 1.0), 1.0));
  EXPECT_FALSE(watch.explain(0.0, at, xp));
}

TEST(RegularityWatch, AModeThatStaysRegularIsNeverReported) {
  Watching w(with_factor([](const Expr& x) { return 2.0 + sin(x); }), 0.0);
  ASSERT_TRUE(w.watch.watches());
  for (int k = 0; k < 50; ++k) EXPECT_FALSE(w.watch.check(step(0.3 * k, 0.3 * (k + 1)), 0.3 * (k + 1))) << k;
}

// The determinant is x - 1 up to a constant: it changes its sign at t = 1, inside the second step.
TEST(RegularityWatch, ASignChangeOfTheDeterminantIsLocatedToTheLastBits) {
  Watching w(with_factor([](const Expr& x) { return x - 1.0; }), 0.0);
  ASSERT_TRUE(w.watch.watches());
  EXPECT_FALSE(w.watch.check(step(0.0, 0.4), 0.4));
  const Failure failure = w.watch.check(step(0.4, 1.7), 1.7);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure.code, StatusCode::singular_mode);
  EXPECT_NEAR(w.watch.time(), 1.0, 1e-14);
  EXPECT_NE(failure.message.find("t = 1"), std::string::npos) << failure.message;
}

TEST(RegularityWatch, TheSameBackwardsInTime) {
  Watching w(with_factor([](const Expr& x) { return x - 1.0; }), 2.0);
  const Failure failure = w.watch.check(step(2.0, 0.5), 0.5);
  ASSERT_TRUE(failure);
  EXPECT_NEAR(w.watch.time(), 1.0, 1e-14);
}

// (x - 1)^2 has no sign change: it shows by its fall, and its lowest value is looked for inside the step.
TEST(RegularityWatch, ADeterminantThatTouchesZeroIsFoundInsideAStep) {
  Watching w(with_factor([](const Expr& x) { return (x - 1.0) * (x - 1.0); }), 0.0);
  ASSERT_TRUE(w.watch.watches());
  EXPECT_FALSE(w.watch.check(step(0.0, 0.45), 0.45));
  EXPECT_FALSE(w.watch.check(step(0.45, 0.8), 0.8));
  const Failure failure = w.watch.check(step(0.8, 1.3), 1.3);
  ASSERT_TRUE(failure);
  EXPECT_NEAR(w.watch.time(), 1.0, 1e-6);
}

// Smaller, but far from vanishing.
TEST(RegularityWatch, AMarginThatFallsWithoutVanishingIsNoFailure) {
  Watching w(with_factor([](const Expr& x) { return (x - 1.0) * (x - 1.0) + 1e-3; }), 0.0);
  for (int k = 0; k < 20; ++k) EXPECT_FALSE(w.watch.check(step(0.1 * k, 0.1 * (k + 1)), 0.1 * (k + 1))) << k;
}

TEST(RegularityWatch, AStepThatEndsBeforeTheSingularityIsAccepted) {
  Watching w(with_factor([](const Expr& x) { return x - 1.0; }), 0.0);
  EXPECT_FALSE(w.watch.check(step(0.0, 0.9), 0.9));
  EXPECT_FALSE(w.watch.check(step(0.9, 2.0), 0.99));  // only the part up to 0.99 counts
}

TEST(RegularityWatch, ExplainsWhyNoStepSucceedsNearASingularPoint) {
  Watching w(with_factor([](const Expr& x) { return x - 1.0; }), 0.0);
  const std::vector<double> xp{1.0, 0.0}, near{1.0 - 1e-9, 1.0}, far{0.5, 1.0};
  EXPECT_FALSE(w.watch.explain(0.5, far, xp));
  const Failure failure = w.watch.explain(1.0 - 1e-9, near, xp);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure.code, StatusCode::singular_mode);
}

TEST(RegularityWatch, AfterStopNothingIsWatched) {
  Watching w(with_factor([](const Expr& x) { return x - 1.0; }), 0.0);
  w.watch.stop();
  EXPECT_FALSE(w.watch.watches());
  EXPECT_FALSE(w.watch.check(step(0.0, 2.0), 2.0));
}

TEST(RegularityWatch, ANewBeginningInTheSameModeForgetsTheSideOfTheSingularity) {
  Watching w(with_factor([](const Expr& x) { return x - 1.0; }), 0.0);
  const std::vector<double> x{3.0, 1.0}, xp{1.0, 0.0};
  w.watch.begin(*w.system, &w.values, nullptr, 3.0, x, xp);  // a reset has carried the state across
  EXPECT_FALSE(w.watch.check(step(3.0, 4.0), 4.0));
}

}  // namespace
}  // namespace saltus
