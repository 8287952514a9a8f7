// Copies of this process that work for it: what was made before is there at once, and one that crashes, hangs or is
// ended by the system takes nothing else with it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

struct sigaction;  // of the system

namespace saltus {

/// One end of a pipe; closed at the end.
class PipeEnd {
 public:
  explicit PipeEnd(int end = -1) : end_(end) {}
  ~PipeEnd();
  PipeEnd(PipeEnd&& other) noexcept : end_(std::exchange(other.end_, -1)) {}
  PipeEnd& operator=(PipeEnd&& other) noexcept {
    std::swap(end_, other.end_);
    return *this;
  }
  int get() const { return end_; }

 private:
  int end_;
};

/// What is said to the other process, and what it says.
class Conversation {
 public:
  Conversation() = default;
  Conversation(PipeEnd in, PipeEnd out) : in_(std::move(in)), out_(std::move(out)) {}
  /// False: the other side is gone.
  bool send(const void* data, std::size_t size) const;
  bool receive(void* data, std::size_t size) const;
  int in() const { return in_.get(); }

 private:
  PipeEnd in_, out_;
};

class WorkerProcess {
 public:
  /// Starts a copy of this process, which does `work` and ends. Throws UsageError if there can be none.
  explicit WorkerProcess(const std::function<void(const Conversation&)>& work);
  ~WorkerProcess() { end(); }
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  const Conversation& conversation() const { return conversation_; }
  /// Ends the process if it is still there. How it ended, in words.
  std::string end();
  /// The same for a process that has closed its pipe, which may take a moment to end.
  std::string wait();

 private:
  int child_ = 0;
  Conversation conversation_;
};

/// Waits until one of the processes says something or ends, a number of milliseconds at most; null stands for one that
/// is not asked. Which of them have.
std::vector<bool> wait_for(std::span<const WorkerProcess* const> processes, int milliseconds);

/// While it lives, to speak to a process that has ended is an error, not a signal.
class IgnoredPipeSignal {
 public:
  IgnoredPipeSignal();
  ~IgnoredPipeSignal();
  IgnoredPipeSignal(const IgnoredPipeSignal&) = delete;
  IgnoredPipeSignal& operator=(const IgnoredPipeSignal&) = delete;

 private:
  std::unique_ptr<struct sigaction> before_;
};

}  // namespace saltus
