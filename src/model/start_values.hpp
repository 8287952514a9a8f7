// Start values that are expressions of parameters.
#pragma once

#include <saltus/model/model.hpp>

#include <vector>

namespace saltus {

/// Puts the values of ModelData::start_values at the present parameters into the declarations. Throws ModelError for one that is not a
/// finite number.
void evaluate_start_values(const ModelData& model, std::vector<VariableInfo>& variables, std::vector<ModelData::Discrete>& discretes);

}  // namespace saltus
