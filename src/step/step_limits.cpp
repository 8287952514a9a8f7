#include "step/step_limits.hpp"

#include <saltus/base/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace saltus {

StepEnd step_end(double t0, double h, double limit) {
  const double remainder = limit - t0;  // may be infinite
  const double distance = std::abs(remainder);
  if (distance <= 1.01 * h) return {limit, remainder, distance < h};
  const bool halve = distance < 2.0 * h;
  const double wanted = std::copysign(halve ? 0.5 * distance : h, remainder);
  const double t1 = t0 + wanted;
  return {t1, t1 - t0, halve};
}

double smallest_step(double t0, double limit) {
  constexpr double eps = std::numeric_limits<double>::epsilon();
  const double distance = std::abs(limit - t0);
  return std::max({4.0 * eps * std::abs(t0), std::isfinite(distance) ? 1e-24 * distance : 0.0, 1e-290});
}

void check_limit(double t0, double limit, int direction) {
  if ((limit - t0) * direction > 0.0) return;
  throw UsageError("Stepper::advance: the limit " + std::to_string(limit) + " is not ahead of t = " +
                   std::to_string(t0) + (direction > 0 ? " (time runs forwards)" : " (time runs backwards)"));
}

}  // namespace saltus
