// saltus compare: whether two results agree.
#pragma once

#include "cli/app.hpp"

namespace saltus::cli {

Command compare_command();

}  // namespace saltus::cli
