#include "step/step_limits.hpp"

#include <saltus/base/error.hpp>

#include <algorithm>
#include <string>

#include "base/finite.hpp"

namespace saltus {

double smallest_step(double t0, double limit) {
  const double distance = std::abs(limit - t0);
  return std::max({4.0 * eps * std::abs(t0), std::isfinite(distance) ? 1e-24 * distance : 0.0, 1e-290});
}

void refuse_limit(double t0, double limit, int direction) {
  throw UsageError("Stepper::advance: the limit " + std::to_string(limit) + " is not ahead of t = " +
                   std::to_string(t0) + (direction > 0 ? " (time runs forwards)" : " (time runs backwards)"));
}

}  // namespace saltus
