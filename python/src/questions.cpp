// What users ask of a run: linear systems near it, why its events happen, what its modes are.
#include <pybind11/complex.h>
#include <pybind11/stl.h>
#include <saltus/sens/event_reason.hpp>
#include <saltus/sens/linearisation.hpp>
#include <saltus/sens/mode_analysis.hpp>

#include <memory>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "descriptions.hpp"
#include "interpreter.hpp"
#include "options.hpp"

namespace py = pybind11;

namespace saltus::python {
namespace {

py::dict dict_of(const Linearisation& l) {
  std::vector<std::complex<double>> eigenvalues;
  py::list shares;
  for (const Eigenvalue& e : l.eigenvalues) {
    eigenvalues.push_back(e.value);
    py::dict of_states;
    for (const Eigenvalue::Share& s : e.shares) of_states[py::str(s.state)] = s.share;
    shares.append(of_states);
  }
  py::dict d;
  d["t"] = l.t;
  d["mode"] = l.mode;
  d["states"] = l.states;
  d["inputs"] = l.inputs;
  d["outputs"] = l.outputs;
  d["A"] = array_of(l.A);
  d["B"] = array_of(l.B);
  d["C"] = array_of(l.C);
  d["D"] = array_of(l.D);
  d["x"] = array_of(l.state_values);
  d["slopes"] = array_of(l.state_slopes);
  d["u"] = array_of(l.input_values);
  d["y"] = array_of(l.output_values);
  d["eigenvalues"] = array_of(eigenvalues);
  d["shares"] = shares;
  d["stability"] = std::string(to_string(l.stability()));
  d["error"] = l.error;
  d["period"] = l.period;
  d["why"] = l.why;
  return d;
}

py::dict dict_of(const Equilibrium& e) {
  py::dict d, values;
  for (std::size_t k = 0; k < e.values.size(); ++k) values[py::str(e.variables[k])] = e.values[k];
  d["found"] = e.found;
  d["message"] = e.message;
  d["pseudo"] = e.pseudo;
  d["admissible"] = e.admissible;
  d["violated"] = e.violated;
  d["values"] = values;
  d["linearisation"] = dict_of(e.linearisation);
  return d;
}

py::dict dict_of(const EventReason& r) {
  py::list reads, earlier, parameters, misses;
  for (const auto& v : r.reads) reads.append(py::make_tuple(v.name, v.value, v.slope, v.parameter));
  for (const auto& c : r.earlier) earlier.append(py::make_tuple(c.event, c.t, c.text, c.derivative));
  for (const auto& p : r.parameters)
    parameters.append(py::make_tuple(p.name, p.value, p.derivative, p.per_percent, p.by_differences));
  for (const auto& m : r.near_misses) misses.append(py::make_tuple(m.guard, m.t, m.distance));
  py::dict d;
  d["event"] = r.event;
  d["t"] = r.t;
  d["text"] = r.text;
  d["reads"] = reads;
  d["earlier"] = earlier;
  d["parameters"] = parameters;
  d["prevention"] = r.prevention ? py::object(py::make_tuple(r.prevention->name, r.prevention->from, r.prevention->to))
                                 : py::object(py::none());
  d["near_misses"] = misses;
  d["notes"] = r.notes;
  return d;
}

py::dict dict_of(const ModeAnalysis& a) {
  py::dict d;
  d["mode"] = a.mode;
  d["t"] = a.t;
  d["kind"] = a.stands_still ? "nothing to integrate" : a.explicit_ode ? "explicit" : "implicit";
  d["linear"] = a.linear;
  d["variables"] = a.variables;
  d["entered"] = a.entered;
  d["time"] = a.time;
  d["steps"] = a.steps;
  d["shortest_step"] = a.shortest_step;
  d["longest_step"] = a.longest_step;
  if (a.stands_still || a.explicit_ode) return d;
  d["index"] = a.index;
  d["degrees_of_freedom"] = a.degrees_of_freedom;
  d["blocks"] = a.blocks;
  d["singularity"] = a.singularity;
  d["certified"] = a.certified;
  d["reciprocal_condition"] = a.reciprocal_condition;
  py::dict numbers;
  numbers["mu"] = a.numbers.mu;
  numbers["d"] = a.numbers.d;
  numbers["a"] = a.numbers.a;
  numbers["u"] = a.numbers.u;
  numbers["v"] = a.numbers.v;
  d["characteristic_values"] = numbers;
  d["decision"] = a.decision;
  d["undetermined"] = a.undetermined;
  return d;
}

/// The state at the end of a run. Throws UsageError if the run fails before.
SimulatorState final_state(const std::shared_ptr<CompiledModel>& model, const SimulateOptions& options) {
  Simulator run(model, options);
  run.run();
  if (!run.status().ok())
    throw UsageError("the run ends before this point: " + std::string(to_string(run.status().code)) + ": " +
                     run.status().message);
  return run.state();
}

std::vector<Equilibrium> equilibria(const std::shared_ptr<CompiledModel>& model, const SimulateOptions& options,
                                    const LinearisationOptions& ports, bool all_modes) {
  std::vector<Equilibrium> found;
  if (!all_modes) {
    found.push_back(find_equilibrium(*model, final_state(model, options), ports));
    return found;
  }
  for (const SimulatorState& state : states_at_entries(*model, options))
    found.push_back(find_equilibrium(*model, state, ports));
  return found;
}

}  // namespace

void add_questions(py::module_& m) {
  m.def(
      "linearise",
      [](const std::shared_ptr<CompiledModel>& model, const py::dict& options, const std::vector<std::string>& inputs,
         const std::vector<std::string>& outputs) {
        const SimulateOptions read = read_options_of_search(options);
        return dict_of(unlocked(
            [&] { return linearise(*model, final_state(model, read), {.inputs = inputs, .outputs = outputs}); }));
      },
      py::arg("model"), py::arg("options"), py::arg("inputs"), py::arg("outputs"));
  m.def(
      "linearise_cycle",
      [](const CompiledModel& model, double period, double period_guess, const py::dict& options) {
        const CycleOptions read{
            .simulate = read_options_of_search(options), .period = period, .period_guess = period_guess};
        return dict_of(unlocked([&] { return linearise(find_cycle(model, read)); }));
      },
      py::arg("model"), py::arg("period"), py::arg("period_guess"), py::arg("options"));
  m.def(
      "find_equilibria",
      [](const std::shared_ptr<CompiledModel>& model, const py::dict& options, const std::vector<std::string>& inputs,
         const std::vector<std::string>& outputs, bool all_modes) {
        const SimulateOptions read = read_options_of_search(options);
        const std::vector<Equilibrium> found =
            unlocked([&] { return equilibria(model, read, {.inputs = inputs, .outputs = outputs}, all_modes); });
        py::list all;
        for (const Equilibrium& e : found) all.append(dict_of(e));
        return all;
      },
      py::arg("model"), py::arg("options"), py::arg("inputs"), py::arg("outputs"), py::arg("all_modes"));
  m.def(
      "explain_event",
      [](const CompiledModel& model, std::size_t event, const py::dict& options, std::size_t causes,
         double largest_change, double near) {
        const SimulateOptions read = read_options_of_search(options);
        return dict_of(unlocked([&] {
          return explain_event(model, read, event,
                               {.most_causes = causes, .largest_change = largest_change, .near = near});
        }));
      },
      py::arg("model"), py::arg("event"), py::arg("options"), py::arg("causes"), py::arg("largest_change"),
      py::arg("near"));
  m.def(
      "analyse_modes",
      [](const CompiledModel& model, const py::dict& options, std::size_t most) {
        const SimulateOptions read = read_options_of_search(options);
        const ModeAnalyses found = unlocked([&] { return analyse_modes(model, read, most); });
        py::list modes;
        for (const ModeAnalysis& a : found.modes) modes.append(dict_of(a));
        py::dict d;
        d["modes"] = modes;
        d["status"] = describe(found.status);
        return d;
      },
      py::arg("model"), py::arg("options"), py::arg("most"));
}

}  // namespace saltus::python
