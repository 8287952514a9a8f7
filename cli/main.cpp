// saltus: the command line program. A subcommand is a file of its own beside this one, a line in all_commands.cpp and
// one in commands.hpp.
#include <saltus/base/terminal.hpp>

#include <iostream>

#include "cli/commands.hpp"

int main(int argc, char** argv) {
  using namespace saltus::cli;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const Streams streams{.out = std::cout, .err = std::cerr, .terminal = saltus::output_is_terminal()};
  return static_cast<int>(run_app(all_commands(), arguments, streams));
}
