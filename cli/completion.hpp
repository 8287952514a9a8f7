// saltus completion: options and files by the tabulator key in bash, zsh and fish.
#pragma once

#include "cli/app.hpp"

namespace saltus::cli {

Command completion_command();

}  // namespace saltus::cli
