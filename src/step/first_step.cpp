#include "step/first_step.hpp"

#include <saltus/base/error.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace saltus {

void check_start(std::string_view method, const Structure& structure, const StartPoint& point) {
  const auto n = static_cast<std::size_t>(structure.variables);
  const std::string who(method);
  if (point.x.size() != n)
    throw UsageError(who + ": the start point has " + std::to_string(point.x.size()) + " values for " +
                     std::to_string(n) + " variables");
  if (point.xp.size() != n && !(point.xp.empty() && structure.explicit_ode))
    throw UsageError(who + ": the start point of a DAE needs consistent derivatives xp, one per variable");
  if (point.direction != 1 && point.direction != -1) throw UsageError(who + ": StartPoint::direction must be +1 or -1");
}

double first_step_from_slopes(double t, double limit, double max_step, const Tolerances& tolerances,
                              const Structure& structure, std::span<const double> x, std::span<const double> xp) {
  double distance = std::min(std::abs(limit - t), max_step);
  if (!std::isfinite(distance)) distance = std::max(1.0, std::abs(t));
  double d0 = 0.0, d1 = 0.0;
  for (int j = 0; j < structure.variables; ++j) {
    if (!structure.differentiated(j)) continue;
    const double scale = tolerances.scale(j, std::abs(x[j]));
    d0 = std::max(d0, std::abs(x[j]) / scale);
    d1 = std::max(d1, std::abs(xp[j]) / scale);
  }
  const double guess = d0 < 1e-5 || d1 < 1e-5 ? 1e-4 * distance : 0.01 * (d0 / d1);
  return std::min(guess, distance);
}

}  // namespace saltus
