// Radau methods and BDF on reduced systems of high index: accuracy, no drift, no convergence failures.
#include <gtest/gtest.h>
#include <saltus/dae/initialisation.hpp>
#include <saltus/dae/reduced_system.hpp>
#include <saltus/step/bdf.hpp>
#include <saltus/step/radau.hpp>

#include <cmath>
#include <functional>

#include "problems/linear.hpp"
#include "problems/mechanics.hpp"

namespace saltus {
namespace {

struct Motion {
  std::vector<double> x;
  double position = 0.0, velocity = 0.0, acceleration = 0.0;  // largest violations of the pendulum's constraints
  StepStatistics statistics;
};

/// `order` 0 is variable, -1 the BDF.
void integrate(const problems::Problem& p, double end, double tolerance, int order, Motion& run,
               const std::function<void(const Stepper&)>& watch = {}) {
  const CharacteristicValues values = characteristic_values(*p.system, p.t, p.guess);
  const Initialisation start = initialise(*p.system, p.t, p.guess, values, {});
  ASSERT_TRUE(start.ok()) << start.message;
  ReducedSystem reduced(*p.system, values);
  reduced.restart(p.t, start.X);
  const StepOptions options{.rtol = tolerance, .atol = {tolerance}};
  auto stepper = order < 0 ? make_bdf(options) : make_radau(options, {.order = order});
  stepper->start(reduced, {.t = p.t, .x = start.x, .xp = start.xp});
  while (stepper->t() < end) {
    const StepOutcome outcome = stepper->advance(end);
    ASSERT_TRUE(outcome.ok()) << "t = " << stepper->t() << ", result " << static_cast<int>(outcome.result);
    ASSERT_LT(stepper->statistics().steps, 100000);
    if (watch) watch(*stepper);
  }
  run.x.assign(stepper->x().begin(), stepper->x().end());
  run.statistics = stepper->statistics();
}

void integrate_pendulum(double end, double tolerance, int order, Motion& run) {
  integrate(problems::pendulum({1.0, 0.0, 0.0, 0.0, 0.0}), end, tolerance, order, run, [&](const Stepper& s) {
    const auto x = s.x();
    run.position = std::max(run.position, std::abs(x[0] * x[0] + x[1] * x[1] - 1.0));
    run.velocity = std::max(run.velocity, std::abs(x[0] * x[2] + x[1] * x[3]));
    run.acceleration =
        std::max(run.acceleration,
                 std::abs(x[2] * x[2] + x[3] * x[3] - x[4] * (x[0] * x[0] + x[1] * x[1]) - problems::gravity * x[1]));
  });
}

TEST(HighIndex, SolvesThePendulumWithErrorsInProportionToTheTolerance) {
  for (const int order : {5, 9, 13, -1})
    for (const double tolerance : {1e-5, 1e-7, 1e-9}) {
      Motion run;
      integrate_pendulum(10.0, tolerance, order, run);
      if (HasFatalFailure()) return;
      double error = 0.0;
      for (std::size_t j = 0; j < 4; ++j) error = std::max(error, std::abs(run.x[j] - problems::pendulum_reference[j]));
      RecordProperty("order" + std::to_string(order) + "_1e" + std::to_string(static_cast<int>(std::log10(tolerance))),
                     std::to_string(error / tolerance) + " steps " + std::to_string(run.statistics.steps) + "+" +
                         std::to_string(run.statistics.rejected) + " evaluations " +
                         std::to_string(run.statistics.evaluations) + " jacobians " +
                         std::to_string(run.statistics.jacobians) + " constraints " +
                         std::to_string(run.position / 1e-15) + " " + std::to_string(run.velocity / 1e-15) + " " +
                         std::to_string(run.acceleration / 1e-15));
      // seven swings; an error in the angle at each of a dozen steps per swing shifts the phase of all that follow
      EXPECT_LT(error, 1000.0 * tolerance) << order;
      // the array is solved near each stage: with its pseudo-inverse at the middle alone orders 9 and 13 took 213 and
      // 254
      if (order > 5 && tolerance == 1e-7) {
        EXPECT_LT(run.statistics.steps, 190) << order;
      }
      // one Jacobian, taken in the middle, serves a step of limited length only, which the long steps of the higher
      // orders run into: about a third of them fail
      EXPECT_LT(run.statistics.rejected, run.statistics.steps / (order <= 5 ? 8 : 2)) << order;
    }
}

TEST(HighIndex, RadauOfVariableOrderTakesAHighOneWhereItPays) {
  struct Case {
    problems::Problem problem;
    double end;
  };
  std::vector<Case> cases;
  cases.push_back({problems::pendulum({1.0, 0.0, 0.0, 0.0, 0.0}), 10.0});
  cases.push_back({problems::car_axis(), 1.0});
  for (const Case& c : cases)
    for (const double tolerance : {1e-6, 1e-10}) {
      std::int64_t steps = 0, high = 0;
      const auto cost = [&](int order) {
        Motion run;
        high = 0;
        integrate(c.problem, c.end, tolerance, order, run, [&](const Stepper& s) { high += s.order() >= 9; });
        steps = run.statistics.steps;
        return static_cast<double>(run.statistics.evaluations);
      };
      const double low = cost(5), best = std::min({low, cost(9), cost(13)}), variable = cost(0);
      RecordProperty(
          c.problem.name + (tolerance < 1e-8 ? "_1e-10" : "_1e-6"),
          std::to_string(variable / low) + " of order 5, " + std::to_string(variable / best) + " of the best");
      EXPECT_GT(high, 0.9 * static_cast<double>(steps)) << c.problem.name << ", " << tolerance;
      EXPECT_LT(variable, 1.25 * best) << c.problem.name << ", " << tolerance;
      if (tolerance == 1e-10) {
        EXPECT_LT(variable, 0.5 * low) << c.problem.name;
      }
    }
}

TEST(HighIndex, ConstraintsDoNotDrift) {
  Motion run;
  integrate_pendulum(100.0, 1e-10, 9, run);
  if (HasFatalFailure()) return;
  // Newton's method ends where its error is below 1e-4 of the tolerance, 1e-14 here; the multiplier is of size 30
  EXPECT_LT(run.position, 1e-12);
  EXPECT_LT(run.velocity, 1e-12);
  EXPECT_LT(run.acceleration, 1e-12);
}

/// The last component of z for x = Q(t) z: the free one (see rotating_block).
double free_component(int block, double t, std::vector<double> z) {
  for (int k = 0; k < block; ++k) {
    const double w = 0.7 + 0.3 * k, c = std::cos(w * t), s = std::sin(w * t), zi = z[k], zj = z[k + 1];
    z[k] = c * zi + s * zj;
    z[k + 1] = c * zj - s * zi;
  }
  return z[static_cast<std::size_t>(block)];
}

TEST(HighIndex, LinearDaesUpToIndex5KeepTheirTolerance) {
  for (int block = 1; block <= 5; ++block)
    for (const auto& [tolerance, order] : {std::pair{1e-5, 0}, {1e-8, 0}, {1e-5, -1}, {1e-8, -1}}) {
      const auto p = problems::rotating_block(block);
      Motion run;
      double free = 0.0, largest = 0.0;
      bool first = true;
      integrate(p, 1.5, tolerance, order, run, [&](const Stepper& s) {
        const std::vector<double> x(s.x().begin(), s.x().end());
        const auto particular = [](double t) { return 0.5 * (std::sin(t) - std::cos(t)); };
        if (first) free = (free_component(block, s.t(), x) - particular(s.t())) * std::exp(s.t());
        first = false;
        const std::vector<double> exact =
            problems::rotating_block_solution(block, s.t(), free * std::exp(-s.t()) + particular(s.t()));
        for (std::size_t j = 0; j < x.size(); ++j) largest = std::max(largest, std::abs(x[j] - exact[j]));
      });
      if (HasFatalFailure()) return;
      RecordProperty("index" + std::to_string(block), std::to_string(largest / tolerance));
      // the block itself is solved, not integrated: its values, up to 5^4 in size, follow from the array
      EXPECT_LT(largest, 100.0 * tolerance) << "index " << block;
    }
}

TEST(HighIndex, CarAxisReachesItsReference) {
  const std::vector<double>& reference = problems::car_axis_reference;
  for (const auto& [order, tolerance] : {std::pair{5, 1e-9}, {9, 1e-9}, {0, 1e-9}, {-1, 1e-8}}) {
    Motion run;
    integrate(problems::car_axis(), 3.0, tolerance, order, run);
    if (HasFatalFailure()) return;
    double error = 0.0;
    for (std::size_t j = 0; j < 8; ++j) error = std::max(error, std::abs(run.x[j] - reference[j]));
    RecordProperty("order" + std::to_string(order), std::to_string(error / tolerance));
    EXPECT_LT(error, (order < 0 ? 100.0 : 30.0) * tolerance) << order;  // BDF: thousands of steps
  }
}

}  // namespace
}  // namespace saltus
