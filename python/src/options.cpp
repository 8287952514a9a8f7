#include "options.hpp"

#include <pybind11/stl.h>
#include <saltus/base/error.hpp>
#include <saltus/hybrid/input_signal.hpp>
#include <saltus/hybrid/methods.hpp>

#include <map>
#include <string>
#include <type_traits>
#include <vector>

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

using Reader = void (*)(const py::handle& value, SimulateOptions& options);

template <auto Member>
void read(const py::handle& value, SimulateOptions& options) {
  options.*Member = value.cast<std::remove_reference_t<decltype(options.*Member)>>();
}

/// A tolerance is a number, or has a number for each variable.
template <auto Member, auto Each>
void read_tolerance(const py::handle& value, SimulateOptions& options) {
  if (py::isinstance<py::float_>(value))
    options.*Member = value.cast<double>();
  else
    options.*Each = list_of(value);
}

void read_mode_methods(const py::handle& value, SimulateOptions& options) {
  for (const auto& [mode, method] : value.cast<std::map<std::string, std::string>>())
    options.mode_methods[mode] = method_named(method);
}

const std::map<std::string, Reader>& readers() {
  using O = SimulateOptions;
  static const std::map<std::string, Reader> table{
      {"start", read<&O::start>},
      {"stop", read<&O::stop>},
      {"rtol", read_tolerance<&O::rtol, &O::rtol_each>},
      {"atol", read_tolerance<&O::atol, &O::atol_each>},
      {"max_step", read<&O::max_step>},
      {"initial_step", read<&O::initial_step>},
      {"inputs", read<&O::inputs>},
      {"max_order", read<&O::max_order>},
      {"max_steps", read<&O::max_steps>},
      {"flights_after", read<&O::flights_after>},
      {"local_events_from", read<&O::local_events_from>},
      {"max_mode_changes", read<&O::max_mode_changes>},
      {"max_events", read<&O::max_events>},
      {"shortest_interval", read<&O::shortest_interval>},
      {"mode_methods", read_mode_methods},
      {"keep_event_values", read<&O::keep_event_values>},
      {"stop_if_non_unique", read<&O::stop_if_non_unique>},
      {"stop_if_chattering", read<&O::stop_if_chattering>},
      {"keep_steps", read<&O::keep_steps>},
      {"method", [](const py::handle& value, O& o) { o.method = method_named(value.cast<std::string>()); }},
  };
  return table;
}

void read_option(const std::string& name, const py::handle& value, SimulateOptions& options) {
  const auto found = readers().find(name);
  if (found != readers().end()) try {
      return found->second(value, options);
    } catch (const py::cast_error&) {
      throw py::type_error("the option '" + name + "' cannot be " + py::repr(value).cast<std::string>());
    }
  std::vector<std::string> names;
  for (const auto& [known, reader] : readers()) names.push_back(known);
  const std::string near = nearest_name(name, names);
  throw py::type_error("there is no option '" + name + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?"));
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
