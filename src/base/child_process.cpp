#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <saltus/base/child_process.hpp>
#include <saltus/base/error.hpp>

#include <array>
#include <cerrno>
#include <cstring>

extern char** environ;

namespace saltus {

namespace {

/// Both ends of a connection; what is open at the end is closed.
struct Ends {
  int ours = -1, theirs = -1;

  Ends() = default;
  ~Ends() {
    close(ours);
    close(theirs);
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;
  static void close(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
};

[[noreturn]] void refuse_start(const std::string& program, int reason) {
  throw UsageError("cannot start " + program + ": " + std::strerror(reason));
}

/// Reads what is there. False: there is no more.
bool take(int end, std::string& text) {
  std::array<char, 65'536> bytes;
  const ssize_t count = ::read(end, bytes.data(), bytes.size());
  if (count > 0) text.append(bytes.data(), static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && (errno == EINTR || errno == EAGAIN));
}

/// Feeds and listens until the program has closed its ends.
void converse(Ends& in, Ends& out, Ends& errors, const std::string& input, ChildOutput& result) {
  std::size_t sent = 0;
  if (input.empty()) Ends::close(in.ours);
  while (out.ours >= 0 || errors.ours >= 0) {
    std::array<pollfd, 3> wait = {{{in.ours, POLLOUT, 0}, {out.ours, POLLIN, 0}, {errors.ours, POLLIN, 0}}};
    if (::poll(wait.data(), wait.size(), -1) < 0 && errno != EINTR) return;
    if (wait[0].revents != 0) {  // a program that has ended takes no more: no signal, its status says why
      const ssize_t count = ::send(in.ours, input.data() + sent, input.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count > 0) sent += static_cast<std::size_t>(count);
      const bool broken = count < 0 && errno != EINTR && errno != EAGAIN;
      if (broken || sent == input.size()) Ends::close(in.ours);
    }
    if (wait[1].revents != 0 && !take(out.ours, result.out)) Ends::close(out.ours);
    if (wait[2].revents != 0 && !take(errors.ours, result.errors)) Ends::close(errors.ours);
  }
}

}  // namespace

ChildOutput run_program(const std::vector<std::string>& words, const std::string& input) {
  const std::string& program = words.front();
  Ends in, out, errors;
  for (Ends* ends : {&in, &out, &errors}) {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) refuse_start(program, errno);
    ends->ours = pair[0];
    ends->theirs = pair[1];
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.theirs, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.theirs, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.theirs, STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int reason = ::posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ChildOutput result;
  if (reason == ENOENT) return result;
  if (reason != 0) refuse_start(program, reason);
  result.started = true;
  for (Ends* ends : {&in, &out, &errors}) Ends::close(ends->theirs);
  converse(in, out, errors, input, result);
  Ends::close(in.ours);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.ended_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return result;
}

}  // namespace saltus
