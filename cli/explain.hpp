// saltus explain: what a status means and what to do.
#pragma once

#include "cli/app.hpp"

namespace saltus::cli {

Command explain_command();

}  // namespace saltus::cli
