// Optimal controls and parameters: a programme in, the optimum out.
#include <pybind11/stl.h>
#include <saltus/optimise/controller.hpp>
#include <saltus/optimise/optimise.hpp>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "functionals.hpp"
#include "interpreter.hpp"
#include "options.hpp"

namespace py = pybind11;

namespace saltus::python {
namespace {

// input, intervals, curve, free lengths, fixed values, lower, upper, guess, lengths
using GivenControl = std::tuple<std::string, int, std::string, bool, bool, double, double, Numbers, Numbers>;
using GivenValue = std::tuple<std::string, double, double, double>;  // name, guess, lower, upper
using GivenEnd = std::tuple<std::vector<Term>, double, double, double, std::string>;
using GivenPath = std::tuple<std::string, double, double, double, std::string>;

Programme programme_of(const Model& model, const py::dict& given) {
  Programme p;
  for (const auto& [input, intervals, curve, free, fixed, lower, upper, guess, lengths] :
       given["controls"].cast<std::vector<GivenControl>>())
    p.controls.push_back({.input = input,
                          .intervals = intervals,
                          .curve = curve == "linear" ? ControlCurve::linear : ControlCurve::constant,
                          .free_lengths = free,
                          .fixed_values = fixed,
                          .lower = lower,
                          .upper = upper,
                          .guess = list_of(guess),
                          .lengths = list_of(lengths)});
  for (const auto& [name, guess, lower, upper] : given["parameters"].cast<std::vector<GivenValue>>())
    p.parameters.push_back({.name = name, .guess = guess, .lower = lower, .upper = upper});
  if (!given["stop"].is_none()) {
    const auto [name, guess, lower, upper] = given["stop"].cast<GivenValue>();
    p.stop = FreeValue{.guess = guess, .lower = lower, .upper = upper};
  }
  p.minimise = functional_of(given["minimise"].cast<std::vector<Term>>());
  for (const auto& [terms, lower, upper, nominal, label] : given["end"].cast<std::vector<GivenEnd>>())
    p.end.push_back(
        {.value = functional_of(terms), .lower = lower, .upper = upper, .nominal = nominal, .label = label});
  for (const auto& [name, lower, upper, nominal, label] : given["path"].cast<std::vector<GivenPath>>())
    p.path.push_back({.value = model.symbol(name), .lower = lower, .upper = upper, .nominal = nominal, .label = label});
  return p;
}

OptimiseOptions search_of(const py::dict& search, const py::dict& options) {
  const std::string shooting = search["shooting"].cast<std::string>();
  return {.simulate = read_options_of_search(options),
          .tolerance = search["tolerance"].cast<double>(),
          .max_runs = search["max_runs"].cast<int>(),
          .starts = search["starts"].cast<int>(),
          .seed = search["seed"].cast<std::uint64_t>(),
          .homotopy = search["homotopy"].cast<std::string>(),
          .shooting = shooting == "single"     ? Shooting::single
                      : shooting == "multiple" ? Shooting::multiple
                                               : Shooting::automatic};
}

py::list describe_controls(const std::vector<FoundControl>& controls) {
  py::list all;
  for (const FoundControl& c : controls)
    all.append(py::make_tuple(c.input, c.curve == ControlCurve::linear ? "linear" : "constant", array_of(c.times),
                              array_of(c.values)));
  return all;
}

py::dict describe_optimum(const Optimum& o) {
  py::list values, conditions, history, tries;
  for (const FoundValue& v : o.values) values.append(py::make_tuple(v.name, v.value, v.lower, v.upper, v.at_bound));
  for (const FoundCondition& c : o.conditions)
    conditions.append(py::make_tuple(c.label, c.value, c.lower, c.upper, c.violation, c.t, c.multiplier));
  for (const OptimiseIteration& i : o.history)
    history.append(py::make_tuple(i.runs, i.objective, i.violation, i.radius, i.events, i.step));
  for (const OptimiseTry& t : o.tries)
    tries.append(py::make_tuple(std::string(to_string(t.status)), t.text, t.objective, t.violation));
  py::dict d;
  d["status"] = std::string(to_string(o.status));
  d["message"] = o.message;
  d["notes"] = o.notes;
  d["objective"] = o.objective;
  d["violation"] = o.violation;
  d["values"] = values;
  d["controls"] = describe_controls(o.controls);
  d["stop"] = o.stop;
  d["conditions"] = conditions;
  d["history"] = history;
  d["tries"] = tries;
  d["iterations"] = o.iterations;
  d["runs"] = o.runs;
  d["nudged"] = o.nudged;
  d["run"] = o.run ? std::make_shared<Trajectory>(*o.run) : nullptr;
  return d;
}

}  // namespace

void add_optima(py::module_& m) {
  m.def(
      "optimise",
      [](const Model& model, const py::dict& programme, const py::dict& search, const py::dict& options) {
        const Programme wanted = programme_of(model, programme);
        const OptimiseOptions read = search_of(search, options);
        return describe_optimum(unlocked([&] { return optimise(model, wanted, read); }));
      },
      py::arg("model"), py::arg("programme"), py::arg("search"), py::arg("options"));
  py::class_<Controller>(m, "Controller")
      .def(py::init([](const Model& model, const py::dict& programme, const py::dict& search, const py::dict& options,
                       int iterations) {
             return Controller(model, programme_of(model, programme), search_of(search, options), iterations);
           }),
           py::arg("model"), py::arg("programme"), py::arg("search"), py::arg("options"), py::arg("iterations"))
      .def(
          "step",
          [](Controller& controller, const std::vector<std::pair<std::string, double>>& state) {
            const ControlSample s = unlocked([&] { return controller.step(state); });
            return py::make_tuple(s.controls, s.objective, s.violation, s.iterations, s.why);
          },
          py::arg("state"))
      .def("plan", [](const Controller& controller) { return describe_controls(controller.plan()); });
}

}  // namespace saltus::python
