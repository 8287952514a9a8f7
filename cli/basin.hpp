// saltus basin: which attractor is reached from where.
#pragma once

#include "cli/app.hpp"

namespace saltus::cli {

Command basin_command();

}  // namespace saltus::cli
