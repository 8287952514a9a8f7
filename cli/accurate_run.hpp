// What the commands that work on derivatives of runs share: the model, and how it is run.
#pragma once

#include <saltus/hybrid/simulator.hpp>
#include <saltus/model/compiled_model.hpp>

#include <functional>
#include <optional>
#include <string>

#include "cli/app.hpp"
#include "cli/input_options.hpp"
#include "cli/load_options.hpp"

namespace saltus::cli {

class ModelExtension;

struct AccurateRunOptions {
  ModelOptions source;
  InputOptions inputs;
  std::optional<double> rtol, atol, max_step;
  std::string method = "auto";
  std::string plot, plot_size, json;
  bool quiet = false;

  /// Declares MODEL.mo with its options, --start, --input, --rtol, --atol, --method and --max-step.
  void add_run(CLI::App& app);
  /// Declares --json, --plot, --plot-size and --quiet.
  void add_results(CLI::App& app, const char* plot_text);

  /// Options of a run with the start time of the model and these tolerances, 1e-9 unless they are given. Derivatives
  /// are as accurate as the run, so that the tolerance of the model, which is meant for plots, does not count.
  SimulateOptions simulate(const ModelicaModel& model, const CompiledModel& compiled) const;
  /// True where a person sees standard error.
  bool shows_progress() const;
};

/// The model that `use` asks for, with the expressions that it adds as variables. Prints notes unless `quiet`.
ModelicaModel load_extended(const AccurateRunOptions& options, const Streams& streams,
                            const std::function<void(const Model&, ModelExtension&)>& use);

/// Writes a number with so many digits as its standard error has meaning for.
std::string value_with_error(double value, double error);

}  // namespace saltus::cli
