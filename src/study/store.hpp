// Where the blocks of a study are: in memory or in a folder.
#pragma once

#include <saltus/study/run_study.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace saltus {

/// What a store needs to know about a study.
struct StudyIdentity {
  StudyPlan plan;
  std::vector<StudyArray> arrays;  ///< of the study itself, and after them those that were computed from others
  std::size_t own_arrays = 0;
  std::int64_t members = 0, block = 0;
  std::string model;  ///< Study::description
  std::vector<std::pair<std::string, std::string>> source;
};

class StudyStore {
 public:
  virtual ~StudyStore() = default;
  virtual bool done(std::int64_t block) const = 0;
  virtual void write(const StudyBlock& block, const BlockResult& result) = 0;
  /// The numbers of the members of a block; those that stand for missing ones if it is not done.
  virtual std::vector<double> read(std::size_t array, std::int64_t block) const = 0;
  virtual std::vector<MemberFailure> failures(std::int64_t block) const = 0;
  /// An array that was computed from others; it is in the identity already.
  virtual void write_array(std::size_t array, const std::vector<double>& values) = 0;
};

inline std::int64_t block_count(const StudyIdentity& identity) {
  return (identity.members + identity.block - 1) / identity.block;
}
inline StudyBlock block_of(const StudyIdentity& identity, std::int64_t number) {
  const std::int64_t first = number * identity.block;
  return {number, first, std::min(identity.block, identity.members - first)};
}

std::unique_ptr<StudyStore> make_memory_store(const StudyIdentity& identity);

/// A Zarr group of version 2. Creates it, or goes on with one that has the same identity: then `identity.block` becomes
/// that of the folder, unless `block_is_wanted`. Throws UsageError with what differs otherwise.
std::unique_ptr<StudyStore> make_zarr_store(const std::filesystem::path& folder, StudyIdentity& identity, bool restart,
                                            bool block_is_wanted);
/// One that exists; reads its identity.
std::unique_ptr<StudyStore> open_zarr_store(const std::filesystem::path& folder, StudyIdentity& identity);

}  // namespace saltus
