// saltus gradient: one number that a run gives, and its derivatives by many parameters.
#pragma once

#include "cli/app.hpp"

namespace saltus::cli {

Command gradient_command();

}  // namespace saltus::cli
