#include "suites/stepper_suite.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "suites/count_allocations.hpp"

namespace saltus::suite {

StepOptions fixed_steps(double h) {
  return {.rtol = 0.0, .atol = {1e10}, .max_step = h, .initial_step = h};
}

namespace {

double distance(std::span<const double> a, std::span<const double> b) {
  double largest = 0.0;
  for (std::size_t j = 0; j < a.size(); ++j) largest = std::max(largest, std::abs(a[j] - b[j]));
  return largest;
}

void run_to(Stepper& stepper, double limit) {
  const double direction = limit > stepper.t() ? 1.0 : -1.0;
  while ((limit - stepper.t()) * direction > 0.0) {
    const StepOutcome outcome = stepper.advance(limit);
    ASSERT_LT(stepper.statistics().steps, 1000000) << stepper.name() << " crawls at t = " << stepper.t();
    ASSERT_TRUE(outcome.ok()) << stepper.name() << " fails at t = " << stepper.t() << ", variable " << outcome.worst;
  }
}

std::vector<problem::Problem> smooth_problems() {
  std::vector<problem::Problem> list;
  list.push_back(problem::harmonic_oscillator());
  list.push_back(problem::exponential_of_sine());
  list.push_back(problem::logistic());
  list.push_back(problem::kepler());
  return list;
}

/// A system that cannot be evaluated beyond x = wall: x' = f while x <= wall, NaN after.
class Walled final : public System {
 public:
  Walled(System& inner, double wall) : inner_(inner), wall_(wall) {}
  const Structure& structure() const override { return inner_.structure(); }
  void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) override {
    inner_.residual(t, x, xp, F);
    if (x[0] > wall_) F[0] = std::numeric_limits<double>::quiet_NaN(), ++hits;
  }
  void taylor(double t, int level, std::span<const double> X, std::span<double> F) override {
    inner_.taylor(t, level, X, F);
    if (X[0] > wall_) F[0] = std::numeric_limits<double>::quiet_NaN(), ++hits;
  }
  void solution_taylor(double t, int order, std::span<double> X) override { inner_.solution_taylor(t, order, X); }
  void rhs(double t, std::span<const double> x, std::span<double> xp) override {
    inner_.rhs(t, x, xp);
    if (x[0] > wall_) xp[0] = std::numeric_limits<double>::quiet_NaN(), ++hits;
  }
  void jacobian(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Fx,
                std::span<double> Fxp) override {
    inner_.jacobian(t, x, xp, Fx, Fxp);
  }

  int hits = 0;  // evaluations beyond the wall

 private:
  System& inner_;
  double wall_;
};

}  // namespace

double error_at_end(Stepper& stepper, problem::Problem& problem) {
  std::vector<double> xp = problem.xp0;
  if (xp.empty()) {
    xp.resize(problem.x0.size());
    problem.system->rhs(problem.t0, problem.x0, xp);
  }
  stepper.start(*problem.system, {.t = problem.t0, .x = problem.x0, .xp = xp});
  run_to(stepper, problem.t1);
  return distance(stepper.x(), problem.x1);
}

namespace {

/// The largest error at all accepted points.
double largest_error(Stepper& stepper, problem::Problem& problem) {
  std::vector<double> xp = problem.xp0;
  if (xp.empty()) {
    xp.resize(problem.x0.size());
    problem.system->rhs(problem.t0, problem.x0, xp);
  }
  stepper.start(*problem.system, {.t = problem.t0, .x = problem.x0, .xp = xp});
  double largest = 0.0;
  while (stepper.t() < problem.t1 && stepper.statistics().steps < 100000 && stepper.advance(problem.t1).ok())
    largest = std::max(largest, distance(stepper.x(), problem.exact(stepper.t())));
  EXPECT_EQ(stepper.t(), problem.t1);
  return largest;
}

}  // namespace

double measured_order(const std::function<std::unique_ptr<Stepper>(StepOptions)>& make, problem::Problem& problem,
                      double expected, double floor, double fewest) {
  std::vector<double> errors;
  for (double count = fewest; count < 3e4; count *= M_SQRT2) {
    const int steps = static_cast<int>(count);
    auto stepper = make(fixed_steps((problem.t1 - problem.t0) / steps));
    const double error = largest_error(*stepper, problem) * std::pow(steps / count, expected);
    EXPECT_NEAR(static_cast<double>(stepper->statistics().steps), steps, 1.0);
    if (error < floor) break;
    errors.push_back(error);
  }
  if (errors.size() < 3) return 0.0;
  return std::log2(errors[errors.size() - 3] / errors.back());
}

namespace {

/// By the central difference of order 6.
std::vector<double> slope(const std::function<std::vector<double>(double)>& x, double t) {
  const double d = 2e-3;
  std::vector<double> sum(x(t).size());
  const double weights[] = {45.0, -9.0, 1.0};
  for (int k = 1; k <= 3; ++k) {
    const std::vector<double> before = x(t - k * d), after = x(t + k * d);
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += weights[k - 1] * (after[j] - before[j]) / (60.0 * d);
  }
  return sum;
}

}  // namespace

KnownSolution known_solution(problem::Problem& problem) {
  return {.t0 = problem.t0,
          .t1 = problem.t1,
          .exact = problem.exact,
          .system_at = [&problem](double, std::span<const double>, std::span<const double>) -> System& {
            return *problem.system;
          }};
}

double measured_dense_order(const std::function<std::unique_ptr<Stepper>(StepOptions)>& make,
                            const KnownSolution& known, double floor, double longest) {
  const int places = 12;
  const auto error_inside = [&](double h) {
    double largest = 0.0;
    auto stepper = make(fixed_steps(h));
    for (int place = 0; place < places; ++place) {
      const double t0 = known.t0 + (known.t1 - known.t0) * place / places;
      const std::vector<double> x0 = known.exact(t0);
      std::vector<double> x(x0.size()), xp = slope(known.exact, t0);
      stepper->start(known.system_at(t0, x0, xp), {.t = t0, .x = x0, .xp = xp});
      EXPECT_TRUE(stepper->advance(t0 + 2.0 * h).ok());
      const DensePolynomial& p = stepper->dense();
      EXPECT_NEAR(p.t1(), t0 + h, 1e-14);
      for (int i = 1; i < 16; ++i) {
        const double t = t0 + h * i / 16.0;
        p.evaluate(t, x);
        largest = std::max(largest, distance(x, known.exact(t)));
      }
    }
    return largest;
  };
  std::vector<double> errors;
  for (double h = longest; h > 1e-5; h *= M_SQRT1_2) {
    const double error = error_inside(h);
    if (error < floor) break;
    errors.push_back(error);
  }
  if (errors.size() < 3) return 0.0;
  return std::log2(errors[errors.size() - 3] / errors.back());
}

TEST_P(StepperSuite, HasItsOrder) {
  const auto make = [](StepOptions options) { return GetParam().exact(std::move(options)); };
  for (auto& problem : {std::make_shared<problem::Problem>(GetParam().order < 9 ? problem::exponential_of_sine()
                                                                                : problem::harmonic_oscillator()),
                        std::make_shared<problem::Problem>(problem::kepler(0.1))}) {
    // rounding: 1e-16 times the amplification of the problem, times the root of the number of steps
    const bool scalar = problem->x0.size() < 4;
    const double slope =
        measured_order(make, *problem, GetParam().order, scalar ? 2e-13 : 1e-12, GetParam().fewest_steps);
    RecordProperty(scalar ? "order_scalar" : "order_kepler", std::to_string(slope));
    EXPECT_NEAR(slope, GetParam().order, 0.3) << problem->name;
  }
}

TEST_P(StepperSuite, HasDenseOutputOfItsOrder) {
  // one step from exact values at many places of an orbit
  auto problem = problem::kepler(0.1);
  const double slope = measured_dense_order([](StepOptions o) { return GetParam().exact(std::move(o)); },
                                            known_solution(problem), 5e-13);
  RecordProperty("order", std::to_string(slope - 1.0));
  // the error at the end of the step, of the method's own order, may be the larger one until rounding hides both
  EXPECT_GT(slope, GetParam().dense_order + 1.0 - 0.3);
  EXPECT_LT(slope, std::max(GetParam().dense_order, GetParam().order) + 1.0 + 0.3);
}

TEST_P(StepperSuite, DenseOutputMeetsBothEnds) {
  auto problem = problem::kepler();
  auto stepper = GetParam().make({.rtol = 1e-8, .atol = {1e-8}});
  std::vector<double> xp0(4);
  problem.system->rhs(problem.t0, problem.x0, xp0);
  stepper->start(*problem.system, {.t = problem.t0, .x = problem.x0, .xp = xp0});
  while (stepper->t() < problem.t1) {
    const std::vector<double> x0(stepper->x().begin(), stepper->x().end());
    const std::vector<double> start_slope(stepper->xp().begin(), stepper->xp().end());
    const double t0 = stepper->t();
    ASSERT_TRUE(stepper->advance(problem.t1).ok());
    const DensePolynomial& p = stepper->dense();
    std::vector<double> x(4);
    // values agree to rounding: 8 sums of 16 products with weights of size 1000 at most, and slopes divide that by h
    p.evaluate(t0, x);
    EXPECT_LT(distance(x, x0), 1e-15);
    p.evaluate(stepper->t(), x);
    EXPECT_LT(distance(x, stepper->x()), 1e-12);
    EXPECT_EQ(p.t0, t0);
    p.derivative(t0, x);
    if (!GetParam().smooth_dense) continue;
    EXPECT_LT(distance(x, start_slope), 1e-12 / std::abs(p.h));
  }
}

TEST_P(StepperSuite, KeepsTheErrorProportionalToTheTolerance) {
  // six decades; the error per tolerance is the geometric mean over the problems, each of which amplifies errors by
  // about its length
  double least = 1e300, most = 0.0;
  for (int decade = 4; decade <= 10; ++decade) {
    const double tolerance = std::pow(10.0, -decade);
    double sum = 0.0;
    auto problems = smooth_problems();
    for (auto& problem : problems) {
      auto stepper = GetParam().make({.rtol = tolerance, .atol = {tolerance}});
      const double error = error_at_end(*stepper, problem) / tolerance;
      RecordProperty(problem.name + "_1e-" + std::to_string(decade), std::to_string(error));
      sum += std::log(std::max(error, 1e-3));
    }
    const double mean = std::exp(sum / static_cast<double>(problems.size()));
    least = std::min(least, mean);
    most = std::max(most, mean);
  }
  RecordProperty("least", std::to_string(least));
  RecordProperty("most", std::to_string(most));
  EXPECT_LT(most, 30.0);
  EXPECT_GT(least, 1.0 / 30.0);
  // of a method of order p that controls local errors: 10^(6/(p+1)), 10 for BDF, and the luck of cancelling errors
  EXPECT_LT(most / least, 30.0);
}

TEST_P(StepperSuite, GoesOnAfterARestartAtFullOrder) {
  auto problem = problem::kepler();
  auto stepper = GetParam().make({.rtol = 1e-8, .atol = {1e-8}});
  const double error = error_at_end(*stepper, problem);
  const StepStatistics whole = stepper->statistics();

  auto again = GetParam().make({.rtol = 1e-8, .atol = {1e-8}});
  std::vector<double> x = problem.x0, xp(4);
  double t = problem.t0, step = 0.0;
  const int pieces = 10;
  std::int64_t start_evaluations = 0;
  for (int i = 1; i <= pieces; ++i) {
    problem.system->rhs(t, x, xp);
    const auto before = again->statistics().evaluations;
    again->start(*problem.system, {.t = t, .x = x, .xp = xp, .step = step});
    start_evaluations = again->statistics().evaluations - before;
    EXPECT_LE(start_evaluations, 1);
    const double stop = problem.t0 + (problem.t1 - problem.t0) * i / pieces;
    run_to(*again, stop);
    EXPECT_EQ(again->t(), stop);
    t = again->t();
    x.assign(again->x().begin(), again->x().end());
    step = again->next_step();
  }
  EXPECT_LE(again->statistics().steps, whole.steps + GetParam().restart_steps * pieces);
  EXPECT_LT(distance(x, problem.x1), 3.0 * error + 1e-7);
}

TEST_P(StepperSuite, IntegratesBackwards) {
  for (auto& problem : smooth_problems()) {
    const double tolerance = 1e-7;
    auto stepper = GetParam().make({.rtol = tolerance, .atol = {tolerance}});
    std::vector<double> xp(problem.x0.size());
    problem.system->rhs(problem.t1, problem.x1, xp);
    stepper->start(*problem.system, {.t = problem.t1, .x = problem.x1, .xp = xp, .direction = -1});
    EXPECT_THROW(stepper->advance(problem.t1 + 1.0), UsageError);
    run_to(*stepper, problem.t0);
    EXPECT_EQ(stepper->t(), problem.t0);
    EXPECT_LT(stepper->dense().h, 0.0);
    // the logistic equation amplifies backwards by e^6 = 400. An error dv at the fast end of the orbit moves the place
    // after t by about 3 v^2 t dv = 50 dv, and ten steps or so make such errors. The others amplify by their length.
    const double amplification = problem.name == "logistic" ? 400.0 : problem.name == "kepler" ? 500.0 : 100.0;
    EXPECT_LT(distance(stepper->x(), problem.x0), amplification * tolerance) << problem.name;
  }
}

TEST_P(StepperSuite, ObeysAToleranceOfEachVariable) {
  auto problem = problem::kepler();
  const auto run = [&](std::vector<double> atol) {
    auto stepper =
        GetParam().exact({.rtol = 0.0, .atol = std::move(atol)});  // of fixed order: fewer steps mean less accuracy
    error_at_end(*stepper, problem);
    return stepper;
  };
  const auto tight = run({1e-8}), same = run({1e-8, 1e-8, 1e-8, 1e-8}), one = run({1e-8, 1e-4, 1e-4, 1e-4}),
             loose = run({1e-4});
  EXPECT_EQ(std::vector(tight->x().begin(), tight->x().end()), std::vector(same->x().begin(), same->x().end()));
  EXPECT_GT(one->statistics().steps, loose->statistics().steps);
  EXPECT_LE(one->statistics().steps, tight->statistics().steps);
  EXPECT_THROW(run({1e-8, 1e-8}), UsageError);
}

TEST_P(StepperSuite, ShortensStepsThatCannotBeEvaluated) {
  // the solution stays below 1.01, the trial steps at loose tolerance do not
  auto problem = problem::harmonic_oscillator();
  Walled walled(*problem.system, 1.001);
  auto stepper = GetParam().make({.rtol = 1e-5, .atol = {1e-5}});
  stepper->start(walled, {.t = -M_PI / 2, .x = problem.exact(-M_PI / 2), .xp = std::vector{1.0, 0.0}, .step = 3.0});
  ASSERT_TRUE(stepper->advance(10.0).ok());
  if (walled.hits > 0) {
    EXPECT_GE(stepper->statistics().rejected, 1);
  }
  run_to(*stepper, 2.0);
  EXPECT_LT(distance(stepper->x(), problem.exact(2.0)), 1e-3);
}

TEST_P(StepperSuite, SaysWhereValuesStayNotFinite) {
  // x reaches the wall at t = arcsin(0.5) and the solution cannot go on
  auto problem = problem::harmonic_oscillator();
  Walled walled(*problem.system, 0.5);
  auto stepper = GetParam().make({.rtol = 1e-6, .atol = {1e-6}});
  stepper->start(walled, {.t = -M_PI / 2, .x = problem.exact(-M_PI / 2), .xp = std::vector{1.0, 0.0}});
  StepOutcome outcome;
  for (int i = 0; i < 10000 && outcome.ok(); ++i) outcome = stepper->advance(10.0);
  EXPECT_EQ(outcome.result, StepResult::not_finite);
  EXPECT_EQ(outcome.worst, 0);
  // the state is the last accepted one: just before the wall, within the error of the solution
  EXPECT_NEAR(stepper->t(), -M_PI / 3, 1e-4);
  EXPECT_LE(stepper->x()[0], 0.5);
  EXPECT_LT(distance(stepper->x(), problem.exact(stepper->t())), 1e-4);
}

TEST_P(StepperSuite, ReportsAStartThatIsNotFinite) {
  auto problem = problem::harmonic_oscillator();
  auto stepper = GetParam().make({});
  stepper->start(*problem.system, {.x = std::vector{0.0, std::nan("")}, .xp = std::vector{0.0, 0.0}});
  const StepOutcome outcome = stepper->advance(1.0);
  EXPECT_EQ(outcome.result, StepResult::not_finite);
  EXPECT_EQ(stepper->t(), 0.0);
}

TEST_P(StepperSuite, AllocatesNothingInAcceptedSteps) {
  auto problem = problem::kepler();
  auto stepper = GetParam().make({.rtol = 1e-7, .atol = {1e-7}});
  std::vector<double> xp(4);
  problem.system->rhs(problem.t0, problem.x0, xp);
  stepper->start(*problem.system, {.t = problem.t0, .x = problem.x0, .xp = xp});
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(stepper->advance(problem.t1).ok());
  const std::int64_t before = allocations();
  bool ok = true;
  while (ok && stepper->t() < problem.t1) {
    ok = stepper->advance(problem.t1).ok();
    ok = ok && stepper->dense().h > 0.0;
  }
  stepper->start(*problem.system, {.t = problem.t0, .x = problem.x0, .xp = xp, .step = 0.01});
  ok = ok && stepper->advance(problem.t1).ok();
  EXPECT_EQ(allocations(), before);
  EXPECT_TRUE(ok);
}

TEST_P(StepperSuite, GivesTheSameBitsAgain) {
  auto problem = problem::kepler();
  auto one = GetParam().make({.rtol = 1e-6}), other = GetParam().make({.rtol = 1e-6});
  error_at_end(*one, problem);
  other->start(*problem.system,
               {.t = 1.0, .x = std::vector{1.0, 0.1, 0.0, 1.0}, .xp = std::vector{0.0, 1.0, -1.0, 0.0}});
  EXPECT_TRUE(other->advance(2.0).ok());  // some history that must not matter
  error_at_end(*other, problem);
  EXPECT_EQ(std::vector(one->x().begin(), one->x().end()), std::vector(other->x().begin(), other->x().end()));
}

TEST_P(StepperSuite, EndsExactlyOnTheLimitWithoutASliver) {
  auto problem = problem::harmonic_oscillator();
  const double h = 0.01;
  for (const double remainder : {1.0, 1.005, 1.02, 1.3, 1.9999, 2.0, 2.009, 2.3, 7.77}) {
    auto stepper = GetParam().make({.rtol = 1e-3, .atol = {1e-3}, .max_step = h, .initial_step = h});
    const double t0 = 0.1, limit = t0 + h * remainder;
    const auto x0 = problem.exact(t0);
    stepper->start(*problem.system, {.t = t0, .x = x0, .xp = std::vector{x0[1], -x0[0]}});
    double smallest = 1.0;
    while (stepper->t() < limit) {
      const double before = stepper->t();
      ASSERT_TRUE(stepper->advance(limit).ok());
      smallest = std::min(smallest, stepper->t() - before);
    }
    EXPECT_EQ(stepper->t(), limit);
    EXPECT_GE(smallest, 0.49 * h) << remainder;
    // a step that the limit cut does not make the next one small
    EXPECT_GE(stepper->next_step(), 0.99 * h);
  }
}

TEST_P(StepperSuite, TakesALimitThatIsAlmostThere) {
  auto problem = problem::harmonic_oscillator();
  auto stepper = GetParam().make({});
  const double t0 = 3.0;
  const auto x0 = problem.exact(t0);
  stepper->start(*problem.system, {.t = t0, .x = x0, .xp = std::vector{x0[1], -x0[0]}, .step = 0.1});
  const double limit = std::nextafter(t0, 4.0);
  ASSERT_TRUE(stepper->advance(limit).ok());
  EXPECT_EQ(stepper->t(), limit);
  EXPECT_THROW(stepper->advance(limit), UsageError);
}

}  // namespace saltus::suite
