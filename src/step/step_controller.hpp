// Proportional-integral control of the step size (K. Gustafsson, ACM TOMS 17 (1991) 533-554), in the form of Hairer,
// Norsett, Wanner I, II.4.
#pragma once

#include <saltus/base/state_archive.hpp>

#include <algorithm>
#include <cmath>

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

  void restart() {
    previous_error_ = 1e-4;
    failed_size_ = 0.0;
  }

  /// h_new/h after an accepted step. No growth right after a rejection.
  double after_success(double error, bool after_rejection) {
    double factor = safety * fast_power(std::max(error, 1e-10), power_);
    if (beta_ != 0.0) factor *= fast_power(previous_error_, beta_);
    previous_error_ = std::max(error, 1e-4);
    failed_size_ = 0.0;
    return std::clamp(factor, shrink_limit_, after_rejection ? 1.0 : growth_limit_);
  }

  /// h_new/h after a step of this size whose error was too large. Where two attempts have shown that the error falls
  /// more slowly than the method promises (a jump in a boundary value, say), what they show is believed.
  double after_rejection(double error, double size) {
    error = std::min(error, 1e30);
    double power = rejected_power_, limit = shrink_limit_;
    if (failed_size_ > size && failed_error_ > error) {
      const double exponent = std::log(failed_error_ / error) / std::log(failed_size_ / size);
      if (exponent < -0.7 / rejected_power_) {
        power = -1.0 / std::max(exponent, 0.2);
        limit = 1e-3;
      }
    }
    failed_size_ = size;
    failed_error_ = error;
    return std::clamp(safety * fast_power(error, power), limit, safety);
  }

  static constexpr double safety = 0.9;
  /// h_new/h after a step that could not be evaluated.
  static constexpr double after_not_finite = 0.25;

  void persist(StateArchive& archive) { archive(previous_error_, failed_size_, failed_error_); }

 private:
  double rejected_power_ = -0.2, power_ = -0.2, beta_ = 0.0, shrink_limit_ = 0.2, growth_limit_ = 5.0;
  double previous_error_ = 1e-4;
  double failed_size_ = 0.0, failed_error_ = 0.0;  // of the last attempt at this step, if it failed
};

}  // namespace saltus
