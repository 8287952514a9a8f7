#include <gtest/gtest.h>
#include <saltus/dae/initialisation.hpp>

#include <cmath>

#include "problems/circuits.hpp"
#include "problems/heat.hpp"
#include "problems/linear.hpp"
#include "problems/mechanics.hpp"
#include "problems/seven_body.hpp"

namespace saltus {
namespace {

using problems::Problem;

enum { px, py, vx, vy, lambda };

Problem guess_off_the_manifold() {
  return problems::pendulum({0.9, -0.6, 0.5, 0.1, 0.0});
}

// All levels of the derivative array, the hidden constraints written out.
void expect_on_the_pendulum_manifold(const std::vector<double>& x) {
  EXPECT_NEAR(x[px] * x[px] + x[py] * x[py], 1.0, 1e-14);
  EXPECT_NEAR(x[px] * x[vx] + x[py] * x[vy], 0.0, 1e-13);
  EXPECT_NEAR(x[lambda], x[vx] * x[vx] + x[vy] * x[vy] - problems::gravity * x[py], 1e-12);
}

TEST(Initialise, HoldsWhatIsFixedAndSolvesTheHiddenConstraints) {
  const Problem p = guess_off_the_manifold();
  const Initialisation i = initialise(*p.system, p.t, p.guess, {.fixed = {px, vx}});
  ASSERT_TRUE(i.ok()) << i.message;
  EXPECT_EQ(i.x[px], 0.9);
  EXPECT_EQ(i.x[vx], 0.5);
  const double y = -std::sqrt(1.0 - 0.81), v = -0.9 * 0.5 / y;
  EXPECT_NEAR(i.x[py], y, 1e-14);
  EXPECT_NEAR(i.x[vy], v, 1e-13);
  EXPECT_NEAR(i.x[lambda], 0.25 + v * v - problems::gravity * y, 1e-12);
  EXPECT_NEAR(i.xp[vx], -i.x[lambda] * 0.9, 1e-12);
  EXPECT_NEAR(i.correction[py], y + 0.6, 1e-14);
  EXPECT_LT(i.residual, 1e-12);
}

TEST(Initialise, ChoosesPositionsAndVelocitiesToHold) {
  const Problem p = guess_off_the_manifold();
  const Initialisation i = initialise(*p.system, p.t, p.guess);
  ASSERT_TRUE(i.ok()) << i.message;
  ASSERT_EQ(i.held.size(), 2U);
  for (int j : i.held) EXPECT_EQ(i.x[j], p.guess[j]);
  EXPECT_EQ(std::count(i.held.begin(), i.held.end(), lambda), 0);
  expect_on_the_pendulum_manifold(i.x);
}

TEST(Initialise, HoldsWhatIsPreferredAsFarAsTheConstraintsAllow) {
  const Problem p = problems::pendulum({0.6, -0.8, 0.5, 0.1, 0.0});  // the velocity does not fit
  for (const int preferred : {vx, vy}) {
    const Initialisation i = initialise(*p.system, p.t, p.guess, {.preferred = {preferred}});
    ASSERT_TRUE(i.ok()) << i.message;
    EXPECT_EQ(i.x[preferred], p.guess[preferred]);
    expect_on_the_pendulum_manifold(i.x);
  }
  const Initialisation both = initialise(*p.system, p.t, p.guess, {.preferred = {vx, vy}});
  ASSERT_TRUE(both.ok()) << both.message;
  EXPECT_TRUE(both.x[vx] == p.guess[vx] || both.x[vy] == p.guess[vy]);
  expect_on_the_pendulum_manifold(both.x);
}

TEST(Initialise, LeavesConsistentPositionsAndVelocitiesAloneWhenTheMultiplierIsCold) {
  const Problem p = problems::pendulum({0.6, -0.8, 0.4, 0.3, 0.0});
  for (Hold hold : {Hold::differential, Hold::fixed_only}) {
    const Initialisation i = initialise(*p.system, p.t, p.guess, {.hold = hold});
    ASSERT_TRUE(i.ok()) << i.message;
    for (int j : {px, py, vx, vy}) EXPECT_NEAR(i.x[j], p.guess[j], 1e-6) << j;
    EXPECT_NEAR(i.x[lambda], 0.25 + problems::gravity * 0.8, 1e-4);
  }
}

TEST(Initialise, NamesTheConflictWhenTooMuchIsFixed) {
  const Problem p = guess_off_the_manifold();
  const Initialisation two = initialise(*p.system, p.t, p.guess, {.fixed = {px, py}});
  EXPECT_EQ(two.status, InitialisationStatus::overfixed);
  EXPECT_EQ(two.conflicting, (std::vector<int>{px, py}));
  EXPECT_EQ(two.kept, (std::vector<int>{px}));
  ASSERT_FALSE(two.violations.empty());
  EXPECT_EQ(two.violations[0].name, "length");
  EXPECT_NEAR(two.violations[0].residual, 0.81 + 0.36 - 1.0, 1e-9);
  EXPECT_NE(two.message.find("px, py"), std::string::npos) << two.message;

  const Initialisation three = initialise(*p.system, p.t, p.guess, {.fixed = {px, py, vx}});
  EXPECT_EQ(three.conflicting, (std::vector<int>{px, py}));
  EXPECT_EQ(three.kept, (std::vector<int>{px, vx}));

  const Initialisation all = initialise(*p.system, p.t, p.guess, {.fixed = {px, vx, lambda}});
  EXPECT_EQ(all.conflicting, (std::vector<int>{px, vx, lambda}));
}

TEST(Initialise, NamesAHiddenConstraintThatFixedValuesViolate) {
  // on the circle, but not tangent to it: the first derivative of the length is violated
  const Problem p = problems::pendulum({0.6, -0.8, 0.5, 0.1, 0.0});
  const Initialisation i = initialise(*p.system, p.t, p.guess, {.fixed = {px, vx, vy}});
  EXPECT_EQ(i.status, InitialisationStatus::overfixed);
  EXPECT_EQ(i.conflicting, (std::vector<int>{px, vx, vy}));
  ASSERT_FALSE(i.violations.empty());
}

TEST(Initialise, AcceptsRedundantFixedValuesThatAgree) {
  const double multiplier = 0.25 + problems::gravity * 0.8;
  const Problem p = problems::pendulum({0.6, -0.8, 0.4, 0.3, multiplier});
  const Initialisation i = initialise(*p.system, p.t, p.guess, {.fixed = {px, py, vx, vy, lambda}});
  EXPECT_TRUE(i.ok()) << i.message;
  EXPECT_NEAR(i.x[lambda], multiplier, 1e-12);
}

TEST(Initialise, CanFixAMultiplier) {
  const Problem p = guess_off_the_manifold();
  std::vector<double> guess = p.guess;
  guess[lambda] = 6.0;
  const Initialisation i = initialise(*p.system, p.t, guess, {.fixed = {lambda}});
  ASSERT_TRUE(i.ok()) << i.message;
  EXPECT_EQ(i.x[lambda], 6.0);
  expect_on_the_pendulum_manifold(i.x);
}

TEST(Initialise, SaysThatThereIsNoSolution) {
  // lambda = v^2 + g 0.436 >= 4.28 with px = 0.9 and py < 0: 0 is out of reach
  const Problem p = guess_off_the_manifold();
  const Initialisation i = initialise(*p.system, p.t, p.guess, {.fixed = {px, lambda}});
  EXPECT_FALSE(i.ok());
  EXPECT_FALSE(i.message.empty());
}

TEST(Initialise, FindsTheOnlyPointOfTheRobotArm) {
  const Problem p = problems::robot_arm();
  const Initialisation i = initialise(*p.system, p.t, p.guess);
  ASSERT_TRUE(i.ok()) << i.message;
  // the reference has eight digits after the point
  for (std::size_t j = 0; j < 8; ++j) EXPECT_NEAR(i.x[j], problems::robot_arm_reference[j], 1e-8);
  EXPECT_NEAR(i.x[0], 1.0 - std::exp(0.2), 1e-13);
  EXPECT_NEAR(i.x[2], std::exp(0.2) - 0.2, 1e-13);
}

TEST(Initialise, FindsTheExactValuesOfRotatingBlocks) {
  for (int block = 1; block <= 5; ++block) {
    const Problem p = problems::rotating_block(block);
    const Initialisation i = initialise(*p.system, p.t, p.guess, {.hold = Hold::fixed_only});
    ASSERT_TRUE(i.ok()) << i.message;
    // recover the free component by least squares over the family of exact solutions: x is affine in it
    const auto zero = problems::rotating_block_solution(block, p.t, 0.0),
               one = problems::rotating_block_solution(block, p.t, 1.0);
    double numerator = 0.0, denominator = 0.0;
    for (std::size_t j = 0; j < zero.size(); ++j) {
      numerator += (one[j] - zero[j]) * (i.x[j] - zero[j]);
      denominator += (one[j] - zero[j]) * (one[j] - zero[j]);
    }
    const auto exact = problems::rotating_block_solution(block, p.t, numerator / denominator);
    // the smallest singular value that counts is 2e-6 of the largest at index 5
    for (std::size_t j = 0; j < zero.size(); ++j)
      EXPECT_NEAR(i.x[j], exact[j], 1e-8 * (1.0 + std::abs(exact[j]))) << block;
  }
}

TEST(Initialise, ReportsContradictoryEquationsWithTheirLeastSquares) {
  problems::Recorder r;
  const auto x = r.variables("x y");
  r.equation(der(x[0]) - x[1]);
  r.equation(x[0] - sin(r.time()), "first");
  r.equation(x[0] - 0.3, "second");
  const auto system = r.system();
  const Initialisation i = initialise(*system, 0.7, std::vector{0.0, 0.0}, {.hold = Hold::fixed_only});
  EXPECT_EQ(i.status, InitialisationStatus::inconsistent_least_squares);
  ASSERT_FALSE(i.violations.empty());
  EXPECT_NEAR(i.x[0], 0.5 * (0.3 + std::sin(0.7)), 1e-10);
}

TEST(Initialise, FlagsUndeterminedComponentsAndLeavesThemAtTheGuess) {
  const Problem p = problems::control_system();
  const Initialisation i = initialise(*p.system, p.t, p.guess);
  EXPECT_TRUE(i.ok()) << i.message;
  EXPECT_TRUE(i.undetermined);
  EXPECT_NEAR(i.x[3], i.x[0], 1e-15);
}

TEST(Initialise, OfAnExplicitOdeEvaluatesTheRightHandSide) {
  problems::Recorder r;
  const auto x = r.variables("x v");
  r.equation(der(x[0]) - x[1]);
  r.equation(der(x[1]) + sin(x[0]));
  const auto system = r.system();
  const Initialisation i = initialise(*system, 0.0, std::vector{0.5, 0.25});
  EXPECT_TRUE(i.ok());
  EXPECT_EQ(i.x, (std::vector{0.5, 0.25}));
  EXPECT_EQ(i.xp, (std::vector{0.25, -std::sin(0.5)}));
}

TEST(Initialise, SolvesALargeSparseSystemOfIndexOne) {
  const int cells = 2000;
  const Problem p = problems::heat_rod_model(cells);
  const Initialisation i = initialise(*p.system, p.t, p.guess);
  ASSERT_TRUE(i.ok()) << i.message;
  for (int k = 0; k < cells; ++k) EXPECT_EQ(i.x[k], 0.5);
  const double mean = 0.75;
  EXPECT_NEAR(i.x[cells], (1.0 + mean * mean / 10.0) * 0.5 * cells, 1e-9);  // flow of size 1000
  EXPECT_NEAR(i.x[cells + 1], 0.0, 1e-12);
  EXPECT_NEAR(i.xp[0], i.x[cells] * cells, 1e-6);
}

TEST(Initialise, StartsTheTestSetProblems) {
  // the published start values are consistent in positions and velocities
  const Problem axis = problems::car_axis();
  const Initialisation i = initialise(*axis.system, axis.t, axis.guess);
  ASSERT_TRUE(i.ok()) << i.message;
  for (std::size_t j = 0; j < 8; ++j) EXPECT_NEAR(i.x[j], axis.guess[j], 1e-12);
  const Problem amplifier = problems::transistor_amplifier();
  const Initialisation k = initialise(*amplifier.system, amplifier.t, amplifier.guess);
  ASSERT_TRUE(k.ok()) << k.message;
  for (std::size_t j = 0; j < 8; ++j) EXPECT_NEAR(k.x[j], amplifier.guess[j], 1e-9);
}

// From angles with one digit and cold multipliers, theta and its velocity held: everything else as published.
// Beyond the size for dense decisions; the flows are algebraic, their slopes follow from those of the temperatures.
TEST(Initialise, FindsTheSlopesOfAlgebraicVariablesOfLargeModes) {
  const int cells = 400;
  const Problem p = problems::heat_rod_model(cells);
  std::vector<double> guess = p.guess;
  for (int k = 0; k < cells; ++k) guess[k] = 1.0 - 0.3 * std::sin(2.0 * (k + 0.5) / cells);
  const Initialisation i = initialise(*p.system, p.t, guess);
  ASSERT_TRUE(i.ok()) << i.message;
  EXPECT_TRUE(i.all_slopes);
  EXPECT_LE(i.iterations, 3);  // all equations are linear in what is looked for
  for (int k = 1; k < cells; ++k) {
    // q = -(1 + m^2/10) (T_k - T_{k-1}) / h with the mean m
    const double T = i.x[k], left = i.x[k - 1], m = 0.5 * (T + left), Tp = i.xp[k], leftp = i.xp[k - 1];
    const double flow = -(1.0 + m * m / 10.0) * (T - left) * cells;
    const double slope = -(m * 0.5 * (Tp + leftp) / 5.0 * (T - left) + (1.0 + m * m / 10.0) * (Tp - leftp)) * cells;
    EXPECT_NEAR(i.x[cells + k], flow, 1e-11);  // rounding of T, times the number of cells
    EXPECT_NEAR(i.xp[cells + k], slope, 1e-9 * (1.0 + std::abs(slope)));
    EXPECT_EQ(i.x[k], guess[k]);
  }
}

TEST(Initialise, ClosesTheLoopsOfTheSevenBodyMechanism) {
  enum { theta = 1, velocity_of_theta = 8 };
  const Problem p = problems::seven_body();
  const Initialisation i = initialise(*p.system, p.t, p.guess, {.fixed = {theta, velocity_of_theta}});
  ASSERT_TRUE(i.ok()) << i.message;
  // published with 30 digits; the loops have lengths of 0.02 and constants of 1e-5, so that rounding is 1e-16 / 0.02 at
  // least
  for (std::size_t j = 0; j < 7; ++j) EXPECT_NEAR(i.x[j], problems::seven_body_start[j], 1e-13) << j;
  for (std::size_t j = 7; j < 14; ++j) EXPECT_NEAR(i.x[j], 0.0, 1e-10) << j;
  for (std::size_t j = 0; j < 2; ++j) {
    // 1e-12 of their size: the smallest moment of inertia, 4e-7, divides
    EXPECT_NEAR(i.xp[7 + j], problems::seven_body_start_acceleration[j], 1e-7) << j;
    EXPECT_NEAR(i.x[14 + j], problems::seven_body_start_multipliers[j], 1e-9) << j;
  }
  for (std::size_t j = 16; j < 20; ++j) EXPECT_NEAR(i.x[j], 0.0, 1e-9) << j;
}

// The steady state of the driven pendulum by conditions written by hand, and what is left open without them.
class AtRest final : public ExtraConditions {
 public:
  AtRest(const System& system, const std::vector<int>& variables) : variables_(variables) {
    const int n = system.structure().variables;
    std::vector<std::pair<int, int>> places;
    for (int i = 0; i < count(); ++i) places.emplace_back(i, variables[i]);
    state_ = make_pattern(count(), n, std::vector<std::pair<int, int>>{});
    derivative_ = make_pattern(count(), n, places);
  }
  int count() const override { return static_cast<int>(variables_.size()); }
  const SparsePattern& state_pattern() const override { return state_; }
  const SparsePattern& derivative_pattern() const override { return derivative_; }
  void residual(double, std::span<const double>, std::span<const double> xp, std::span<double> h) override {
    for (std::size_t i = 0; i < variables_.size(); ++i) h[i] = xp[variables_[i]];
  }
  void jacobian(double, std::span<const double>, std::span<const double>, std::span<double>,
                std::span<double> hxp) override {
    std::ranges::fill(hxp, 1.0);
  }

 private:
  std::vector<int> variables_;
  SparsePattern state_, derivative_;
};

TEST(Initialise, SolvesExtraConditionsTogetherWithTheHiddenConstraints) {
  const Problem p = guess_off_the_manifold();
  AtRest rest(*p.system, {px, py, vx, vy});
  const Initialisation i = initialise(*p.system, p.t, p.guess, {.conditions = &rest});
  ASSERT_TRUE(i.ok()) << i.message;
  EXPECT_EQ(i.freedom, 0);
  EXPECT_NEAR(i.x[px], 0.0, 1e-12);
  EXPECT_NEAR(std::abs(i.x[py]), 1.0, 1e-12);
  EXPECT_NEAR(i.x[lambda], -problems::gravity * i.x[py], 1e-11);

  AtRest one(*p.system, {px});
  const Initialisation half = initialise(*p.system, p.t, p.guess, {.conditions = &one});
  ASSERT_TRUE(half.ok()) << half.message;
  EXPECT_EQ(half.freedom, 1);
  EXPECT_NEAR(half.x[vx], 0.0, 1e-13);
  expect_on_the_pendulum_manifold(half.x);

  const Initialisation both = initialise(*p.system, p.t, p.guess, {.fixed = {vx}, .conditions = &one});
  EXPECT_EQ(both.status, InitialisationStatus::overfixed);  // vx = 0.5 and px' = 0
  EXPECT_EQ(both.conflicting, std::vector{static_cast<int>(vx)});
  ASSERT_FALSE(both.violations.empty());
  EXPECT_NE(both.message.find("initial equation 1"), std::string::npos) << both.message;
}

TEST(Initialise, RefusesWrongArguments) {
  const Problem p = guess_off_the_manifold();
  EXPECT_THROW(initialise(*p.system, 0.0, std::vector{1.0}), UsageError);
  EXPECT_THROW(initialise(*p.system, 0.0, p.guess, {.fixed = {5}}), UsageError);
}

}  // namespace
}  // namespace saltus
