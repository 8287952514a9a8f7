// The error test that all steppers share.
#pragma once

#include <saltus/step/stepper.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "base/finite.hpp"

namespace saltus {

/// Checks the options once and spreads them over n variables.
class Tolerances {
 public:
  /// Throws UsageError for options that make no sense for n variables. spread: atol() has n entries, even if one number
  /// is given for all.
  void set(const StepOptions& options, int n, bool spread = true);

  /// Makes rtol factor * rtol^power and atol follow in proportion (or by the same formula where rtol is zero): for
  /// methods whose error estimate is of much lower order than their result.
  void rescale(double factor, double power);

  /// The relative tolerance of all variables, or the smallest one.
  double rtol() const { return rtol_; }
  /// That of variable j.
  double rtol(std::size_t j) const { return rtol_each_.empty() ? rtol_ : rtol_each_[j]; }
  /// Relative tolerances by variable; null: all have rtol().
  const double* rtol_each() const { return rtol_each_.empty() ? nullptr : rtol_each_.data(); }
  /// A number that stands for the whole: rtol, or the largest atol where rtol is zero.
  double typical() const { return rtol_ > 0.0 ? rtol_ : *std::max_element(atol_.begin(), atol_.end()); }
  /// The error that is allowed in variable j when it is of size `magnitude`.
  double scale(int j, double magnitude) const {
    const auto place = static_cast<std::size_t>(j);
    return atol_[one_for_all() ? 0 : place] + rtol(place) * magnitude;
  }
  bool one_for_all() const { return atol_.size() == 1; }
  const double* atol() const { return atol_.data(); }
  /// The largest |v_j| over what is allowed at x_j, over those variables for which `counts` is not zero (null: all),
  /// and which it was (if worst is not null). Infinite if a value is not a number.
  double largest_ratio(std::span<const double> v, std::span<const double> x, const char* counts,
                       int* worst = nullptr) const {
    double largest = 0.0;
    for (std::size_t j = 0; j < v.size(); ++j) {
      if (counts && !counts[j]) continue;
      const double ratio = std::abs(v[j]) / scale(static_cast<int>(j), std::abs(x[j]));
      if (ratio <= largest) continue;
      largest = ratio;
      if (worst) *worst = static_cast<int>(j);
      if (std::isnan(ratio)) return std::numeric_limits<double>::infinity();
    }
    return largest;
  }

 private:
  double rtol_ = 0.0;
  std::vector<double> rtol_each_;  // empty: all have rtol_
  std::vector<double> atol_;
};

/// marks[j] := whether the derivative of variable j occurs.
inline void mark_differentiated(const Structure& structure, std::vector<char>& marks) {
  marks.resize(static_cast<std::size_t>(structure.variables));
  for (std::size_t j = 0; j < marks.size(); ++j) marks[j] = structure.differentiated(static_cast<int>(j));
}

}  // namespace saltus
