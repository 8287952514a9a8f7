// Files as texts, and folders that end with the object that made them.
#pragma once

#include <string>

namespace saltus {

/// All bytes of a file. Throws UsageError, with the reason, if it cannot be read.
std::string read_whole_file(const std::string& path);

/// A new folder for temporary files, which only this user can read. It is removed, with all that is in it, at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  /// Writes a file below the folder; the name has been checked to stay inside (ZipReader::Entry).
  void write(const std::string& name, const std::string& content) const;

 private:
  std::string path_;
};

}  // namespace saltus
