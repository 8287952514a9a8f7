// The options of `saltus run`.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/input_options.hpp"
#include "cli/load_options.hpp"

namespace saltus::cli {

struct RunOptions {
  ModelOptions source;
  bool allow_code = false;
  InputOptions inputs;
  std::optional<double> stop, max_step, initial_step;
  std::vector<std::string> rtol, atol;
  int max_order = 0;
  std::optional<std::int64_t> max_steps, max_events;
  std::optional<int> max_mode_changes;
  std::optional<double> shortest_interval;
  std::string method = "auto";
  std::vector<std::string> mode_methods;
  int intervals = 500;
  std::size_t html_nodes = 20'000;
  std::string csv, json, html, mat, npz, plot, phase;
  std::vector<std::string> outputs;  ///< of -o: files of any of these formats
  std::string start_from, save_state;
  std::string times, plot_size;
  std::optional<double> plot_font, keep;
  std::optional<std::size_t> samples;
  std::vector<std::string> vars, sensitivities;
  std::size_t events = 40;
  std::vector<std::string> stop_on;
  bool quiet = false, no_plot = false, draw = false, csv_units = false, trajectories = false;
  bool watch = false, open = false, no_sensitivity_control = false, lock_mode = false;
  std::vector<std::string> log;
  std::vector<std::string> arguments;  ///< that repeat the run, for its JSON file
};

/// Declares them.
void add_run_options(CLI::App& app, RunOptions& options);

/// Sets the option of each file of `-o` by the ending of its name. Throws UsageError for endings without a format, and
/// for a second file of one format.
void sort_outputs(RunOptions& options);

}  // namespace saltus::cli
