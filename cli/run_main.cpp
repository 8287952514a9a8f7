// saltus-run: `saltus run` without FMUs and derivatives, for which ./run need not compile half of the library.
#include <iostream>

#include "cli/app.hpp"
#include "cli/commands.hpp"

int main(int argc, char** argv) {
  using namespace saltus::cli;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return static_cast<int>(run_app({plain_run_command()}, arguments, {.out = std::cout, .err = std::cerr}));
}
