// The program of the page in the browser: what `saltus run` does, for files that a script has written.
#include <emscripten.h>

#include <iostream>
#include <sstream>

#include "cli/app.hpp"
#include "cli/commands.hpp"

/// Runs `saltus ARGUMENTS`, which stand one a line; returns the exit code.
extern "C" EMSCRIPTEN_KEEPALIVE int saltus_command(const char* lines) {
  using namespace saltus::cli;
  std::vector<std::string> arguments;
  std::istringstream text(lines);
  for (std::string line; std::getline(text, line);) arguments.push_back(line);
  const ExitCode code = run_app({plain_run_command()}, arguments, {.out = std::cout, .err = std::cerr});
  std::cout.flush();
  return static_cast<int>(code);
}
