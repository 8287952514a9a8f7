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
#include <cstdlib>
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

/// The words as the system takes them, while these live.
std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
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
  const std::vector<char*> arguments = pointers_to(words);
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

bool program_exists(const std::string& program) {
  if (program.find('/') != std::string::npos) return ::access(program.c_str(), X_OK) == 0;
  const char* path = std::getenv("PATH");
  std::string rest = path ? path : "";
  while (!rest.empty()) {
    const auto end = rest.find(':');
    if (::access((rest.substr(0, end) + "/" + program).c_str(), X_OK) == 0) return true;
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
  }
  return false;
}

void start_program(const std::vector<std::string>& words) {
  const std::vector<char*> arguments = pointers_to(words);
  const pid_t child = ::fork();
  if (child < 0) refuse_start(words.front(), errno);
  if (child > 0) {
    int result = 0;
    ::waitpid(child, &result, 0);  // it only starts the program and ends
    return;
  }
  if (::fork() == 0) {  // only calls that are safe after fork from here on
    ::setsid();
    const int nothing = ::open("/dev/null", O_RDWR);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, stream);
    ::execvp(arguments.front(), arguments.data());
    ::_exit(127);
  }
  ::_exit(0);
}

}  // namespace saltus
