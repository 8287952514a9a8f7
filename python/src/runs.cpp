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
    o.rtol_each = numbers(value);
  else if (name == "atol" && py::isinstance<py::float_>(value))
    o.atol = value.cast<double>();
  else if (name == "atol")
    o.atol_each = numbers(value);
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

/// Ends a run after Ctrl-C: Python only notes the signal, and is asked for it now and then.
bool not_interrupted(const Progress&) {
  const py::gil_scoped_acquire acquire;
  return PyErr_CheckSignals() == 0;
}

/// Calls a function without the interpreter lock. Ctrl-C and exceptions of callbacks are raised.
template <class Work>
auto unlocked(Work&& work) {
  auto result = [&] {
    const py::gil_scoped_release release;
    return work();
  }();
  if (PyErr_Occurred()) throw py::error_already_set();
  return result;
}

/// A run in steps. Between two calls the interpreter lock is held.
class Stepping {
 public:
  explicit Stepping(Simulator run) : run_(std::move(run)) {}
  static std::unique_ptr<Stepping> begin(const std::shared_ptr<HybridSystem>& system, SimulateOptions options,
                                         const SimulatorState* from) {
    options.progress = &not_interrupted;
    return unlocked([&] {
      return std::make_unique<Stepping>(from ? Simulator(system, options, *from) : Simulator(system, options));
    });
  }
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
  void set_inputs(const std::map<std::string, std::pair<double, double>>& values) {
    std::vector<InputChange> changes;
    for (const auto& [name, change] : values) changes.push_back({name, change.first, change.second});
    unlocked([&] {
      run_.set_inputs(changes);
      return true;
    });
  }
  std::unique_ptr<Stepping> fork() const { return std::make_unique<Stepping>(run_.fork()); }
  void forget_past() { run_.forget_past(); }
  const Simulator& run() const { return run_; }

 private:
  Simulator run_;
};

}  // namespace

SimulateOptions read_options(const py::dict& keywords) {
  SimulateOptions options;
  for (const auto& [name, value] : keywords) read_option(name.cast<std::string>(), value, options);
  return options;
}

std::shared_ptr<Trajectory> run_system(std::shared_ptr<HybridSystem> system, SimulateOptions options) {
  options.progress = &not_interrupted;
  return unlocked([&] { return std::make_shared<Trajectory>(simulate(std::move(system), options)); });
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
      .def(py::init([](std::shared_ptr<CompiledModel> model, const py::dict& options, const SimulatorState* from) {
             return Stepping::begin(std::move(model), read_options(options), from);
           }),
           py::arg("model"), py::arg("options"), py::arg("from_state").none(true) = py::none())
      .def("step", &Stepping::step)
      .def("advance_to", &Stepping::advance_to, py::arg("t"))
      .def("finish", &Stepping::finish)
      .def("set_inputs", &Stepping::set_inputs, py::arg("values"))
      .def("forget_past", &Stepping::forget_past)
      .def("fork", &Stepping::fork)
      .def("state", [](const Stepping& s) { return s.run().state(); })
      .def_property_readonly("t", [](const Stepping& s) { return s.run().t(); })
      .def_property_readonly(
          "values", [](const Stepping& s) { return named(s.run().values(), s.run().trajectory().variables()); })
      .def_property_readonly("finished", [](const Stepping& s) { return s.run().finished(); })
      .def_property_readonly("status", [](const Stepping& s) { return describe(s.run().status()); })
      .def_property_readonly("result",
                             [](const Stepping& s) { return std::make_shared<Trajectory>(s.run().trajectory()); });
}

}  // namespace saltus::python
