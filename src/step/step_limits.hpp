// Where a step ends: exactly on the limit, never leaving a sliver before it.
#pragma once

namespace saltus {

/// The end of the next step of a run that wants steps of size h (positive).
struct StepEnd {
  double t;  ///< t0 + h of this step, rounded to a representable time
  double h;  ///< the difference of both times, signed
  bool cut;  ///< shorter than wanted because the limit is near
};

/// A remainder of at most 1.01 h is one step; one below 2 h is halved, so that no tiny step is left over.
StepEnd step_end(double t0, double h, double limit);

/// Steps below this (about four units of rounding of t) are not tried.
double smallest_step(double t0, double limit);

/// Throws UsageError unless limit is a time ahead of t0 in this direction.
void check_limit(double t0, double limit, int direction);

}  // namespace saltus
