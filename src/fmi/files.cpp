#include "fmi/files.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace saltus {

std::string read_whole_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in && !in.eof()) throw UsageError(fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
  return bytes;
}

TemporaryFolder::TemporaryFolder() {
  std::error_code problem;
  const std::filesystem::path base = std::filesystem::temp_directory_path(problem);
  path_ = ((problem ? std::filesystem::path("/tmp") : base) / "saltus-fmu-XXXXXX").string();
  if (!mkdtemp(path_.data()))
    throw UsageError(fmt::format("cannot make a temporary folder ('{}'): {}", path_, std::strerror(errno)));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void TemporaryFolder::write(const std::string& name, const std::string& content) const {
  namespace fs = std::filesystem;
  const fs::path file = fs::path(path_) / name;
  std::error_code problem;
  fs::create_directories(name.ends_with('/') ? file : file.parent_path(), problem);
  if (!name.ends_with('/') && !problem) {
    std::ofstream out(file, std::ios::binary);
    if ((out << content) && out.flush()) return;
    problem = std::error_code(errno, std::generic_category());
  }
  if (problem) throw UsageError(fmt::format("cannot write '{}': {}", file.string(), problem.message()));
}

}  // namespace saltus
