#include <gtest/gtest.h>
#include <saltus/expr/derivative.hpp>
#include <saltus/step/explicit_runge_kutta.hpp>

#include <cmath>

#include "problems/ode_problems.hpp"
#include "problems/stiff_problems.hpp"
#include "suites/stepper_suite.hpp"

namespace saltus {
namespace {

TEST(ExplicitRungeKutta, ClosesTheArenstorfOrbit) {
  // the orbit amplifies errors by about 1e4 near the moon; error constants per tolerance as in the book's figure
  // (Hairer I, II.10)
  auto problem = problem::arenstorf();
  for (const Tableau* table : {&dormand_prince_5(), &tsitouras_5(), &dormand_prince_8()}) {
    auto stepper = make_explicit_runge_kutta(*table, {.rtol = 1e-10, .atol = {1e-10}});
    EXPECT_LT(suite::error_at_end(*stepper, problem), 1e-5) << table->name;
  }
}

TEST(ExplicitRungeKutta, CountsItsEvaluations) {
  auto problem = problem::kepler();
  auto dp5 = make_explicit_runge_kutta(dormand_prince_5(), {.rtol = 1e-8, .atol = {1e-8}, .initial_step = 0.01});
  suite::error_at_end(*dp5, problem);
  const StepStatistics& s = dp5->statistics();
  EXPECT_EQ(s.evaluations, 1 + 6 * (s.steps + s.rejected));

  // order 8: an inaccurate step costs 11, an accurate one 12, dense output 3 more
  auto dp8 = make_explicit_runge_kutta(dormand_prince_8(), {.rtol = 1e-8, .atol = {1e-8}, .initial_step = 0.01});
  suite::error_at_end(*dp8, problem);
  EXPECT_EQ(dp8->statistics().evaluations, 1 + 12 * dp8->statistics().steps + 11 * dp8->statistics().rejected);
  const auto before = dp8->statistics().evaluations;
  dp8->dense();
  dp8->dense();
  EXPECT_EQ(dp8->statistics().evaluations, before + 3);
}

TEST(ExplicitRungeKutta, SeesStiffness) {
  auto stiff = problem::prothero_robinson(1e4);
  auto smooth = problem::kepler();
  for (const Tableau* table : {&dormand_prince_5(), &tsitouras_5(), &dormand_prince_8()}) {
    auto stepper = make_explicit_runge_kutta(*table, {.rtol = 1e-4, .atol = {1e-4}});
    suite::error_at_end(*stepper, stiff);
    EXPECT_TRUE(stepper->stiff()) << table->name;
    suite::error_at_end(*stepper, smooth);
    EXPECT_FALSE(stepper->stiff()) << table->name;
  }
}

// The fast variable of Robertson's problem is 1e-5 beside others of size 1: it is seen all the same, and soon.
TEST(ExplicitRungeKutta, SeesStiffnessOfSmallVariables) {
  auto problem = problem::robertson();
  for (const Tableau* table : {&dormand_prince_5(), &dormand_prince_8()})
    for (const double rtol : table->order == 5 ? std::vector{1e-6, 1e-8} : std::vector{1e-9, 1e-10}) {
      auto stepper = make_explicit_runge_kutta(*table, {.rtol = rtol, .atol = {1e-10 * rtol}});
      stepper->start(*problem.system, {.t = 0.0, .x = problem.x0, .xp = {}});
      while (!stepper->stiff() && stepper->statistics().steps < 500) ASSERT_TRUE(stepper->advance(problem.t1).ok());
      EXPECT_TRUE(stepper->stiff()) << table->name << " " << rtol << ": not seen until t = " << stepper->t();
    }
}

TEST(ExplicitRungeKutta, StopsWhereTheSolutionEnds) {
  // x' = x^2 from 1 at t = 0 ends at t = 1
  auto graph = std::make_shared<Graph>();
  const Expr t(graph, graph->symbol("time", SymbolKind::time)), x(graph, graph->symbol("x", SymbolKind::variable));
  RecordedSystem system({.time = t, .variables = {x}, .equations = {der(x) - x * x}});
  auto stepper = make_explicit_runge_kutta(dormand_prince_5(), {.rtol = 1e-8, .atol = {1e-8}});
  stepper->start(system, {.x = std::vector{1.0}});
  StepOutcome outcome;
  while (outcome.ok() && stepper->t() < 2.0) outcome = stepper->advance(2.0);
  EXPECT_TRUE(outcome.result == StepResult::step_too_small || outcome.result == StepResult::not_finite);
  EXPECT_EQ(outcome.worst, 0);
  EXPECT_NEAR(stepper->t(), 1.0, 1e-6);
}

TEST(ExplicitRungeKutta, RefusesSystemsWithoutARightHandSide) {
  auto graph = std::make_shared<Graph>();
  const Expr t(graph, graph->symbol("time", SymbolKind::time)), x(graph, graph->symbol("x", SymbolKind::variable));
  RecordedSystem system({.time = t, .variables = {x}, .equations = {der(x) * der(x) - x}});
  auto stepper = make_explicit_runge_kutta(dormand_prince_5(), {});
  EXPECT_THROW(stepper->start(system, {.x = std::vector{1.0}}), UsageError);
  EXPECT_THROW(stepper->advance(1.0), UsageError);
}

TEST(ExplicitRungeKutta, StartsFromRestByItself) {
  // value and slope vanish at the start: x'' = 1 - x from rest, and on a time scale of nanoseconds
  for (const double scale : {1.0, 1e-9}) {
    auto graph = std::make_shared<Graph>();
    const Expr t(graph, graph->symbol("time", SymbolKind::time)), x(graph, graph->symbol("x", SymbolKind::variable)),
        v(graph, graph->symbol("v", SymbolKind::variable));
    RecordedSystem system(
        {.time = t, .variables = {x, v}, .equations = {der(x) - v / scale, der(v) - sin(t / scale) / scale}});
    auto stepper = make_explicit_runge_kutta(dormand_prince_5(), {.rtol = 1e-8, .atol = {1e-8}});
    stepper->start(system, {.x = std::vector{0.0, 0.0}});
    const double stop = 10.0 * scale;
    while (stepper->t() < stop) ASSERT_TRUE(stepper->advance(stop).ok());
    EXPECT_NEAR(stepper->x()[0], 10.0 - std::sin(10.0), 1e-5);
    EXPECT_LT(stepper->statistics().steps, 100);
  }
}

TEST(DensePolynomial, PartsTakeThePlaceOfSomeVariables) {
  const auto all = std::make_shared<const DensePolynomial>(
      DensePolynomial{.t0 = 0.0, .h = 2.0, .degree = 1, .variables = 3, .c = {1.0, 2.0, 3.0, 10.0, 20.0, 30.0}});
  const auto part = [&](std::shared_ptr<const PolynomialOfPart> before, int variable, double value) {
    auto made = std::make_shared<PolynomialOfPart>();
    made->all = all;
    made->before = std::move(before);
    made->variables = {variable};
    made->polynomial = {.t0 = 1.0, .h = 1.0, .degree = 1, .variables = 1, .c = {value, 1.0}};
    return made;
  };
  DensePolynomial step{.t0 = 1.0, .h = 1.0, .degree = 1, .variables = 3, .c = {}};
  step.parts = part(part(part(nullptr, 2, 100.0), 0, 200.0), 2, 300.0);
  std::vector<double> x(3), slope(3);
  step.evaluate(1.5, x);
  EXPECT_EQ(x, (std::vector<double>{200.5, 17.0, 300.5}));  // the last one of a variable counts
  step.derivative(1.5, slope);
  EXPECT_EQ(slope, (std::vector<double>{1.0, 10.0, 1.0}));
  EXPECT_EQ(step.evaluate(1.5, 1), 17.0);
  EXPECT_EQ(step.evaluate(1.5, 2), 300.5);
  DensePolynomial tail;
  step.tail(1.25, tail);
  tail.evaluate(1.5, slope);
  EXPECT_EQ(slope, x);
  EXPECT_EQ(tail.t1(), 2.0);
  for (int k = 0; k < 300000; ++k) step.parts = part(step.parts, 0, 1.0);  // a long chain ends without deep recursion
  step.parts = nullptr;
}

TEST(DensePolynomial, TheTailIsTheSameFunction) {
  const DensePolynomial p{2.0, -0.5, 4, 2, {1, 2, -3, 0.5, 0.25, -1, 2, 3, -0.75, 1}};
  DensePolynomial tail;
  p.tail(1.8, tail);
  EXPECT_EQ(tail.t0, 1.8);
  EXPECT_DOUBLE_EQ(tail.t1(), p.t1());
  std::vector<double> a(2), b(2);
  for (const double t : {1.8, 1.75, 1.6, 1.5}) {
    p.evaluate(t, a);
    tail.evaluate(t, b);
    for (int j = 0; j < 2; ++j) EXPECT_NEAR(a[j], b[j], 1e-14);
    p.derivative(t, a);
    tail.derivative(t, b);
    for (int j = 0; j < 2; ++j) EXPECT_NEAR(a[j], b[j], 1e-13);
  }
}

// Prothero and Robinson's problem x' = lambda (sin t - x) + cos t limits the steps by stability: the polynomial through
// a step then has errors that its ends do not show.
TEST(DormandPrince8, ControlsTheErrorInsideItsSteps) {
  for (const double lambda : {10.0, 100.0, 1000.0})
    for (const double tolerance : {1e-4, 1e-6, 1e-8, 1e-10}) {
      const auto largest_inside = [&](bool control) {
        auto problem = problem::prothero_robinson(lambda);
        auto stepper = make_explicit_runge_kutta(dormand_prince_8(),
                                                 {.rtol = tolerance, .atol = {tolerance}, .control_dense = control});
        const std::vector<double> away = {problem.x0[0] + 0.5};
        stepper->start(*problem.system, {.x = away});
        double largest = 0.0;
        while (stepper->t() < problem.t1) {
          EXPECT_TRUE(stepper->advance(problem.t1).ok());
          const DensePolynomial& p = stepper->dense();
          for (int i = 1; i < 20; ++i) {
            const double time = p.t0 + p.h * i / 20.0, exact = std::sin(time) + 0.5 * std::exp(-lambda * time);
            largest = std::max(largest, std::abs(p.evaluate(time, 0) - exact) / (tolerance * (1.0 + std::abs(exact))));
          }
        }
        return largest;
      };
      EXPECT_LT(largest_inside(true), 5.0) << lambda << " " << tolerance;  // two are allowed, by an estimate
      if (lambda == 1000.0) {
        EXPECT_GT(largest_inside(false), 10.0) << tolerance;
      }
    }
}

}  // namespace
}  // namespace saltus
