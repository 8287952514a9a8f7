// Taylor coefficients of the solution of a DAE through a point.
#pragma once

#include <saltus/dae/characteristic_values.hpp>

#include <span>
#include <vector>

namespace saltus {

/// Coefficients x_[0] … x_[order+1] of the solution through a consistent x, n values each. Needs Taylor coefficients of
/// the system. False if they could not be found: the mode is not regular there, or too large without a certificate.
bool solution_series(System& system, double t, std::span<const double> x, const CharacteristicValues& values, int order,
                     std::vector<double>& X);

/// The same for X that begins with a consistent x, which stays; its other coefficients are guesses. Finds x_[1] …
/// x_[order]: with a certificate stage by stage, otherwise from the derivative array of level mu + order, the first that
/// determines x_[order]. Components that are kept constant (u > 0) have zeros. False: X is as before.
bool extend_series(System& system, double t, const CharacteristicValues& values, int order, std::vector<double>& X);

}  // namespace saltus
