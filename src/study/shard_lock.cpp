#include "study/shard_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace saltus {

namespace fs = std::filesystem;

namespace {

constexpr const char* begin_of_name = ".shard-";

// Locks of open files, where there are some, also hold between threads of one process.
#ifdef F_OFD_SETLK
constexpr int set_lock = F_OFD_SETLK, get_lock = F_OFD_GETLK;
#else
constexpr int set_lock = F_SETLK, get_lock = F_GETLK;
#endif

fs::path file_of(const fs::path& folder, std::int64_t shard, std::int64_t shards) {
  return folder / fmt::format("{}{}-of-{}", begin_of_name, shard, shards);
}

struct flock whole_file() {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

ShardState lock_state(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return ShardState::unknown;
  struct flock lock = whole_file();
  const bool known = ::fcntl(descriptor, get_lock, &lock) == 0;
  ::close(descriptor);
  return !known ? ShardState::unknown : lock.l_type == F_UNLCK ? ShardState::ended : ShardState::at_work;
}

}  // namespace

ShardLock::ShardLock(const fs::path& folder, std::int64_t shard, std::int64_t shards)
    : file_(file_of(folder, shard, shards)) {
  descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor_ < 0) return;
  struct flock lock = whole_file();
  if (::fcntl(descriptor_, set_lock, &lock) == 0) return;
  const bool held = errno == EAGAIN || errno == EACCES;  // the same shard was started twice
  ::close(descriptor_);
  descriptor_ = -1;
  if (!held) ::unlink(file_.c_str());
}

ShardLock::~ShardLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void ShardLock::remove() {
  if (descriptor_ >= 0) ::unlink(file_.c_str());
}

ShardState state_of_lock(const fs::path& folder, std::int64_t shard, std::int64_t shards) {
  return lock_state(file_of(folder, shard, shards));
}

void remove_ended_locks(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> ended;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (is_shard_lock(entry.path()) && lock_state(entry.path()) == ShardState::ended) ended.push_back(entry.path());
  for (const fs::path& file : ended) fs::remove(file, ignored);
}

bool is_shard_lock(const fs::path& file) {
  return file.filename().string().starts_with(begin_of_name);
}

}  // namespace saltus
