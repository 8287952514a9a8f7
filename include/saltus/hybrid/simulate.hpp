// simulate: the front door. One call from a model to a trajectory.
#pragma once

#include <saltus/hybrid/simulator.hpp>
#include <saltus/hybrid/trajectory.hpp>
#include <saltus/model/compiled_model.hpp>
#include <saltus/model/model.hpp>

#include <memory>

namespace saltus {

/// Compiles and runs a model. Throws ModelError or UsageError for what is wrong before the run; what goes wrong in the run is told by the
/// trajectory's status, and the trajectory reaches up to there.
/// `program` says how expressions are evaluated (native code or interpreter).
Trajectory simulate(const Model& model, const SimulateOptions& options = {}, const ProgramOptions& program = {});

/// Runs a model that has been compiled already. Any number of threads may do so at the same time, with the same
/// results.
Trajectory simulate(const CompiledModel& model, const SimulateOptions& options = {});

/// The same for any hybrid system. The run evaluates an instance of its own, if the system has instances
/// (HybridSystem::instance), and otherwise the system itself.
Trajectory simulate(std::shared_ptr<HybridSystem> system, const SimulateOptions& options = {});

}  // namespace saltus
