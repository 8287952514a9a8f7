#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/base/names.hpp>
#include <saltus/study/run_study.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

#include "base/system/large_block.hpp"
#include "study/layout.hpp"
#include "study/shard_lock.hpp"
#include "study/store.hpp"

namespace saltus {

struct StudyResult::Impl {
  StudyIdentity identity;
  std::unique_ptr<StudyStore> store;
  std::filesystem::path folder;

  std::size_t place(const std::string& name) const {
    const auto& arrays = identity.arrays;
    const NameTable names(arrays, [](const StudyArray& array) -> std::string_view { return array.name; });
    if (const auto place = names.find(name)) return *place;
    if (const NameSpelling spelling = read_name(name); spelling.of == NameSpelling::Of::start)
      if (const auto place = names.find(spelling.name + start_suffix)) return *place;
    std::string all;
    for (const StudyArray& array : arrays) all += (all.empty() ? "'" : ", '") + array.name + "'";
    const std::string hint = names.hint(name);
    throw UsageError("there is no result '" + name + "' in the study" + (hint.empty() ? "; there are " + all : hint));
  }
};

namespace {

class Monitor final : public StudyMonitor {
 public:
  Monitor(const StudyOptions& options, std::int64_t members, std::int64_t resumed)
      : options_(options), progress_{.members = members, .resumed = resumed} {}

  void add(std::int64_t members, std::int64_t failed) override {
    done_ += members;
    failed_ += failed;
  }
  void report() override {
    if (!options_.progress || stop_) return;
    progress_.done = done_;
    progress_.failed = failed_;
    progress_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    if (!options_.progress(progress_)) stop_ = true;
  }
  const std::atomic<bool>& stop() const override { return stop_; }

 private:
  const StudyOptions& options_;
  StudyProgress progress_;
  std::atomic<std::int64_t> done_ = 0, failed_ = 0;
  std::atomic<bool> stop_ = false;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

/// Blocks hold whole units, and no more than there are. 0: a usual size, with arrays of at most 16 MB. Blocks of which
/// only a density is kept are larger: they make no files.
std::int64_t block_size(const Study& study, std::int64_t wanted, bool reduced) {
  constexpr std::int64_t usual = 1024, large = 65'536, most_numbers = std::int64_t{1} << 21;
  std::int64_t size = wanted;
  if (size == 0) {
    size = reduced ? large : usual;
    for (const StudyArray& array : study.arrays()) size = std::min(size, most_numbers / array.numbers());
  }
  const std::int64_t unit = study.unit_size();
  size = std::clamp(size, unit, study.members());
  return (size + unit - 1) / unit * unit;
}

void check(const StudyOptions& options) {
  if (options.block < 0) throw UsageError("the size of a block must not be negative");
  if (options.threads < 0 || options.threads > 4096)
    throw UsageError(fmt::format("{} threads; take 1 to 4096, or 0 for as many as the machine has", options.threads));
  if (options.shards < 1 || options.shard < 0 || options.shard > options.shards)
    throw UsageError(fmt::format("shard {}/{}: write I/N with I from 0 (or 1) to N", options.shard, options.shards));
  if (options.shards > 1 && options.store.empty()) throw UsageError("shards of a study meet in a folder; name one");
  if (options.shards > 1 && options.restart)
    throw UsageError("a shard must not discard what others have made; remove the folder before the shards start");
}

}  // namespace

StudyResult run_study(const Study& study, const StudyOptions& options) {
  check(options);
  auto impl = std::make_shared<StudyResult::Impl>();
  StudyIdentity& identity = impl->identity;
  identity.plan = study.plan();
  identity.arrays = study.arrays();
  identity.own_arrays = identity.arrays.size();
  identity.members = study.members();
  identity.block = block_size(study, options.block, options.reduce.has_value());
  identity.model = study.description();
  identity.source = options.source;
  identity.reduce = options.reduce;
  identity.part = fmt::format("{}-of-{}", options.shard % options.shards, options.shards);
  impl->folder = options.store;
  if (options.reduce)
    for (const std::string& name : {options.reduce->x, options.reduce->y}) impl->place(name);
  if (options.store.empty())
    impl->store = options.reduce ? make_density_store(identity) : make_memory_store(identity);
  else
    impl->store = make_zarr_store(options.store, identity, options.restart, options.block > 0);

  std::optional<ShardLock> lock;
  if (options.shards > 1) lock.emplace(options.store, options.shard % options.shards, options.shards);
  std::vector<StudyBlock> missing;
  std::int64_t members = 0, resumed = 0;
  for (std::int64_t number = 0; number < block_count(identity); ++number) {
    const StudyBlock block = block_of(identity, number);
    const bool own = number % options.shards == options.shard % options.shards;  // others look after theirs
    if (own ? impl->store->verify(number) : impl->store->done(number)) {
      resumed += block.count;
    } else if (own) {
      missing.push_back(block);
      members += block.count;
    }
  }
  std::shared_ptr<StudyExecutor> executor = options.executor;
  if (!executor)
    executor = study.plan().path == MemberPath::lanes ? make_lane_executor(options.threads)
                                                      : make_thread_executor(options.threads);
  Monitor monitor(options, members, resumed);
  for (const StudyBlock& block : missing) {
    BlockResult result = study.empty_block(block.count);
    if (!executor->run(study, block, result, monitor)) break;
    impl->store->write(block, result);
    monitor.report();
    if (monitor.stop()) break;
  }
  impl->store->finish();
  if (lock && !monitor.stop()) lock->remove();
  if (options.shards == 1 && !options.store.empty()) remove_ended_locks(options.store);
  return StudyResult(std::move(impl));
}

StudyResult run_study(const Model& model, const StudyPlan& plan, const StudyOptions& options) {
  return run_study(Study(model, plan), options);
}

StudyResult StudyResult::open(const std::filesystem::path& store) {
  auto impl = std::make_shared<Impl>();
  impl->folder = store;
  impl->store = open_zarr_store(store, impl->identity);
  return StudyResult(std::move(impl));
}

const StudyPlan& StudyResult::plan() const {
  return impl_->identity.plan;
}
const std::vector<StudyArray>& StudyResult::arrays() const {
  return impl_->identity.arrays;
}
const StudyArray& StudyResult::array(const std::string& name) const {
  return arrays()[impl_->place(name)];
}
std::int64_t StudyResult::members() const {
  return impl_->identity.members;
}
std::int64_t StudyResult::block_size() const {
  return impl_->identity.block;
}
std::int64_t StudyResult::blocks() const {
  return block_count(impl_->identity);
}
bool StudyResult::block_done(std::int64_t block) const {
  return impl_->store->done(block);
}
const std::filesystem::path& StudyResult::store() const {
  return impl_->folder;
}

ShardState StudyResult::shard_state(std::int64_t shard, std::int64_t shards) const {
  const ShardState lock = state_of_lock(impl_->folder, shard, shards);  // read first: blocks are stored before it ends
  for (std::int64_t number = shard; number < blocks(); number += shards)
    if (!block_done(number)) return lock;
  return ShardState::done;
}

std::int64_t StudyResult::members_done() const {
  std::int64_t done = 0;
  for (std::int64_t number = 0; number < blocks(); ++number)
    if (block_done(number)) done += block_of(impl_->identity, number).count;
  return done;
}

std::vector<std::pair<int, std::int64_t>> StudyResult::count_by_status() const {
  const std::map<int, std::int64_t> counts = impl_->store->counts(impl_->place("status"));
  return {counts.begin(), counts.end()};
}

std::int64_t StudyResult::members_in_lanes() const {
  if (plan().path != MemberPath::lanes) return 0;
  const std::map<int, std::int64_t> counts = impl_->store->counts(impl_->place("path"));
  const auto found = counts.find(1);
  return found == counts.end() ? 0 : found->second;
}

const Density* StudyResult::density() const {
  return impl_->store->density();
}
const std::optional<DensityPlan>& StudyResult::reduced_to() const {
  return impl_->identity.reduce;
}

std::vector<std::string> StudyResult::check() const {
  return impl_->store->check();
}

std::vector<double> StudyResult::values(const std::string& name) const {
  const std::size_t array = impl_->place(name);
  std::vector<double> all;
  const double numbers = static_cast<double>(members()) * static_cast<double>(arrays()[array].numbers());
  const double memory = memory_of_machine();
  if (numbers * sizeof(double) > memory)
    throw UsageError(fmt::format("'{}' has {:.3g} numbers, which do not fit into the memory; read it block by block",
                                 name, numbers));
  for (std::int64_t number = 0; number < blocks(); ++number) {
    const std::vector<double> part = impl_->store->read(array, number);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

std::vector<double> StudyResult::block_values(const std::string& name, std::int64_t block) const {
  if (block < 0 || block >= blocks())
    throw UsageError(fmt::format("there is no block {}; the study has {} of them", block, blocks()));
  return impl_->store->read(impl_->place(name), block);
}

std::vector<MemberFailure> StudyResult::failures(std::size_t most) const {
  std::vector<MemberFailure> list;
  for (std::int64_t number = 0; number < blocks() && list.size() < most; ++number)
    for (MemberFailure& failure : impl_->store->failures(number))
      if (list.size() < most) list.push_back(std::move(failure));
  return list;
}

void StudyResult::add(const StudyArray& array, const std::vector<double>& values) {
  StudyIdentity& identity = impl_->identity;
  if (array.width != 0 || static_cast<std::int64_t>(values.size()) != identity.members)
    throw UsageError(fmt::format("'{}' needs one number for each of {} members", array.name, identity.members));
  const auto found = std::ranges::find(identity.arrays, array.name, &StudyArray::name);
  const auto place = static_cast<std::size_t>(found - identity.arrays.begin());
  if (place < identity.own_arrays) throw UsageError("'" + array.name + "' is a result of the study itself");
  if (found == identity.arrays.end()) identity.arrays.push_back(array);
  impl_->store->write_array(place, values);
}

std::string StudyResult::source(const std::string& name) const {
  for (const auto& [key, text] : impl_->identity.source)
    if (key == name) return text;
  return {};
}

}  // namespace saltus
