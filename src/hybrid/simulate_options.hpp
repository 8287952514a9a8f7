// Checks of the options of a run.
#pragma once

#include <saltus/hybrid/simulator.hpp>

namespace saltus {

/// Throws UsageError for options that make no sense.
void check_options(const SimulateOptions& options, std::size_t variables);

}  // namespace saltus
