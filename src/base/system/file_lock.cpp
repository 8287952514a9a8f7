#include "base/system/file_lock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace saltus {

namespace {

// Locks of open files, where there are some, also hold between threads of one process.
#ifdef F_OFD_SETLK
constexpr int set_lock = F_OFD_SETLK, get_lock = F_OFD_GETLK;
#else
constexpr int set_lock = F_SETLK, get_lock = F_GETLK;
#endif

struct flock whole_file() {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& file) {
  descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor_ < 0) return;
  struct flock lock = whole_file();
  if (::fcntl(descriptor_, set_lock, &lock) == 0) return;
  const bool held = errno == EAGAIN || errno == EACCES;
  ::close(descriptor_);
  descriptor_ = -1;
  if (!held) ::unlink(file.c_str());
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

LockState state_of_lock(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return LockState::unknown;
  struct flock lock = whole_file();
  const bool known = ::fcntl(descriptor, get_lock, &lock) == 0;
  ::close(descriptor);
  return !known ? LockState::unknown : lock.l_type == F_UNLCK ? LockState::free : LockState::held;
}

}  // namespace saltus
