// Where a step ends: exactly on the limit, never leaving a sliver before it.
#pragma once

#include <cmath>

namespace saltus {

/// The end of the next step of a run that wants steps of size h (positive). Never t0 itself.
struct StepEnd {
  double t;  ///< t0 + h of this step, rounded to a representable time
  double h;  ///< the difference of both times, signed
  bool cut;  ///< shorter than wanted because the limit is near
};

/// The same for a wanted size below the resolution of time at t0: after the smallest step.
StepEnd end_of_smallest_step(double t0, double limit);

/// A remainder of at most 1.01 h is one step; one below 2 h is halved, so that no tiny step is left over.
inline StepEnd step_end(double t0, double h, double limit) {
  const double remainder = limit - t0;  // may be infinite
  const double distance = std::abs(remainder);
  if (distance <= 1.01 * h) return {limit, remainder, distance < h};
  const bool halve = distance < 2.0 * h;
  const double wanted = std::copysign(halve ? 0.5 * distance : h, remainder);
  const double t1 = t0 + wanted;
  if (t1 == t0) return end_of_smallest_step(t0, limit);
  return {t1, t1 - t0, halve};
}

/// Steps below this (about four units of rounding of t) are not tried.
double smallest_step(double t0, double limit);

[[noreturn]] void refuse_limit(double t0, double limit, int direction);
/// Throws UsageError unless limit is a time ahead of t0 in this direction.
inline void check_limit(double t0, double limit, int direction) {
  if (!((limit - t0) * direction > 0.0)) refuse_limit(t0, limit, direction);
}

}  // namespace saltus
