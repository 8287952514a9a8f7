// --log steps: what every step did, for those who want to see why a run is slow.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/hybrid/simulator.hpp>

#include <ostream>

namespace saltus::cli {

/// Runs to the end and writes a line for each step: its end, its size, the number of events there, what has limited it
/// (a guard, or the variable whose error was largest), the mode where it changes. At the end it says where the steps
/// are, sums up what has limited them, and names the shortest.
void run_with_log(Simulator& simulator, const HybridSystem& system, const SimulateOptions& options, std::ostream& log);

}  // namespace saltus::cli
