// saltus fmu: models for other simulators, and those of other simulators.
#pragma once

#include "cli/app.hpp"

namespace saltus::cli {

Command fmu_command();

}  // namespace saltus::cli
