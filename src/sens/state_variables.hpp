// The variables that make up the state of a model between events.
#pragma once

#include <saltus/model/compiled_model.hpp>

#include <string>
#include <utility>
#include <vector>

namespace saltus {

struct StateVariables {
  std::vector<std::string> names;
  std::vector<std::size_t> places;  ///< among the observed variables
};

/// Those that are named or, if none are, all that are integrated (in modes with constraints: those with fixed start
/// values) and discrete Reals. Throws UsageError for unknown names and for models without any.
StateVariables state_variables(const CompiledModel& model, const std::vector<std::string>& named);

/// Start values of the discrete variables (other than inputs) as in `values`, which has all observed variables.
std::vector<std::pair<std::string, double>> discrete_values(const CompiledModel& model,
                                                            const std::vector<double>& values);

}  // namespace saltus
