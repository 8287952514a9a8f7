// run_study: runs the members of a study block by block, and keeps the results in memory or in a folder.
#pragma once

#include <saltus/study/density.hpp>
#include <saltus/study/study.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace saltus {

/// Consecutive members: the unit of work, of storage and of restart.
struct StudyBlock {
  std::int64_t number = 0, first = 0, count = 0;
};

/// What an executor tells while it works. Functions may be called from any thread.
class StudyMonitor {
 public:
  virtual ~StudyMonitor() = default;
  /// So many members have ended, so many of them not well.
  virtual void add(std::int64_t members, std::int64_t failed) = 0;
  /// Called now and then from the thread that runs the study: reports progress.
  virtual void report() = 0;
  /// True as soon as the study is to stop.
  virtual const std::atomic<bool>& stop() const = 0;
};

/// A way to run blocks. Executors of one MemberPath give the same bits.
class StudyExecutor {
 public:
  virtual ~StudyExecutor() = default;
  /// Runs all members of a block, whose result comes from Study::empty_block. Returns false if it was stopped.
  virtual bool run(const Study& study, const StudyBlock& block, BlockResult& result, StudyMonitor& monitor) = 0;
};

/// Members in so many threads, each by a Simulator of its own. 0: as many as the machine has.
std::unique_ptr<StudyExecutor> make_thread_executor(int threads);

/// Members in so many processes, with the bits of threads: a member that crashes, hangs or is ended by the system is
/// recorded as such (member_killed, member_out_of_time) and leaves the others alone. Processes are copies of this one
/// (fork): run the study while no other thread is at work. 0: as many as the machine has cores.
std::unique_ptr<StudyExecutor> make_process_executor(int processes);

/// Members in lanes, in so many threads (MemberPath::lanes). 0: as many as the machine has.
std::unique_ptr<StudyExecutor> make_lane_executor(int threads);

/// Members on a CUDA device, with the bits of lanes (MemberPath::lanes): those that the device cannot fly fly in lanes,
/// in so many threads, and all of them do where there is no device. Nothing of CUDA is linked: the driver and its
/// run-time compiler are looked for when the first block is run.
std::unique_ptr<StudyExecutor> make_cuda_executor(int threads);

/// How far a study is.
struct StudyProgress {
  std::int64_t members = 0;  ///< that this call has to run
  std::int64_t done = 0;     ///< of these
  std::int64_t failed = 0;   ///< of these
  std::int64_t resumed = 0;  ///< members that were there already
  double seconds = 0.0;
};

struct StudyOptions {
  /// A folder for the results, a Zarr group; empty: they stay in memory. A study that is there goes on, if it has the
  /// same plan and model.
  std::filesystem::path store = {};
  bool restart = false;                ///< discard the study that is in the folder, at once for a new one
  int threads = 0;                     ///< 0: as many as the machine has
  std::int64_t block = 0;              ///< members in a block; 0: that of the stored study, or up to 1024
  std::int64_t shard = 0, shards = 1;  ///< only blocks whose number is `shard` modulo `shards`
  /// What the model was made from (file, settings), by name: stored beside the study. Whether a stored study is the
  /// same is decided by the equations, not by this.
  std::vector<std::pair<std::string, std::string>> source = {};
  /// Called some times a second; return false to stop. What has been stored stays, and the same call goes on from
  /// there.
  std::function<bool(const StudyProgress&)> progress = {};
  /// Keep only the density of two results: for studies of very many members. The numbers of members are not stored;
  /// what they need of memory does not depend on how many there are.
  std::optional<DensityPlan> reduce = {};
  /// Instead of the one that StudyPlan::path asks for.
  std::shared_ptr<StudyExecutor> executor = {};
};

/// What is known of one of the processes that share a study (StudyOptions::shards).
enum class ShardState {
  done,     ///< its blocks are stored
  at_work,  ///< its process is there
  ended,    ///< its process has ended before its blocks were done, in this run or an earlier one
  unknown,  ///< it has not begun, or its file system has no locks
};

/// The results of a study, in memory or in a folder. Members that were not run have NaN and the status member_not_run.
/// Numbers in a folder that are not those that were written are refused: functions throw UsageError with the file.
class StudyResult {
 public:
  /// Throws UsageError if there is no study in the folder.
  static StudyResult open(const std::filesystem::path& store);

  const StudyPlan& plan() const;
  const std::vector<StudyArray>& arrays() const;
  /// The array of that name. Throws UsageError with the nearest name if there is none.
  const StudyArray& array(const std::string& name) const;
  std::int64_t members() const;
  std::int64_t block_size() const;
  std::int64_t blocks() const;
  bool block_done(std::int64_t block) const;
  /// Shard `shard` of `shards`, from 0 on, of a study in a folder.
  ShardState shard_state(std::int64_t shard, std::int64_t shards) const;
  /// Members in blocks that are done.
  std::int64_t members_done() const;
  bool finished() const { return members_done() == members(); }
  /// Members by status, in order of the status.
  std::vector<std::pair<int, std::int64_t>> count_by_status() const;
  /// An array over all members; samples of a member stand side by side. Throws UsageError as `array` does.
  std::vector<double> values(const std::string& name) const;
  /// The same for the members of one block.
  std::vector<double> block_values(const std::string& name, std::int64_t block) const;
  /// What is missing, damaged or of another study, a line for each file; empty: everything is there, as it was written.
  /// Reads all numbers.
  std::vector<std::string> check() const;
  /// The first failed members in order of index.
  std::vector<MemberFailure> failures(std::size_t most) const;
  /// Members that ran in lanes or on a device.
  std::int64_t members_in_lanes() const;
  /// What StudyOptions::reduce asked for; null if the numbers of members are kept. With a density `values`,
  /// `block_values` and `add` throw UsageError, and `failures` has the first thousand of each call.
  const Density* density() const;
  const std::optional<DensityPlan>& reduced_to() const;
  /// Adds or replaces an array that was computed from others, with a number for each member. Throws UsageError for
  /// other sizes and for names of the study itself.
  void add(const StudyArray& array, const std::vector<double>& values);
  /// What StudyOptions::source said; "" for other names.
  std::string source(const std::string& name) const;
  /// The folder; empty if the results are in memory.
  const std::filesystem::path& store() const;

 private:
  friend StudyResult run_study(const Study&, const StudyOptions&);
  struct Impl;
  explicit StudyResult(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

/// What keeps members of a study, all or some, from being run in lanes (MemberPath::lanes), in words; empty: nothing
/// does. Runs some of the members.
std::vector<std::string> obstacles_to_lanes(const Study& study);
/// The same for a CUDA device.
std::vector<std::string> obstacles_to_device(const Study& study);

/// Runs what is missing. Throws UsageError if the folder holds another study (the text says what differs), and if it
/// cannot be written: blocks that are there stay whole, and no part of another is left.
StudyResult run_study(const Study& study, const StudyOptions& options = {});
StudyResult run_study(const Model& model, const StudyPlan& plan, const StudyOptions& options = {});

/// Numbers the attractors of a study with samples, in order of the first member that reaches each: 1, 2, … Members are
/// on the same attractor if their samples, in any phase, agree within StudyPlan::period_tolerance. Members whose
/// samples do not repeat within 64 have 0, failed ones -1. Adds the array `attractor` and returns the number of
/// attractors.
int find_attractors(StudyResult& result);

}  // namespace saltus
