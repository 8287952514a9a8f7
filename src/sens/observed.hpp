// What a user sees of a mode, as expressions of what its system carries.
#pragma once

#include <saltus/model/compiled_model.hpp>
#include <saltus/model/recorded_system.hpp>

#include <vector>

#include "sens/linear_mode.hpp"

namespace saltus {

/// The observed variables, in their order, in the graph of the system.
std::vector<Expr> observed_variables(const CompiledModel& model, const Mode& mode, const RecordedSystem& system);

/// A function of observed variables, parameters and time, which it names, as one of the unknowns of a mode. Throws
/// UsageError for symbols that the model does not have, for derivatives and for relations.
Expr function_of_mode(const Expr& f, const CompiledModel& model, const Mode& mode, const RecordedSystem& system,
                      const LinearMode& linear);

}  // namespace saltus
