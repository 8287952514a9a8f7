// --open: shows a file in the program that the desktop has for it.
#pragma once

#include <string>

namespace saltus::cli {

/// Throws UsageError if the desktop has no program that opens files (xdg-open, or the one that SALTUS_OPEN names).
void check_open();

/// Starts that program and does not wait for it.
void open_file(const std::string& path);

}  // namespace saltus::cli
