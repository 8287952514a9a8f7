// A lock of a file that the system releases when the process ends, in whatever way.
#pragma once

#include <filesystem>

namespace saltus {

enum class LockState {
  free,    ///< the file is there, and no process holds it
  held,    ///< by another process, or by another object of this one
  unknown  ///< there is no such file, or the file system has no locks
};

class FileLock {
 public:
  /// Makes the file and takes the lock. Where that fails for another reason than another holder, the file is removed.
  explicit FileLock(const std::filesystem::path& file);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  bool taken() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

LockState state_of_lock(const std::filesystem::path& file);

}  // namespace saltus
