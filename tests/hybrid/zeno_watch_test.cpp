// ZenoWatch promises: a guard accumulates once the intervals between its events have shrunk five times in a row, each
// to 0.999 of the last one or less; then the next interval and the limit follow from the last two by Aitken's
// extrapolation.
#include "hybrid/zeno_watch.hpp"

#include <gtest/gtest.h>

namespace saltus {
namespace {

/// Events at the partial sums of a geometric series; returns the time of the last.
double note_geometric(ZenoWatch& watch, int guard, double first, double interval, double ratio, int events) {
  double t = first;
  for (int k = 0; k < events; ++k) {
    watch.note(guard, t);
    if (k + 1 < events) t += interval;
    if (k + 1 < events) interval *= ratio;
  }
  return t;
}

TEST(ZenoWatch, AGuardWithoutEventsDoesNotAccumulate) {
  const ZenoWatch watch;
  EXPECT_FALSE(watch.accumulates(0));
  EXPECT_FALSE(watch.accumulates(1000));
}

// Seven events have six intervals, of which five are smaller than the one before.
TEST(ZenoWatch, FiveIntervalsThatShrinkInARowAccumulateAndFourDoNot) {
  ZenoWatch four, five;
  note_geometric(four, 2, 1.0, 1.0, 0.5, 6);
  note_geometric(five, 2, 1.0, 1.0, 0.5, 7);
  EXPECT_FALSE(four.accumulates(2));
  EXPECT_TRUE(five.accumulates(2));
  EXPECT_FALSE(five.accumulates(1));
  EXPECT_FALSE(five.accumulates(3));
}

TEST(ZenoWatch, TheLimitOfAGeometricSeriesIsExact) {
  ZenoWatch watch;
  note_geometric(watch, 0, 3.0, 1.0, 0.5, 8);  // powers of two: no rounding errors
  EXPECT_EQ(watch.limit(0), 5.0);
  EXPECT_EQ(watch.interval(0), 1.0 / 64.0);
  EXPECT_EQ(watch.next_interval(0), 1.0 / 128.0);
}

// Each impact takes the restitution e of the speed, and the flight lasts 2 v/g.
TEST(ZenoWatch, TheLimitOfABouncingBallIsThatOfTheTextbook) {
  const double e = 0.8, g = 9.81, v = 5.0;
  ZenoWatch watch;
  note_geometric(watch, 0, 0.0, 2.0 * e * v / g, e, 10);
  EXPECT_NEAR(watch.limit(0), 2.0 * e * v / g / (1.0 - e), 1e-12);
}

TEST(ZenoWatch, BackwardsInTimeTheLimitLiesBefore) {
  ZenoWatch watch;
  note_geometric(watch, 0, 3.0, -1.0, 0.5, 8);
  EXPECT_TRUE(watch.accumulates(0));
  EXPECT_EQ(watch.limit(0), 1.0);
  EXPECT_EQ(watch.interval(0), 1.0 / 64.0);
  EXPECT_EQ(watch.next_interval(0), 1.0 / 128.0);
}

TEST(ZenoWatch, IntervalsThatStayOrHardlyShrinkDoNotAccumulate) {
  ZenoWatch same, slow;
  note_geometric(same, 0, 0.0, 1.0, 1.0, 100);
  note_geometric(slow, 0, 0.0, 1.0, 0.9995, 100);
  EXPECT_FALSE(same.accumulates(0));
  EXPECT_FALSE(slow.accumulates(0));
}

TEST(ZenoWatch, OneIntervalThatGrowsBeginsTheCountAnew) {
  ZenoWatch watch;
  const double t = note_geometric(watch, 0, 0.0, 1.0, 0.5, 7);
  ASSERT_TRUE(watch.accumulates(0));
  watch.note(0, t + 1.0);
  EXPECT_FALSE(watch.accumulates(0));
  note_geometric(watch, 0, t + 1.5, 0.25, 0.5, 4);
  EXPECT_FALSE(watch.accumulates(0));
  watch.note(0, t + 1.5 + 0.25 + 0.125 + 0.0625 + 0.03125);
  EXPECT_TRUE(watch.accumulates(0));
}

TEST(ZenoWatch, GuardsAreCountedApart) {
  ZenoWatch watch;
  double t = 0.0, interval = 1.0;
  for (int k = 0; k < 8; ++k, t += interval, interval *= 0.5) {
    watch.note(5, t);
    watch.note(1, static_cast<double>(k));
  }
  EXPECT_TRUE(watch.accumulates(5));
  EXPECT_FALSE(watch.accumulates(1));
}

TEST(ZenoWatch, AForgottenGuardBeginsAnew) {
  ZenoWatch watch;
  note_geometric(watch, 0, 0.0, 1.0, 0.5, 20);
  watch.forget(0);
  EXPECT_FALSE(watch.accumulates(0));
  note_geometric(watch, 0, 10.0, 1.0, 0.5, 6);
  EXPECT_FALSE(watch.accumulates(0));
  watch.note(0, 10.0 + 1.96875);
  EXPECT_TRUE(watch.accumulates(0));
}

}  // namespace
}  // namespace saltus
