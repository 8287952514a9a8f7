// saltus export: a stored study as a file for other programs.
#pragma once

#include "cli/app.hpp"

namespace saltus::cli {

Command export_command();

}  // namespace saltus::cli
