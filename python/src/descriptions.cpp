#include "descriptions.hpp"

#include <pybind11/stl.h>
#include <saltus/base/error.hpp>
#include <saltus/hybrid/event_text.hpp>

#include <string>

namespace py = pybind11;

namespace saltus::python {

py::dict named(const std::vector<double>& values, const std::vector<VariableInfo>& variables) {
  py::dict all;
  for (std::size_t k = 0; k < values.size(); ++k) all[py::str(variables[k].name)] = values[k];
  return all;
}

py::dict describe(const Event& e, const std::vector<VariableInfo>& variables) {
  py::list places;
  for (const SourceLocation& where : e.where) places.append(to_string(where));
  py::dict d;
  d["t"] = e.t;
  d["kind"] = std::string(to_string(e.kind));
  d["guards"] = e.guards;
  d["direction"] = e.direction;
  py::list becomes;
  for (const int truth : e.becomes)
    becomes.append(truth == 0 ? py::object(py::none()) : py::object(py::bool_(truth > 0)));
  d["becomes"] = becomes;
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
  d["text"] = event_text(e, variables);
  return d;
}

py::dict describe(const Experiment& e) {
  py::dict d;
  d["start"] = e.start;
  d["stop"] = e.stop;
  d["rtol"] = e.tolerance;
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
  d["low_rank_updates"] = s.low_rank_updates;
  d["events"] = s.events;
  d["restarts"] = s.restarts;
  d["sliding_steps"] = s.sliding_steps;
  d["flown"] = s.flown;
  d["local_events"] = s.local_events;
  d["part_runs"] = s.part_runs;
  d["unproved"] = s.unproved;
  d["seconds"] = s.seconds;
  d["method"] = s.method;
  return d;
}

}  // namespace saltus::python
