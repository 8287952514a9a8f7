// Members in processes of their own: one that crashes, hangs or is ended by the system takes nothing else with it.
//
// Each worker is a copy of this process (fork), so the compiled model is there at once. It runs the members of a unit
// and sends the results of each through a pipe. A member whose worker has ended is run once more: another process may
// have taken the memory. If its worker ends again, or stays silent for too long, the member is recorded as failed, and
// another worker takes the next one.
#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/study/run_study.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/system/worker_process.hpp"
#include "study/study_access.hpp"
#include "study/work_in_threads.hpp"

namespace saltus {

namespace {

using Clock = std::chrono::steady_clock;

/// Members of a unit, from one on.
struct Task {
  std::int64_t unit = 0, from = 0;
  std::int64_t begin = 0;  ///< from where the unit can be repeated: its first member, or the one after a failure
};

/// What a worker sends for a member: this, the message, and the columns one after the other.
struct Report {
  std::int64_t number = 0;  ///< of the member in its unit
  std::int64_t status = 0;
  double t = 0.0;
  std::uint64_t message = 0, numbers = 0;  ///< bytes and numbers that follow
};

/// The work of a process, until the study has no more tasks.
void work(const Study& study, const Conversation& with_study) {
  std::atomic<bool> alone = false;  // nobody listens any more
  Task task;
  while (!alone && with_study.receive(&task, sizeof task)) {
    StudyAccess::run_unit(study, task.unit, task.from, alone, [&](std::int64_t number, const MemberOutcome& outcome) {
      Report report{number, outcome.status, outcome.t, outcome.message.size(), 0};
      std::vector<double> all;
      for (const auto& column : outcome.columns) all.insert(all.end(), column.begin(), column.end());
      report.numbers = all.size();
      if (!with_study.send(&report, sizeof report) ||
          !with_study.send(outcome.message.data(), outcome.message.size()) ||
          !with_study.send(all.data(), all.size() * sizeof(double)))
        alone = true;
    });
  }
}

class Worker {
 public:
  explicit Worker(const Study& study) : process_([&study](const Conversation& c) { work(study, c); }) {}

  /// False: it has ended.
  bool begin(Task task) {
    task_ = task;
    busy_ = true;
    last_sign_ = Clock::now();
    return process_.conversation().send(&task, sizeof task);
  }
  bool busy() const { return busy_; }
  const Task& task() const { return task_; }
  double silent_for() const { return std::chrono::duration<double>(Clock::now() - last_sign_).count(); }
  WorkerProcess& process() { return process_; }

  /// A member that has ended. False: the worker has.
  bool receive(Report& report, std::string& message, std::vector<double>& numbers, std::int64_t unit_size) {
    constexpr std::uint64_t most = std::uint64_t{1} << 32;
    const Conversation& with = process_.conversation();
    if (!with.receive(&report, sizeof report) || report.message > most || report.numbers > most) return false;
    message.resize(report.message);
    numbers.resize(report.numbers);
    if (!with.receive(message.data(), message.size()) || !with.receive(numbers.data(), numbers.size() * sizeof(double)))
      return false;
    last_sign_ = Clock::now();
    task_.from = report.number + 1;
    busy_ = task_.from < unit_size;
    return true;
  }

 private:
  WorkerProcess process_;
  Task task_;
  bool busy_ = false;
  Clock::time_point last_sign_;
};

class BlockInProcesses {
 public:
  BlockInProcesses(const Study& study, const StudyBlock& block, BlockResult& result, StudyMonitor& monitor)
      : study_(study),
        block_(block),
        result_(result),
        monitor_(monitor),
        unit_size_(study.unit_size()),
        next_(block.first / unit_size_),
        last_(next_ + block.count / unit_size_) {
    const double limit = study.plan().member_seconds;
    // a member ends itself at its limit, unless it is inside something long
    longest_silence_ = std::isfinite(limit) ? 1.5 * limit + 2.0 : std::numeric_limits<double>::infinity();
  }

  bool run(int workers) {
    const IgnoredPipeSignal ignored;
    for (std::int64_t k = 0; k < std::min<std::int64_t>(workers, last_ - next_); ++k) {
      workers_.push_back(std::make_unique<Worker>(study_));
      give_work(workers_.back());
    }
    while (std::ranges::any_of(workers_, [](const auto& worker) { return worker->busy(); })) {
      if (monitor_.stop()) return false;
      wait();
      monitor_.report();
    }
    std::ranges::sort(result_.failures, {}, &MemberFailure::index);
    return !monitor_.stop();
  }

 private:
  /// Waits until a worker has something to say, a tenth of a second at most.
  void wait() {
    constexpr int longest = 100;  // ms
    std::vector<const WorkerProcess*> asked;
    for (const auto& worker : workers_) asked.push_back(worker->busy() ? &worker->process() : nullptr);
    const std::vector<bool> said = wait_for(asked, longest);
    for (std::size_t k = 0; k < workers_.size(); ++k) {
      if (!workers_[k]->busy()) continue;
      if (said[k])
        listen(workers_[k]);
      else if (workers_[k]->silent_for() > longest_silence_)
        end_silent(workers_[k]);
    }
  }

  void listen(std::unique_ptr<Worker>& worker) {
    Report report;
    const Task task = worker->task();
    if (!worker->receive(report, message_, numbers_, unit_size_)) {
      const std::string why = worker->process().wait();
      if (!lost_.insert(StudyAccess::index(study_, task.unit, task.from)).second)
        return lose_member(worker, task, member_killed, why);
      return replace(worker, {task.unit, task.begin, task.begin});
    }
    store(task.unit, report.number, static_cast<int>(report.status), report.t, message_, numbers_);
    if (!worker->busy()) give_work(worker);
  }

  void end_silent(std::unique_ptr<Worker>& worker) {
    const Task task = worker->task();
    worker->process().end();
    lose_member(worker, task, member_out_of_time,
                fmt::format("not ended after {} s, nor between two evaluations of its equations: its process was ended",
                            study_.plan().member_seconds));
  }

  /// The member is recorded as failed; another worker goes on with the next one.
  void lose_member(std::unique_ptr<Worker>& worker, Task task, int status, const std::string& why) {
    const std::int64_t index = StudyAccess::index(study_, task.unit, task.from);
    MemberOutcome none = StudyAccess::begin(study_, index);
    none.columns[StudyAccess::layout(study_).place(FixedArray::status)].front() = status;
    std::vector<double> all;
    for (const auto& column : none.columns) all.insert(all.end(), column.begin(), column.end());
    store(task.unit, task.from, status, study_.plan().simulate.start, why, all);
    task.begin = ++task.from;
    replace(worker, task);
  }

  void replace(std::unique_ptr<Worker>& worker, const Task& task) {
    worker = std::make_unique<Worker>(study_);
    if (task.from == unit_size_)
      give_work(worker);
    else
      worker->begin(task);
  }

  void give_work(std::unique_ptr<Worker>& worker) {
    if (next_ < last_) worker->begin({next_++, 0, 0});
  }

  /// Puts the numbers of a member into the columns of the block.
  void store(std::int64_t unit, std::int64_t number, int status, double t, const std::string& message,
             const std::vector<double>& numbers) {
    const std::int64_t index = StudyAccess::index(study_, unit, number);
    const auto place = static_cast<std::size_t>(index - block_.first);
    if (stored_[place]) return;
    stored_[place] = true;
    auto from = numbers.begin();
    for (std::size_t a = 0; a < result_.columns.size(); ++a) {
      const std::int64_t count = study_.arrays()[a].numbers();
      if (numbers.end() - from < count) throw UsageError("processes of members: a result is incomplete");
      std::copy_n(from, count, result_.columns[a].begin() + (index - block_.first) * count);
      from += count;
    }
    if (!member_ok(status)) result_.failures.push_back({index, status, t, message});
    monitor_.add(1, member_ok(status) ? 0 : 1);
  }

  const Study& study_;
  const StudyBlock& block_;
  BlockResult& result_;
  StudyMonitor& monitor_;
  std::int64_t unit_size_, next_, last_;
  double longest_silence_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<bool> stored_ = std::vector<bool>(static_cast<std::size_t>(block_.count));
  std::set<std::int64_t> lost_;  // members whose worker has ended once
  std::string message_;
  std::vector<double> numbers_;
};

class ProcessExecutor final : public StudyExecutor {
 public:
  explicit ProcessExecutor(int processes) : processes_(number_of_threads(processes)) {}

  bool run(const Study& study, const StudyBlock& block, BlockResult& result, StudyMonitor& monitor) override {
    return BlockInProcesses(study, block, result, monitor).run(processes_);
  }

 private:
  int processes_;
};

}  // namespace

std::unique_ptr<StudyExecutor> make_process_executor(int processes) {
  return std::make_unique<ProcessExecutor>(processes);
}

}  // namespace saltus
