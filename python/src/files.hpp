// Files that are written whole, or not without an error.
#pragma once

#include <saltus/base/error.hpp>

#include <fstream>
#include <string>

namespace saltus::python {

/// Hands a stream into the file to a function. Throws UsageError where the file cannot be written.
template <class Write>
void write_file(const std::string& path, Write&& write) {
  std::ofstream out(path, std::ios::binary);
  if (!out) throw UsageError("cannot write '" + path + "'");
  write(out);
  out.flush();
  if (!out) throw UsageError("'" + path + "' could not be written completely; is the disk full?");
}

}  // namespace saltus::python
