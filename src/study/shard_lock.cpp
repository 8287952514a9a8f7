#include "study/shard_lock.hpp"

#include <fmt/format.h>

#include <system_error>
#include <vector>

namespace saltus {

namespace fs = std::filesystem;

namespace {

constexpr const char* begin_of_name = ".shard-";

fs::path file_of(const fs::path& folder, std::int64_t shard, std::int64_t shards) {
  return folder / fmt::format("{}{}-of-{}", begin_of_name, shard, shards);
}

ShardState lock_state(const fs::path& file) {
  const LockState state = state_of_lock(file);
  return state == LockState::unknown ? ShardState::unknown
         : state == LockState::free  ? ShardState::ended
                                     : ShardState::at_work;
}

}  // namespace

ShardLock::ShardLock(const fs::path& folder, std::int64_t shard, std::int64_t shards)
    : file_(file_of(folder, shard, shards)), lock_(file_) {}

void ShardLock::remove() {
  std::error_code ignored;
  if (lock_.taken()) fs::remove(file_, ignored);
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
