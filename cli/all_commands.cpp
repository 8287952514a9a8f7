#include "cli/commands.hpp"

namespace saltus::cli {

std::vector<Command> all_commands() {
  return {run_command(),      gradient_command(), fit_command(),       optimise_command(), cycle_command(),
          continue_command(), lyapunov_command(), linearise_command(), check_command(),    graph_command(),
          flatten_command(),  compare_command(),  sweep_command(),     basin_command(),    bifurcation_command(),
          poincare_command(), study_command(),    export_command(),    fmu_command(),      new_model_command(),
          why_command(),      explain_command(),  completion_command()};
}

}  // namespace saltus::cli
