// Runs of members from which an atlas is learned.
#pragma once

#include <saltus/hybrid/simulator.hpp>

#include "flight/atlas.hpp"

namespace saltus {

/// Learns from a run of the model with the values of a member. Returns whether it ended well.
bool scout(Atlas& atlas, const CompiledModel& member, const SimulateOptions& options);

}  // namespace saltus
