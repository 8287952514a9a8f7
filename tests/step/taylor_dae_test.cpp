// Taylor series for differential-algebraic equations of index 1 to 11: accuracy, constraints, restarts, failures.
#include <gtest/gtest.h>
#include <saltus/dae/initialisation.hpp>
#include <saltus/dae/reduced_system.hpp>
#include <saltus/program/function.hpp>
#include <saltus/step/radau.hpp>
#include <saltus/step/taylor.hpp>

#include <cmath>

#include "problems/circuits.hpp"
#include "problems/heat.hpp"
#include "problems/mechanics.hpp"
#include "problems/stiff_problems.hpp"
#include "step/motion.hpp"
#include "suites/count_allocations.hpp"
#include "suites/stepper_suite.hpp"

namespace saltus {
namespace {

struct TaylorMotion : Motion {
  TaylorMotion(problems::Problem p, StepOptions options, TaylorOptions taylor = {}, std::vector<int> fixed = {})
      : Motion{std::move(p), make_taylor(std::move(options), taylor), {}} {
    const CharacteristicValues values = characteristic_values(*problem.system, problem.t, problem.guess);
    EXPECT_TRUE(values.certificate.valid) << problem.name;
    begin(initialise(*problem.system, problem.t, problem.guess, values, {.fixed = std::move(fixed)}));
  }
};

/// All three constraints of the pendulum.
double violation(std::span<const double> x) {
  return std::max({std::abs(x[0] * x[0] + x[1] * x[1] - 1.0), std::abs(x[0] * x[2] + x[1] * x[3]),
                   std::abs(x[2] * x[2] + x[3] * x[3] - x[4] * (x[0] * x[0] + x[1] * x[1]) - problems::gravity * x[1])});
}

TEST(TaylorDae, PendulumKeepsItsErrorInProportionToTheTolerance) {
  for (int decade = 4; decade <= 11; ++decade) {
    const double tolerance = std::pow(10.0, -decade);
    TaylorMotion run(horizontal_pendulum(), {.rtol = tolerance, .atol = {tolerance}});
    run.to(10.0);
    if (HasFatalFailure()) return;
    const double error = distance(run.x(), problems::pendulum_reference, 4);
    RecordProperty("1e-" + std::to_string(decade), std::to_string(error / tolerance) + " steps " +
                                                       std::to_string(run.stepper->statistics().steps));
    // the bound of the Radau methods: an error in the angle at each step shifts the phase of the seven swings that follow
    EXPECT_LT(error, 1000.0 * tolerance + 1e-11) << tolerance;  // the reference has 13 digits, t = 10 amplifies rounding
    EXPECT_LT(run.stepper->statistics().rejected, 5) << tolerance;
  }
}

TEST(TaylorDae, ConstraintsDoNotDriftInThirtySwings) {
  TaylorMotion run(horizontal_pendulum(), {.rtol = 1e-10, .atol = {1e-10}});
  double largest = 0.0, energy = 0.0;
  run.to(100.0, [&](Stepper& s) {
    const auto x = s.x();
    largest = std::max(largest, violation(x));
    energy = std::max(energy, std::abs(0.5 * (x[2] * x[2] + x[3] * x[3]) + problems::gravity * x[1]));
  });
  EXPECT_LT(largest, 1e-12);
  EXPECT_LT(distance(run.x(), problems::pendulum_reference_at_100, 4), 1e5 * 1e-10);  // the phase error grows like t^2
  // an error of 1e-10 of the speed, 4.4, per step at most
  EXPECT_LT(energy, 4.4 * 4.4 * 1e-10 * static_cast<double>(run.stepper->statistics().steps));
}

TEST(TaylorDae, HasItsOrder) {
  // the error at the end of one swing with steps of equal size
  const auto error = [](int order, double h) {
    TaylorMotion run(horizontal_pendulum(), suite::fixed_steps(h), {.order = order});
    TaylorMotion fine(horizontal_pendulum(), {.rtol = 1e-14, .atol = {1e-14}});
    run.to(1.0);
    fine.to(1.0);
    return distance(run.x(), fine.x(), 5);
  };
  for (const int order : {3, 4, 6, 8}) {
    // steps so long that the error is far from rounding, so short that the next term does not matter
    const double h = order < 5 ? 1.0 / 256 : order < 8 ? 1.0 / 64 : 1.0 / 16;
    const double slope = std::log2(error(order, h) / error(order, h / 2));
    RecordProperty("order" + std::to_string(order), std::to_string(slope));
    EXPECT_GT(slope, order - 0.3);
    EXPECT_LT(slope, order + 1.3);  // pendula are kind to some orders: their series has gaps of four at the turning point
  }
}

TEST(TaylorDae, DenseOutputIsAsAccurateAsTheSteps) {
  for (const double tolerance : {1e-5, 1e-8}) {
    TaylorMotion run(horizontal_pendulum(), {.rtol = tolerance, .atol = {tolerance}, .control_dense = true});
    TaylorMotion fine(horizontal_pendulum(), {.rtol = 1e-14, .atol = {1e-14}});
    double inside = 0.0, at_ends = 0.0, multiplier = 0.0, meets = 0.0;
    std::vector<double> x(5), y(5);
    run.to(3.0, [&](Stepper& s) {
      const DensePolynomial& p = s.dense();
      for (int i = 1; i <= 8; ++i) {
        const double t = i == 8 ? s.t() : p.t0 + p.h * i / 8.0;
        fine.to(t);
        p.evaluate(t, x);
        (i == 8 ? at_ends : inside) = std::max(i == 8 ? at_ends : inside, distance(x, fine.stepper->x(), 4));
        multiplier = std::max(multiplier, std::abs(x[4] - fine.stepper->x()[4]) / (1.0 + std::abs(x[4])));
      }
      p.evaluate(s.t(), y);
      meets = std::max(meets, distance(y, s.x(), 5) / (1.0 + std::abs(y[4])));
    });
    if (HasFatalFailure()) return;
    EXPECT_LT(inside, at_ends + 10.0 * tolerance);
    EXPECT_LT(multiplier, 10.0 * at_ends + 10.0 * tolerance);  // it is v^2 - g y, with v up to 4.4
    EXPECT_LT(meets, 1e-12);  // the sum of 20 terms of alternating signs
  }
}

TEST(TaylorDae, GoesOnAfterARestartAtFullOrder) {
  TaylorMotion whole(horizontal_pendulum(), {.rtol = 1e-9, .atol = {1e-9}}), pieces(horizontal_pendulum(), {.rtol = 1e-9, .atol = {1e-9}});
  whole.to(10.0);
  for (int i = 1; i <= 20; ++i) {
    pieces.to(0.5 * i);
    if (HasFatalFailure()) return;
    const std::vector<double> x = pieces.x(), xp(pieces.stepper->xp().begin(), pieces.stepper->xp().end());
    const auto before = pieces.stepper->statistics().evaluations;
    pieces.stepper->start(*pieces.problem.system, {.t = 0.5 * i, .x = x, .xp = xp, .step = pieces.stepper->next_step()});
    EXPECT_LE(pieces.stepper->statistics().evaluations, before + 1);
  }
  EXPECT_LE(pieces.stepper->statistics().steps, whole.stepper->statistics().steps + 40);
  EXPECT_LT(distance(pieces.x(), problems::pendulum_reference, 4), 1e-6);
}

TEST(TaylorDae, IntegratesBackwards) {
  TaylorMotion run(horizontal_pendulum(), {.rtol = 1e-10, .atol = {1e-10}});
  run.to(5.0);
  const std::vector<double> x = run.x(), xp(run.stepper->xp().begin(), run.stepper->xp().end());
  run.stepper->start(*run.problem.system, {.t = 5.0, .x = x, .xp = xp, .direction = -1});
  EXPECT_THROW(run.stepper->advance(6.0), UsageError);
  run.to(0.0);
  EXPECT_LT(run.stepper->dense().h, 0.0);
  EXPECT_LT(distance(run.x(), run.start.x, 4), 1e-7);  // 1000 tolerances, as above
}

TEST(TaylorDae, ObeysAToleranceOfEachVariable) {
  const auto steps = [](std::vector<double> atol) {
    TaylorMotion run(horizontal_pendulum(), {.rtol = 0.0, .atol = std::move(atol)}, {.order = 12});
    run.to(3.0);
    return run.stepper->statistics().steps;
  };
  const auto tight = steps({1e-10}), loose = steps({1e-4}), one = steps({1e-4, 1e-4, 1e-10, 1e-4, 1e-4});
  EXPECT_EQ(tight, steps({1e-10, 1e-10, 1e-10, 1e-10, 1e-10}));
  EXPECT_EQ(loose, steps({1e-4, 1e-4, 1e-4, 1e-4, 1e-12}));  // the multiplier is not integrated
  EXPECT_GT(one, loose);
  EXPECT_LE(one, tight);
}

TEST(TaylorDae, AllocatesNothingInAcceptedSteps) {
  for (int which = 0; which < 3; ++which) {
    // native code, the recurrences with an inverse, and with sparse factors
    TaylorMotion run(which == 0 ? horizontal_pendulum() : which == 1 ? problems::multi_pendula(2) : problems::multi_pendula(4),
            {.rtol = 1e-8, .atol = {1e-8}});
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(run.stepper->advance(2.0).ok());
    const auto before = suite::allocations();
    bool ok = true;
    while (ok && run.stepper->t() < 2.0) ok = run.stepper->advance(2.0).ok() && run.stepper->dense().h > 0.0;
    run.stepper->start(*run.problem.system, {.t = 0.0, .x = run.start.x, .xp = run.start.xp});
    ok = ok && run.stepper->advance(2.0).ok();
    EXPECT_EQ(suite::allocations(), before) << which;
    EXPECT_TRUE(ok);
  }
}

TEST(TaylorDae, GivesTheSameBitsAgain) {
  TaylorMotion one(horizontal_pendulum(), {.rtol = 1e-8, .atol = {1e-8}}), other(horizontal_pendulum(), {.rtol = 1e-8, .atol = {1e-8}});
  one.to(3.0);
  other.to(0.7);
  other.stepper->start(*other.problem.system, {.t = 0.0, .x = other.start.x, .xp = other.start.xp});
  other.to(3.0);
  EXPECT_EQ(one.x(), other.x());
}

TEST(TaylorDae, ReachesTheReferenceOfTheCarAxis) {
  for (const double tolerance : {1e-6, 1e-8, 1e-10}) {
    TaylorMotion run(problems::car_axis(), {.rtol = tolerance, .atol = {tolerance}});
    run.to(3.0);
    if (HasFatalFailure()) return;
    // Radau 5 has 5 to 13 tolerances (1 + |x|), multipliers included
    const double error = distance(run.x(), problems::car_axis_reference, 10);
    RecordProperty("1e" + std::to_string(static_cast<int>(std::log10(tolerance))), std::to_string(error / tolerance));
    EXPECT_LT(error, 30.0 * tolerance);
  }
}

TEST(TaylorDae, ChainsOfPendulaOfIndex5To11) {
  for (const int count : {2, 3, 5}) {
    TaylorMotion run(problems::multi_pendula(count), {.rtol = 1e-11, .atol = {1e-11}}),
        loose(problems::multi_pendula(count), {.rtol = 1e-8, .atol = {1e-8}});
    const auto energy = [](std::span<const double> x) { return 0.5 * (x[2] * x[2] + x[3] * x[3]) - x[1]; };
    const double before = energy(run.start.x);
    double worst = 0.0;
    run.to(2.0, [&](Stepper& s) {
      const auto x = s.x();
      for (int k = 0; k < count; ++k) {
        const double* p = &x[static_cast<std::size_t>(5 * k)];
        const double length = k == 0 ? 1.0 : 1.0 + 0.1 * p[-1];
        worst = std::max(worst, std::abs(p[0] * p[0] + p[1] * p[1] - length * length));
      }
    });
    loose.to(2.0);
    if (HasFatalFailure()) return;
    EXPECT_LT(worst, 1e-13) << count;
    EXPECT_NEAR(energy(run.x()), before, 1e-9) << count;  // of the first one, which no other influences
    const double difference = distance(run.x(), loose.x(), run.x().size());
    RecordProperty("pendula" + std::to_string(count), std::to_string(difference / 1e-8));
    EXPECT_LT(difference, 1e-8 * 1000.0) << count;
  }
}

TEST(TaylorDae, AgreesWithRadauOnIndex5) {
  TaylorMotion run(problems::multi_pendula(2), {.rtol = 1e-11, .atol = {1e-11}});
  run.to(1.0);
  const CharacteristicValues values = characteristic_values(*run.problem.system, 0.0, run.problem.guess);
  ReducedSystem reduced(*run.problem.system, values);
  reduced.restart(0.0, run.start.X);
  auto radau = make_radau({.rtol = 1e-9, .atol = {1e-9}}, {.order = 9});
  radau->start(reduced, {.t = 0.0, .x = run.start.x, .xp = run.start.xp});
  while (radau->t() < 1.0) ASSERT_TRUE(radau->advance(1.0).ok());
  EXPECT_LT(distance(run.x(), radau->x(), 10), 1e-7);
}

/// x1 = sin t, x_{k+1} = a_k(t) x_k' + cos(t) x_k with a_k = 1 + sin(k t)/2, and y' = x1 - y: linear, time-varying, index `index`.
problems::Problem linear_chain(int index, std::vector<Expr>& solution) {
  problems::Recorder r;
  std::vector<Expr> x;
  for (int k = 0; k < index; ++k) x.push_back(r.variable("x" + std::to_string(k + 1)));
  const Expr y = r.variable("y"), t = r.time();
  r.equation(x[0] - sin(t));
  solution.assign(1, sin(t));
  for (int k = 1; k < index; ++k) {
    const Expr a = 1.0 + 0.5 * sin(static_cast<double>(k) * t), &last = solution.back();
    r.equation(x[k] - a * der(x[k - 1]) - cos(t) * x[k - 1]);
    const Expr one = 1.0;
    const Expr slope = directional_derivative(std::span(&last, 1), std::span(&t, 1), std::span(&one, 1))[0];
    solution.push_back(a * slope + cos(t) * last);
  }
  r.equation(der(y) + y - x[0]);
  solution.push_back(0.5 * (sin(t) - cos(t)) + exp(-t));
  std::vector<double> guess(static_cast<std::size_t>(index) + 1, 0.0);
  guess.back() = 0.5;
  return {"linear chain", r.system(), 0.0, std::move(guess), {}};
}

TEST(TaylorDae, LinearTimeVaryingUpToIndex5) {
  for (int index = 1; index <= 5; ++index)
    for (const double tolerance : {1e-5, 1e-9}) {
      std::vector<Expr> solution;
      TaylorMotion run(linear_chain(index, solution), {.rtol = tolerance, .atol = {tolerance}}, {}, {index});
      const Function exact({run.problem.system->equations().time}, solution);
      double algebraic = 0.0, differential = 0.0;
      run.to(5.0, [&](Stepper& s) {
        const std::vector<double> value = exact({s.t()});
        algebraic = std::max(algebraic, distance(s.x(), value, static_cast<std::size_t>(index)));
        differential = std::max(differential, std::abs(s.x().back() - value.back()));
      });
      if (HasFatalFailure()) return;
      // what is determined by constraints holds to rounding: four differentiations with frequencies up to 4, values up to 50
      EXPECT_LT(algebraic, 1e-11) << index;
      EXPECT_LT(differential, 10.0 * tolerance) << index;
    }
}

TEST(TaylorDae, NonlinearCircuitOfIndex2AgreesWithRadau) {
  // in its units, microfarads: charges are of size 1e-6
  const std::vector<double> atol{1e-9, 1e-9, 1e-15, 1e-15, 1e-9, 1e-9};
  TaylorMotion run(problems::nonlinear_circuit(), {.rtol = 1e-9, .atol = atol});
  const double t0 = run.problem.t, t1 = t0 + 0.002;
  run.to(t1);
  const CharacteristicValues values = characteristic_values(*run.problem.system, t0, run.problem.guess);
  ReducedSystem reduced(*run.problem.system, values);
  reduced.restart(t0, run.start.X);
  auto radau = make_radau({.rtol = 1e-9, .atol = atol}, {.order = 9});
  radau->start(reduced, {.t = t0, .x = run.start.x, .xp = run.start.xp});
  while (radau->t() < t1) ASSERT_TRUE(radau->advance(t1).ok());
  const std::vector<double> x = run.x();
  for (std::size_t j = 0; j < 6; ++j)
    EXPECT_NEAR(x[j], radau->x()[j], 1e-6 * std::abs(x[j]) + 1000.0 * atol[j]) << run.problem.system->variable_name(static_cast<int>(j));
}

TEST(TaylorDae, HeatRodWithFewCells) {
  // stiff: the radius of convergence limits the steps to a few over the largest eigenvalue, 4 n^2; correct all the same
  auto problem = problem::heat(10);
  auto stepper = make_taylor({.rtol = 1e-8, .atol = {1e-8}});
  EXPECT_LT(suite::error_at_end(*stepper, problem), 1e-6);
}

TEST(TaylorDae, SliderCrankKeepsItsEnergy) {
  TaylorMotion run(problems::slider_crank({0.5, -0.24, 1.0, -0.5, 0.0}), {.rtol = 1e-11, .atol = {1e-11}}, {}, {0, 2});
  const auto energy = [](std::span<const double> x) {
    const double l1 = 1.0, l2 = 2.0, sa = std::sin(x[0]), ca = std::cos(x[0]), sb = std::sin(x[1]), cb = std::cos(x[1]);
    const double M11 = l1 * l1 / 3.0 + l1 * l1 + l1 * l1 * sa * sa, M12 = 0.5 * l1 * l2 * (ca * cb + sa * sb) + l1 * l2 * sa * sb,
                 M22 = l2 * l2 / 12.0 + l2 * l2 / 4.0 + l2 * l2 * sb * sb;
    return 0.5 * (M11 * x[2] * x[2] + M22 * x[3] * x[3]) + M12 * x[2] * x[3] +
           problems::gravity * (1.5 * l1 * sa + 0.5 * l2 * sb);
  };
  const double before = energy(run.start.x);
  double worst = 0.0;
  run.to(5.0, [&](Stepper& s) {
    const auto x = s.x();
    worst = std::max({worst, std::abs(std::sin(x[0]) + 2.0 * std::sin(x[1])),
                      std::abs(std::cos(x[0]) * x[2] + 2.0 * std::cos(x[1]) * x[3])});
  });
  EXPECT_LT(worst, 1e-13);
  EXPECT_NEAR(energy(run.x()), before, 1e-8);  // some hundred steps with 1e-11 of energies of size 10
}

TEST(TaylorDae, NonlinearInDerivativesAndConstraints) {
  for (auto make : {&problem::index_1, &problem::implicit_index_1})
    for (const double tolerance : {1e-6, 1e-10}) {
      auto problem = make();
      auto stepper = make_taylor({.rtol = tolerance, .atol = {tolerance}});
      EXPECT_LT(suite::error_at_end(*stepper, problem), 100.0 * tolerance) << problem.name;
    }
}

TEST(TaylorDae, ASingularSystemJacobianEndsTheRunWithNames) {
  // y^2 = 1 - t has no solution beyond t = 1, where the derivative 2 y of the constraint vanishes
  problems::Recorder r;
  const auto x = r.variables("x y");
  r.equation(der(x[0]) - x[1], "integral");
  r.equation(x[1] * x[1] - 1.0 + r.time(), "parabola");
  const auto system = r.system();
  auto stepper = make_taylor({.rtol = 1e-8, .atol = {1e-8}});
  stepper->start(*system, {.x = std::vector{0.0, 1.0}, .xp = std::vector{1.0, 0.0}});
  StepOutcome outcome;
  for (int i = 0; i < 2000 && outcome.ok(); ++i) outcome = stepper->advance(2.0);
  EXPECT_FALSE(outcome.ok());
  EXPECT_NEAR(stepper->t(), 1.0, 1e-6);
  EXPECT_NEAR(stepper->x()[0], 2.0 / 3.0, 1e-6);
  EXPECT_LT(std::abs(stepper->x()[1] * stepper->x()[1] - 1.0 + stepper->t()), 1e-14);
}

TEST(TaylorDae, LeavesABranchPoint) {
  // x' = 1 + z, z = x^(1/4) from x = 1e-30, where coefficients of high order overflow
  problems::Recorder r;
  const auto x = r.variables("x z");
  r.equation(der(x[0]) - x[1] - 1.0);
  r.equation(x[1] - pow(x[0], 0.25));
  const auto system = r.system();
  for (const double tolerance : {1e-6, 1e-11}) {
    auto stepper = make_taylor({.rtol = tolerance, .atol = {tolerance}});
    const double x0 = 1e-30, z0 = std::pow(x0, 0.25);
    stepper->start(*system, {.x = std::vector{x0, z0}, .xp = std::vector{1.0 + z0, 0.0}, .step = 0.1});
    while (stepper->t() < 1.0) ASSERT_TRUE(stepper->advance(1.0).ok()) << stepper->t();
    EXPECT_LT(stepper->statistics().steps, 400);
    // dt = dx / (1 + x^(1/4)): with w = x^(1/4), t = 4 (w^3/3 - w^2/2 + w - ln(1 + w))
    const double w = stepper->x()[1];
    EXPECT_NEAR(4.0 * (w * w * w / 3.0 - w * w / 2.0 + w - std::log1p(w)), 1.0, 100.0 * tolerance);
  }
}

TEST(TaylorDae, RefusesWhatHasNoStructure) {
  problems::Recorder r;
  const auto x = r.variables("x y");
  r.equation(der(x[0]) - x[1]);
  r.equation(x[0] - 1.0);
  r.equation(x[0] + sin(r.time()));
  const auto system = r.system();
  EXPECT_THROW(make_taylor({})->start(*system, {.x = std::vector{1.0, 0.0}, .xp = std::vector{0.0, 0.0}}), UsageError);
}

}  // namespace
}  // namespace saltus
