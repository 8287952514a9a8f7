#include <gtest/gtest.h>
#include <saltus/dae/initialisation.hpp>
#include <saltus/dae/reduced_system.hpp>
#include <saltus/step/bdf.hpp>
#include <saltus/step/radau.hpp>

#include <cmath>

#include "problems/mechanics.hpp"
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
      const double slope =
          suite::measured_order([&](StepOptions o) { return fixed_bdf(std::move(o), order); }, *problem, order,
                                order == 1 ? 3e-4 : 1e-10, 100.0);
      EXPECT_NEAR(slope, order, 0.3) << problem->name;
    }
  }
}

TEST(Bdf, SolvesStiffProblemsToTheirTolerance) {
  const double rtol = 1e-7;
  std::vector<problem::Problem> problems;
  problems.push_back(problem::robertson());
  problems.push_back(problem::hires());
  problems.push_back(problem::oregonator());
  problems.push_back(problem::van_der_pol());
  problems.push_back(problem::transistor_amplifier());
  for (auto& problem : problems) {
    const double atol = problem.name == "robertson" ? 1e-15 : 1e-10;
    auto stepper = make_bdf({.rtol = rtol, .atol = {atol}});
    suite::error_at_end(*stepper, problem);
    double worst = 0.0;
    for (std::size_t j = 0; j < problem.x1.size(); ++j)
      worst = std::max(worst, std::abs(stepper->x()[j] - problem.x1[j]) / (rtol * std::abs(problem.x1[j]) + atol));
    const StepStatistics& s = stepper->statistics();
    RecordProperty(problem.name, std::to_string(worst) + " in " + std::to_string(s.steps) + "+" +
                                     std::to_string(s.rejected) + " steps, " + std::to_string(s.evaluations) +
                                     " evaluations, " + std::to_string(s.factorisations) + " factorisations");
    EXPECT_LT(worst, 300.0) << problem.name;  // as for the other implicit methods
    EXPECT_LT(s.rejected, s.steps / 5) << problem.name;
    EXPECT_LT(s.iterations, 3 * s.steps) << problem.name;
  }
}

TEST(Bdf, IsNotLimitedByStiffness) {
  auto problem = problem::prothero_robinson(1e8);
  auto stepper = make_bdf({.rtol = 1e-6, .atol = {1e-6}});
  EXPECT_LT(suite::error_at_end(*stepper, problem), 1e-5);
  EXPECT_LT(stepper->statistics().steps, 200);
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

TEST(Bdf, SolvesAPendulumOfIndex3WithoutDriftOrFailures) {
  const auto p = problems::pendulum({1.0, 0.0, 0.0, 0.0, 0.0});
  const CharacteristicValues values = characteristic_values(*p.system, p.t, p.guess);
  const Initialisation start = initialise(*p.system, p.t, p.guess, values, {});
  ASSERT_TRUE(start.ok());
  for (const double tolerance : {1e-4, 1e-7, 1e-10}) {
    ReducedSystem reduced(*p.system, values);
    reduced.restart(p.t, start.X);
    auto stepper = make_bdf({.rtol = tolerance, .atol = {tolerance}});
    stepper->start(reduced, {.t = p.t, .x = start.x, .xp = start.xp});
    double violation = 0.0;
    while (stepper->t() < 10.0) {
      ASSERT_TRUE(stepper->advance(10.0).ok()) << stepper->t();
      const auto x = stepper->x();
      violation = std::max({violation, std::abs(x[0] * x[0] + x[1] * x[1] - 1.0), std::abs(x[0] * x[2] + x[1] * x[3])});
    }
    double error = 0.0;
    for (std::size_t j = 0; j < 4; ++j)
      error = std::max(error, std::abs(stepper->x()[j] - problems::pendulum_reference[j]));
    const StepStatistics& s = stepper->statistics();
    RecordProperty(std::to_string(tolerance), std::to_string(error / tolerance) + " steps " + std::to_string(s.steps) +
                                                  "+" + std::to_string(s.rejected) + " violation " +
                                                  std::to_string(violation / 1e-15));
    // each of some hundred steps shifts the phase of all that follow
    EXPECT_LT(error, 3000.0 * tolerance);
    EXPECT_LT(violation, std::max(1e-2 * tolerance, 1e-13));
    EXPECT_LT(s.rejected, s.steps / 10);
  }
}

TEST(Bdf, TestsTheErrorOfDifferentiatedVariablesOnly) {
  auto graph = std::make_shared<Graph>();
  const Expr t(graph, graph->symbol("time", SymbolKind::time)), x(graph, graph->symbol("x", SymbolKind::variable)),
      y(graph, graph->symbol("y", SymbolKind::variable));
  RecordedSystem with({.time = t, .variables = {x, y}, .equations = {der(x) + x, y - 1e6 * x}});
  RecordedSystem without({.time = t, .variables = {x}, .equations = {der(x) + x}});
  auto a = make_bdf({.rtol = 0.0, .atol = {1e-8}}), b = make_bdf({.rtol = 0.0, .atol = {1e-8}});
  a->start(with, {.x = std::vector{1.0, 1e6}, .xp = std::vector{-1.0, -1e6}});
  b->start(without, {.x = std::vector{1.0}});
  while (a->t() < 5.0) ASSERT_TRUE(a->advance(5.0).ok());
  while (b->t() < 5.0) ASSERT_TRUE(b->advance(5.0).ok());
  // the iteration of the first is more accurate, for the sake of y; steps for y would be 1e6^(1/5) = 16 times as many
  EXPECT_LE(a->statistics().steps, 2 * b->statistics().steps);
  EXPECT_NEAR(a->x()[1], 1e6 * a->x()[0], 1e-7);
}

TEST(Bdf, KeepsFactorsOverManySteps) {
  auto problem = problem::heat(300);
  auto stepper = make_bdf({.rtol = 1e-6, .atol = {1e-6}});
  EXPECT_LT(suite::error_at_end(*stepper, problem), 1e-5);
  const StepStatistics& s = stepper->statistics();
  EXPECT_LE(s.jacobians, 2);  // one of the first step
  EXPECT_LT(s.factorisations, s.steps);
  EXPECT_EQ(stepper->linear_algebra(), "banded (1 + 1), 2 of 302 eliminated");
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
