// Large systems with more equations than variables.
#pragma once

#include <saltus/dae/characteristic_values.hpp>

#include <span>

namespace saltus {

/// Decides systems in which as many equations as variables are regular without hidden constraints, and the others follow
/// from them. Fills numbers, status and X, or the reason why nothing could be decided. result.structure must be there.
void analyse_redundant(System& system, double t, std::span<const double> x, const CharacteristicOptions& options,
                       CharacteristicValues& result);

}  // namespace saltus
