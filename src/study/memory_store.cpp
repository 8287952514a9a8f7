#include <map>

#include "study/store.hpp"

namespace saltus {

namespace {

class MemoryStore final : public MemberStore {
 public:
  explicit MemoryStore(const StudyIdentity& identity) : MemberStore(identity) {}

  bool done(std::int64_t block) const override { return blocks_.contains(block); }
  void write(const StudyBlock& block, const BlockResult& result) override { blocks_[block.number] = result; }
  std::vector<double> read(std::size_t array, std::int64_t block) const override {
    const StudyArray& kind = identity_.arrays[array];
    const StudyBlock place = block_of(identity_, block);
    if (array >= identity_.own_arrays) {
      const auto& all = computed_.at(array);
      return {all.begin() + place.first, all.begin() + place.first + place.count};
    }
    const auto found = blocks_.find(block);
    if (found != blocks_.end()) return found->second.columns[array];
    return std::vector<double>(static_cast<std::size_t>(place.count * kind.numbers()), kind.missing());
  }
  std::vector<MemberFailure> failures(std::int64_t block) const override {
    const auto found = blocks_.find(block);
    return found == blocks_.end() ? std::vector<MemberFailure>{} : found->second.failures;
  }
  void write_array(std::size_t array, const std::vector<double>& values) override { computed_[array] = values; }

 private:
  std::map<std::int64_t, BlockResult> blocks_;
  std::map<std::size_t, std::vector<double>> computed_;
};

}  // namespace

std::map<int, std::int64_t> MemberStore::counts(std::size_t array) const {
  std::map<int, std::int64_t> result;
  for (std::int64_t number = 0; number < block_count(identity_); ++number)
    for (const double value : read(array, number)) ++result[static_cast<int>(value)];
  return result;
}

std::unique_ptr<StudyStore> make_memory_store(const StudyIdentity& identity) {
  return std::make_unique<MemoryStore>(identity);
}

}  // namespace saltus
