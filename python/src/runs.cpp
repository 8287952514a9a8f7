// Runs and their results. Values are written into memory that numpy then owns: nothing is copied.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>
#include <saltus/io/html_report.hpp>
#include <saltus/saltus.hpp>

#include <fstream>
#include <memory>
#include <optional>
#include <span>

#include "bindings.hpp"
#include "options.hpp"

namespace py = pybind11;

namespace saltus::python {
namespace {

using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;
using Flags = py::array_t<unsigned char, py::array::c_style | py::array::forcecast>;
using Places = py::array_t<int, py::array::c_style | py::array::forcecast>;

py::array_t<double> adopt(std::unique_ptr<double[]> memory, std::vector<py::ssize_t> shape) {
  double* const data = memory.release();
  const py::capsule owner(data, [](void* p) { delete[] static_cast<double*>(p); });
  return py::array_t<double>(std::move(shape), data, owner);
}

template <class T>
std::span<const T> view(const py::array_t<T, py::array::c_style | py::array::forcecast>& a) {
  return {a.data(), static_cast<std::size_t>(a.size())};
}

/// One row for each variable.
py::array_t<double> sample(const Trajectory& run, const Numbers& times, const Places& variables,
                           const std::optional<Flags>& before) {
  const std::size_t rows = static_cast<std::size_t>(variables.size()), count = static_cast<std::size_t>(times.size());
  auto memory = std::make_unique<double[]>(std::max<std::size_t>(rows * count, 1));
  const auto t = view(times);
  const auto which = view(variables);
  const auto left = before ? view(*before) : std::span<const unsigned char>();
  {
    const py::gil_scoped_release release;
    run.sample(t, which, {memory.get(), rows * count}, left);
  }
  return adopt(std::move(memory), {variables.size(), times.size()});
}

py::dict named(const std::vector<double>& values, const std::vector<VariableInfo>& variables) {
  py::dict all;
  for (std::size_t k = 0; k < values.size(); ++k) all[py::str(variables[k].name)] = values[k];
  return all;
}

/// The keys are those of the JSON files.
py::dict describe(const Event& e, const std::vector<VariableInfo>& variables) {
  py::list places;
  for (const SourceLocation& where : e.where) places.append(to_string(where));
  py::dict d;
  d["t"] = e.t;
  d["kind"] = std::string(to_string(e.kind));
  d["guards"] = e.guards;
  d["direction"] = e.direction;
  d["where"] = places;
  d["slope_before"] = e.slope_before;
  d["slope_after"] = e.slope_after;
  d["actions"] = e.actions;
  d["mode_before"] = e.mode_before;
  d["mode_after"] = e.mode_after;
  d["jump"] = e.jump;
  d["cause"] = std::string(to_string(e.cause));
  d["proved"] = e.proved;
  d["surfaces"] = e.surfaces;
  d["weights"] = e.weights;
  d["contacts"] = e.contacts;
  d["before"] = named(e.before, variables);
  d["after"] = named(e.after, variables);
  d["message"] = e.message;
  d["text"] = e.describe();
  return d;
}

py::dict describe(const Status& s) {
  py::dict d;
  d["code"] = std::string(to_string(s.code));
  d["message"] = s.message;
  d["t"] = s.t;
  d["mode"] = s.mode;
  d["culprits"] = s.culprits;
  d["ok"] = s.ok();
  return d;
}

py::dict describe(const RunStatistics& s) {
  py::dict d;
  d["steps"] = s.steps;
  d["rejected"] = s.rejected;
  d["evaluations"] = s.evaluations;
  d["jacobians"] = s.jacobians;
  d["factorisations"] = s.factorisations;
  d["events"] = s.events;
  d["restarts"] = s.restarts;
  d["sliding_steps"] = s.sliding_steps;
  d["unproved"] = s.unproved;
  d["seconds"] = s.seconds;
  d["method"] = s.method;
  return d;
}

py::list variables_of(const Trajectory& run) {
  py::list all;
  for (const VariableInfo& v : run.variables())
    all.append(py::make_tuple(v.name, v.details->unit, v.details->description));
  return all;
}

/// The ends of all steps, the start first.
py::array_t<double> step_times(const Trajectory& run) {
  std::vector<double> t{run.t_start()};
  for (const auto& segment : run.segments())
    for (const auto& step : segment.steps) t.push_back(step.t_end);
  return py::array_t<double>(static_cast<py::ssize_t>(t.size()), t.data());
}

void write_html(const Trajectory& run, const std::string& path, const std::string& model, const std::string& source,
                const std::string& file) {
  std::ofstream out(path, std::ios::binary);
  if (!out) throw UsageError("cannot write '" + path + "'");
  write_html_report(out, run, {.model = model, .source = source, .source_file = file});
  out.flush();
  if (!out) throw UsageError("'" + path + "' could not be written completely; is the disk full?");
}

std::vector<double> numbers(const py::handle& value) {
  const Numbers all = py::cast<Numbers>(value);
  const auto found = view(all);
  return {found.begin(), found.end()};
}

void read_option(const std::string& name, const py::handle& value, SimulateOptions& o) {
  if (name == "start")
    o.start = value.cast<double>();
  else if (name == "stop")
    o.stop = value.cast<double>();
  else if (name == "rtol" && py::isinstance<py::float_>(value))
    o.rtol = value.cast<double>();
  else if (name == "rtol")
    o.rtol_each = numbers(value);
  else if (name == "atol" && py::isinstance<py::float_>(value))
    o.atol = value.cast<double>();
  else if (name == "atol")
    o.atol_each = numbers(value);
  else if (name == "max_step")
    o.max_step = value.cast<double>();
  else if (name == "initial_step")
    o.initial_step = value.cast<double>();
  else if (name == "max_order")
    o.max_order = value.cast<int>();
  else if (name == "max_steps")
    o.max_steps = value.cast<std::int64_t>();
  else if (name == "stop_if_non_unique")
    o.stop_if_non_unique = value.cast<bool>();
  else if (name == "stop_if_chattering")
    o.stop_if_chattering = value.cast<bool>();
  else if (name == "keep_steps")
    o.keep_steps = value.cast<bool>();
  else if (name == "method") {
    const std::string method = value.cast<std::string>();
    const auto found = find_method(method);
    if (!found) throw UsageError("there is no method '" + method + "'; there are " + method_summary());
    o.method = *found;
  } else
    throw py::type_error("simulate has no option '" + name + "'");
}

/// A run in steps. Between two calls the interpreter lock is held.
class Stepping {
 public:
  Stepping(std::shared_ptr<HybridSystem> system, const SimulateOptions& options) : run_(std::move(system), options) {}
  bool step() {
    return unlocked([&] { return run_.step(); });
  }
  bool advance_to(double t) {
    return unlocked([&] { return run_.advance_to(t); });
  }
  void finish() {
    unlocked([&] {
      run_.run();
      return true;
    });
  }
  const Simulator& run() const { return run_; }

 private:
  template <class Work>
  bool unlocked(Work&& work) {
    const py::gil_scoped_release release;
    return work();
  }
  Simulator run_;
};

}  // namespace

SimulateOptions read_options(const py::dict& keywords) {
  SimulateOptions options;
  for (const auto& [name, value] : keywords) read_option(name.cast<std::string>(), value, options);
  return options;
}

std::shared_ptr<Trajectory> run_system(std::shared_ptr<HybridSystem> system, SimulateOptions options) {
  options.progress = [](const Progress&) {  // Python only notes a signal; it is asked for now and then
    const py::gil_scoped_acquire acquire;
    return PyErr_CheckSignals() == 0;
  };
  std::shared_ptr<Trajectory> run;
  {
    const py::gil_scoped_release release;
    run = std::make_shared<Trajectory>(simulate(std::move(system), options));
  }
  if (PyErr_Occurred()) throw py::error_already_set();
  return run;
}

void add_runs(py::module_& m) {
  py::class_<Trajectory, std::shared_ptr<Trajectory>>(m, "Run")
      .def("sample", &sample, py::arg("times"), py::arg("variables"), py::arg("before") = py::none())
      .def_property_readonly("variables", &variables_of)
      .def_property_readonly("t_start", &Trajectory::t_start)
      .def_property_readonly("t_end", &Trajectory::t_end)
      .def_property_readonly("step_times", &step_times)
      .def_property_readonly("events",
                             [](const Trajectory& run) {
                               py::list all;
                               for (const Event& e : run.events()) all.append(describe(e, run.variables()));
                               return all;
                             })
      .def_property_readonly("status", [](const Trajectory& run) { return describe(run.status()); })
      .def_property_readonly("statistics", [](const Trajectory& run) { return describe(run.statistics()); })
      .def("write_html", &write_html, py::arg("path"), py::arg("model"), py::arg("source"), py::arg("file"));

  m.def(
      "run",
      [](std::shared_ptr<CompiledModel> model, const py::dict& options) {
        return run_system(std::move(model), read_options(options));
      },
      py::arg("model"), py::arg("options"));

  py::class_<Stepping>(m, "Simulator")
      .def(py::init([](std::shared_ptr<CompiledModel> model, const py::dict& options) {
             return std::make_unique<Stepping>(std::move(model), read_options(options));
           }),
           py::arg("model"), py::arg("options"))
      .def("step", &Stepping::step)
      .def("advance_to", &Stepping::advance_to, py::arg("t"))
      .def("finish", &Stepping::finish)
      .def_property_readonly("t", [](const Stepping& s) { return s.run().t(); })
      .def_property_readonly(
          "values", [](const Stepping& s) { return named(s.run().values(), s.run().trajectory().variables()); })
      .def_property_readonly("finished", [](const Stepping& s) { return s.run().finished(); })
      .def_property_readonly("status", [](const Stepping& s) { return describe(s.run().status()); })
      .def_property_readonly("result",
                             [](const Stepping& s) { return std::make_shared<Trajectory>(s.run().trajectory()); });
}

}  // namespace saltus::python
