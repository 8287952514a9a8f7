// Taylor series method. Step size after Jorba and Zou (see the header), over the last five orders; the defect P'(h) -
// f(t + h, P(h)) at the end of the step, times h, is the error that is tested.
#include <saltus/step/taylor.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "step/first_step.hpp"
#include "step/step_limits.hpp"
#include "step/tolerances.hpp"

namespace saltus {
namespace {

constexpr int fewest = 2, most = 60;

class Taylor final : public Stepper {
 public:
  Taylor(StepOptions options, TaylorOptions taylor) : options_(std::move(options)), order_(taylor.order) {
    if (order_ != 0 && (order_ < fewest || order_ > most))
      throw UsageError("make_taylor: the order must be 2 to 60, or 0 for a choice by the tolerance, not " +
                       std::to_string(order_));
    if (order_ == 0) {
      const double tolerance =
          options_.rtol > 0.0 ? options_.rtol : *std::min_element(options_.atol.begin(), options_.atol.end());
      order_ = std::clamp(static_cast<int>(std::ceil(1.0 - 0.5 * std::log(std::max(tolerance, 1e-17)))), 6, 30);
    }
  }

  std::string_view name() const override { return "Taylor"; }
  int order() const override { return order_; }
  void start(System& system, const StartPoint& point) override;
  StepOutcome advance(double limit) override;
  double t() const override { return t_; }
  std::span<const double> x() const override { return x_; }
  std::span<const double> xp() const override { return xp_; }
  const DensePolynomial& dense() override;
  double next_step() const override { return h_next_; }
  double error() const override { return error_; }

 private:
  enum class Attempt { good, inaccurate, not_finite };
  Attempt attempt(const StepEnd& end);
  double series_step() const;

  StepOptions options_;
  int order_;
  Tolerances tolerances_;
  System* system_ = nullptr;
  int direction_ = 1;
  std::vector<double> x_, xp_, X_, x_new_, xp_new_;
  double t_ = 0.0, t_old_ = 0.0, h_done_ = 0.0, h_next_ = 0.0, error_ = 0.0;
  bool first_ = true, started_badly_ = false;
  int bad_ = -1, worst_ = -1;
  DensePolynomial dense_;
  bool dense_ready_ = false;
};

void Taylor::start(System& system, const StartPoint& point) {
  const Structure& structure = system.structure();
  if (!structure.explicit_ode || !structure.taylor)
    throw UsageError(
        "Taylor: the system must be an explicit ODE with Taylor coefficients; choose another method for this mode");
  check_start(name(), structure, point);
  tolerances_.set(options_, structure.variables);
  system_ = &system;
  const auto n = static_cast<std::size_t>(structure.variables);
  for (auto* v : {&x_, &xp_, &x_new_, &xp_new_}) v->resize(n);
  X_.resize(n * static_cast<std::size_t>(order_ + 1));
  dense_.degree = order_;
  dense_.variables = structure.variables;
  dense_.c.assign(X_.size(), 0.0);
  direction_ = point.direction;
  t_ = t_old_ = dense_.t0 = point.t;
  dense_.h = h_done_ = 0.0;
  std::copy(point.x.begin(), point.x.end(), x_.begin());
  std::copy(x_.begin(), x_.end(), dense_.c.begin());
  dense_ready_ = true;
  bad_ = first_not_finite(x_);
  if (bad_ < 0) {
    system.rhs(t_, x_, xp_);
    ++statistics_.evaluations;
    bad_ = first_not_finite(xp_);
  }
  started_badly_ = bad_ >= 0;
  h_next_ = std::min(point.step > 0.0 ? point.step : options_.initial_step, options_.max_step);
  first_ = true;
  error_ = 0.0;
}

/// The smallest radius of convergence R = (|x| / |x_[i]|)^(1/i) that the last five orders of a variable suggest, times
/// (3 tol)^(1/p): there the last term is three times the tolerance, and what is left out less than that by about
/// tol^(1/p) = 1/e^2. |x| is the size that the tolerance refers to, scale/tol, with tol = rtol, or atol where rtol is
/// zero.
double Taylor::series_step() const {
  const std::size_t n = x_.size();
  const double rtol = tolerances_.rtol();
  double h = std::numeric_limits<double>::infinity();
  for (int i = std::max(1, order_ - 4); i <= order_; ++i) {
    const double power = static_cast<double>(i) / order_,
                 common = rtol > 0.0 ? std::pow(3.0 * rtol, power) / rtol : 0.0;
    double largest = 0.0;
    for (std::size_t j = 0; j < n; ++j) {
      const double c = std::abs(X_[static_cast<std::size_t>(i) * n + j]);
      const double allowed = rtol > 0.0 ? common * tolerances_.scale(static_cast<int>(j), std::abs(x_[j]))
                                        : std::pow(3.0 * tolerances_.atol()[j], power);
      largest = std::max(largest, c / allowed);
    }
    if (largest > 0.0) h = std::min(h, std::pow(largest, -1.0 / i));
  }
  return h;
}

Taylor::Attempt Taylor::attempt(const StepEnd& end) {
  const std::size_t n = x_.size();
  const double h = end.h;
  std::fill(x_new_.begin(), x_new_.end(), 0.0);
  for (int k = order_; k >= 0; --k) {
    const double* c = X_.data() + static_cast<std::size_t>(k) * n;
    for (std::size_t j = 0; j < n; ++j) x_new_[j] = x_new_[j] * h + c[j];
  }
  bad_ = first_not_finite(x_new_);
  if (bad_ >= 0) return Attempt::not_finite;
  system_->rhs(end.t, x_new_, xp_new_);
  ++statistics_.evaluations;
  bad_ = first_not_finite(xp_new_);
  if (bad_ >= 0) return Attempt::not_finite;
  error_ = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    double slope = 0.0;
    for (int k = order_; k >= 1; --k) slope = slope * h + k * X_[static_cast<std::size_t>(k) * n + j];
    const double scale = tolerances_.scale(static_cast<int>(j), std::max(std::abs(x_[j]), std::abs(x_new_[j])));
    const double ratio = std::abs(h * (slope - xp_new_[j])) / ((order_ + 1) * scale);
    if (ratio > error_) error_ = ratio, worst_ = static_cast<int>(j);
  }
  return error_ <= 1.0 ? Attempt::good : Attempt::inaccurate;
}

StepOutcome Taylor::advance(double limit) {
  if (system_ == nullptr) throw UsageError("Taylor: call start before advance");
  check_limit(t_, limit, direction_);
  if (started_badly_) return {StepResult::not_finite, bad_};
  std::copy(x_.begin(), x_.end(), X_.begin());
  system_->solution_taylor(t_, order_, X_);
  ++statistics_.evaluations;
  if (const int bad = first_not_finite(X_); bad >= 0)
    return {StepResult::not_finite, bad % static_cast<int>(x_.size())};
  double h = std::min(series_step(), options_.max_step);
  if (first_ && h_next_ > 0.0) h = std::min(h, h_next_);
  const double distance = std::abs(limit - t_);
  if (!std::isfinite(h)) h = std::isfinite(distance) ? distance : std::max(1.0, std::abs(t_));  // the series has ended
  const double smallest = smallest_step(t_, limit);
  for (;;) {
    const StepEnd end = step_end(t_, h, limit);
    const Attempt result = attempt(end);
    const double size = std::abs(end.h);
    if (result == Attempt::good) {
      h_next_ = end.cut ? h : size;
      x_.swap(x_new_);
      xp_.swap(xp_new_);
      t_old_ = t_;
      t_ = end.t;
      h_done_ = end.h;
      first_ = false;
      dense_ready_ = false;
      ++statistics_.steps;
      return {};
    }
    ++statistics_.rejected;
    if (h <= smallest || size <= smallest) {  // the end of the step is rounded: size may stay above
      error_ = 0.0;
      return result == Attempt::not_finite ? StepOutcome{StepResult::not_finite, bad_}
                                           : StepOutcome{StepResult::step_too_small, worst_};
    }
    const double factor =
        result == Attempt::not_finite ? 0.25 : std::clamp(0.9 * std::pow(error_, -1.0 / order_), 0.25, 0.9);
    h = std::max(size * factor, smallest);
  }
}

const DensePolynomial& Taylor::dense() {
  if (dense_ready_) return dense_;
  dense_ready_ = true;
  dense_.t0 = t_old_;
  dense_.h = h_done_;
  const std::size_t n = x_.size();
  double power = 1.0;
  for (std::size_t k = 0; k <= static_cast<std::size_t>(order_); ++k, power *= h_done_)
    for (std::size_t j = 0; j < n; ++j) dense_.c[k * n + j] = power * X_[k * n + j];
  return dense_;
}

}  // namespace

std::unique_ptr<Stepper> make_taylor(StepOptions options, TaylorOptions taylor) {
  return std::make_unique<Taylor>(std::move(options), taylor);
}

}  // namespace saltus
