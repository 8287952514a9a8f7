// Derivatives that a model sets become variables.
#pragma once

#include <saltus/model/model.hpp>

namespace saltus {

/// Adds the variable 'der(x)' with the equation der(x) = 'der(x)', and reads it wherever der(x) stood, for each der(x)
/// that a reset sets, or that an initial equation names while another equation is not linear in it. Such equations may
/// have several solutions (der(x)^2 = 4): the variable carries the one that was chosen from step to step.
void add_derivative_variables(ModelData& model);

}  // namespace saltus
