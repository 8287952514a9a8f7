// saltus lyapunov: how fast neighbouring solutions of a model separate.
#pragma once

#include "cli/app.hpp"

namespace saltus::cli {

Command lyapunov_command();

}  // namespace saltus::cli
