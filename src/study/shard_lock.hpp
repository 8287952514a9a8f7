// Which shards of a study are at work, as other processes see it: each holds a lock of a file in the folder, which the
// system releases when the process ends, in whatever way.
#pragma once

#include <saltus/study/run_study.hpp>

#include <cstdint>
#include <filesystem>

#include "base/system/file_lock.hpp"

namespace saltus {

/// Held while a shard is at work. A lock that cannot be had is none: then nothing can be said about this shard.
class ShardLock {
 public:
  ShardLock(const std::filesystem::path& folder, std::int64_t shard, std::int64_t shards);

  /// All blocks are done: nothing is left of the lock.
  void remove();

 private:
  std::filesystem::path file_;
  FileLock lock_;
};

/// What the lock says: at_work, ended, or unknown where there is none.
ShardState state_of_lock(const std::filesystem::path& folder, std::int64_t shard, std::int64_t shards);

/// Removes what killed shards have left.
void remove_ended_locks(const std::filesystem::path& folder);

/// True for the files of locks.
bool is_shard_lock(const std::filesystem::path& file);

}  // namespace saltus
