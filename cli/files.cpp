#include "cli/files.hpp"

#include <fstream>
#include <iterator>
#include <saltus/base/atomic_file.hpp>

namespace saltus::cli {

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_file(const std::string& path, std::ostream& standard, const std::function<void(std::ostream&)>& write) {
  if (path == "-") return write(standard);
  write_atomically(path, write);
}

}  // namespace saltus::cli
