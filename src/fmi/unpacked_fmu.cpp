#include "fmi/unpacked_fmu.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>

#include <algorithm>
#include <filesystem>
#include <set>

#include "fmi/zip_archive.hpp"

namespace saltus {

namespace {

constexpr const char* description_name = "modelDescription.xml";

std::string description_in(const ZipReader& archive) {
  const ZipReader::Entry* description = archive.find(description_name);
  if (!description) throw UsageError(fmt::format("there is no {} in it; it is not an FMU", description_name));
  return archive.content(*description);
}

}  // namespace

std::string UnpackedFmu::description_of(const std::string& file) {
  return description_in(ZipReader(read_whole_file(file)));
}

UnpackedFmu::UnpackedFmu(const std::string& file) {
  const ZipReader archive(read_whole_file(file));
  description_ = description_in(archive);
  for (const ZipReader::Entry& entry : archive.entries())
    folder_.write(entry.name, entry.folder() ? "" : archive.content(entry));
}

std::string UnpackedFmu::library(const std::string& identifier) const {
  namespace fs = std::filesystem;
  if (identifier.empty() || identifier.find_first_of("/\\") != std::string::npos || identifier.starts_with('.'))
    throw UsageError(fmt::format("its modelIdentifier '{}' is not the name of a library", identifier));
#if defined(__x86_64__)
  const char* const folders[] = {"x86_64-linux", "linux64"};
#else
  const char* const folders[] = {"aarch64-linux"};
#endif
  std::error_code problem;
  for (const char* name : folders)
    if (const fs::path file = fs::path(folder()) / "binaries" / name / (identifier + ".so");
        fs::is_regular_file(file, problem))
      return file.string();
  std::set<std::string> machines;
  for (const auto& entry : fs::directory_iterator(fs::path(folder()) / "binaries", problem))
    machines.insert(entry.path().filename().string());
  std::string list;
  for (const std::string& machine : machines) list += (list.empty() ? "" : ", ") + machine;
  throw UsageError(fmt::format("it has no library '{}.so' for this machine ({}); {}", identifier, folders[0],
                               list.empty() ? "it has none at all: ask for an FMU with binaries for Linux"
                                            : "it serves " + list + ": ask for one for Linux"));
}

}  // namespace saltus
