// Equations that fail in every way that a stepper must survive: singular Jacobians, values and derivatives that are not
// finite, in windows of time and beyond thresholds of the values; limits and step sizes down to the resolution of time.
#include <gtest/gtest.h>
#include <saltus/step/bdf.hpp>
#include <saltus/step/radau.hpp>
#include <saltus/step/rosenbrock.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "random_cases.hpp"

namespace saltus {
namespace {

enum class Trouble { none, singular, zero, not_finite };

/// M x' + A (x - sin t) = 0 with a chain of couplings; some rows have no derivative.
class Hostile final : public System {
 public:
  explicit Hostile(unsigned seed) : random_(seed) {
    const int n = std::uniform_int_distribution(1, 16)(random_);
    std::uniform_real_distribution<double> unit(0.0, 1.0);
    std::vector<std::pair<int, int>> state, slope;
    for (int i = 0; i < n; ++i) {
      algebraic_.push_back(unit(random_) < 0.4);
      state.emplace_back(i, i);
      if (i > 0) state.emplace_back(i, i - 1);
      if (!algebraic_.back()) slope.emplace_back(i, i);
    }
    structure_.variables = structure_.equations = n;
    structure_.state_pattern = make_pattern(n, n, state);
    structure_.derivative_pattern = make_pattern(n, n, slope);
    structure_.constant_mass = true;
    structure_.linear = unit(random_) < 0.5;
    from_ = unit(random_) < 0.3 ? 0.0 : unit(random_);
    to_ = unit(random_) < 0.5 ? from_ + std::pow(10.0, -20.0 * unit(random_)) : 10.0;
    if (unit(random_) < 0.2) threshold_ = unit(random_);
    const auto draw = [&] { return static_cast<Trouble>(std::uniform_int_distribution(0, 3)(random_)); };
    in_jacobian_ = draw();
    in_residual_ = unit(random_) < 0.5 ? Trouble::none : draw();
  }
  const Structure& structure() const override { return structure_; }
  void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) override {
    for (std::size_t i = 0; i < x.size(); ++i) {
      F[i] = 3.0 * (x[i] - std::sin(t)) + (i > 0 ? 0.5 * (x[i - 1] - std::sin(t)) : 0.0);
      if (!algebraic_[i]) F[i] += xp[i] - std::cos(t);
      if (fails(t, x) && in_residual_ == Trouble::not_finite) F[i] = std::nan("");
      if (fails(t, x) && in_residual_ == Trouble::zero) F[i] = 0.0;
      if (fails(t, x) && in_residual_ == Trouble::singular) F[i] += 1.0;
    }
  }
  void jacobian(double t, std::span<const double> x, std::span<const double>, std::span<double> Fx,
                std::span<double> Fxp) override {
    const SparsePattern& p = structure_.state_pattern;
    for (int j = 0; j < structure_.variables; ++j)
      for (int k = p.start[j]; k < p.start[j + 1]; ++k) Fx[k] = p.row[k] == j ? 3.0 : 0.5;
    std::ranges::fill(Fxp, 1.0);
    if (!fails(t, x)) return;
    if (in_jacobian_ == Trouble::zero || in_jacobian_ == Trouble::not_finite) {
      const double value = in_jacobian_ == Trouble::zero ? 0.0 : std::numeric_limits<double>::infinity();
      std::ranges::fill(Fx, value);
      if (in_jacobian_ == Trouble::zero) std::ranges::fill(Fxp, 0.0);
    }
    if (in_jacobian_ == Trouble::singular) {  // the last column vanishes
      for (int k = p.start[structure_.variables - 1]; k < p.start[structure_.variables]; ++k) Fx[k] = 0.0;
      if (!algebraic_.back()) Fxp.back() = 0.0;
    }
  }
  std::vector<double> consistent(double t) const {
    return std::vector<double>(static_cast<std::size_t>(structure_.variables), std::sin(t));
  }
  std::vector<double> slopes(double t) const {
    return std::vector<double>(static_cast<std::size_t>(structure_.variables), std::cos(t));
  }

 private:
  bool fails(double t, std::span<const double> x) const { return (t >= from_ && t <= to_) || x[0] > threshold_; }

  std::mt19937 random_;
  Structure structure_;
  std::vector<char> algebraic_;
  double from_ = 0.0, to_ = 0.0, threshold_ = std::numeric_limits<double>::infinity();
  Trouble in_jacobian_ = Trouble::none, in_residual_ = Trouble::none;
};

using Maker = std::function<std::unique_ptr<Stepper>(StepOptions)>;

std::vector<std::pair<std::string, Maker>> implicit_steppers() {
  std::vector<std::pair<std::string, Maker>> list;
  for (const int order : {0, 5, 9, 13})
    list.emplace_back("radau" + std::to_string(order),
                      [order](StepOptions o) { return make_radau(std::move(o), {.order = order}); });
  list.emplace_back("rodas4", [](StepOptions o) { return make_rosenbrock(rodas_4(), std::move(o)); });
  list.emplace_back("rodas5p", [](StepOptions o) { return make_rosenbrock(rodas_5p(), std::move(o)); });
  list.emplace_back("bdf", [](StepOptions o) { return make_bdf(std::move(o)); });
  return list;
}

void expect_whole(Stepper& stepper, double t, double limit) {
  EXPECT_GE(stepper.t(), t);
  EXPECT_LE(stepper.t(), limit);
  for (const double value : stepper.x()) EXPECT_TRUE(std::isfinite(value));
  const DensePolynomial& dense = stepper.dense();
  std::vector<double> values(stepper.x().size());
  dense.evaluate(dense.t0 + 0.5 * dense.h, values);
  for (const double value : values) EXPECT_TRUE(std::isfinite(value));
}

TEST(FailurePaths, NoStepperSolvesWithFactorsThatFailed) {
  const int seeds = random_cases(300);
  int failures = 0, steps = 0;
  for (int seed = random_seed(1); seed < random_seed(1) + seeds; ++seed)
    for (const auto& [name, make] : implicit_steppers()) {
      SCOPED_TRACE(name + ", seed " + std::to_string(seed));
      std::mt19937 random(static_cast<unsigned>(seed));
      std::uniform_real_distribution<double> unit(0.0, 1.0);
      const std::unique_ptr<Stepper> stepper = make({.rtol = std::pow(10.0, -3.0 - 8.0 * unit(random)),
                                                     .initial_step = unit(random) < 0.5 ? 0.0 : 1e-18,
                                                     .control_dense = unit(random) < 0.5,
                                                     .keep_dense = unit(random) < 0.5});
      for (int restart = 0; restart < 3; ++restart) {
        Hostile system(static_cast<unsigned>(seed + 7919 * restart));
        const double begin = unit(random) < 0.5 ? 0.0 : 0.3;
        const std::vector<double> x = system.consistent(begin), xp = system.slopes(begin);
        const double step = unit(random) < 0.3 ? std::pow(10.0, -300.0 * unit(random)) : 0.0;
        stepper->start(system, {.t = begin, .x = x, .xp = xp, .step = step});
        for (int k = 0; k < 25; ++k) {
          const double t = stepper->t();
          const double limit =
              unit(random) < 0.2 ? std::nextafter(t, 10.0) : t + std::pow(10.0, -20.0 * unit(random) * unit(random));
          if (!(limit > t)) continue;
          const bool good = stepper->advance(limit).ok();
          ++(good ? steps : failures);
          expect_whole(*stepper, t, limit);
          if (!good && k > 20) break;
        }
      }
    }
  EXPECT_GT(failures, seeds);
  EXPECT_GT(steps, seeds);
}

}  // namespace
}  // namespace saltus
