// Passes of loops, components and connections joined to cells: what must be decided together is one cell.
#pragma once

#include <memory>

#include "model/repeated_model.hpp"

namespace saltus {

/// Makes cells of passes that read algebraic or discrete variables of each other. Null: some cell would be large, or
/// the passes do not determine their variables one block after the other.
std::shared_ptr<const RepeatedModel> join_passes(const RepeatedModel& passes);

}  // namespace saltus
