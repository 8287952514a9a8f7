// Where the blocks of a study are: in memory or in a folder.
#pragma once

#include <saltus/base/version.hpp>
#include <saltus/study/run_study.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
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
  std::optional<DensityPlan> reduce = {};                ///< only a density is kept
  std::string version = std::string(saltus::version());  ///< of the program that began it
  std::string part = "0-of-1";  ///< names the file of this process, where several write densities
};

class StudyStore {
 public:
  virtual ~StudyStore() = default;
  virtual bool done(std::int64_t block) const = 0;
  /// Whether a block is done and has the numbers that were written. Otherwise it is not done from now on.
  virtual bool verify(std::int64_t block) { return done(block); }
  virtual void write(const StudyBlock& block, const BlockResult& result) = 0;
  /// The numbers of the members of a block; those that stand for missing ones if it is not done. Throws UsageError if
  /// they are damaged.
  virtual std::vector<double> read(std::size_t array, std::int64_t block) const = 0;
  virtual std::vector<MemberFailure> failures(std::int64_t block) const = 0;
  /// An array that was computed from others; it is in the identity already.
  virtual void write_array(std::size_t array, const std::vector<double>& values) = 0;
  /// How often each number is there, in an array of bytes.
  virtual std::map<int, std::int64_t> counts(std::size_t array) const = 0;
  /// Null: the numbers of members are kept, and no density.
  virtual const Density* density() const { return nullptr; }
  /// Called before blocks are written: makes whole what does not depend on members.
  virtual void prepare() {}
  /// Called once all blocks of a call are written.
  virtual void finish() {}
  /// What is damaged, missing or of another study, a line for each file.
  virtual std::vector<std::string> check() const { return {}; }
};

/// A store that keeps the numbers of all members.
class MemberStore : public StudyStore {
 public:
  std::map<int, std::int64_t> counts(std::size_t array) const final;

 protected:
  explicit MemberStore(const StudyIdentity& identity) : identity_(identity) {}
  const StudyIdentity& identity_;
};

/// More blocks than that are not looked after: they are files.
inline constexpr std::int64_t most_blocks = 100'000'000;

inline std::int64_t block_count(const StudyIdentity& identity) {
  return (identity.members + identity.block - 1) / identity.block;
}
inline StudyBlock block_of(const StudyIdentity& identity, std::int64_t number) {
  const std::int64_t first = number * identity.block;
  return {number, first, std::min(identity.block, identity.members - first)};
}

std::unique_ptr<StudyStore> make_memory_store(const StudyIdentity& identity);
/// A density in memory (StudyIdentity::reduce).
std::unique_ptr<StudyStore> make_density_store(const StudyIdentity& identity);

/// A Zarr group of version 2. Creates it, or goes on with one that has the same identity: then `identity.block` becomes
/// that of the folder, unless `block_is_wanted`. Throws UsageError with what differs otherwise.
std::unique_ptr<StudyStore> make_zarr_store(const std::filesystem::path& folder, StudyIdentity& identity, bool restart,
                                            bool block_is_wanted);
/// One that exists; reads its identity.
std::unique_ptr<StudyStore> open_zarr_store(const std::filesystem::path& folder, StudyIdentity& identity);

}  // namespace saltus
