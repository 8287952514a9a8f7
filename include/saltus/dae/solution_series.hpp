// Taylor coefficients of the solution of a DAE through a point.
#pragma once

#include <saltus/dae/characteristic_values.hpp>

#include <span>
#include <vector>

namespace saltus {

/// Coefficients x_[0] … x_[order+1] of the solution through a consistent x, n values each; the last one may be a guess. Needs Taylor
/// coefficients of the system. False if they could not be found: the mode is not regular there, or too large without a certificate.
bool solution_series(System& system, double t, std::span<const double> x, const CharacteristicValues& values, int order,
                     std::vector<double>& X);

}  // namespace saltus
