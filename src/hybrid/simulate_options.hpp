// Checks of the options of a run.
#pragma once

#include <saltus/hybrid/simulator.hpp>

#include <cstdint>
#include <limits>

namespace saltus {

/// True if the options may end the run at an event: events are then settled one by one.
inline bool stops_at_events(const SimulateOptions& o) {
  return o.stop_if_non_unique || o.stop_if_chattering || o.shortest_interval > 0.0 ||
         o.max_events < std::numeric_limits<std::int64_t>::max();
}
/// Throws UsageError for options that make no sense.
void check_options(const SimulateOptions& options, std::size_t variables);

/// The options with an absolute tolerance for each variable, atol times its nominal value, where there are other ones
/// than 1.
SimulateOptions with_nominal_values(SimulateOptions options, std::span<const VariableInfo> variables);

}  // namespace saltus
