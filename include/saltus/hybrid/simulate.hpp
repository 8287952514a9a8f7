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

/// The same for any hybrid system.
Trajectory simulate(std::shared_ptr<HybridSystem> system, const SimulateOptions& options = {});

}  // namespace saltus
