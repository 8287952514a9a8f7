// Files that are there as a whole or not at all.
//
//   AtomicFile file("result.csv");
//   write_csv(file.stream(), table);
//   file.commit();
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace saltus {

/// A file that is written under a temporary name in its folder, and takes its name when it is complete. Until then, and
/// if it is destroyed before, a file of that name stays as it was. Devices and pipes are written directly. Functions
/// throw UsageError with the reason if the file cannot be written; `advice` then says what to do.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path file, std::string advice = {});
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Buffered. Errors are reported by `complete`.
  std::ostream& stream();
  /// Everything is on the disk; the file does not have its name yet. Called by `commit`, if it was not called before.
  void complete();
  void commit();

 private:
  class Buffer;
  [[noreturn]] void refuse(int reason) const;

  std::filesystem::path file_, place_, temporary_;  // the temporary name is empty for devices, and after `commit`
  std::string advice_;
  std::unique_ptr<Buffer> buffer_;
  std::ostream stream_;
};

/// Several files that are there together, or none of them.
class AtomicFiles {
 public:
  explicit AtomicFiles(std::string advice = {});
  void add(const std::filesystem::path& file, const std::string& bytes);
  /// In the order in which they were added.
  void commit();

 private:
  std::string advice_;
  std::vector<std::unique_ptr<AtomicFile>> files_;
};

/// One file.
void write_atomically(const std::filesystem::path& file, const std::function<void(std::ostream&)>& write);
void write_atomically(const std::filesystem::path& file, const std::string& bytes, const std::string& advice = {});

/// Throws UsageError if an AtomicFile could not be made. Changes nothing.
void require_writable(const std::filesystem::path& file);

/// A name beside that of a file or folder, for what becomes it later: ".NAME.<random digits>.part".
std::filesystem::path temporary_name(const std::filesystem::path& file);

/// True if a file or folder has a name that `temporary_name` gives, whatever it was to become.
bool is_temporary(const std::filesystem::path& file);

}  // namespace saltus
