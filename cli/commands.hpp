// All subcommands, for programs, which need not see what they are made of.
#pragma once

#include <vector>

#include "cli/app.hpp"

namespace saltus::cli {

Command run_command();
Command fit_command();
Command gradient_command();
Command optimise_command();
Command cycle_command();
Command continue_command();
Command lyapunov_command();
Command linearise_command();
Command check_command();
Command graph_command();
Command flatten_command();
Command compare_command();
Command sweep_command();
Command basin_command();
Command bifurcation_command();
Command poincare_command();
Command study_command();
Command export_command();
Command fmu_command();
Command new_model_command();
Command why_command();
Command explain_command();
Command completion_command();

/// What the program saltus has, in the order of its help. (Python has it, too.)
std::vector<Command> all_commands();

/// `saltus run` without FMUs and derivatives.
Command plain_run_command();

}  // namespace saltus::cli
