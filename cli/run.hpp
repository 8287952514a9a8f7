// saltus run: solves a model and shows what happened.
#pragma once

#include "cli/app.hpp"

namespace saltus::cli {

Command run_command();

}  // namespace saltus::cli
