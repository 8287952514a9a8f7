// saltus fit: parameters of a model from measured data.
#pragma once

#include "cli/app.hpp"

namespace saltus::cli {

Command fit_command();

}  // namespace saltus::cli
