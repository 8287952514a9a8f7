// Integrators for index 1 on systems of higher index, with dummy derivatives: accuracy, constraints, changes of the states.
#include <gtest/gtest.h>
#include <saltus/dae/initialisation.hpp>
#include <saltus/dae/state_choice.hpp>
#include <saltus/step/bdf.hpp>
#include <saltus/step/dummy_derivatives.hpp>
#include <saltus/step/radau.hpp>
#include <saltus/step/rosenbrock.hpp>
#include <saltus/step/taylor.hpp>

#include <cmath>

#include "problems/linear.hpp"
#include "problems/mechanics.hpp"
#include "problems/seven_body.hpp"
#include "step/motion.hpp"
#include "suites/count_allocations.hpp"

namespace saltus {
namespace {

struct Named {
  std::string name;
  StepperMaker make;
};

std::vector<Named> methods() {
  return {{"rodas4", [](const StepOptions& o) { return make_rosenbrock(rodas_4(), o); }},
          {"rodas5p", [](const StepOptions& o) { return make_rosenbrock(rodas_5p(), o); }},
          {"radau5", [](const StepOptions& o) { return make_radau(o, {.order = 5}); }},
          {"radau", [](const StepOptions& o) { return make_radau(o, {.order = 0}); }},
          {"bdf", [](const StepOptions& o) { return make_bdf(o); }}};
}

Named rodas5p() { return methods()[1]; }

struct DummyMotion : Motion {
  DummyMotion(problems::Problem p, const Named& method, double tolerance)
      : Motion{std::move(p), make_dummy_derivatives({.rtol = tolerance, .atol = {tolerance}}, method.make), {}} {
    begin(initialise(*problem.system, problem.t, problem.guess));
  }
};

TEST(DummyDerivatives, EveryMethodSolvesThePendulumInProportionToTheTolerance) {
  for (const Named& method : methods())
    for (const double tolerance : {1e-5, 1e-7, 1e-9}) {
      DummyMotion run(horizontal_pendulum(), method, tolerance);
      double position = 0.0, velocity = 0.0;
      run.to(10.0, [&](Stepper& s) {
        const auto x = s.x();
        position = std::max(position, std::abs(x[0] * x[0] + x[1] * x[1] - 1.0));
        velocity = std::max(velocity, std::abs(x[0] * x[2] + x[1] * x[3]));
      });
      if (HasFatalFailure()) return;
      const double error = distance(run.stepper->x(), problems::pendulum_reference, 4);
      RecordProperty(method.name + "_1e" + std::to_string(static_cast<int>(std::log10(tolerance))),
                     std::to_string(error / tolerance) + " position " + std::to_string(position / tolerance) + " velocity " +
                         std::to_string(velocity / tolerance) + " steps " + std::to_string(run.stepper->statistics().steps));
      EXPECT_LT(error, 1000.0 * tolerance) << method.name << " " << tolerance;  // the bound of all methods: phases add up
      // all constraints are equations of the system: the tolerance, with speeds up to 4.4
      EXPECT_LT(position, 10.0 * tolerance) << method.name << " " << tolerance;
      EXPECT_LT(velocity, 10.0 * 4.4 * tolerance) << method.name << " " << tolerance;
    }
}

TEST(DummyDerivatives, StatesChangeWhereOthersAreBetter) {
  // round and round: neither x nor y can be a state all the time, and every other method agrees
  const auto fast = [] { return problems::pendulum({0.0, -1.0, 8.0, 0.0, 0.0}); };  // v^2 > 4 g: over the top
  DummyMotion fine(fast(), methods()[3], 1e-11), run(fast(), rodas5p(), 1e-8);
  double energy = 0.0;
  run.to(5.0, [&](Stepper& s) {
    const auto x = s.x();
    energy = std::max(energy, std::abs(0.5 * (x[2] * x[2] + x[3] * x[3]) + problems::gravity * x[1] - (32.0 - problems::gravity)));
  });
  fine.to(5.0);
  if (HasFatalFailure()) return;
  EXPECT_LT(energy, 1000.0 * 1e-8);
  EXPECT_LT(distance(run.stepper->x(), fine.stepper->x(), 4), 1e4 * 1e-8);  // some ten turns, whose phases add up
}

TEST(DummyDerivatives, SolvesTheCarAxisAndTheSevenBodyMechanism) {
  DummyMotion car(problems::car_axis(), methods()[3], 1e-9);
  car.to(3.0);
  if (HasFatalFailure()) return;
  EXPECT_LT(distance(car.stepper->x(), problems::car_axis_reference, 4), 1e-6);  // positions; 1000 tolerances
  DummyMotion seven(problems::seven_body(), rodas5p(), 1e-7), fine(problems::seven_body(), methods()[3], 1e-11);
  seven.to(0.03);
  fine.to(0.03);
  if (HasFatalFailure()) return;
  for (std::size_t j = 0; j < 7; ++j) EXPECT_NEAR(seven.stepper->x()[j], fine.stepper->x()[j], 1000.0 * 1e-7) << j;
}

TEST(DummyDerivatives, SolvesSystemsUpToIndexSeven) {
  // each pendulum's length is the force of the one before; against series, which differentiate nothing symbolically
  for (const int count : {1, 2, 3}) {
    const double tolerance = 1e-8;
    DummyMotion run(problems::multi_pendula(count), methods()[3], tolerance);
    const auto series = make_taylor({.rtol = 1e-12, .atol = {1e-12}});
    series->start(*run.problem.system, {.t = run.problem.t, .x = run.start.x, .xp = run.start.xp});
    const double end = run.problem.t + 0.5;
    run.to(end);
    while (series->t() < end) ASSERT_TRUE(series->advance(end).ok());
    if (HasFatalFailure()) return;
    for (std::size_t j = 0; j < run.stepper->x().size(); ++j) {
      if (!run.problem.system->structure().differentiated(static_cast<int>(j))) continue;
      EXPECT_NEAR(run.stepper->x()[j], series->x()[j], 1000.0 * tolerance * (1.0 + std::abs(series->x()[j]))) << count << " " << j;
    }
  }
}

TEST(DummyDerivatives, GoesBackwardsAndOnAfterRestarts) {
  DummyMotion run(horizontal_pendulum(), rodas5p(), 1e-8);
  run.to(2.0);
  const std::vector<double> x(run.stepper->x().begin(), run.stepper->x().end()), xp(run.stepper->xp().begin(), run.stepper->xp().end());
  run.stepper->start(*run.problem.system, {.t = 2.0, .x = x, .xp = xp, .direction = -1, .step = run.stepper->next_step()});
  run.to(0.0);
  if (HasFatalFailure()) return;
  EXPECT_LT(distance(run.stepper->x(), run.start.x, 4), 1000.0 * 1e-8);
  DummyMotion pieces(horizontal_pendulum(), rodas5p(), 1e-8);
  for (int i = 1; i <= 20; ++i) {
    pieces.to(0.5 * i);
    if (HasFatalFailure()) return;
    const std::vector<double> here(pieces.stepper->x().begin(), pieces.stepper->x().end()),
        slope(pieces.stepper->xp().begin(), pieces.stepper->xp().end());
    pieces.stepper->start(*pieces.problem.system, {.t = pieces.stepper->t(), .x = here, .xp = slope, .step = pieces.stepper->next_step()});
  }
  EXPECT_LT(distance(pieces.stepper->x(), problems::pendulum_reference, 4), 1000.0 * 1e-8);
}

TEST(DummyDerivatives, DenseOutputMeetsTheEndsAndFollowsTheSolution) {
  const double tolerance = 1e-7;
  DummyMotion run(horizontal_pendulum(), rodas5p(), tolerance), fine(horizontal_pendulum(), methods()[3], 1e-11);
  std::vector<double> x(5);
  double inside = 0.0, meets = 0.0;
  run.to(1.5, [&](Stepper& s) {
    const DensePolynomial& p = s.dense();
    ASSERT_EQ(p.variables, 5);
    fine.to(0.5 * (p.t0 + p.t1()));
    p.evaluate(0.5 * (p.t0 + p.t1()), x);
    inside = std::max(inside, distance(x, fine.stepper->x(), 4));
    p.evaluate(s.t(), x);
    meets = std::max(meets, distance(x, s.x(), 5) / (1.0 + std::abs(x[4])));
  });
  if (HasFatalFailure()) return;
  EXPECT_LT(inside, 1000.0 * tolerance);
  EXPECT_LT(meets, 1e-13);
}

TEST(DummyDerivatives, AllocatesNothingInAcceptedSteps) {
  DummyMotion run(horizontal_pendulum(), rodas5p(), 1e-6);
  run.to(0.3, [](Stepper& s) { s.dense(); });  // the states stay the same for a while, and the workspace has grown
  for (int k = 0; k < 3; ++k) {
    const std::int64_t before = suite::allocations();
    ASSERT_TRUE(run.stepper->advance(10.0).ok());
    run.stepper->dense();
    EXPECT_EQ(suite::allocations(), before) << k;
  }
}

TEST(DummyDerivatives, SaysWhatItCannotDo) {
  const auto stepper = make_dummy_derivatives({}, rodas5p().make);
  const problems::Problem singular = problems::control_system();
  const std::vector<double> x(static_cast<std::size_t>(singular.system->structure().variables), 0.0);
  EXPECT_THROW(stepper->start(*singular.system, {.t = 0.0, .x = x, .xp = x}), UsageError);
  const problems::Problem pendulum = horizontal_pendulum();
  const std::vector<double> at_rest(5, 0.0);
  EXPECT_THROW(stepper->start(*pendulum.system, {.t = 0.0, .x = pendulum.guess}), UsageError);
  for (const std::size_t count : {2u, 7u}) {  // neither one tolerance for all nor one each
    const auto wrong = make_dummy_derivatives({.atol = std::vector<double>(count, 1e-6)}, rodas5p().make);
    EXPECT_THROW(wrong->start(*pendulum.system, {.t = 0.0, .x = pendulum.guess, .xp = at_rest}), UsageError);
  }
}

/// Every stage determines its derivatives by a regular matrix.
TEST(StateChoice, LeavesAsManyStatesAsThereAreDegreesOfFreedom) {
  std::vector<problems::Problem> all;
  all.push_back(horizontal_pendulum());
  all.push_back(problems::slider_crank({0.5, -0.2, 1.0, 0.0, 0.0}));
  all.push_back(problems::car_axis());
  all.push_back(problems::seven_body());
  for (int count = 1; count <= 3; ++count) all.push_back(problems::multi_pendula(count));
  for (const problems::Problem& p : all) {
    const Initialisation start = initialise(*p.system, p.t, p.guess);
    ASSERT_TRUE(start.ok()) << p.name;
    const Structure& s = p.system->structure();
    const StructuralAnalysis analysis = analyse_structure(s);
    const SystemJacobian jacobian(s, analysis);
    std::vector<double> Fx(s.state_pattern.row.size()), Fxp(s.derivative_pattern.row.size()), J(jacobian.pattern().row.size());
    p.system->jacobian(p.t, start.x, start.xp, Fx, Fxp);
    jacobian.assemble(Fx, Fxp, J);
    StateChoice choice(s, analysis, std::vector<double>(static_cast<std::size_t>(s.variables), 1.0));
    const std::vector<int> states = choice.choose(J);
    ASSERT_EQ(states.size(), static_cast<std::size_t>(s.variables)) << p.name;
    int count = 0;
    for (std::size_t j = 0; j < states.size(); ++j) {
      EXPECT_GE(states[j], 0);
      EXPECT_LE(states[j], analysis.variable_offset[j]);
      count += states[j];
    }
    EXPECT_EQ(count, analysis.degrees_of_freedom) << p.name;
    EXPECT_EQ(choice.quality(J, states), 1.0) << p.name;  // nothing is better than the choice itself
  }
}

TEST(StateChoice, NoticesWhenAChoiceHasBecomePoor) {
  // a pendulum at the right has y as its state, below the support x
  const problems::Problem p = horizontal_pendulum();
  const Structure& s = p.system->structure();
  const StructuralAnalysis analysis = analyse_structure(s);
  const SystemJacobian jacobian(s, analysis);
  StateChoice choice(s, analysis, std::vector<double>(5, 1.0));
  const auto values = [&](double x, double y) {
    std::vector<double> Fx(s.state_pattern.row.size()), Fxp(s.derivative_pattern.row.size()), J(jacobian.pattern().row.size());
    const std::vector<double> point{x, y, 0.0, 0.0, 0.0}, at_rest(5, 0.0);
    p.system->jacobian(0.0, point, at_rest, Fx, Fxp);
    jacobian.assemble(Fx, Fxp, J);
    return J;
  };
  const std::vector<int> right = choice.choose(values(0.995, -0.1)), below = choice.choose(values(0.1, -0.995));
  EXPECT_NE(right, below);
  EXPECT_LT(choice.quality(values(0.01, -1.0), right), 0.02);
  EXPECT_EQ(choice.quality(values(0.01, -1.0), below), 1.0);
  EXPECT_EQ(choice.quality(values(0.0, -1.0), right), 0.0);
}

}  // namespace
}  // namespace saltus
