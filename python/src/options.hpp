// SimulateOptions from the keyword arguments of Python, whose names they have.
#pragma once

#include <pybind11/pybind11.h>
#include <saltus/hybrid/simulator.hpp>

#include <memory>

namespace saltus::python {

/// Throws TypeError for an unknown name. `atol` and `rtol` are numbers or sequences with one number for each variable.
SimulateOptions read_options(const pybind11::dict& keywords);

/// Runs a system without the interpreter lock. Ctrl-C ends the run and raises KeyboardInterrupt, exceptions of
/// callbacks are raised.
std::shared_ptr<Trajectory> run_system(std::shared_ptr<HybridSystem> system, SimulateOptions options);

}  // namespace saltus::python
