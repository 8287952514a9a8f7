#include "options.hpp"

#include <pybind11/stl.h>
#include <saltus/base/error.hpp>
#include <saltus/hybrid/input_signal.hpp>
#include <saltus/hybrid/methods.hpp>

#include <map>
#include <string>

#include "arrays.hpp"
#include "interpreter.hpp"

namespace py = pybind11;

namespace saltus::python {
namespace {

Method method_named(const std::string& name) {
  const auto found = find_method(name);
  if (!found) throw UsageError("there is no method '" + name + "'; there are " + method_summary());
  return *found;
}

void read_option(const std::string& name, const py::handle& value, SimulateOptions& o) {
  if (name == "start")
    o.start = value.cast<double>();
  else if (name == "stop")
    o.stop = value.cast<double>();
  else if (name == "rtol" && py::isinstance<py::float_>(value))
    o.rtol = value.cast<double>();
  else if (name == "rtol")
    o.rtol_each = list_of(value);
  else if (name == "atol" && py::isinstance<py::float_>(value))
    o.atol = value.cast<double>();
  else if (name == "atol")
    o.atol_each = list_of(value);
  else if (name == "max_step")
    o.max_step = value.cast<double>();
  else if (name == "initial_step")
    o.initial_step = value.cast<double>();
  else if (name == "inputs")
    o.inputs = value.cast<std::map<std::string, InputSignal>>();
  else if (name == "max_order")
    o.max_order = value.cast<int>();
  else if (name == "max_steps")
    o.max_steps = value.cast<std::int64_t>();
  else if (name == "max_mode_changes")
    o.max_mode_changes = value.cast<int>();
  else if (name == "mode_methods")
    for (const auto& [mode, method] : value.cast<std::map<std::string, std::string>>())
      o.mode_methods[mode] = method_named(method);
  else if (name == "keep_event_values")
    o.keep_event_values = value.cast<bool>();
  else if (name == "stop_if_non_unique")
    o.stop_if_non_unique = value.cast<bool>();
  else if (name == "stop_if_chattering")
    o.stop_if_chattering = value.cast<bool>();
  else if (name == "keep_steps")
    o.keep_steps = value.cast<bool>();
  else if (name == "method")
    o.method = method_named(value.cast<std::string>());
  else
    throw py::type_error("simulate has no option '" + name + "'");
}

}  // namespace

SimulateOptions read_options(const py::dict& keywords) {
  SimulateOptions options;
  for (const auto& [name, value] : keywords) read_option(name.cast<std::string>(), value, options);
  options.progress = [](const Progress&) { return not_interrupted(); };
  return options;
}

SimulateOptions read_options_of_search(const py::dict& keywords) {
  SimulateOptions options = read_options(keywords);
  options.progress = [](const Progress&) {
    const py::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    return true;
  };
  return options;
}

}  // namespace saltus::python
