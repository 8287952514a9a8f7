// compile: a model made ready to run.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/model/model.hpp>
#include <saltus/program/program.hpp>

#include <memory>
#include <vector>

namespace saltus {

/// A model whose loops have been kept (see docs/developer/cells.md) is compiled loop by loop, if its cells read nothing
/// but each other's states; any other becomes a CompiledModel. Both give the same results. Throws as CompiledModel
/// does.
std::shared_ptr<HybridSystem> compile(const Model& model, const ProgramOptions& options = {});
/// The parameters of a system that `compile` has made, with type, unit and description; `start` is the value. None for
/// others.
std::vector<VariableInfo> parameter_info(const HybridSystem& system);

}  // namespace saltus
