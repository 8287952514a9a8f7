// Which clauses of a round must wait for others.
#pragma once

#include <saltus/model/model.hpp>

#include <span>
#include <vector>

namespace saltus {

/// The clauses by levels, in the order in which they are written. A clause waits for those before it that assign what its condition or its values
/// need, directly or through definitions; clauses of one chain (elsewhen) are on one level. Nobody waits for what several chains assign: its values
/// are seen one after the other, a round each. Samples, which act before everybody else, are left out.
std::vector<std::vector<int>> clause_levels(std::span<const ModelData::Clause> clauses, std::span<const ModelData::Definition> definitions);

}  // namespace saltus
