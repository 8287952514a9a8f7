#include <unistd.h>
#include <saltus/base/terminal.hpp>

namespace saltus {

bool output_is_terminal() {
  return ::isatty(STDOUT_FILENO) != 0;
}

bool errors_are_terminal() {
  return ::isatty(STDERR_FILENO) != 0;
}

}  // namespace saltus
