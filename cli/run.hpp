// saltus run: solves a model and shows what happened.
#pragma once

#include <saltus/hybrid/trajectory.hpp>

#include <cstddef>
#include <ostream>

#include "cli/app.hpp"

namespace saltus::cli {

struct RunParts;

Command run_command();
/// With these parts only: other runs are refused.
Command run_command(const RunParts& parts);

/// A table of the events, at most `limit` of them; with the system that ran, impulses at them.
void print_events(std::ostream& out, const Trajectory& run, std::size_t limit, HybridSystem* system = nullptr);
/// Status, mode, final values and statistics.
void print_summary(std::ostream& out, const Trajectory& run);

}  // namespace saltus::cli
