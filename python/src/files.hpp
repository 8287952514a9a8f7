// Files that are written whole, or not without an error.
#pragma once

#include <saltus/base/atomic_file.hpp>

#include <string>
#include <utility>

namespace saltus::python {

/// Hands a stream into the file to a function. Throws UsageError where the file cannot be written.
template <class Write>
void write_file(const std::string& path, Write&& write) {
  write_atomically(path, std::forward<Write>(write));
}

}  // namespace saltus::python
