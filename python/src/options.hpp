// SimulateOptions from the keyword arguments of Python, whose names they have.
#pragma once

#include <pybind11/pybind11.h>
#include <saltus/hybrid/simulator.hpp>

namespace saltus::python {

/// Throws TypeError for an unknown name. `atol` and `rtol` are numbers or sequences with one number for each variable.
/// Ctrl-C ends runs with these options.
SimulateOptions read_options(const pybind11::dict& keywords);

/// The same for searches, which make many runs one after the other: Ctrl-C throws KeyboardInterrupt out of the run, and
/// so out of the search.
SimulateOptions read_options_of_search(const pybind11::dict& keywords);

}  // namespace saltus::python
