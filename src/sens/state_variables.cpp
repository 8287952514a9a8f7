#include "sens/state_variables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/model_access.hpp"

namespace saltus {

StateVariables state_variables(const CompiledModel& model, const std::vector<std::string>& named) {
  const std::vector<VariableInfo>& observed = model.observed();
  const std::vector<int>& places = ModelAccess::places(model);
  StateVariables result{.names = named};
  if (named.empty()) {
    CompiledModel instance = model;
    const bool is_explicit = instance.system(instance.initial_mode()).structure().explicit_ode;
    for (std::size_t k = 0; k < observed.size(); ++k) {
      const VariableDetails& details = *observed[k].details;
      if (details.type != VariableType::real || details.causality == Causality::input) continue;
      const bool discrete = k >= places.size();
      if (discrete || (places[k] >= 0 && (is_explicit || observed[k].fixed))) result.names.push_back(observed[k].name);
    }
  }
  if (result.names.empty()) throw UsageError("the model has no state: nothing in it is integrated or held");
  for (const std::string& name : result.names) {
    const auto found = std::ranges::find(observed, name, &VariableInfo::name);
    if (found == observed.end()) throw UsageError(fmt::format("there is no variable '{}' in the model", name));
    result.places.push_back(static_cast<std::size_t>(found - observed.begin()));
  }
  return result;
}

std::vector<std::pair<std::string, double>> discrete_values(const CompiledModel& model,
                                                            const std::vector<double>& values) {
  std::vector<std::pair<std::string, double>> result;
  const std::vector<VariableInfo>& observed = model.observed();
  for (std::size_t k = ModelAccess::places(model).size(); k < observed.size(); ++k)
    if (observed[k].details->causality != Causality::input) result.emplace_back(observed[k].name, values[k]);
  return result;
}

}  // namespace saltus
