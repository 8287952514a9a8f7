#include "suites/stiff_suite.hpp"

#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include "problems/stiff_problems.hpp"
#include "suites/count_allocations.hpp"

namespace saltus::suite {

TEST_P(StiffSuite, SolvesStiffProblemsToTheirTolerance) {
  // errors at the end relative to rtol |x| + atol
  std::vector<problem::Problem> problems;
  problems.push_back(problem::robertson());
  problems.push_back(problem::hires());
  problems.push_back(problem::oregonator());
  problems.push_back(problem::van_der_pol());
  problems.push_back(problem::transistor_amplifier());
  for (const double rtol : {1e-5, 1e-7, 1e-9}) {
    double sum = 0.0;
    for (auto& problem : problems) {
      const double atol = (problem.name == "robertson"              ? 1e-8
                           : problem.name == "transistor amplifier" ? 1e-1
                                                                    : 1e-3) *
                          rtol;
      auto stepper = GetParam().make({.rtol = rtol, .atol = {atol}});
      error_at_end(*stepper, problem);
      double worst = 0.0;
      for (std::size_t j = 0; j < problem.x1.size(); ++j)
        worst = std::max(worst, std::abs(stepper->x()[j] - problem.x1[j]) / (rtol * std::abs(problem.x1[j]) + atol));
      const StepStatistics& s = stepper->statistics();
      RecordProperty(problem.name + (rtol == 1e-5   ? "_1e-5"
                                     : rtol == 1e-7 ? "_1e-7"
                                                    : "_1e-9"),
                     std::to_string(worst) + " in " + std::to_string(s.steps) + "+" + std::to_string(s.rejected) +
                         " steps, " + std::to_string(s.evaluations) + " evaluations, " + std::to_string(s.jacobians) +
                         " jacobians, " + std::to_string(s.factorisations) + " factorisations");
      sum += std::log(std::max(worst, 1e-3));
      EXPECT_LT(worst, 100.0) << problem.name << ", " << rtol;
      EXPECT_LT(s.rejected, s.steps / 2) << problem.name << ", " << rtol;
    }
    const double mean = std::exp(sum / static_cast<double>(problems.size()));
    RecordProperty("mean" + std::to_string(rtol), std::to_string(mean));
    EXPECT_LT(mean, 30.0) << rtol;
    EXPECT_GT(mean, 1.0 / 30.0) << rtol;
  }
}

TEST_P(StiffSuite, IsNotLimitedByStiffness) {
  auto problem = problem::prothero_robinson(1e8);
  auto stepper = GetParam().make({.rtol = 1e-6, .atol = {1e-6}});
  EXPECT_LT(error_at_end(*stepper, problem), 1e-5);
  EXPECT_LT(stepper->statistics().steps, 250);  // 1e8 would be the explicit methods' number
}

TEST_P(StiffSuite, ReusesWhatLinearModesKeep) {
  auto problem = problem::heat(300);
  auto stepper = GetParam().make({.rtol = 1e-6, .atol = {1e-6}});
  EXPECT_LT(error_at_end(*stepper, problem), 1e-5);
  const StepStatistics& s = stepper->statistics();
  EXPECT_LE(s.jacobians, 2);  // BDF: one of the first step
  EXPECT_LE(s.factorisations, s.steps + s.rejected);
  EXPECT_EQ(stepper->linear_algebra(), "banded (1 + 1), 2 of 302 eliminated");
}

TEST_P(StiffSuite, TestsTheErrorOfDifferentiatedVariablesOnly) {
  // x' = -x and the algebraic y = 1e6 x: with y in the test the steps would be those of a tolerance 1e-6 times smaller
  if (GetParam().tests_all_variables) GTEST_SKIP();
  auto graph = std::make_shared<Graph>();
  const Expr t(graph, graph->symbol("time", SymbolKind::time)), x(graph, graph->symbol("x", SymbolKind::variable)),
      y(graph, graph->symbol("y", SymbolKind::variable));
  RecordedSystem with({.time = t, .variables = {x, y}, .equations = {der(x) + x, y - 1e6 * x}});
  RecordedSystem without({.time = t, .variables = {x}, .equations = {der(x) + x}});
  auto a = GetParam().make({.rtol = 0.0, .atol = {1e-8}}), b = GetParam().make({.rtol = 0.0, .atol = {1e-8}});
  a->start(with, {.x = std::vector{1.0, 1e6}, .xp = std::vector{-1.0, -1e6}});
  b->start(without, {.x = std::vector{1.0}});
  while (a->t() < 5.0) ASSERT_TRUE(a->advance(5.0).ok());
  while (b->t() < 5.0) ASSERT_TRUE(b->advance(5.0).ok());
  // the iteration of the first is more accurate, for the sake of y; steps for y would be 1e6^(1/5) = 16 times as many
  EXPECT_LE(a->statistics().steps, 2 * b->statistics().steps);
  EXPECT_NEAR(a->x()[1], 1e6 * a->x()[0], 1e-7);
}

TEST_P(StiffSuite, HoldsTheToleranceInsideStepsWhereGuardsLook) {
  // z + z^3 = x with x = 3 sin t, v = 3 cos t
  auto graph = std::make_shared<Graph>();
  const auto variable = [&](const char* name) { return Expr(graph, graph->symbol(name, SymbolKind::variable)); };
  const Expr t(graph, graph->symbol("time", SymbolKind::time)), x = variable("x"), v = variable("v"), z = variable("z");
  const auto system = [&](std::vector<Expr> guards) {
    return RecordedSystem({.time = t,
                           .variables = {x, v, z},
                           .equations = {der(x) - v, der(v) + x, z + z * z * z - x},
                           .guards = std::move(guards)});
  };
  RecordedSystem free = system({}), timed = system({t - 4.0}), guarded = system({z - 2.0});
  const double tolerance = 1e-8, stop = 10.0;
  struct Run {
    std::vector<double> times;
    double inside = 0.0;
    bool allocates = false;
  };
  const auto run = [&](RecordedSystem& s, bool control) {
    Run result;
    result.times.reserve(100000);
    auto stepper = GetParam().make({.rtol = tolerance, .atol = {tolerance}, .control_dense = control});
    stepper->start(s, {.x = std::vector{0.0, 3.0, 0.0}, .xp = std::vector{3.0, 0.0, 3.0}});
    std::int64_t before = 0;
    bool ok = true;
    while (ok && stepper->t() < stop) {
      ok = stepper->advance(stop).ok();
      const DensePolynomial& p = stepper->dense();
      result.times.push_back(stepper->t());
      if (result.times.size() == 2) before = allocations();
      for (int i = 1; i < 16; ++i) {
        const double time = p.t0 + p.h * i / 16.0, exact = 3.0 * std::sin(time);
        double low = -2.0, high = 2.0;
        while (high - low > 1e-15) {
          const double middle = 0.5 * (low + high);
          if (middle == low || middle == high) break;
          (middle + middle * middle * middle < exact ? low : high) = middle;
        }
        result.inside = std::max(result.inside, std::abs(p.evaluate(time, 2) - low) / (1.0 + std::abs(low)));
      }
    }
    EXPECT_TRUE(ok);
    result.allocates = allocations() != before;
    return result;
  };
  const Run plain = run(free, true), watched = run(guarded, true);
  EXPECT_LT(watched.inside, 10.0 * tolerance);
  EXPECT_FALSE(watched.allocates);
  // nobody looks: the steps are those without guards
  EXPECT_EQ(run(timed, true).times, plain.times);
  EXPECT_EQ(run(guarded, false).times, run(free, false).times);
}

}  // namespace saltus::suite
