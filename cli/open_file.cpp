#include "cli/open_file.hpp"

#include <saltus/base/child_process.hpp>
#include <saltus/base/error.hpp>

#include <cstdlib>
#include <filesystem>

namespace saltus::cli {

namespace {

const char* opener() {
  const char* chosen = std::getenv("SALTUS_OPEN");
  return chosen && *chosen ? chosen : "xdg-open";
}

}  // namespace

void check_open() {
  if (!program_exists(opener()))
    throw UsageError(std::string("--open: there is no program '") + opener() +
                     "' (Debian package: xdg-utils); the variable SALTUS_OPEN names another one");
}

void open_file(const std::string& path) {
  check_open();
  start_program({opener(), std::filesystem::absolute(path).string()});
}

}  // namespace saltus::cli
