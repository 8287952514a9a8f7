// Fits: measured data in, parameters with their errors out.
#include <pybind11/stl.h>
#include <saltus/io/fit_files.hpp>
#include <saltus/sens/fit.hpp>

#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "interpreter.hpp"
#include "options.hpp"

namespace py = pybind11;

namespace saltus::python {
namespace {

// variable, times, values, sigma, label
using Series = std::tuple<std::string, Numbers, Numbers, Numbers, std::string>;
using Events = std::tuple<std::string, Numbers, Numbers>;           // event, times, sigma
using Parameter = std::tuple<std::string, double, double, double>;  // name, guess, lower, upper

FitData data_of(const std::vector<Series>& series, const std::vector<Events>& events) {
  FitData data;
  for (const auto& [variable, times, values, sigma, label] : series)
    data.series.push_back({.variable = variable,
                           .times = list_of(times),
                           .values = list_of(values),
                           .sigma = list_of(sigma),
                           .label = label});
  for (const auto& [event, times, sigma] : events)
    data.events.push_back({.event = event, .times = list_of(times), .sigma = list_of(sigma)});
  return data;
}

py::list describe_parameters(const Fit& fit) {
  py::list all;
  for (const FittedParameter& p : fit.parameters)
    all.append(py::make_tuple(p.name, p.value, p.error, p.lower, p.upper, p.at_bound, p.undetermined));
  return all;
}

py::list describe_residuals(const Fit& fit) {
  py::list all;
  for (const FitResidual& r : fit.residuals)
    all.append(py::make_tuple(r.label, r.variable, r.t, r.measured, r.modelled, r.weighted));
  return all;
}

py::dict describe(const Fit& fit) {
  py::dict d;
  d["status"] = std::string(to_string(fit.status));
  d["message"] = fit.message;
  d["notes"] = fit.notes;
  d["parameters"] = describe_parameters(fit);
  d["correlations"] = array_of(fit.correlations);
  d["sum_of_squares"] = fit.sum_of_squares;
  d["deviation"] = fit.deviation;
  d["degrees_of_freedom"] = fit.degrees_of_freedom;
  d["residuals"] = describe_residuals(fit);
  d["runs"] = fit.runs;
  d["derivatives"] = fit.derivatives;
  d["run"] = fit.run ? std::make_shared<Trajectory>(*fit.run) : nullptr;
  return d;
}

py::list series_in(const std::string& file) {
  py::list all;
  for (const FitSeries& s : read_fit_data(file).series)
    all.append(py::make_tuple(s.variable, array_of(s.times), array_of(s.values), array_of(s.sigma)));
  return all;
}

py::list events_in(const std::string& file) {
  py::list all;
  for (const FitEvents& e : read_fit_events(file))
    all.append(py::make_tuple(e.event, array_of(e.times), array_of(e.sigma)));
  return all;
}

}  // namespace

void add_fits(py::module_& m) {
  m.def(
      "fit",
      [](const CompiledModel& model, const std::vector<Series>& series, const std::vector<Events>& events,
         const std::vector<Parameter>& parameters, int max_runs, int windows, double tolerance,
         const py::dict& options) {
        const FitData data = data_of(series, events);
        std::vector<FitParameter> wanted;
        for (const auto& [name, guess, lower, upper] : parameters) wanted.push_back({name, guess, lower, upper});
        const FitOptions read{.simulate = read_options_of_search(options),
                              .max_runs = max_runs,
                              .windows = windows,
                              .tolerance = tolerance};
        return describe(unlocked([&] { return fit(model, data, wanted, read); }));
      },
      py::arg("model"), py::arg("series"), py::arg("events"), py::arg("parameters"), py::arg("max_runs"),
      py::arg("windows"), py::arg("tolerance"), py::arg("options"));
  m.def("read_fit_data", &series_in, py::arg("file"));
  m.def("read_fit_events", &events_in, py::arg("file"));
}

}  // namespace saltus::python
