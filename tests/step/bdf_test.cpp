#include <gtest/gtest.h>
#include <saltus/step/bdf.hpp>

#include <cmath>

#include "problems/stiff_problems.hpp"
#include "suites/stepper_suite.hpp"

namespace saltus {
namespace {

std::unique_ptr<Stepper> fixed_bdf(StepOptions options, int order) {
  return make_bdf(std::move(options), {.max_order = order, .fixed_order = true, .fixed_iterations = 15});
}

TEST(Bdf, HasEachOfItsOrders) {
  for (int order = 1; order <= 5; ++order) {
    auto ode = problem::exponential_of_sine();
    auto dae = problem::implicit_index_1();
    for (auto* problem : {&ode, &dae}) {
      const double slope = suite::measured_order([&](StepOptions o) { return fixed_bdf(std::move(o), order); },
                                                 *problem, order, order == 1 ? 3e-4 : 1e-10, 100.0);
      EXPECT_NEAR(slope, order, 0.3) << problem->name;
    }
  }
}

TEST(Bdf, RegainsItsOrderAtOnceAfterARestart) {
  auto problem = problem::kepler(0.3);
  const double tolerance = 1e-8;
  const auto steps_with = [&](int restarts) {
    auto stepper = make_bdf({.rtol = tolerance, .atol = {tolerance}});
    double step = 0.0, t = problem.t0;
    std::vector<double> x = problem.x0, xp(4);
    for (int k = 1; k <= restarts + 1; ++k) {
      problem.system->rhs(t, x, xp);
      stepper->start(*problem.system, {.t = t, .x = x, .xp = xp, .step = step});
      const double stop = problem.t0 + (problem.t1 - problem.t0) * k / (restarts + 1);
      while (stepper->t() < stop) EXPECT_TRUE(stepper->advance(stop).ok());
      t = stop;
      step = stepper->next_step();
      x.assign(stepper->x().begin(), stepper->x().end());
    }
    double error = 0.0;
    for (std::size_t j = 0; j < 4; ++j) error = std::max(error, std::abs(x[j] - problem.x1[j]));
    EXPECT_LT(error, 300.0 * tolerance);  // three revolutions
    return static_cast<double>(stepper->statistics().steps);
  };
  const double without = steps_with(0), with = steps_with(20);
  RecordProperty("steps", std::to_string(without) + " and " + std::to_string(with));
  // one restart in thirty steps or so; starts at order 1 would cost dozens of steps each
  EXPECT_LT(with, without + 3 * 20);
}

TEST(Bdf, KeepsFactorsAndConvergesFast) {
  auto problem = problem::heat(300);
  auto stepper = make_bdf({.rtol = 1e-6, .atol = {1e-6}});
  suite::error_at_end(*stepper, problem);
  EXPECT_LT(stepper->statistics().factorisations, stepper->statistics().steps);
  auto stiff = problem::oregonator();
  auto other = make_bdf({.rtol = 1e-7, .atol = {1e-10}});
  suite::error_at_end(*other, stiff);
  EXPECT_LT(other->statistics().iterations, 3 * other->statistics().steps);
  EXPECT_LT(other->statistics().rejected, other->statistics().steps / 5);
}

TEST(Bdf, RefusesOtherOrdersAndStartsWithoutSlopes) {
  EXPECT_THROW(make_bdf({}, {.max_order = 6}), UsageError);
  EXPECT_THROW(make_bdf({}, {.max_order = 0}), UsageError);
  auto problem = problem::implicit_index_1();
  auto stepper = make_bdf({});
  EXPECT_THROW(stepper->start(*problem.system, {.x = problem.x0}), UsageError);
  EXPECT_THROW(stepper->advance(1.0), UsageError);
}

}  // namespace
}  // namespace saltus
