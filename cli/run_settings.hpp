// From the options of `saltus run` to those of a run, and to the command line that repeats it.
#pragma once

#include <saltus/hybrid/simulator.hpp>

#include <string>
#include <vector>

#include "cli/run_options.hpp"
#include "cli/run_subject.hpp"

namespace saltus::cli {

/// The options of a run from `start`, without its progress. Throws UsageError for names that the model does not have.
SimulateOptions run_settings(const RunOptions& options, const RunSubject& subject, double start);

/// The arguments that name the model and its run, as they were given: without files, plots and what is printed.
std::vector<std::string> repeated_arguments(const CLI::App& app);

}  // namespace saltus::cli
