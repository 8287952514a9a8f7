// saltus poincare: the points at which a model passes through a section.
#pragma once

#include "cli/app.hpp"

namespace saltus::cli {

Command poincare_command();

}  // namespace saltus::cli
