// Values of inputs over the time of a run, and snapshots of runs.
#include <pybind11/stl.h>
#include <saltus/base/error.hpp>
#include <saltus/hybrid/input_signal.hpp>
#include <saltus/io/state_file.hpp>

#include <memory>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "files.hpp"
#include "interpreter.hpp"

namespace py = pybind11;

namespace saltus::python {
namespace {

/// The value of a function of Python; the caller does not hold the interpreter lock.
double value_at(const Callback& f, double t) {
  const py::gil_scoped_acquire acquire;
  const auto value = Numbers::ensure(f(t));
  if (!value || value.size() != 1) {
    PyErr_Clear();
    throw UsageError("the function of an input must return one number");
  }
  return *value.data();
}

InputSignal::Between between_rows(const std::string& name) {
  if (name == "lines") return InputSignal::Between::lines;
  if (name == "steps") return InputSignal::Between::steps;
  throw UsageError("between the rows of a table there are \"lines\" or \"steps\", not \"" + name + "\"");
}

void save(const SimulatorState& state, const std::string& path) {
  write_file(path, [&](std::ostream& out) { write_state(out, state); });
}

py::tuple parts_of(const SimulatorState& s) {
  const Mode& m = s.mode;
  return py::make_tuple(s.model, s.variables, s.origin, s.t, m.automaton, m.discrete, m.locks, m.conditions,
                        std::vector<int>(m.sees.begin(), m.sees.end()), m.sliding, m.contacts, m.contact_sides, s.x,
                        s.xp, s.step, s.as_left, s.memory);
}

SimulatorState state_of(const py::tuple& parts) {
  if (parts.size() != 17) throw UsageError("the pickled state is of another version of saltus");
  SimulatorState s;
  std::size_t k = 0;
  const auto next = [&](auto& value) { value = parts[k++].cast<std::remove_reference_t<decltype(value)>>(); };
  std::vector<int> sees;
  Mode& m = s.mode;
  next(s.model), next(s.variables), next(s.origin), next(s.t), next(m.automaton), next(m.discrete), next(m.locks);
  next(m.conditions), next(sees), next(m.sliding), next(m.contacts), next(m.contact_sides), next(s.x), next(s.xp);
  next(s.step), next(s.as_left), next(s.memory);
  for (const int side : sees) m.sees.push_back(static_cast<signed char>(side));
  return s;
}

}  // namespace

void add_inputs(py::module_& m) {
  py::class_<InputSignal>(m, "InputSignal", "The values of an input over the time of a run.")
      .def_static("constant", &InputSignal::constant, py::arg("value"), "The same value all the time.")
      .def_static(
          "table",
          [](std::vector<double> times, std::vector<double> values, const std::string& between) {
            return InputSignal::table(std::move(times), std::move(values), between_rows(between));
          },
          py::arg("times"), py::arg("values"), py::arg("between") = "lines",
          "Rows of times and values, with straight lines between them, or steps: the value of the row before. Two rows "
          "with one time are a jump.")
      .def_static(
          "function",
          [](py::function f, std::vector<double> breaks) {
            const Callback called(std::move(f));
            return InputSignal::function([called](double t) { return value_at(called, t); }, std::move(breaks));
          },
          py::arg("function"), py::arg("breaks") = std::vector<double>(),
          "A function of time, for inputs that are declared with curve=\"smooth\". Where it jumps or has a kink is a "
          "break.");

  py::class_<SimulatorState>(m, "SimulatorState",
                             "Where a run stands: Simulator.state() gives it, and "
                             "Simulator(model, from_state=state) goes on from it. It pickles.")
      .def_readonly("model", &SimulatorState::model, "The name of the model.")
      .def_readonly("t", &SimulatorState::t)
      .def("save", &save, py::arg("path"), "Writes a file that load_state and `saltus run --start-from` read.")
      .def(
          "__eq__", [](const SimulatorState& a, const SimulatorState& b) { return a == b; }, py::is_operator())
      .def("__repr__",
           [](const SimulatorState& s) {
             return "<saltus.SimulatorState of '" + s.model + "' at t = " + std::to_string(s.t) + ">";
           })
      .def(py::pickle(&parts_of, &state_of));
  m.def("load_state", &read_state, py::arg("path"), "Reads what SimulatorState.save has written.");
}

}  // namespace saltus::python
