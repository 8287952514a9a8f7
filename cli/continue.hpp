// saltus continue: a branch of cycles over a parameter.
#pragma once

#include "cli/app.hpp"

namespace saltus::cli {

Command continue_command();

}  // namespace saltus::cli
