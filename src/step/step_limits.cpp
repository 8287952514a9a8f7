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

// At least two units in the last place of t0: half of what is left before a limit beyond it is a step, too.
StepEnd end_of_smallest_step(double t0, double limit) {
  return step_end(t0, smallest_step(t0, limit), limit);
}

void refuse_limit(double t0, double limit, int direction) {
  throw UsageError("Stepper::advance: the limit " + std::to_string(limit) + " is not ahead of t = " +
                   std::to_string(t0) + (direction > 0 ? " (time runs forwards)" : " (time runs backwards)"));
}

}  // namespace saltus
