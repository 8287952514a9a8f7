#include "step/step_limits.hpp"

#include <saltus/base/error.hpp>

#include <algorithm>
#include <limits>
#include <string>

namespace saltus {

double smallest_step(double t0, double limit) {
  constexpr double eps = std::numeric_limits<double>::epsilon();
  const double distance = std::abs(limit - t0);
  return std::max({4.0 * eps * std::abs(t0), std::isfinite(distance) ? 1e-24 * distance : 0.0, 1e-290});
}

void refuse_limit(double t0, double limit, int direction) {
  throw UsageError("Stepper::advance: the limit " + std::to_string(limit) + " is not ahead of t = " +
                   std::to_string(t0) + (direction > 0 ? " (time runs forwards)" : " (time runs backwards)"));
}

}  // namespace saltus
