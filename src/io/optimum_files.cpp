#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/io/optimum_files.hpp>

#include <algorithm>
#include <ostream>
#include <set>

#include "io/json_number.hpp"

namespace saltus {

namespace {

Json number_list(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(number_or_null(value));
  return list;
}

Json values_of(const Optimum& optimum) {
  Json all = Json::array();
  for (const FoundValue& v : optimum.values)
    all.push_back({{"name", v.name},
                   {"value", number_or_null(v.value)},
                   {"lower", number_or_null(v.lower)},
                   {"upper", number_or_null(v.upper)},
                   {"at_bound", v.at_bound}});
  return all;
}

Json controls_of(const Optimum& optimum) {
  Json all = Json::array();
  for (const FoundControl& c : optimum.controls)
    all.push_back({{"input", c.input},
                   {"curve", c.curve == ControlCurve::linear ? "linear" : "constant"},
                   {"times", number_list(c.times)},
                   {"values", number_list(c.values)}});
  return all;
}

Json conditions_of(const Optimum& optimum) {
  Json all = Json::array();
  for (const FoundCondition& c : optimum.conditions)
    all.push_back({{"label", c.label},
                   {"value", number_or_null(c.value)},
                   {"lower", number_or_null(c.lower)},
                   {"upper", number_or_null(c.upper)},
                   {"violation", number_or_null(c.violation)},
                   {"t", number_or_null(c.t)},
                   {"multiplier", number_or_null(c.multiplier)}});
  return all;
}

}  // namespace

void write_optimum_json(std::ostream& out, const Optimum& optimum) {
  Json document{{"status", std::string(to_string(optimum.status))},
                {"message", optimum.message},
                {"notes", optimum.notes},
                {"objective", number_or_null(optimum.objective)},
                {"violation", number_or_null(optimum.violation)},
                {"stop", number_or_null(optimum.stop)},
                {"values", values_of(optimum)},
                {"controls", controls_of(optimum)},
                {"conditions", conditions_of(optimum)},
                {"iterations", optimum.iterations},
                {"runs", optimum.runs},
                {"nudged", optimum.nudged}};
  Json history = Json::array();
  for (const OptimiseIteration& i : optimum.history)
    history.push_back({{"runs", i.runs},
                       {"objective", number_or_null(i.objective)},
                       {"violation", number_or_null(i.violation)},
                       {"radius", number_or_null(i.radius)},
                       {"events", i.events},
                       {"step", i.step}});
  document["history"] = std::move(history);
  Json tries = Json::array();
  for (const OptimiseTry& t : optimum.tries)
    tries.push_back({{"status", std::string(to_string(t.status))},
                     {"text", t.text},
                     {"objective", number_or_null(t.objective)},
                     {"violation", number_or_null(t.violation)}});
  document["tries"] = std::move(tries);
  out << document.dump(1) << '\n';
}

void write_controls_csv(std::ostream& out, const Optimum& optimum) {
  if (optimum.controls.empty()) throw UsageError("there are no controls to write: parameters alone were free");
  std::set<double> times;
  for (const FoundControl& c : optimum.controls) times.insert(c.times.begin(), c.times.end());
  out << "time";
  for (const FoundControl& c : optimum.controls) out << ',' << c.input;
  out << '\n';
  const auto value = [](const FoundControl& c, double t, bool behind) {
    const auto next = std::upper_bound(c.times.begin(), c.times.end(), t);
    auto k = static_cast<std::size_t>(std::max<std::ptrdiff_t>(next - c.times.begin() - 1, 0));
    k = std::min(k, c.times.size() - 2);
    if (c.curve == ControlCurve::constant) return c.values[!behind && k > 0 && c.times[k] == t ? k - 1 : k];
    const double share = (t - c.times[k]) / (c.times[k + 1] - c.times[k]);
    return c.values[k] + std::min(share, 1.0) * (c.values[k + 1] - c.values[k]);
  };
  for (const double t : times)
    for (const bool behind : {false, true}) {
      if (!behind && t == *times.begin()) continue;
      if (behind && t == *times.rbegin()) continue;
      out << fmt::format("{:.17g}", t);
      for (const FoundControl& c : optimum.controls) out << fmt::format(",{:.17g}", value(c, t, behind));
      out << '\n';
    }
}

void write_optimum_plot(const Optimum& optimum, const std::string& file, PlotOptions options) {
  if (!optimum.run) throw UsageError("there is no run to draw: the search has failed");
  std::vector<std::string> variables;
  for (const FoundControl& c : optimum.controls) variables.push_back(c.input);
  if (options.variables.empty())
    for (const VariableInfo& v : optimum.run->variables())
      if (variables.size() < plot_most_curves && std::ranges::find(variables, v.name) == variables.end() &&
          v.details->type == VariableType::real && v.name.find(' ') == std::string::npos)
        variables.push_back(v.name);
  variables.insert(variables.end(), options.variables.begin(), options.variables.end());
  options.variables = std::move(variables);
  write_plot(*optimum.run, file, options);
}

}  // namespace saltus
