#include "cli/open_file.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <saltus/base/error.hpp>

#include <cstdlib>
#include <filesystem>

namespace saltus::cli {

namespace {

const char* opener() {
  const char* chosen = std::getenv("SALTUS_OPEN");
  return chosen && *chosen ? chosen : "xdg-open";
}

/// Whether the shell would find the program.
bool exists(const std::string& program) {
  if (program.find('/') != std::string::npos) return access(program.c_str(), X_OK) == 0;
  const char* path = std::getenv("PATH");
  std::string rest = path ? path : "";
  while (!rest.empty()) {
    const auto end = rest.find(':');
    if (access((rest.substr(0, end) + "/" + program).c_str(), X_OK) == 0) return true;
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
  }
  return false;
}

}  // namespace

void check_open() {
  if (!exists(opener()))
    throw UsageError(std::string("--open: there is no program '") + opener() +
                     "' (Debian package: xdg-utils); the variable SALTUS_OPEN names another one");
}

void open_file(const std::string& path) {
  check_open();
  const std::string program = opener(), full = std::filesystem::absolute(path).string();
  const pid_t child = fork();
  if (child < 0) throw UsageError("--open: no program can be started");
  if (child > 0) {
    int result = 0;
    waitpid(child, &result, 0);  // it only starts the program and ends
    return;
  }
  if (fork() == 0) {  // only calls that are safe after fork from here on
    setsid();
    const int nothing = open("/dev/null", O_RDWR);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, stream);
    execlp(program.c_str(), program.c_str(), full.c_str(), nullptr);
    _exit(127);
  }
  _exit(0);
}

}  // namespace saltus::cli
