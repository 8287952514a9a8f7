#include "base/system/folders.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>

namespace saltus {

FileState state_of(const std::filesystem::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return {};
  return {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino), status.st_mtim.tv_sec,
          status.st_mtim.tv_nsec};
}

int make_folder(const std::filesystem::path& folder) {
  return ::mkdir(folder.c_str(), 0777) == 0 ? 0 : errno;
}

int rename_folder(const std::filesystem::path& from, const std::filesystem::path& to) {
  return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

int exchange_folders([[maybe_unused]] const std::filesystem::path& one,
                     [[maybe_unused]] const std::filesystem::path& other) {
#ifdef RENAME_EXCHANGE
  return ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0 ? 0 : errno;
#else
  return ENOSYS;
#endif
}

}  // namespace saltus
