// States of runs as files: a run goes on where another one has ended.
#pragma once

#include <saltus/hybrid/simulator_state.hpp>

#include <ostream>
#include <string>

namespace saltus {

/// Writes a state as JSON: "format": "saltus state", "version": 3, the members of SimulatorState, and a checksum.
/// Numbers read back exactly; those that are not finite are texts.
void write_state(std::ostream& out, const SimulatorState& state);

/// Reads what write_state has written. Throws UsageError, with the name of the file, for what is no state, is of
/// another version, or is not as it was written. Whether the state fits a model is decided where a run goes on from it.
SimulatorState read_state(const std::string& file);

}  // namespace saltus
