// What implicit steppers do at a start: check the point, and choose a first step from values and slopes.
#pragma once

#include <saltus/step/stepper.hpp>

#include <span>
#include <string_view>

#include "step/tolerances.hpp"

namespace saltus {

/// Throws UsageError, with the method's name in the text, if the point does not fit the system.
void check_start(std::string_view method, const Structure& structure, const StartPoint& point);

/// A hundredth of the time in which the differentiated variables change by their own size, counted relative to the
/// tolerances (Hairer, Norsett, Wanner I, II.4, without the second evaluation: an implicit method corrects a bad guess
/// within two or three steps).
double first_step_from_slopes(double t, double limit, double max_step, const Tolerances& tolerances,
                              const Structure& structure, std::span<const double> x, std::span<const double> xp);

}  // namespace saltus
