// Characteristic values of systems too large for dense decompositions of the whole array, and without a certificate.
#pragma once

#include <saltus/dae/characteristic_values.hpp>

#include <span>

namespace saltus {

/// Fills numbers, status, X and the components that can be chosen freely, or the reason why nothing could be decided.
/// result.structure must be there, and not singular.
void analyse_blocks(System& system, double t, std::span<const double> x, const CharacteristicOptions& options,
                    CharacteristicValues& result);

}  // namespace saltus
