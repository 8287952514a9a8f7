// The memory of a saved state as a list of numbers with a seal (saved_run.cpp).
#pragma once

#include <saltus/hybrid/simulator.hpp>
#include <saltus/hybrid/simulator_state.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace saltus {

struct OpenMemory {
  std::vector<double> run;      ///< what the run had learned
  std::vector<double> history;  ///< from where it can be repeated
};

/// Adds the history and a seal to what the run has learned.
void close_memory(std::vector<double>& memory, std::span<const double> history);
/// Throws UsageError for a memory that is not as it was written.
OpenMemory open_memory(const SimulatorState& state);
/// A run that goes on from the state begins anew there, where the memory of its method cannot be saved.
void forget_history(SimulatorState& state);
/// What must be the same for a memory to be of use.
std::uint64_t identify_options(const SimulateOptions& options, int direction);

}  // namespace saltus
