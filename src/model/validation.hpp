// Checks that need the whole model.
#pragma once

#include <saltus/model/model.hpp>

#include "model/elimination.hpp"

namespace saltus {

/// Throws ModelError for each mode whose equations cannot determine its variables, naming the equations and variables left over, and for
/// transitions that lead nowhere.
void validate(const ModelData& model, const Elimination& elimination);

}  // namespace saltus
