// Branches of cycles: bifurcations at places that are known exactly, or to many digits.
#include <gtest/gtest.h>
#include <saltus/modelica/modelica.hpp>
#include <saltus/saltus.hpp>
#include <saltus/sens/continuation.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace saltus {
namespace {

constexpr double pi = std::numbers::pi;

Model load(const std::string& text) {
  return load_modelica(text, "model.mo").model;
}

std::vector<Bifurcation> of_kind(const Branch& branch, BifurcationKind kind) {
  std::vector<Bifurcation> result;
  for (const Bifurcation& b : branch.bifurcations)
    if (b.kind == kind) result.push_back(b);
  return result;
}

const std::string dry_friction = R"(model DryFriction
  parameter Real r = 1.5, F = 0.4;
  Real x(start = 0, fixed = true), v(start = 1, fixed = true), T = 6.2831853071795864769*r;
equation
  der(x) = v;
  der(v) = -x + sin(time/r) - F*sign(v);
end DryFriction;)";

TEST(Continuation, FindsTheOnsetOfSlidingToTenDigits) {
  ContinuationOptions options{
      .cycle = {.period_of = "T", .transient = 200.0}, .parameter = "r", .from = 1.5, .to = 3.0};
  options.cycle.simulate.rtol = 1e-12;
  options.cycle.simulate.atol = 1e-14;
  const Branch branch = follow_cycle(load(dry_friction), options);
  ASSERT_EQ(branch.status, BranchStatus::finished) << branch.message;
  const auto onsets = of_kind(branch, BifurcationKind::sliding_onset);
  ASSERT_EQ(onsets.size(), 1u);
  EXPECT_NEAR(onsets[0].point.parameter, 1.866523638121452, 1e-10);
  // beyond it the cycle is II
  EXPECT_NE(branch.points.back().events.find("slide_enter"), std::string::npos);
  EXPECT_EQ(branch.points.front().events.find("slide_enter"), std::string::npos);
  for (const BranchPoint& point : branch.points) EXPECT_TRUE(point.stable) << point.parameter;
}

/// The drill string of Piiroinen and Kuznetsov 2008, section 4.3, as examples/gallery has it.
const std::string drill_string = R"(model DrillString
  parameter Real u = 1, km = 3.5693, k = 0.078, Ju = 0.4765, Jl = 0.0326, Tsup = 0.3216, Tsun = 0.3026, bu = 1.9667;
  parameter Real Tsl = 0.0940, T1 = 0.0826, T2 = -0.2910, beta1 = 6.3598, beta2 = 0.0786;
  Real twist(start = 0, fixed = true), upper(start = 2, fixed = true), lower(start = 2, fixed = true);
equation
  der(twist) = upper - lower;
  Ju*der(upper) = km*u - k*twist - (if upper > 0 then Tsup + bu*upper else -Tsun + bu*upper);
  Jl*der(lower) = k*twist - (if lower > 0
    then Tsl + T1*(1 - 2/(1 + exp(beta1*lower))) + T2*(1 - 2/(1 + exp(beta2*lower)))
    else -Tsl - T1*(1 - 2/(1 + exp(-beta1*lower))) - T2*(1 - 2/(1 + exp(-beta2*lower))));
end DrillString;)";

/// What a run without derivatives, long enough to be on the limit cycle, says at a voltage: the last 30 seconds.
struct Swing {
  double lowest = 0.0;      // speed of the lower disc
  double stop_twist = 0.0;  // twist where it last stopped from above
};
Swing swing_at(double u) {
  const CompiledModel model = CompiledModel(load(drill_string)).with_values({{"u", u}});
  const Trajectory run = simulate(model, {.stop = 150.0, .rtol = 1e-12, .atol = 1e-13});
  Swing swing{.lowest = 1.0};
  for (double t = 120.0; t < 150.0; t += 1e-3) swing.lowest = std::min(swing.lowest, run.at(t, "lower"));
  for (const Event& e : run.events())
    if (e.direction[0] < 0) swing.stop_twist = e.after[0];
  return swing;
}

// The branch in the voltage: it begins to stick where the lowest speed is zero, turns back from where the string pulls
// stronger than static friction when the disc stops, and no longer sticks from where it pulls stronger when it comes
// back.
TEST(Continuation, FollowsTheDrillStringOverTheVoltage) {
  ContinuationOptions options{
      .cycle = {.section = {"lower", 1.0}, .transient = 80.0}, .parameter = "u", .from = 1.0, .to = 6.0};
  options.cycle.simulate.rtol = 1e-12;
  options.cycle.simulate.atol = 1e-14;
  const Branch branch = follow_cycle(load(drill_string), options);
  ASSERT_EQ(branch.status, BranchStatus::finished) << branch.message;
  for (const BranchPoint& point : branch.points) EXPECT_TRUE(point.stable) << point.parameter;
  ASSERT_EQ(branch.bifurcations.size(), 3u);
  const Bifurcation &sticks = branch.bifurcations[0], &turns = branch.bifurcations[1], &slips = branch.bifurcations[2];
  EXPECT_EQ(sticks.kind, BifurcationKind::events_change);
  EXPECT_EQ(turns.kind, BifurcationKind::sliding_onset);
  EXPECT_EQ(slips.kind, BifurcationKind::sliding_onset);
  EXPECT_NEAR(swing_at(sticks.point.parameter - 1e-6).lowest, 0.0, 1e-5);
  EXPECT_GT(swing_at(sticks.point.parameter - 1e-2).lowest, 1e-3);
  EXPECT_NEAR(swing_at(turns.point.parameter).stop_twist, -0.0940 / 0.078, 1e-8);
  EXPECT_LT(swing_at(turns.point.parameter + 0.01).lowest, -1e-6);
  EXPECT_NEAR(swing_at(turns.point.parameter - 0.01).lowest, 0.0, 1e-9);
  const auto slides_at = [](double u) {
    const Trajectory run =
        simulate(CompiledModel(load(drill_string)).with_values({{"u", u}}), {.stop = 80.0, .rtol = 1e-9});
    return std::ranges::any_of(run.events(),
                               [](const Event& e) { return e.t > 40.0 && e.kind == EventKind::slide_enter; });
  };
  EXPECT_TRUE(slides_at(slips.point.parameter - 1e-4));
  EXPECT_FALSE(slides_at(slips.point.parameter + 1e-4));
  // u = 2 by a run of its own: the period of the gallery
  const auto at_two =
      std::ranges::min_element(branch.points, {}, [](const auto& p) { return std::abs(p.parameter - 2); });
  EXPECT_NEAR(at_two->period, 4.240705, 5e-4);
}

// At low voltages the speed of the lower disc stays below the section. The branch went back along the downward passage
// of the same cycles, and a fold was reported.
TEST(Continuation, EndsWhereTheCycleOnlyTouchesItsSection) {
  ContinuationOptions options{
      .cycle = {.section = {"lower", 1.0}, .transient = 80.0}, .parameter = "u", .from = 1.0, .to = 0.3};
  options.cycle.simulate.rtol = 1e-9;
  const Branch branch = follow_cycle(load(drill_string), options);
  EXPECT_EQ(branch.status, BranchStatus::ended);
  EXPECT_NE(branch.message.find("only touches its section"), std::string::npos) << branch.message;
  EXPECT_TRUE(branch.bifurcations.empty());
}

TEST(Continuation, ReportsItsWayAlongTheRange) {
  std::vector<SearchProgress> seen;
  const Branch branch = follow_cycle(load(dry_friction), {.cycle = {.period_of = "T", .transient = 200.0},
                                                          .parameter = "r",
                                                          .from = 1.5,
                                                          .to = 1.2,
                                                          .step = 0.2,
                                                          .progress = [&](const auto& p) { seen.push_back(p); }});
  ASSERT_EQ(branch.status, BranchStatus::finished) << branch.message;
  ASSERT_EQ(seen.size(), branch.points.size() + 1);
  EXPECT_EQ(seen[0].doing, "first cycle");
  for (std::size_t k = 1; k < seen.size(); ++k) {
    const double way = std::min((1.5 - branch.points[k - 1].parameter) / 0.3, 1.0);
    EXPECT_NEAR(seen[k].share, way, 1e-12);
    EXPECT_TRUE(seen[k].doing.starts_with(std::to_string(k) + " points, r = ")) << seen[k].doing;
    EXPECT_FALSE(seen[k].upper_bound);
  }
  EXPECT_EQ(seen.back().share, 1.0);
}

/// The circle of radius r: r' = r (m + c r^2 - r^4)/10 turns into a fold at m = -c^2/4, r^2 = c/2.
const std::string circles = R"(model Circles
  parameter Real m = 0.5, c = 1;
  Real x(start = 1.17, fixed = true), y(start = 0, fixed = true), q = x^2 + y^2;
equation
  der(x) = x*(m + c*q - q^2)/10 - y;
  der(y) = y*(m + c*q - q^2)/10 + x;
end Circles;)";

TEST(Continuation, GoesRoundAFold) {
  ContinuationOptions options{.cycle = {.period_guess = 6.28}, .parameter = "m", .from = 0.5, .to = -0.4};
  const Branch branch = follow_cycle(load(circles), options);
  EXPECT_EQ(branch.status, BranchStatus::ended);
  EXPECT_NE(branch.message.find("the cycle shrinks to an equilibrium between m = "), std::string::npos)
      << branch.message;
  EXPECT_NEAR(branch.points.back().parameter, 0.0, 1e-3);
  const auto folds = of_kind(branch, BifurcationKind::fold);
  ASSERT_EQ(folds.size(), 1u);
  EXPECT_NEAR(folds[0].point.parameter, -0.25, 1e-8);
  EXPECT_NEAR(std::hypot(folds[0].point.start[0], folds[0].point.start[1]), std::sqrt(0.5), 1e-5);
  bool stable_before = true, unstable_behind = true;
  for (std::size_t k = 0; k < branch.points.size(); ++k) {
    const BranchPoint& point = branch.points[k];
    const double q = point.start[0] * point.start[0] + point.start[1] * point.start[1];
    EXPECT_NEAR(point.parameter + q - q * q, 0.0, 1e-7);
    EXPECT_NEAR(point.period, 2.0 * pi, 1e-7);
    // r' = r (m + q - q^2)/10: multiplier exp(2 pi (2 q - 4 q^2)/10)
    EXPECT_NEAR(point.multipliers[0].real(), std::exp(2.0 * pi * (2.0 * q - 4.0 * q * q) / 10.0), 1e-6);
    (k <= folds[0].behind ? stable_before : unstable_behind) &= point.stable == (k <= folds[0].behind);
  }
  EXPECT_TRUE(stable_before);
  EXPECT_TRUE(unstable_behind);
  EXPECT_GT(branch.points.size(), folds[0].behind + 5);
}

TEST(Continuation, FindsAFlip) {
  // x is replaced by 1 - a x^2 once a second, and held: the fixed point of the map flips at a = 3/4
  const Model model = load(R"(model Logistic
  parameter Real a = 0.5;
  discrete Real x(start = 0.7, fixed = true);
  Real y(start = 0, fixed = true);
equation
  der(y) = -y + x;
  when sample(0.5, 1) then
    x = 1 - a*pre(x)^2;
  end when;
end Logistic;)");
  const Branch branch = follow_cycle(model, {.cycle = {.period = 1.0}, .parameter = "a", .from = 0.5, .to = 1.0});
  ASSERT_EQ(branch.status, BranchStatus::finished) << branch.message;
  const auto flips = of_kind(branch, BifurcationKind::flip);
  ASSERT_EQ(flips.size(), 1u);
  EXPECT_NEAR(flips[0].point.parameter, 0.75, 1e-9);
  EXPECT_TRUE(branch.points.front().stable);
  EXPECT_FALSE(branch.points.back().stable);
}

TEST(Continuation, FindsATorus) {
  // z' = multiplication of the plane by (1 + m)/2 and a turn, once a second: the pair leaves the circle at m = 1
  const Model model = load(R"(model Turn
  parameter Real m = 0.5;
  discrete Real a(start = 0, fixed = true), b(start = 0, fixed = true);
  Real y(start = 0.1, fixed = true);
equation
  der(y) = -y;
  when sample(0.5, 1) then
    a = (1 + m)/2*(0.6*pre(a) - 0.8*pre(b)) + 0.1;
    b = (1 + m)/2*(0.8*pre(a) + 0.6*pre(b));
  end when;
end Turn;)");
  const Branch branch = follow_cycle(model, {.cycle = {.period = 1.0}, .parameter = "m", .from = 0.5, .to = 1.3});
  ASSERT_EQ(branch.status, BranchStatus::finished) << branch.message;
  const auto tori = of_kind(branch, BifurcationKind::torus);
  ASSERT_EQ(tori.size(), 1u);
  EXPECT_NEAR(tori[0].point.parameter, 1.0, 1e-9);
}

TEST(Continuation, FindsWhereAWallIsReached) {
  // a linear oscillator whose steady amplitude is F/|...| touches a wall with a recorded relation at x = 1: the branch
  // is followed down to the touch, from the side where the wall is passed
  const Model model = load(R"(model Passing
  parameter Real F = 1.5;
  Real x(start = 0, fixed = true), v(start = 0, fixed = true), k = if x > 1 then 1.5 else 1;
equation
  der(x) = v;
  der(v) = -x - (if x > 1 then 0.5*(x - 1) else 0) - 0.2*v + F*cos(1.6*time);
end Passing;)");
  const double w = 1.6, size = std::hypot(1.0 - w * w, 0.2 * w);
  CycleOptions cycle{.period = 2.0 * pi / w, .transient = 100.0};
  const Branch branch = follow_cycle(model, {.cycle = cycle, .parameter = "F", .from = 2.2, .to = 1.2});
  const auto touches = of_kind(branch, BifurcationKind::grazing);
  ASSERT_EQ(touches.size(), 1u) << branch.message;
  EXPECT_NEAR(touches[0].point.parameter, size, 1e-6);
}

TEST(Continuation, SaysWhatIsWrong) {
  const Model model = load(dry_friction);
  EXPECT_THROW(follow_cycle(model, {.cycle = {.period_of = "T"}, .parameter = "r"}), UsageError);
  EXPECT_THROW(follow_cycle(model, {.cycle = {.period_of = "T"}, .from = 0, .to = 1}), UsageError);
  EXPECT_THROW(follow_cycle(model, {.cycle = {.period_of = "T"}, .parameter = "R", .from = 0, .to = 1}), Error);
  ContinuationOptions few{
      .cycle = {.period_of = "T", .transient = 200.0}, .parameter = "r", .from = 1.5, .to = 3.0, .max_points = 3};
  const Branch branch = follow_cycle(model, few);
  EXPECT_EQ(branch.status, BranchStatus::too_many_points);
  EXPECT_EQ(branch.points.size(), 3u);
}

}  // namespace
}  // namespace saltus
