// saltus new: a model to start from.
#pragma once

#include "cli/app.hpp"

namespace saltus::cli {

Command new_model_command();

}  // namespace saltus::cli
