// All expressions of a model, rewritten at once.
#pragma once

#include <saltus/expr/rewrite.hpp>
#include <saltus/model/model.hpp>

#include <vector>

namespace saltus {

/// Applies the rules to equations, clauses, transitions, definitions, assertions and surfaces; the targets of resets
/// count, too. The rules belong to the graph of the model.
void rewrite_model(ModelData& model, Rewrite& rules);

/// These expressions; numbers are left out.
std::vector<Expr> expressions_of(const ModelData& model);

}  // namespace saltus
