// saltus study: looks at a stored study, and runs a member of it again.
#pragma once

#include "cli/app.hpp"

namespace saltus::cli {

Command study_command();

}  // namespace saltus::cli
