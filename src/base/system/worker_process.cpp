#include "base/system/worker_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/wait.h>
#include <unistd.h>
#include <saltus/base/error.hpp>

#include <cerrno>
#include <cstring>

namespace saltus {

namespace {

std::pair<PipeEnd, PipeEnd> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw UsageError(std::string("processes of members: there is no pipe: ") + std::strerror(errno));
  return {PipeEnd(ends[0]), PipeEnd(ends[1])};
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return "its process was ended by signal " + std::to_string(signal) + " (" + ::strsignal(signal) +
           (signal == SIGKILL ? ", as the system does where memory runs out" : "") + ")";
  }
  return "its process ended with code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

PipeEnd::~PipeEnd() {
  if (end_ >= 0) ::close(end_);
}

bool Conversation::send(const void* data, std::size_t size) const {
  const auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t count = ::write(out_.get(), bytes, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

bool Conversation::receive(void* data, std::size_t size) const {
  auto* bytes = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t count = ::read(in_.get(), bytes, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

WorkerProcess::WorkerProcess(const std::function<void(const Conversation&)>& work) {
  auto [task_out, task_in] = make_pipe();
  auto [result_out, result_in] = make_pipe();
  const pid_t parent = ::getpid();
  child_ = ::fork();
  if (child_ < 0) throw UsageError(std::string("processes of members: none can be started: ") + std::strerror(errno));
  if (child_ == 0) {
#ifdef __linux__
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // elsewhere a worker ends when it reads its next task
#endif
    if (::getppid() != parent) ::_exit(0);
    task_in = PipeEnd();  // the end of the study is the end of the pipe
    result_out = PipeEnd();
    work(Conversation(std::move(task_out), std::move(result_in)));
    ::_exit(0);
  }
  conversation_ = Conversation(std::move(result_out), std::move(task_in));
}

std::string WorkerProcess::end() {
  if (child_ <= 0) return how_it_ended(0);
  ::kill(child_, SIGKILL);
  int status = 0;
  while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = 0;
  return how_it_ended(status);
}

std::string WorkerProcess::wait() {
  constexpr int tries = 200;
  int status = 0;
  for (int k = 0; child_ > 0 && k < tries; ++k) {
    const pid_t ended = ::waitpid(child_, &status, WNOHANG);
    if (ended == child_) {
      child_ = 0;
      return how_it_ended(status);
    }
    ::poll(nullptr, 0, 5);
  }
  return end();
}

std::vector<bool> wait_for(std::span<const WorkerProcess* const> processes, int milliseconds) {
  std::vector<pollfd> ends;
  for (const WorkerProcess* process : processes)
    ends.push_back({process ? process->conversation().in() : -1, POLLIN, 0});
  ::poll(ends.data(), static_cast<nfds_t>(ends.size()), milliseconds);
  std::vector<bool> said;
  for (const pollfd& end : ends) said.push_back(end.revents != 0);
  return said;
}

IgnoredPipeSignal::IgnoredPipeSignal() : before_(std::make_unique<struct sigaction>()) {
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, before_.get());
}

IgnoredPipeSignal::~IgnoredPipeSignal() {
  ::sigaction(SIGPIPE, before_.get(), nullptr);
}

}  // namespace saltus
