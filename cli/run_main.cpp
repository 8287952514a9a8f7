// saltus-run: `saltus run` without FMUs and derivatives, for which ./run need not compile half of the library.
#include <saltus/base/terminal.hpp>

#include <iostream>

#include "cli/app.hpp"
#include "cli/commands.hpp"

int main(int argc, char** argv) {
  using namespace saltus::cli;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const Streams streams{.out = std::cout, .err = std::cerr, .terminal = saltus::output_is_terminal()};
  return static_cast<int>(run_app({plain_run_command()}, arguments, streams));
}
