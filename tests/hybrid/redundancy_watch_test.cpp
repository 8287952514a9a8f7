// RedundancyWatch promises: while equations that follow from the others go on to do so, it says nothing; where they
// begin to contradict them, it says so once.
#include "hybrid/redundancy_watch.hpp"

#include <gtest/gtest.h>

#include "hybrid/small_systems.hpp"

namespace saltus {
namespace {

using saltus::testing::ModeBuilder;

/// x' = 1 and y = t twice; from t = 1 on the second of the two asks for more by (t - 1)^2.
std::unique_ptr<RecordedSystem> redundant_until_one() {
  ModeBuilder m;
  const Expr x = m.variable("x"), y = m.variable("y"), t = m.time();
  m.equation(der(x) - 1.0);
  m.equation(y - t);
  m.equation(y - t - no_event(if_else(t > 1.0, (t - 1.0) * (t - 1.0), Expr(0.0))));
  return m.system();
}

TEST(RedundancyWatch, ExplicitModesAndModesWithoutRedundantEquationsAreNotWatched) {
  ModeBuilder m;
  const Expr x = m.variable("x"), y = m.variable("y");
  m.equation(der(x) + y);
  m.equation(y * y * y + y - x);
  const auto system = m.system();
  const std::vector<double> at{2.0, 1.0};
  const CharacteristicValues values = characteristic_values(*system, 0.0, at);
  ASSERT_EQ(values->v, 0);
  RedundancyWatch watch;
  EXPECT_FALSE(watch.watches());
  watch.begin(*system, &values, 0.0, at);
  EXPECT_FALSE(watch.watches());
  EXPECT_EQ(watch.check(1.0, at), "");
  watch.begin(*system, nullptr, 0.0, at);
  EXPECT_FALSE(watch.watches());
}

TEST(RedundancyWatch, ValuesThatWereNotDecidedAreNotWatched) {
  const auto system = redundant_until_one();
  const std::vector<double> at{0.0, 0.25};
  CharacteristicValues values = characteristic_values(*system, 0.25, at);
  values.status = AnalysisStatus::undecided;
  RedundancyWatch watch;
  watch.begin(*system, &values, 0.25, at);
  EXPECT_FALSE(watch.watches());
}

TEST(RedundancyWatch, AContradictionIsToldOnceWithItsTime) {
  const auto system = redundant_until_one();
  const std::vector<double> at{0.0, 0.25};
  const CharacteristicValues values = characteristic_values(*system, 0.25, at);
  ASSERT_EQ(values->v, 1);
  RedundancyWatch watch;
  watch.begin(*system, &values, 0.25, at);
  ASSERT_TRUE(watch.watches());
  for (const double t : {0.5, 0.75, 1.0}) EXPECT_EQ(watch.check(t, std::vector<double>{t, t}), "") << t;
  const std::string text = watch.check(1.5, std::vector<double>{1.5, 1.5});
  EXPECT_NE(text.find("contradict"), std::string::npos) << text;
  EXPECT_NE(text.find("1.5"), std::string::npos) << text;
  EXPECT_EQ(watch.check(2.0, std::vector<double>{2.0, 2.0}), "");
}

TEST(RedundancyWatch, WhatWasContradictoryFromTheBeginningIsNotToldAgain) {
  const auto system = redundant_until_one();
  const std::vector<double> early{0.0, 0.25}, late{0.0, 2.0};
  const CharacteristicValues values = characteristic_values(*system, 0.25, early);
  RedundancyWatch watch;
  watch.begin(*system, &values, 2.0, late);
  EXPECT_TRUE(watch.watches());
  EXPECT_EQ(watch.check(2.5, std::vector<double>{0.0, 2.5}), "");
}

TEST(RedundancyWatch, AfterStopNothingIsWatchedUntilTheNextBeginning) {
  const auto system = redundant_until_one();
  const std::vector<double> at{0.0, 0.25};
  const CharacteristicValues values = characteristic_values(*system, 0.25, at);
  RedundancyWatch watch;
  watch.begin(*system, &values, 0.25, at);
  watch.stop();
  EXPECT_FALSE(watch.watches());
  EXPECT_EQ(watch.check(1.5, std::vector<double>{1.5, 1.5}), "");
  watch.begin(*system, &values, 0.25, at);
  EXPECT_NE(watch.check(1.5, std::vector<double>{1.5, 1.5}), "");
}

}  // namespace
}  // namespace saltus
