// saltus check: what a model consists of, and what its modes are.
#pragma once

#include "cli/app.hpp"

namespace saltus::cli {

Command check_command();

}  // namespace saltus::cli
