// A start that is not near its guess.
#pragma once

#include <saltus/dae/structural_analysis.hpp>

#include <span>
#include <string>

namespace saltus {

/// What the user should know if the start x, x' lies farther from the guess than the guess from zero, and the equations
/// of that variable are singular in between, so that they may have another solution nearer; "" if not.
std::string describe_far_root(System& system, const StructuralAnalysis& structure, double t,
                              std::span<const double> guess, std::span<const double> x, std::span<const double> xp);

}  // namespace saltus
