// Proportional-integral control of the step size (K. Gustafsson, ACM TOMS 17 (1991) 533-554), in the form of Hairer,
// Norsett, Wanner I, II.4.
#pragma once

#include <algorithm>

#include "step/fast_power.hpp"

namespace saltus {

/// Errors are relative to the tolerance: 1 is just good enough.
class StepController {
 public:
  StepController() = default;
  /// The error behaves like h^exponent; `beta` weighs the previous error (0: none); the factors of h stay within the
  /// limits.
  StepController(int exponent, double beta, double shrink_limit, double growth_limit)
      : rejected_power_(-1.0 / exponent),
        power_(rejected_power_ + 0.75 * beta),
        beta_(beta),
        shrink_limit_(shrink_limit),
        growth_limit_(growth_limit) {}

  void restart() { previous_error_ = 1e-4; }

  /// h_new/h after an accepted step. No growth right after a rejection.
  double after_success(double error, bool after_rejection) {
    double factor = safety * fast_power(std::max(error, 1e-10), power_);
    if (beta_ != 0.0) factor *= fast_power(previous_error_, beta_);
    previous_error_ = std::max(error, 1e-4);
    return std::clamp(factor, shrink_limit_, after_rejection ? 1.0 : growth_limit_);
  }

  /// h_new/h after a step whose error was too large.
  double after_rejection(double error) const { return after_rejection(error, shrink_limit_); }
  /// The same with another limit: the first step after a restart may be much too long.
  double after_rejection(double error, double shrink_limit) const {
    return std::clamp(safety * fast_power(std::min(error, 1e30), rejected_power_), shrink_limit, safety);
  }

  static constexpr double safety = 0.9;
  /// h_new/h after a step that could not be evaluated.
  static constexpr double after_not_finite = 0.25;

 private:
  double rejected_power_ = -0.2, power_ = -0.2, beta_ = 0.0, shrink_limit_ = 0.2, growth_limit_ = 5.0;
  double previous_error_ = 1e-4;
};

}  // namespace saltus
