// Which variables a correction should rather move.
#pragma once

#include <saltus/dae/structural_analysis.hpp>

#include <vector>

namespace saltus {

/// Weights of the metric of corrections: 1 for variables that are never differentiated (multipliers), 1e-4 per order of
/// differentiation for the others, so that a cold multiplier is not paid for with positions and velocities.
std::vector<double> correction_preference(const Structure& structure, const StructuralAnalysis& analysis);

}  // namespace saltus
