// Results of runs. Values are written into memory that numpy then owns: nothing is copied.
#include "runs.hpp"

#include <pybind11/stl.h>
#include <saltus/hybrid/locked_mode.hpp>
#include <saltus/hybrid/simulate.hpp>
#include <saltus/io/html_report.hpp>
#include <saltus/model/compiled_model.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "descriptions.hpp"
#include "files.hpp"
#include "interpreter.hpp"
#include "options.hpp"

namespace py = pybind11;

namespace saltus::python {
namespace {

py::array_t<double> adopt(std::unique_ptr<double[]> memory, std::vector<py::ssize_t> shape) {
  double* const data = memory.release();
  const py::capsule owner(data, [](void* p) { delete[] static_cast<double*>(p); });
  return py::array_t<double>(std::move(shape), data, owner);
}

/// One row for each variable.
py::array_t<double> sample(const Trajectory& run, const Numbers& times, const ArrayOf<int>& variables,
                           const std::optional<ArrayOf<unsigned char>>& before) {
  const std::size_t rows = static_cast<std::size_t>(variables.size()), count = static_cast<std::size_t>(times.size());
  auto memory = std::make_unique_for_overwrite<double[]>(std::max<std::size_t>(rows * count, 1));
  const auto t = view(times);
  const auto which = view(variables);
  const auto left = before ? view(*before) : std::span<const unsigned char>();
  {
    const py::gil_scoped_release release;
    run.sample(t, which, {memory.get(), rows * count}, left);
  }
  return adopt(std::move(memory), {variables.size(), times.size()});
}

py::list events_of(const Trajectory& run) {
  py::list all;
  for (const Event& e : run.events()) all.append(describe(e, run.variables()));
  return all;
}

py::list variables_of(const Trajectory& run) {
  py::list all;
  for (const VariableInfo& v : run.variables())
    all.append(py::make_tuple(v.name, v.details->unit, v.details->description, std::string(to_string(v.details->type)),
                              v.details->literals, std::string(to_string(v.details->causality))));
  return all;
}

/// The ends of all steps, the start first.
py::array_t<double> step_times(const Trajectory& run) {
  std::vector<double> t{run.t_start()};
  for (const auto& segment : run.segments())
    for (const auto& step : segment.steps) t.push_back(step.t_end);
  return array_of(t);
}

/// (from, to) for each stay on surfaces: slides and contacts.
py::list stays(const Trajectory& run) {
  py::list all;
  double from = run.t_start();
  for (const auto& segment : run.segments()) {
    if (segment.steps.empty()) continue;
    const double to = segment.steps.back().t_end;
    if (segment.slides || segment.in_contact) all.append(py::make_tuple(from, to));
    from = to;
  }
  return all;
}

void write_html(const Trajectory& run, const std::string& path, const std::string& model, const std::string& source,
                const std::string& file, const std::string& description, const std::vector<std::string>& notes,
                CompiledModel* system, const std::vector<VariableInfo>& fixed) {
  HtmlReportOptions options{.model = model,
                            .description = description,
                            .source = source,
                            .source_file = file,
                            .notes = notes,
                            .system = system};
  if (system) options.parameters = system->parameter_info();
  options.parameters.insert(options.parameters.end(), fixed.begin(), fixed.end());
  write_file(path, [&](std::ostream& out) { write_html_report(out, run, options); });
}

}  // namespace

std::shared_ptr<Trajectory> run_system(const std::shared_ptr<HybridSystem>& system, const SimulateOptions& options) {
  std::shared_ptr<Trajectory> run;
  try {
    unlocked([&] { return run = std::make_shared<Trajectory>(simulate(system, options)); });
  } catch (py::error_already_set& raised) {
    if (run && raised.matches(PyExc_KeyboardInterrupt)) raised.value().attr("run") = run;
    throw;
  }
  return run;
}

void add_runs(py::module_& m) {
  py::class_<Trajectory, std::shared_ptr<Trajectory>>(m, "Run")
      .def("sample", &sample, py::arg("times"), py::arg("variables"), py::arg("before") = py::none())
      .def_property_readonly("variables", &variables_of)
      .def_property_readonly("t_start", &Trajectory::t_start)
      .def_property_readonly("t_end", &Trajectory::t_end)
      .def_property_readonly("step_times", &step_times)
      .def_property_readonly("stays", &stays)
      .def_property_readonly("events", &events_of)
      .def_property_readonly("status", [](const Trajectory& run) { return describe(run.status()); })
      .def_property_readonly("statistics", [](const Trajectory& run) { return describe(run.statistics()); })
      .def("write_html", &write_html, py::arg("path"), py::arg("model"), py::arg("source"), py::arg("file"),
           py::arg("description"), py::arg("notes"), py::arg("system").none(true), py::arg("fixed"));

  m.def(
      "run",
      [](const std::shared_ptr<HybridSystem>& system, const py::dict& options) {
        return run_system(system, read_options(options));
      },
      py::arg("system"), py::arg("options"));
  m.def("lock_mode", &lock_mode, py::arg("system"));
}

}  // namespace saltus::python
