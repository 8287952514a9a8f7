// saltus sweep: runs a model for many values and keeps what is asked for.
#pragma once

#include "cli/app.hpp"

namespace saltus::cli {

Command sweep_command();

}  // namespace saltus::cli
