// Files and folders beyond what the standard library does: what identifies them, and changes that are complete or did
// not happen.
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>

namespace saltus {

/// What identifies a file or folder, whatever its name, and when it was written; zeros if there is none.
struct FileState {
  std::uint64_t device = 0, number = 0;
  std::int64_t seconds = 0, nanoseconds = 0;

  friend bool operator==(const FileState&, const FileState&) = default;
  std::pair<std::uint64_t, std::uint64_t> place() const { return {device, number}; }
};
FileState state_of(const std::filesystem::path& file);

/// Makes a folder that is not there. 0, or the reason as errno has it: EEXIST if there is something of this name.
int make_folder(const std::filesystem::path& folder);
/// Renames a folder. An empty folder of the new name is replaced; for others the reason is ENOTEMPTY or EEXIST.
int rename_folder(const std::filesystem::path& from, const std::filesystem::path& to);
/// Lets two folders exchange their names at once. EINVAL or ENOSYS where the file system cannot.
int exchange_folders(const std::filesystem::path& one, const std::filesystem::path& other);

}  // namespace saltus
