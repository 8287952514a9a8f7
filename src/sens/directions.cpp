#include "sens/directions.hpp"

#include <fmt/format.h>
#include <saltus/base/names.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <unordered_map>

#include "model/model_access.hpp"
#include "model/rehome.hpp"

namespace saltus {

namespace {

double scale_of(double value) {
  return value == 0.0 ? 1.0 : std::max(std::abs(value), 1e-12);
}

void require_real(const std::string& name, const VariableDetails& details) {
  if (details.type != VariableType::real)
    throw UsageError(fmt::format("a run cannot be differentiated by '{}': it is of type {}, not Real", name,
                                 to_string(details.type)));
}

Direction parameter_direction(const VariableInfo& parameter, int number) {
  require_real(parameter.name, *parameter.details);
  return {.parameter = number, .info = {parameter.name, scale_of(parameter.start)}};
}

[[noreturn]] void refuse(const CompiledModel& model, const std::vector<VariableInfo>& all, const std::string& name) {
  try {
    model.with_values({{name, 0.0}});  // says why, if the value was used to write the model
  } catch (const ModelError& error) {
    throw UsageError(fmt::format("a run cannot be differentiated by '{}': {}", name, error.what()));
  }
  const NameTable names(all, [](const VariableInfo& p) -> std::string_view { return p.name; });
  throw UsageError(
      fmt::format("there is no parameter '{}' by which the run could be differentiated{}", name, names.hint(name)));
}

/// The derivative by the start value of an observed variable, which is called "x.start" here.
Direction start_direction(const CompiledModel& model, std::size_t k) {
  const VariableInfo& variable = model.observed()[k];
  const std::vector<int>& places = ModelAccess::places(model);
  const std::string name = variable.name + ".start";
  require_real(name, *variable.details);
  Direction direction{.info = {name, scale_of(variable.start)}};
  if (k >= places.size())
    direction.discrete = ModelAccess::observed_discretes(model)[k - places.size()];
  else
    direction.variable = places[k];
  if (direction.discrete < 0 && direction.variable < 0)
    throw UsageError(fmt::format("'{}' is a guess: the equations determine '{}', and the run does not depend on it",
                                 name, variable.name));
  return direction;
}

}  // namespace

std::vector<Direction> find_directions(const CompiledModel& model, const std::vector<std::string>& names) {
  std::vector<Direction> result;
  std::set<std::string> seen;
  const std::vector<VariableInfo> parameters = model.parameter_info();
  const auto name_of = [](const VariableInfo& v) -> std::string_view { return v.name; };
  const NameTable known(parameters, name_of), variables(model.observed(), name_of);
  for (const std::string& text : names) {
    if (const auto parameter = known.find(text)) {
      const std::string& name = parameters[*parameter].name;
      if (ModelAccess::leave_out(model)[*parameter])
        throw UsageError(fmt::format(
            "a run cannot be differentiated by '{}' here: with these values a factor of a derivative is zero for all "
            "values of the variables, and the equations do without it; give '{}' another value",
            name, name));
      result.push_back(parameter_direction(parameters[*parameter], static_cast<int>(*parameter)));
    } else if (const auto variable = variables.find_settable(text)) {
      result.push_back(start_direction(model, *variable));
    } else if (const NameSpelling spelling = read_name(text); spelling.of == NameSpelling::Of::start) {
      throw UsageError(fmt::format("there is no variable '{}', whose start value '{}' would be{}", spelling.name, text,
                                   variables.hint(text)));
    } else {
      refuse(model, parameters, text);
    }
    if (!seen.insert(result.back().info.name).second)
      throw UsageError(fmt::format("'{}' is named twice among the sensitivities", text));
  }
  return result;
}

std::vector<StartEntry> start_entries(const CompiledModel& model) {
  std::vector<StartEntry> result;
  const ModelValues& values = ModelAccess::values(model);
  const std::vector<StartValues::Expression> all = ModelAccess::start_values(model).expressions();
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (values.start_given[k] || !all[k].value.graph()) continue;
    const int place = all[k].discrete ? static_cast<int>(all[k].index) : ModelAccess::places(model)[all[k].index];
    if (place < 0) continue;
    const GraphHandle graph = all[k].value.graph()->clone();
    std::vector<Expr> parameters = ModelAccess::logic(model).parameters;
    Expr value = all[k].value;
    rehome(parameters, graph);
    rehome(value, graph);
    Gradient gradient(value, {parameters}, {});
    const double* const in[] = {values.parameters.data(), nullptr};
    gradient.evaluate(in);
    for (const Gradient::Entry& e : gradient.entries())
      result.push_back({all[k].discrete, static_cast<std::size_t>(place), static_cast<int>(e.place), e.value});
  }
  return result;
}

StartChange start_change(const CompiledModel& model, const Direction& direction,
                         const std::vector<StartEntry>& entries) {
  StartChange change{std::vector<double>(model.variables().size(), 0.0),
                     std::vector<double>(model.initial_mode().discrete.size(), 0.0)};
  if (direction.variable >= 0) change.state[static_cast<std::size_t>(direction.variable)] = 1.0;
  if (direction.discrete >= 0) change.discrete[static_cast<std::size_t>(direction.discrete)] = 1.0;
  for (const StartEntry& e : entries)
    if (direction.parameter >= 0 && e.parameter == direction.parameter)
      (e.discrete ? change.discrete : change.state)[e.place] += e.value;
  return change;
}

}  // namespace saltus
