// Checks of the options of a run.
#pragma once

#include <saltus/hybrid/simulator.hpp>

namespace saltus {

/// Throws UsageError for options that make no sense.
void check_options(const SimulateOptions& options, std::size_t variables);

/// The options with an absolute tolerance for each variable, atol times its nominal value, where there are other ones
/// than 1.
SimulateOptions with_nominal_values(SimulateOptions options, std::span<const VariableInfo> variables);

}  // namespace saltus
