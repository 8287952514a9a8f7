// saltus: the command line program. A subcommand is a file of its own beside this one, a line in `commands` and one in
// commands.hpp.
#include <unistd.h>

#include <iostream>

#include "cli/app.hpp"
#include "cli/commands.hpp"

int main(int argc, char** argv) {
  using namespace saltus::cli;
  const std::vector<Command> commands = {
      run_command(),      gradient_command(), fit_command(),         cycle_command(),    continue_command(),
      lyapunov_command(), check_command(),    graph_command(),       flatten_command(),  compare_command(),
      sweep_command(),    basin_command(),    bifurcation_command(), poincare_command(), study_command(),
      export_command(),   fmu_command(),      new_model_command(),   explain_command(),  completion_command()};
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const Streams streams{.out = std::cout, .err = std::cerr, .terminal = isatty(STDOUT_FILENO) != 0};
  return static_cast<int>(run_app(commands, arguments, streams));
}
