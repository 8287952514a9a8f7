// What makes steppers converge on reduced systems, measure by measure: y, the higher derivatives in the derivative array,
// is predicted from a polynomial, solved for before the residual is formed, with projectors of the predicted point, in
// scaled coordinates; and the error test leaves out what is never differentiated. Each test fails without its measure.
#include <gtest/gtest.h>
#include <saltus/dae/initialisation.hpp>
#include <saltus/dae/reduced_system.hpp>
#include <saltus/dae/solution_series.hpp>
#include <saltus/step/bdf.hpp>
#include <saltus/step/radau.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "problems/linear.hpp"
#include "problems/mechanics.hpp"
#include "suites/rescaled_system.hpp"

namespace saltus {
namespace {

using problems::Problem;

Problem swinging_pendulum() {
  return problems::pendulum({1.0, 0.0, 0.0, 0.0, 0.0});
}

// Passes everything on.
class Watch : public System {
 public:
  explicit Watch(System& inner) : inner_(inner) {}
  const Structure& structure() const override { return inner_.structure(); }
  void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) override {
    inner_.residual(t, x, xp, F);
  }
  void jacobian(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Fx,
                std::span<double> Fxp) override {
    inner_.jacobian(t, x, xp, Fx, Fxp);
  }
  void taylor(double t, int level, std::span<const double> X, std::span<double> F) override {
    inner_.taylor(t, level, X, F);
  }
  void taylor_jacobian(double t, int level, std::span<const double> X, std::span<double> F, std::span<double> Fx,
                       std::span<double> Fxp) override {
    inner_.taylor_jacobian(t, level, X, F, Fx, Fxp);
  }

 private:
  System& inner_;
};

// Notes with which coefficients the derivative array is evaluated.
class ArrayWatch final : public Watch {
 public:
  using Watch::Watch;
  void taylor(double t, int level, std::span<const double> X, std::span<double> F) override {
    if (first.empty()) first.assign(X.begin(), X.end());
    Watch::taylor(t, level, X, F);
    for (const double value : X) largest = std::max(largest, std::abs(value));
  }

  std::vector<double> first;  // coefficients of the first evaluation since it was cleared
  double largest = 0.0;
};

// Notes where Jacobians are asked for.
class WatchedSystem final : public Watch {
 public:
  using Watch::Watch;
  void jacobian(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Fx,
                std::span<double> Fxp) override {
    times.push_back(t);
    states.emplace_back(x.begin(), x.end());
    Watch::jacobian(t, x, xp, Fx, Fxp);
  }

  std::vector<double> times;
  std::vector<std::vector<double>> states;
};

struct Reduction {
  CharacteristicValues values;
  Initialisation start;
  std::unique_ptr<ReducedSystem> system;
};

Reduction reduce(System& system, double t, std::span<const double> guess, bool use_structure = true) {
  Reduction r;
  r.values = characteristic_values(system, t, guess, {.use_structure = use_structure});
  r.start = initialise(system, t, guess, r.values);
  EXPECT_TRUE(r.start.ok()) << r.start.message;
  r.system = std::make_unique<ReducedSystem>(system, r.values);
  r.system->restart(t, r.start.X);
  return r;
}

StepStatistics integrate(System& system, const Initialisation& start, Stepper& stepper, double t, double end,
                         const std::function<void()>& after_step = {}) {
  stepper.start(system, {.t = t, .x = start.x, .xp = start.xp});
  while (stepper.t() < end) {
    if (!stepper.advance(end).ok() || stepper.statistics().steps > 20000) {
      ADD_FAILURE() << "stopped at t = " << stepper.t() << " after " << stepper.statistics().steps << " steps";
      break;
    }
    if (after_step) after_step();
  }
  return stepper.statistics();
}

// x and x' of the exact solution through the start at a little later, from its Taylor series.
struct LaterPoint {
  std::vector<double> x, xp;
};

LaterPoint later(System& system, const Reduction& r, double t, double h) {
  std::vector<double> X;
  constexpr int order = 14;
  EXPECT_TRUE(solution_series(system, t, r.start.x, r.values, order, X));
  const std::size_t n = r.start.x.size();
  LaterPoint p{std::vector<double>(n, 0.0), std::vector<double>(n, 0.0)};
  for (std::size_t q = order + 1; q-- > 0;)
    for (std::size_t j = 0; j < n; ++j) {
      p.x[j] = p.x[j] * h + X[q * n + j];
      if (q > 0) p.xp[j] = p.xp[j] * h + static_cast<double>(q) * X[q * n + j];
    }
  return p;
}

TEST(ReducedMeasures, YIsSolvedForBeforeTheResidualIsFormed) {
  // with the projectors and y of t = 0 the constraints of a later consistent point hold to rounding; with y as it was
  // predicted, the error of the prediction (h^2 and more) would be seen
  const Problem p = problems::pendulum({0.6, -0.8, 0.4, 0.3, 1.0});
  Reduction r = reduce(*p.system, p.t, p.guess);
  ASSERT_TRUE(r.system->refresh(p.t, r.start.x, r.start.xp));
  const int d = r.values->d, a = r.values->a;
  std::vector<double> F(5);
  for (const double h : {0.01, 0.03, 0.1}) {
    const LaterPoint point = later(*p.system, r, p.t, h);
    r.system->residual(p.t + h, point.x, point.xp, F);
    // rounding of terms of size 1e2, and of the series
    for (int i = d; i < d + a; ++i) EXPECT_LT(std::abs(F[i]), 1e-11) << "h = " << h << ", row " << i;
  }
}

TEST(ReducedMeasures, YIsPredictedFromItsPolynomial) {
  // the first guess of the accelerations x_[2] at t + h comes from coefficients up to order 3 at t: its error falls like
  // h^2, without the shift of the polynomial like h
  const Problem p = problems::pendulum({0.6, -0.8, 0.4, 0.3, 1.0});
  ArrayWatch watch(*p.system);
  Reduction r = reduce(watch, p.t, p.guess);
  ASSERT_TRUE(r.system->refresh(p.t, r.start.x, r.start.xp));
  const auto error_after = [&](double h) {
    const LaterPoint point = later(watch, r, p.t, h);
    std::vector<double> F(5);
    watch.first.clear();
    r.system->restart(p.t, r.start.X);
    r.system->residual(p.t + h, point.x, point.xp, F);
    double error = 0.0;
    for (std::size_t j = 0; j < 2; ++j)  // half the acceleration is x_[2]
      error = std::max(error, std::abs(watch.first[10 + j] - 0.5 * point.xp[2 + j]));
    return error;
  };
  EXPECT_NEAR(std::log2(error_after(0.02) / error_after(0.01)), 2.0, 0.3);
}

TEST(ReducedMeasures, AStepThatFailedLeavesNoTraceInY) {
  // an integrator that was misled asks for projectors far off the solution, and comes back for a shorter step
  const Problem p = problems::pendulum({0.6, -0.8, 0.4, 0.3, 1.0});
  for (const bool use_structure : {true, false})
    for (unsigned seed = 0; seed < 50; ++seed) {
      std::mt19937 bits(seed);
      std::uniform_real_distribution<double> random(-1.0, 1.0);
      Reduction r = reduce(*p.system, p.t, p.guess, use_structure);
      ASSERT_TRUE(r.system->refresh(p.t, r.start.x, r.start.xp));
      std::vector<double> x(5), xp(5), F(5);
      for (double& value : x) value = 1e6 * random(bits);
      for (double& value : xp) value = 1e9 * random(bits);
      r.system->refresh(p.t + 0.1, x, xp);
      const LaterPoint point = later(*p.system, r, p.t, 0.03);
      ASSERT_TRUE(r.system->refresh(p.t + 0.03, point.x, point.xp));
      r.system->residual(p.t + 0.03, point.x, point.xp, F);
      // rounding of terms of size 1e2, and of the series
      for (int i = 0; i < 5; ++i) EXPECT_LT(std::abs(F[i]), 1e-11) << "seed " << seed << ", row " << i;
    }
}

TEST(ReducedMeasures, SlopesOfVeryShortStepsDoNotHideY) {
  // 1e-8 that is returned to the constraints within 1e-11 is a slope of 1e3; constraints follow from x alone
  const Problem p = problems::pendulum({0.6, -0.8, 0.4, 0.3, 1.0});
  for (const double slope : {1e1, 1e2, 1e3, 1e5}) {
    Reduction r = reduce(*p.system, p.t, p.guess);
    ASSERT_TRUE(r.system->refresh(p.t, r.start.x, r.start.xp));
    std::vector<double> xp = r.start.xp, F(5);
    for (std::size_t j = 0; j < 4; ++j) xp[j] += slope * (j % 2 == 0 ? 1.0 : -0.7);
    std::vector<double> x = r.start.x, exact(5);
    for (std::size_t j = 0; j < 5; ++j) x[j] += 1e-8 * (j % 2 == 0 ? 1.0 : -0.7);
    r.system->residual(p.t, x, r.start.xp, exact);
    r.system->residual(p.t, x, xp, F);
    for (int i = r.values->d; i < 5; ++i) EXPECT_NEAR(F[i], exact[i], 1e-12) << slope << ", row " << i;  // rounding of terms of size 1e2
  }
}

TEST(ReducedMeasures, TheUndeterminedPartOfYDoesNotWander) {
  // without a certificate the array is uniform, and its highest coefficients are not determined
  const Problem p = swinging_pendulum();
  ArrayWatch watch(*p.system);
  for (const bool bdf : {false, true}) {
    Reduction r = reduce(watch, p.t, p.guess, false);
    auto stepper = bdf ? make_bdf({.rtol = 1e-4, .atol = {1e-4}}) : make_radau({.rtol = 1e-4, .atol = {1e-4}}, {.order = 5});
    watch.largest = 0.0;
    const StepStatistics s = integrate(*r.system, r.start, *stepper, p.t, 10.0);
    // coefficients of the solution itself are below 1e2 (the force reaches 3 g); extrapolated with it, the rest of y
    // reaches 1e6 here, and the runs end at t = 30 (BDF) and 78
    EXPECT_LT(watch.largest, 1e3) << (bdf ? "BDF" : "Radau");
    EXPECT_LT(s.rejected, s.steps / 5) << (bdf ? "BDF" : "Radau");
  }
}

TEST(ReducedMeasures, ProjectorsBelongToThePredictedPoint) {
  const Problem p = swinging_pendulum();
  for (const bool bdf : {false, true}) {
    Reduction r = reduce(*p.system, p.t, p.guess);
    WatchedSystem watched(*r.system);
    auto stepper = bdf ? make_bdf({.rtol = 1e-5, .atol = {1e-5}}) : make_radau({.rtol = 1e-5, .atol = {1e-5}}, {.order = 5});
    double before = p.t;
    int steps = 0, moved = 0;
    integrate(watched, r.start, *stepper, p.t, 2.0, [&] {
      ++steps;
      ASSERT_FALSE(watched.times.empty());
      const double at = watched.times.back(), now = stepper->t();
      EXPECT_LE(at, now + 1e-12);
      moved += at > before + 0.4 * (now - before);  // at the middle (Radau) or the end (BDF) of the step itself
      watched.times.clear();
      before = now;
    });
    EXPECT_GE(moved, steps - 1) << (bdf ? "BDF" : "Radau");  // the first step has nothing to predict from
    EXPECT_GT(steps, 10);
  }
}

TEST(ReducedMeasures, ScalingMakesUnitsIrrelevant) {
  // kilometres, microseconds and forces in units of 1e-6: the array is scaled, so the same steps are taken
  const Problem p = swinging_pendulum();
  const double length = 1e3, time = 1e-6, end = 2.0, tolerance = 1e-6;
  const std::vector<double> unit{length, length, length / time, length / time, 1.0 / (time * time)};
  RescaledSystem scaled(*p.system, unit, {1e6, 1e-6, 1.0, 1e-3, 1e9}, time);
  std::vector<double> guess = p.guess, atol;
  for (std::size_t j = 0; j < guess.size(); ++j) {
    guess[j] /= unit[j];
    atol.push_back(tolerance / unit[j]);
  }
  for (const bool use_structure : {true, false}) {
    Reduction a = reduce(*p.system, p.t, p.guess, use_structure), b = reduce(scaled, p.t, guess, use_structure);
    auto first = make_radau({.rtol = tolerance, .atol = {tolerance}}, {.order = 5}),
         second = make_radau({.rtol = tolerance, .atol = atol}, {.order = 5});
    const StepStatistics here = integrate(*a.system, a.start, *first, p.t, end),
                         there = integrate(*b.system, b.start, *second, p.t, end / time);
    EXPECT_NEAR(static_cast<double>(there.steps), static_cast<double>(here.steps), 0.1 * static_cast<double>(here.steps));
    EXPECT_LE(there.rejected, here.rejected + here.steps / 10);
    // two runs of the same tolerance, each with the errors of its steps
    for (std::size_t j = 0; j < 4; ++j)
      EXPECT_NEAR(second->x()[j] * unit[j], first->x()[j], tolerance * static_cast<double>(here.steps + there.steps));
    EXPECT_GT(b.system->margin(), 1e-4);
  }
}

TEST(ReducedMeasures, RadauTestsTheErrorOfDifferentiatedVariablesOnly) {
  problems::Recorder with, without;
  const auto x = with.variables("x y");
  with.equation(der(x[0]) + x[0]);
  with.equation(x[1] - 1e6 * x[0]);
  const auto alone = without.variables("x");
  without.equation(der(alone[0]) + alone[0]);
  const auto first = with.system(), second = without.system();
  auto a = make_radau({.rtol = 0.0, .atol = {1e-8}}, {.order = 5}),
       b = make_radau({.rtol = 0.0, .atol = {1e-8}}, {.order = 5});
  a->start(*first, {.x = std::vector{1.0, 1e6}, .xp = std::vector{-1.0, -1e6}});
  b->start(*second, {.x = std::vector{1.0}, .xp = std::vector{-1.0}});
  while (a->t() < 5.0) ASSERT_TRUE(a->advance(5.0).ok());
  while (b->t() < 5.0) ASSERT_TRUE(b->advance(5.0).ok());
  // steps for y would be 1e6^(1/4) = 30 times as many
  EXPECT_LE(a->statistics().steps, 2 * b->statistics().steps);
}

}  // namespace
}  // namespace saltus
