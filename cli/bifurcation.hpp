// saltus bifurcation: samples of a model over a parameter.
#pragma once

#include "cli/app.hpp"

namespace saltus::cli {

Command bifurcation_command();

}  // namespace saltus::cli
