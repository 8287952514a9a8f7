// saltus optimise: optimal controls, parameters and start values of a model.
#pragma once

#include "cli/app.hpp"

namespace saltus::cli {

Command optimise_command();

}  // namespace saltus::cli
