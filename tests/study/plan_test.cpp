// Members are functions of (plan, index).
#include <gtest/gtest.h>
#include <saltus/base/error.hpp>
#include <saltus/study/plan.hpp>

#include <cmath>
#include <string>

namespace saltus {
namespace {

std::string refusal(const StudyPlan& plan) {
  try {
    member_count(plan);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

TEST(StudyPlan, AxesHaveBothEndsAndTheSpacingThatIsAsked) {
  const Axis linear{"a", 1.0, 2.0, 5};
  EXPECT_EQ(linear.value(0), 1.0);
  EXPECT_EQ(linear.value(1), 1.25);
  EXPECT_EQ(linear.value(4), 2.0);
  const Axis logarithmic{"b", 0.01, 1.0, 3, Spacing::logarithmic};
  EXPECT_EQ(logarithmic.value(0), 0.01);
  EXPECT_NEAR(logarithmic.value(1), 0.1, 1e-15);
  EXPECT_EQ(logarithmic.value(2), 1.0);
  const Axis list{.name = "c", .spacing = Spacing::list, .values = {3.0, 1.0, 2.0}};
  EXPECT_EQ(list.size(), 3);
  EXPECT_EQ(list.value(1), 1.0);
  const Axis negative{"d", -1.0, -100.0, 3, Spacing::logarithmic};
  EXPECT_NEAR(negative.value(1), -10.0, 1e-13);
  EXPECT_EQ((Axis{"e", 7.0, 9.0, 1}).value(0), 7.0);
}

TEST(StudyPlan, TheLastAxisIsTheFastest) {
  const StudyPlan plan{.axes = {{"a", 0.0, 1.0, 2}, {"b", 10.0, 12.0, 3}}};
  EXPECT_EQ(member_count(plan), 6);
  using Values = std::vector<std::pair<std::string, double>>;
  EXPECT_EQ(member_values(plan, 0), (Values{{"a", 0.0}, {"b", 10.0}}));
  EXPECT_EQ(member_values(plan, 2), (Values{{"a", 0.0}, {"b", 12.0}}));
  EXPECT_EQ(member_values(plan, 3), (Values{{"a", 1.0}, {"b", 10.0}}));
}

// The standard error of a mean of n uniform numbers is 0.29/sqrt(n), of a normal one 1/sqrt(n): five of them.
TEST(StudyPlan, RandomValuesDependOnSeedAndIndexAloneAndHaveTheirDistribution) {
  StudyPlan plan{.random = {{"u", Distribution::uniform, 2.0, 4.0},
                            {"n", Distribution::normal, 1.0, 3.0},
                            {"l", Distribution::log_uniform, 0.1, 10.0}},
                 .draws = 20000,
                 .seed = 7};
  double u = 0.0, n = 0.0, squares = 0.0, l = 0.0;
  for (std::int64_t k = 0; k < plan.draws; ++k) {
    const auto values = member_values(plan, k);
    EXPECT_TRUE(values[0].second > 2.0 && values[0].second < 4.0);
    u += values[0].second;
    n += values[1].second;
    squares += (values[1].second - 1.0) * (values[1].second - 1.0);
    l += std::log(values[2].second);
  }
  const double count = static_cast<double>(plan.draws);
  EXPECT_NEAR(u / count, 3.0, 5.0 * 0.58 / std::sqrt(count));
  EXPECT_NEAR(n / count, 1.0, 5.0 * 3.0 / std::sqrt(count));
  EXPECT_NEAR(squares / count, 9.0, 5.0 * 9.0 * std::sqrt(2.0 / count));
  EXPECT_NEAR(l / count, 0.0, 5.0 * 1.33 / std::sqrt(count));
  const auto before = member_values(plan, 123);
  EXPECT_EQ(member_values(plan, 123), before);
  plan.draws = 200;  // other members do not matter
  EXPECT_EQ(member_values(plan, 123), before);
  plan.seed = 8;
  EXPECT_NE(member_values(plan, 123), before);
}

TEST(StudyPlan, ATableHasAMemberInEachRow) {
  const StudyPlan plan{.table = {{"a", "b"}, {{1.0, 2.0}, {3.0, 4.0}}}};
  EXPECT_EQ(member_count(plan), 2);
  EXPECT_EQ(member_values(plan, 1).at(1).second, 4.0);
}

TEST(StudyPlan, WhatMakesNoSenseIsRefusedByName) {
  EXPECT_NE(refusal({.axes = {{"a", -1.0, 1.0, 5, Spacing::logarithmic}}}).find("axis 'a': logarithmic"),
            std::string::npos);
  EXPECT_NE(refusal({.axes = {{"a", 0.0, 1.0, 0}}}).find("at least one"), std::string::npos);
  EXPECT_NE(refusal({.axes = {{"a", 0.0, 1.0, 2}, {"a", 0.0, 1.0, 2}}}).find("'a' varies twice"), std::string::npos);
  EXPECT_NE(refusal({.axes = {{"a", 0.0, 1.0, 2}}, .table = {{"b"}, {{1.0}}}}).find("table"), std::string::npos);
  EXPECT_NE(refusal({.table = {{"b", "c"}, {{1.0}}}}).find("row 1"), std::string::npos);
  EXPECT_NE(refusal({.random = {{"r", Distribution::log_uniform, 0.0, 1.0}}}).find("positive"), std::string::npos);
  EXPECT_NE(refusal({.axes = {{"a", 0.0, 1.0, std::int64_t{1} << 30}, {"b", 0.0, 1.0, std::int64_t{1} << 30}}})
                .find("fewer values"),
            std::string::npos);
  EXPECT_NE(refusal({.follow = Follow::up}).find("need an axis"), std::string::npos);
}

}  // namespace
}  // namespace saltus
