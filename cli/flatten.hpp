// saltus flatten: a model as Base Modelica.
#pragma once

#include "cli/app.hpp"

namespace saltus::cli {

Command flatten_command();

}  // namespace saltus::cli
