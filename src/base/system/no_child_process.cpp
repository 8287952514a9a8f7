// Where there are no other programs: in a page.
#include <saltus/base/child_process.hpp>
#include <saltus/base/error.hpp>

namespace saltus {

ChildOutput run_program(const std::vector<std::string>&, const std::string&) {
  return {};
}

bool program_exists(const std::string&) {
  return false;
}

void start_program(const std::vector<std::string>& words) {
  throw UsageError("cannot start " + words.front() + ": there are no other programs here");
}

}  // namespace saltus
