// Runs with their derivatives. Reading them holds the interpreter lock: a SensitivityRun is read in one thread.
#include <pybind11/stl.h>
#include <saltus/sens/sensitivities.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "interpreter.hpp"
#include "options.hpp"

namespace py = pybind11;

namespace saltus::python {
namespace {

/// Derivatives by one parameter at many times, one row for each variable.
py::array_t<double> sample_derivatives(const SensitivityRun& run, const Numbers& times, const std::string& parameter,
                                       const std::optional<ArrayOf<unsigned char>>& before) {
  const auto t = view(times);
  const auto left = before ? view(*before) : std::span<const unsigned char>();
  if (before && left.size() != t.size()) throw UsageError("one flag for each time is needed");
  const std::size_t rows = run.trajectory().variables().size();
  py::array_t<double> values({static_cast<py::ssize_t>(rows), times.size()});
  for (std::size_t i = 0; i < t.size(); ++i) {
    const std::vector<double> column = before && left[i] ? run.before(t[i], parameter) : run.at(t[i], parameter);
    for (std::size_t j = 0; j < rows; ++j) values.mutable_data()[j * t.size() + i] = column[j];
  }
  return values;
}

std::vector<std::string> words(const std::vector<Smoothness>& list) {
  std::vector<std::string> result;
  for (const Smoothness one : list) result.emplace_back(to_string(one));
  return result;
}

py::list events_with_derivatives(const SensitivityRun& run) {
  py::list all;
  for (const EventSensitivity& e : run.events()) {
    py::dict d;
    d["t"] = e.t;
    d["dt"] = array_of(e.dt);
    d["smoothness"] = std::string(to_string(e.smoothness));
    d["dt_smoothness"] = words(e.dt_smoothness);
    d["text"] = e.text;
    all.append(d);
  }
  return all;
}

}  // namespace

void add_sensitivities(py::module_& m) {
  py::class_<SensitivityRun>(m, "SensitivityRun")
      .def_property_readonly("run",
                             [](const SensitivityRun& run) { return std::make_shared<Trajectory>(run.trajectory()); })
      .def_property_readonly("parameters", &SensitivityRun::parameters)
      .def_property_readonly("end", &SensitivityRun::end)
      .def_property_readonly("why", &SensitivityRun::why)
      .def_property_readonly("events", &events_with_derivatives)
      .def("sample", &sample_derivatives, py::arg("times"), py::arg("parameter"), py::arg("before") = py::none())
      .def("remark", &SensitivityRun::remark, py::arg("parameter"))
      .def(
          "smoothness",
          [](const SensitivityRun& run, double t, const std::string& parameter) {
            return std::string(to_string(run.smoothness(t, parameter)));
          },
          py::arg("t"), py::arg("parameter"))
      .def(
          "final_smoothness",
          [](const SensitivityRun& run, const std::string& parameter) {
            return words(run.final_smoothness(parameter));
          },
          py::arg("parameter"))
      .def(
          "final",
          [](const SensitivityRun& run, const std::string& parameter) { return array_of(run.final(parameter)); },
          py::arg("parameter"));
  m.def(
      "run_with_sensitivities",
      [](const CompiledModel& model, const std::vector<std::string>& parameters, const py::dict& options,
         bool control) {
        const SimulateOptions read = read_options(options);
        return unlocked([&] {
          return std::make_unique<SensitivityRun>(
              simulate_with_sensitivities(model, parameters, read, {.control = control}));
        });
      },
      py::arg("model"), py::arg("parameters"), py::arg("options"), py::arg("control") = true);
}

}  // namespace saltus::python
