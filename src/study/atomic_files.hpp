// Files that are there as a whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace saltus {

/// Writes files under temporary names, and gives them their names together. Throws UsageError if one cannot be written,
/// with the reason; then none of them is there.
class AtomicFiles {
 public:
  AtomicFiles() = default;
  ~AtomicFiles();
  AtomicFiles(const AtomicFiles&) = delete;
  AtomicFiles& operator=(const AtomicFiles&) = delete;

  void add(const std::filesystem::path& file, const std::string& bytes);
  /// In the order in which they were added.
  void commit();

 private:
  std::vector<std::pair<std::filesystem::path, std::filesystem::path>> pending_;  // temporary name, name
};

/// One file.
void write_atomically(const std::filesystem::path& file, const std::string& bytes);

}  // namespace saltus
