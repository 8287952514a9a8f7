// The share of the actual expressions in a model with homotopies.
#pragma once

#include <saltus/model/model.hpp>

namespace saltus {

/// The parameter that stands for the share while a model is written down; no name of a user contains a parenthesis.
inline constexpr const char* homotopy_name = "homotopy()";

/// True if the model has expressions that can be simplified.
bool has_homotopy(const ModelData& model);
/// Gives the share a value, 1: actual, 0: simplified. The model has no such parameter any more.
void set_homotopy(ModelData& model, double share);

}  // namespace saltus
