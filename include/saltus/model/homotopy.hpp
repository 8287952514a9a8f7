// homotopy(actual, simplified): an expression that is simpler while a start is looked for.
#pragma once

#include <saltus/expr/expr.hpp>
#include <saltus/model/model.hpp>

namespace saltus {

/// The actual expression. Only where the start of a run is not found otherwise, all such expressions of the model go
/// from `simplified` to `actual` together: share*actual + (1 - share)*simplified with a share that grows from 0 to 1,
/// each solution being the guess for the next.
Expr homotopy(Model& model, const Expr& actual, const Expr& simplified);

}  // namespace saltus
