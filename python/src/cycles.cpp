// Cycles, branches of cycles, and Lyapunov exponents.
#include <pybind11/complex.h>
#include <pybind11/stl.h>
#include <saltus/sens/continuation.hpp>
#include <saltus/sens/cycle.hpp>
#include <saltus/sens/lyapunov.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "interpreter.hpp"
#include "options.hpp"

namespace py = pybind11;

namespace saltus::python {
namespace {

CycleOptions cycle_options(const py::dict& search, const py::dict& options) {
  return {.simulate = read_options_of_search(options),
          .period = search["period"].cast<double>(),
          .period_of = search["period_of"].cast<std::string>(),
          .period_guess = search["period_guess"].cast<double>(),
          .section = search["section"].cast<std::pair<std::string, double>>(),
          .transient = search["transient"].cast<double>(),
          .variables = search["variables"].cast<std::vector<std::string>>(),
          .max_iterations = search["max_iterations"].cast<int>()};
}

py::dict describe(const Cycle& cycle) {
  py::dict d;
  d["status"] = std::string(to_string(cycle.status));
  d["message"] = cycle.message;
  d["period"] = cycle.period;
  d["variables"] = cycle.variables;
  d["start"] = array_of(cycle.start);
  d["residual"] = cycle.residual;
  d["iterations"] = cycle.iterations;
  d["monodromy"] = array_of(cycle.monodromy);
  d["multipliers"] = array_of(cycle.multipliers);
  d["trivial_error"] = cycle.trivial_error;
  d["run"] = cycle.run ? std::make_shared<Trajectory>(*cycle.run) : nullptr;
  return d;
}

py::tuple describe(const BranchPoint& p) {
  return py::make_tuple(p.parameter, p.period, array_of(p.start), array_of(p.lowest), array_of(p.highest),
                        array_of(p.multipliers), p.stable, p.events);
}

py::dict describe(const Branch& branch) {
  py::list points, bifurcations;
  for (const BranchPoint& p : branch.points) points.append(describe(p));
  for (const Bifurcation& b : branch.bifurcations)
    bifurcations.append(py::make_tuple(std::string(to_string(b.kind)), describe(b.point), b.behind, b.uncertainty));
  py::dict d;
  d["status"] = std::string(to_string(branch.status));
  d["message"] = branch.message;
  d["parameter"] = branch.parameter;
  d["variables"] = branch.variables;
  d["points"] = points;
  d["bifurcations"] = bifurcations;
  return d;
}

py::dict describe(const LyapunovExponents& found) {
  py::dict d;
  d["status"] = std::string(to_string(found.status));
  d["message"] = found.message;
  d["values"] = array_of(found.values);
  d["errors"] = array_of(found.errors);
  d["time"] = found.time;
  d["t_end"] = found.t_end;
  return d;
}

}  // namespace

void add_cycles(py::module_& m) {
  m.def(
      "find_cycle",
      [](const CompiledModel& model, const py::dict& search, const py::dict& options) {
        const CycleOptions read = cycle_options(search, options);
        return describe(unlocked([&] { return find_cycle(model, read); }));
      },
      py::arg("model"), py::arg("search"), py::arg("options"));
  m.def(
      "follow_cycle",
      [](const CompiledModel& model, const py::dict& search, const std::string& parameter, double begin, double end,
         double step, double smallest_step, int max_points, const py::dict& options) {
        const ContinuationOptions read{.cycle = cycle_options(search, options),
                                       .parameter = parameter,
                                       .from = begin,
                                       .to = end,
                                       .step = step,
                                       .smallest_step = smallest_step,
                                       .max_points = max_points};
        return describe(unlocked([&] { return follow_cycle(model, read); }));
      },
      py::arg("model"), py::arg("search"), py::arg("parameter"), py::arg("begin"), py::arg("end"), py::arg("step"),
      py::arg("smallest_step"), py::arg("max_points"), py::arg("options"));
  m.def(
      "lyapunov_exponents",
      [](const CompiledModel& model, double interval, double transient, int intervals,
         const std::vector<std::string>& variables, const py::dict& options) {
        const LyapunovOptions read{.simulate = read_options_of_search(options),
                                   .interval = interval,
                                   .transient = transient,
                                   .intervals = intervals,
                                   .variables = variables};
        return describe(unlocked([&] { return lyapunov_exponents(model, read); }));
      },
      py::arg("model"), py::arg("interval"), py::arg("transient"), py::arg("intervals"), py::arg("variables"),
      py::arg("options"));
}

}  // namespace saltus::python
