#include "cli/files.hpp"

#include <fstream>
#include <iterator>
#include <saltus/base/error.hpp>

namespace saltus::cli {

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_file(const std::string& path, std::ostream& standard, const std::function<void(std::ostream&)>& write) {
  if (path == "-") return write(standard);
  std::ofstream file(path, std::ios::binary);
  if (!file) throw UsageError("cannot write to '" + path + "'");
  write(file);
  file.close();
  if (!file) throw UsageError("cannot write to '" + path + "'; is the disk full?");
}

}  // namespace saltus::cli
