#include "composite.hpp"

#include <algorithm>
#include <cmath>

namespace saltus {

void Composite::make_room(std::size_t n) {
  n_ = n;
  all_ = few_.empty();
  for (auto* values : {&x_, &xp_}) *values = all_ ? std::make_unique<double[]>(n) : std::make_unique_for_overwrite<double[]>(n);
}

void Composite::values_and_derivatives(double s) {
  // Horner's scheme for the value and the derivative at once.
  const std::size_t n = n_;
  const double* row = step_->c.data() + static_cast<std::size_t>(step_->degree) * n;
  double* x = x_.get();
  double* xp = xp_.get();
  if (!few_.empty()) {
    for (const int j : few_) {
      double value = row[j], slope = 0.0;
      for (int k = step_->degree; k-- > 0;) {
        slope = slope * s + value;
        value = value * s + step_->c[static_cast<std::size_t>(k) * n + static_cast<std::size_t>(j)];
      }
      x[j] = value;
      xp[j] = slope / step_->h;
    }
    return;
  }
  for (std::size_t j = 0; j < n; ++j) {
    x[j] = row[j];
    xp[j] = 0.0;
  }
  for (int k = step_->degree; k-- > 0;) {
    row -= n;
    for (std::size_t j = 0; j < n; ++j) {
      xp[j] = xp[j] * s + x[j];
      x[j] = x[j] * s + row[j];
    }
  }
  const double h = step_->h;
  for (std::size_t j = 0; j < n; ++j) xp[j] /= h;
}

void Composite::sensitivity(double s, const double* base, std::vector<double>& result) {
  constexpr double shift = 0x1p-40;  // large against rounding, small against the curvature of any guard
  const std::size_t n = n_;
  result.assign(guards_, 0.0);
  shifted_.resize(guards_);
  for (int pattern = 0; pattern < 2; ++pattern) {
    state(s);
    // Multiples of irrational numbers modulo 1 are irregular enough that shifts of several inputs do not cancel in both
    // patterns.
    const double turn = pattern == 0 ? 0.6180339887498949 : 0.4142135623730951;
    double dice = 0.25;
    const auto next_shift = [&dice, turn] {
      dice += turn;
      if (dice >= 1.0) dice -= 1.0;
      const double size = 0.5 + std::abs(dice - 0.5);
      return shift * (dice < 0.5 ? -size : size);
    };
    const double t = time(s) + next_shift() * std::max(std::abs(step_->t0), std::abs(step_->t1()));
    const auto move = [&](std::size_t j) {
      double magnitude = 0.0, slope = 0.0;
      for (int k = 0; k <= step_->degree; ++k) {
        const double c = std::abs(step_->c[static_cast<std::size_t>(k) * n + j]);
        magnitude += c;
        slope += k * c;
      }
      x_[j] += next_shift() * magnitude;
      const double turned = next_shift() * slope / std::abs(step_->h);
      if (with_derivatives_) xp_[j] += turned;
    };
    for (const int j : few_) move(static_cast<std::size_t>(j));
    for (std::size_t j = 0; few_.empty() && j < n; ++j) move(j);
    system_->guards(t, {x_.get(), n}, {xp_.get(), n}, shifted_);
    ++evaluations;
    for (std::size_t k = 0; k < guards_; ++k) {
      const double moved = std::abs(shifted_[k] - base[k]) / shift;
      if (std::isfinite(moved)) result[k] = std::max(result[k], moved);
    }
  }
}

}  // namespace saltus
