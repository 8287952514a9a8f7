// How the error of dense output inside a step is estimated where stages are evaluated for it alone (dop853).
#pragma once

namespace saltus {

/// At this place, a share of the step, h times the defect x' - f was found to be five to seven times the largest error,
/// for stiff equations and others; two tolerances are allowed.
struct DenseDefect {
  static constexpr double place = 0.63, of_tolerance = 6.0 * 2.0;
};

}  // namespace saltus
