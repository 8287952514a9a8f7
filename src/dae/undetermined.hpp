// What the equations of a mode leave open.
#pragma once

#include <saltus/dae/characteristic_values.hpp>

#include <vector>

namespace saltus {

/// Directions of x, in the scaling of the values, that neither constraints nor derivatives restrict: n x u, orthonormal
/// columns. Empty if u = 0, and for modes without projectors.
Matrix undetermined_directions(System& system, double t, const CharacteristicValues& values);

/// As many variables as directions: constant, they leave nothing open. One after the other, that with the largest part
/// in what the ones before leave; of equal ones the first.
std::vector<int> choose_constant_components(Matrix directions);

}  // namespace saltus
