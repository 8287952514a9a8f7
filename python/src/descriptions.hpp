// Parts of a result as dicts, with the keys of the JSON files.
#pragma once

#include <pybind11/pybind11.h>
#include <saltus/hybrid/trajectory.hpp>
#include <saltus/modelica/modelica.hpp>

#include <vector>

namespace saltus::python {

/// Values by the names of their variables.
pybind11::dict named(const std::vector<double>& values, const std::vector<VariableInfo>& variables);
pybind11::dict describe(const Event& event, const std::vector<VariableInfo>& variables);
pybind11::dict describe(const Experiment& experiment);
pybind11::dict describe(const Status& status);
pybind11::dict describe(const RunStatistics& statistics);

}  // namespace saltus::python
