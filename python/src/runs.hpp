// Runs from beginning to end.
#pragma once

#include <saltus/hybrid/simulator.hpp>
#include <saltus/hybrid/trajectory.hpp>

#include <memory>

namespace saltus::python {

/// Runs a system without the interpreter lock. Exceptions of callbacks are raised. Ctrl-C raises KeyboardInterrupt,
/// whose attribute `run` is what there is up to then.
std::shared_ptr<Trajectory> run_system(const std::shared_ptr<HybridSystem>& system, const SimulateOptions& options);

}  // namespace saltus::python
