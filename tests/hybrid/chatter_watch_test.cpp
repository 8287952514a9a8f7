// ChatterWatch promises: fifty events of the same one or two guards, none further from the next than a hundredth of the
// run, are an episode. It is reported once, and goes on growing.
#include "hybrid/chatter_watch.hpp"

#include <gtest/gtest.h>

namespace saltus {
namespace {

using Guards = std::vector<int>;

/// Notes `count` events of the guards, `interval` apart, from `first` on; returns how often chattering was reported.
int note(ChatterWatch& watch, int count, double first, double interval, const Guards& guards) {
  int reports = 0;
  for (int k = 0; k < count; ++k) reports += watch.note(first + k * interval, guards);
  return reports;
}

TEST(ChatterWatch, TheFiftiethEventInARowIsReportedAndNoneAfterIt) {
  ChatterWatch watch(10.0);
  EXPECT_EQ(note(watch, 49, 1.0, 0.01, {3}), 0);
  EXPECT_TRUE(watch.episodes().empty());
  EXPECT_TRUE(watch.note(1.49, Guards{3}));
  ASSERT_EQ(watch.episodes().size(), 1u);
  EXPECT_EQ(watch.episodes()[0].from, 1.0);
  EXPECT_EQ(watch.episodes()[0].to, 1.49);
  EXPECT_EQ(watch.episodes()[0].events, 50);
  EXPECT_EQ(watch.episodes()[0].guards, Guards{3});
  EXPECT_EQ(note(watch, 100, 1.5, 0.01, {3}), 0);
  ASSERT_EQ(watch.episodes().size(), 1u);
  EXPECT_EQ(watch.episodes()[0].events, 150);
  EXPECT_DOUBLE_EQ(watch.episodes()[0].to, 2.49);
}

TEST(ChatterWatch, APauseLongerThanAHundredthOfTheRunBeginsAnew) {
  ChatterWatch watch(10.0);  // the longest pause is 0.1
  EXPECT_EQ(note(watch, 49, 0.0, 0.09, {0}), 0);
  EXPECT_FALSE(watch.note(4.43, Guards{0}));  // the last one was at 4.32
  EXPECT_EQ(note(watch, 48, 4.5, 0.05, {0}), 0);
  EXPECT_TRUE(watch.note(6.9, Guards{0}));
  ASSERT_EQ(watch.episodes().size(), 1u);
  EXPECT_EQ(watch.episodes()[0].from, 4.43);
}

TEST(ChatterWatch, EventsThatArePreciselyAHundredthApartChatter) {
  ASSERT_EQ(0.01 * 6400.0, 64.0);  // whole numbers: no rounding errors
  ChatterWatch watch(6400.0);
  EXPECT_EQ(note(watch, 50, 0.0, 64.0, {0}), 1);
}

TEST(ChatterWatch, TwoGuardsMayAlternateAndAThirdEndsTheRow) {
  ChatterWatch watch(1.0);
  int reports = 0;
  for (int k = 0; k < 60; ++k) reports += watch.note(0.001 * k, Guards{k % 2});
  EXPECT_EQ(reports, 1);
  EXPECT_EQ(watch.episodes()[0].guards, (Guards{0, 1}));

  ChatterWatch three(1.0);
  reports = 0;
  for (int k = 0; k < 300; ++k) reports += three.note(0.001 * k, Guards{k % 3});
  EXPECT_EQ(reports, 0);
}

TEST(ChatterWatch, ASecondGuardThatJoinsAnEpisodeIsNamedInIt) {
  ChatterWatch watch(1.0);
  EXPECT_EQ(note(watch, 50, 0.0, 0.001, {7}), 1);
  EXPECT_FALSE(watch.note(0.0505, Guards{8}));
  ASSERT_EQ(watch.episodes().size(), 1u);
  EXPECT_EQ(watch.episodes()[0].guards, (Guards{7, 8}));
  EXPECT_EQ(watch.episodes()[0].events, 51);
}

TEST(ChatterWatch, GuardsThatFireTogetherCountOnceAndMoreThanTwoNever) {
  ChatterWatch watch(1.0);
  EXPECT_EQ(note(watch, 50, 0.0, 0.001, {1, 2}), 1);
  EXPECT_EQ(watch.episodes()[0].events, 50);
  ChatterWatch crowd(1.0);
  EXPECT_EQ(note(crowd, 200, 0.0, 0.001, {1, 2, 3}), 0);
}

TEST(ChatterWatch, EventsWithoutGuardsAreNoEvents) {
  ChatterWatch watch(1.0);
  EXPECT_EQ(note(watch, 49, 0.0, 0.001, {1}), 0);
  EXPECT_FALSE(watch.note(0.049, Guards{}));
  EXPECT_TRUE(watch.note(0.0495, Guards{1}));
}

TEST(ChatterWatch, AfterEventsThatAreDismissedManyMoreAreNeededUntilTheRowEnds) {
  ChatterWatch watch(10.0);
  EXPECT_EQ(note(watch, 50, 0.0, 0.01, {0}), 1);
  EXPECT_NEAR(watch.interval(), 0.01, 1e-12);
  watch.dismiss();
  EXPECT_TRUE(watch.episodes().empty());
  EXPECT_EQ(note(watch, 1599, 0.5, 0.001, {0}), 0);
  EXPECT_TRUE(watch.note(2.099, Guards{0}));
  EXPECT_EQ(watch.episodes().size(), 1u);
  watch.dismiss();
  EXPECT_EQ(note(watch, 49, 5.0, 0.01, {0}), 0);  // after a pause
  EXPECT_TRUE(watch.note(5.49, Guards{0}));
}

TEST(ChatterWatch, ASecondEpisodeIsReportedAgain) {
  ChatterWatch watch(10.0);
  EXPECT_EQ(note(watch, 60, 0.0, 0.01, {0}), 1);
  EXPECT_EQ(note(watch, 60, 5.0, 0.01, {0}), 1);
  ASSERT_EQ(watch.episodes().size(), 2u);
  EXPECT_EQ(watch.episodes()[0].events, 60);
  EXPECT_EQ(watch.episodes()[1].from, 5.0);
}

TEST(ChatterWatch, RunsBackwardsInTimeToo) {
  ChatterWatch watch(1.0);
  EXPECT_EQ(note(watch, 50, 1.0, -0.001, {0}), 1);
  EXPECT_LT(watch.episodes()[0].to, watch.episodes()[0].from);
}

// A run of length zero has no pause that is short enough but none at all.
TEST(ChatterWatch, InARunOfLengthZeroOnlyEventsAtOneInstantChatter) {
  ChatterWatch watch(0.0);
  EXPECT_EQ(note(watch, 100, 0.0, 1e-9, {0}), 0);
  EXPECT_EQ(note(watch, 50, 1.0, 0.0, {0}), 1);
}

}  // namespace
}  // namespace saltus
