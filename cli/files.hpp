// Reading and writing whole files.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

namespace saltus::cli {

/// The text of a file; empty if it cannot be read.
std::string text_of(const std::string& path);

/// Calls `write` with the file, or with `standard` if the path is "-". Throws UsageError if the file cannot be written.
void write_file(const std::string& path, std::ostream& standard, const std::function<void(std::ostream&)>& write);

}  // namespace saltus::cli
