// Members in processes of their own: one that crashes, hangs or is ended by the system takes nothing else with it.
//
// Each worker is a copy of this process (fork), so the compiled model is there at once. It runs the members of a unit
// and sends the results of each through a pipe. A member whose worker has ended is run once more: another process may
// have taken the memory. If its worker ends again, or stays silent for too long, the member is recorded as failed, and
// another worker takes the next one.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/wait.h>
#include <unistd.h>
#include <saltus/base/error.hpp>
#include <saltus/study/run_study.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <utility>

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

/// One end of a pipe; closed at the end.
class PipeEnd {
 public:
  explicit PipeEnd(int end = -1) : end_(end) {}
  ~PipeEnd() {
    if (end_ >= 0) ::close(end_);
  }
  PipeEnd(PipeEnd&& other) noexcept : end_(std::exchange(other.end_, -1)) {}
  PipeEnd& operator=(PipeEnd&& other) noexcept {
    std::swap(end_, other.end_);
    return *this;
  }
  int get() const { return end_; }

 private:
  int end_;
};

std::pair<PipeEnd, PipeEnd> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw UsageError(fmt::format("processes of members: there is no pipe: {}", std::strerror(errno)));
  return {PipeEnd(ends[0]), PipeEnd(ends[1])};
}

/// False: the other side is gone.
bool write_all(int end, const void* data, std::size_t size) {
  const auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t count = ::write(end, bytes, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

bool read_all(int end, void* data, std::size_t size) {
  auto* bytes = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t count = ::read(end, bytes, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

/// What a worker sends for a member: this, the message, and the columns one after the other.
struct Report {
  std::int64_t number = 0;  ///< of the member in its unit
  std::int64_t status = 0;
  double t = 0.0;
  std::uint64_t message = 0, numbers = 0;  ///< bytes and numbers that follow
};

[[noreturn]] void work(const Study& study, int tasks, int results) {
  const std::atomic<bool> never = false;
  Task task;
  while (read_all(tasks, &task, sizeof task)) {
    StudyAccess::run_unit(study, task.unit, task.from, never, [&](std::int64_t number, const MemberOutcome& outcome) {
      Report report{number, outcome.status, outcome.t, outcome.message.size(), 0};
      std::vector<double> all;
      for (const auto& column : outcome.columns) all.insert(all.end(), column.begin(), column.end());
      report.numbers = all.size();
      const bool sent = write_all(results, &report, sizeof report) &&
                        write_all(results, outcome.message.data(), outcome.message.size()) &&
                        write_all(results, all.data(), all.size() * sizeof(double));
      if (!sent) ::_exit(0);  // nobody listens any more
    });
  }
  ::_exit(0);
}

class Worker {
 public:
  explicit Worker(const Study& study) {
    auto [task_out, task_in] = make_pipe();
    auto [result_out, result_in] = make_pipe();
    const pid_t parent = ::getpid();
    child_ = ::fork();
    if (child_ < 0)
      throw UsageError(fmt::format("processes of members: none can be started: {}", std::strerror(errno)));
    if (child_ == 0) {
#ifdef __linux__
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // elsewhere a worker ends when it reads its next task
#endif
      if (::getppid() != parent) ::_exit(0);
      task_in = PipeEnd();  // the end of the study is the end of the pipe
      work(study, task_out.get(), result_in.get());
    }
    tasks_ = std::move(task_in);
    results_ = std::move(result_out);
  }
  ~Worker() {
    end();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// False: it has ended.
  bool begin(Task task) {
    task_ = task;
    busy_ = true;
    last_sign_ = Clock::now();
    return write_all(tasks_.get(), &task, sizeof task);
  }
  bool busy() const {
    return busy_;
  }
  const Task& task() const {
    return task_;
  }
  double silent_for() const {
    return std::chrono::duration<double>(Clock::now() - last_sign_).count();
  }
  int results() const {
    return results_.get();
  }

  /// A member that has ended. False: the worker has.
  bool receive(Report& report, std::string& message, std::vector<double>& numbers, std::int64_t unit_size) {
    constexpr std::uint64_t most = std::uint64_t{1} << 32;
    if (!read_all(results_.get(), &report, sizeof report) || report.message > most || report.numbers > most)
      return false;
    message.resize(report.message);
    numbers.resize(report.numbers);
    if (!read_all(results_.get(), message.data(), message.size()) ||
        !read_all(results_.get(), numbers.data(), numbers.size() * sizeof(double)))
      return false;
    last_sign_ = Clock::now();
    task_.from = report.number + 1;
    busy_ = task_.from < unit_size;
    return true;
  }

  /// Ends the process if it is still there. How it ended, as waitpid tells it.
  int end() {
    if (child_ <= 0) return 0;
    ::kill(child_, SIGKILL);
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    child_ = 0;
    return status;
  }
  /// The same for a process that has closed its pipe, which may take a moment to end.
  int wait() {
    constexpr int tries = 200;
    int status = 0;
    for (int k = 0; child_ > 0 && k < tries; ++k) {
      const pid_t ended = ::waitpid(child_, &status, WNOHANG);
      if (ended == child_) {
        child_ = 0;
        return status;
      }
      ::poll(nullptr, 0, 5);
    }
    return end();
  }

 private:
  pid_t child_ = 0;
  PipeEnd tasks_, results_;
  Task task_;
  bool busy_ = false;
  Clock::time_point last_sign_;
};

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return fmt::format("its process was ended by signal {} ({}{})", signal, ::strsignal(signal),
                       signal == SIGKILL ? ", as the system does where memory runs out" : "");
  }
  return fmt::format("its process ended with code {}", WEXITSTATUS(status));
}

/// While it lives, a write to a worker that has ended is an error, not a signal.
class IgnoredPipeSignal {
 public:
  IgnoredPipeSignal() {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGPIPE, &ignore, &before_);
  }
  ~IgnoredPipeSignal() { ::sigaction(SIGPIPE, &before_, nullptr); }
  IgnoredPipeSignal(const IgnoredPipeSignal&) = delete;
  IgnoredPipeSignal& operator=(const IgnoredPipeSignal&) = delete;

 private:
  struct sigaction before_ = {};
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
    std::vector<pollfd> ends;
    for (const auto& worker : workers_) ends.push_back({worker->busy() ? worker->results() : -1, POLLIN, 0});
    ::poll(ends.data(), ends.size(), longest);
    for (std::size_t k = 0; k < workers_.size(); ++k) {
      if (!workers_[k]->busy()) continue;
      if (ends[k].revents != 0)
        listen(workers_[k]);
      else if (workers_[k]->silent_for() > longest_silence_)
        end_silent(workers_[k]);
    }
  }

  void listen(std::unique_ptr<Worker>& worker) {
    Report report;
    const Task task = worker->task();
    if (!worker->receive(report, message_, numbers_, unit_size_)) {
      const std::string why = how_it_ended(worker->wait());
      if (!lost_.insert(StudyAccess::index(study_, task.unit, task.from)).second)
        return lose_member(worker, task, member_killed, why);
      return replace(worker, {task.unit, task.begin, task.begin});
    }
    store(task.unit, report.number, static_cast<int>(report.status), report.t, message_, numbers_);
    if (!worker->busy()) give_work(worker);
  }

  void end_silent(std::unique_ptr<Worker>& worker) {
    const Task task = worker->task();
    worker->end();
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
