#include "cli/run_settings.hpp"

#include <saltus/base/error.hpp>

#include <algorithm>
#include <utility>

#include "cli/given_tolerances.hpp"
#include "cli/method_option.hpp"

namespace saltus::cli {

namespace {

/// "sticking=radau" as the name of a mode and its method. Names may have '=' in them: the last one counts.
std::pair<std::string, Method> parse_mode_method(const std::string& text) {
  const std::size_t place = text.rfind('=');
  if (place == std::string::npos || place == 0)
    throw UsageError("--mode-method " + text + ": write MODE=METHOD, for example --mode-method sticking=radau");
  const std::string name = text.substr(place + 1);
  if (const auto method = find_method(name)) return {text.substr(0, place), *method};
  throw UsageError("--mode-method " + text + ": " + unknown_method(name));
}

}  // namespace

SimulateOptions run_settings(const RunOptions& o, const RunSubject& subject, double start) {
  SimulateOptions s;
  s.start = start;
  s.stop = o.stop.value_or(subject.experiment.stop.value_or(s.start + 1.0));
  const GivenTolerances rtol("--rtol", o.rtol), atol("--atol", o.atol);
  s.rtol = rtol.for_all().value_or(subject.experiment.tolerance.value_or(1e-6));
  s.atol = atol.for_all().value_or(s.rtol);
  s.method = find_method(o.method).value();
  for (const std::string& text : o.mode_methods) s.mode_methods.insert(parse_mode_method(text));
  if (o.max_step) s.max_step = *o.max_step;
  if (o.initial_step) s.initial_step = *o.initial_step;
  s.max_order = o.max_order;
  if (o.max_steps) s.max_steps = *o.max_steps;
  if (o.max_events) s.max_events = *o.max_events;
  if (o.max_mode_changes) s.max_mode_changes = *o.max_mode_changes;
  if (o.shortest_interval) s.shortest_interval = *o.shortest_interval;
  for (const std::string& what : o.stop_on) (what == "chattering" ? s.stop_if_chattering : s.stop_if_non_unique) = true;
  const std::vector<VariableInfo>& variables = subject.system->variables();
  s.rtol_each = rtol.each(variables, [&](const VariableInfo&) { return s.rtol; });
  s.atol_each = atol.each(variables, [&](const VariableInfo& v) { return s.atol * v.nominal; });
  s.inputs = o.inputs.read(*subject.system);
  return s;
}

std::vector<std::string> repeated_arguments(const CLI::App& app) {
  std::vector<std::string> arguments;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    const std::string group = option->get_group();
    if (option->get_positional()) {
      arguments.insert(arguments.begin(), option->results().begin(), option->results().end());
    } else if (group == "Model" || group == "Method") {
      const std::string name = "--" + option->get_lnames().front();
      if (option->get_items_expected_max() == 0) {
        arguments.push_back(name);
        continue;
      }
      for (const std::string& value : option->results()) {
        arguments.push_back(name);
        arguments.push_back(value);
      }
    }
  }
  return arguments;
}

}  // namespace saltus::cli
