// saltus: the command line program. A subcommand is a file of its own beside this one and a line in `commands`.
#include <iostream>

#include "cli/app.hpp"
#include "cli/basin.hpp"
#include "cli/bifurcation.hpp"
#include "cli/check.hpp"
#include "cli/compare.hpp"
#include "cli/completion.hpp"
#include "cli/continue.hpp"
#include "cli/cycle.hpp"
#include "cli/explain.hpp"
#include "cli/export.hpp"
#include "cli/fit.hpp"
#include "cli/flatten.hpp"
#include "cli/fmu.hpp"
#include "cli/graph.hpp"
#include "cli/lyapunov.hpp"
#include "cli/new_model.hpp"
#include "cli/poincare.hpp"
#include "cli/run.hpp"
#include "cli/study.hpp"
#include "cli/sweep.hpp"

int main(int argc, char** argv) {
  using namespace saltus::cli;
  const std::vector<Command> commands = {
      run_command(),   fit_command(),         cycle_command(),    continue_command(),  lyapunov_command(),
      check_command(), graph_command(),       flatten_command(),  compare_command(),   sweep_command(),
      basin_command(), bifurcation_command(), poincare_command(), study_command(),     export_command(),
      fmu_command(),   new_model_command(),   explain_command(),  completion_command()};
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return static_cast<int>(run_app(commands, arguments, {.out = std::cout, .err = std::cerr}));
}
