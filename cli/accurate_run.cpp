#include "cli/accurate_run.hpp"

#include <fmt/format.h>
#include <saltus/base/terminal.hpp>
#include <saltus/hybrid/methods.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <vector>

#include "cli/method_option.hpp"
#include "cli/study_spec.hpp"

namespace saltus::cli {

void AccurateRunOptions::add_run(CLI::App& app) {
  source.add_to(app);
  inputs.add_to(app, "Model");
  app.add_option("--start", source.start, "Start time (default: the model's experiment annotation, or 0)")
      ->type_name("T")
      ->group("Model");
  const char* group = "Method";
  app.add_option("--rtol", rtol, "Relative tolerance of the runs (1e-9)")
      ->check(CLI::PositiveNumber)
      ->type_name("R")
      ->group(group);
  app.add_option("--atol", atol, "Absolute tolerance of the runs (a hundredth of rtol)")
      ->check(CLI::PositiveNumber)
      ->type_name("A")
      ->group(group);
  add_method_option(app, method, group);
  app.add_option("--max-step", max_step, "Largest step")->type_name("H")->group(group);
}

void AccurateRunOptions::add_results(CLI::App& app, const char* plot_text) {
  app.add_option("--json", json, "Write the result as JSON; - is standard output")->type_name("FILE")->group("Files");
  app.add_option("--plot", plot, plot_text)->type_name("FILE")->group("Files");
  app.add_option("--plot-size", plot_size, "paper, slide, wide, or WIDTHxHEIGHT in pixels")
      ->type_name("SIZE")
      ->group("Files");
  app.add_flag("--quiet,-q", quiet, "Print nothing but errors")->group("Terminal");
}

SimulateOptions AccurateRunOptions::simulate(const ModelicaModel& model, const CompiledModel& compiled) const {
  SimulateOptions s;
  s.start = source.start.value_or(model.experiment.start.value_or(0.0));
  s.rtol = rtol.value_or(1e-9);
  s.atol = atol.value_or(0.01 * s.rtol);
  s.method = find_method(method).value();
  if (max_step) s.max_step = *max_step;
  s.inputs = inputs.read(compiled);
  return s;
}

bool AccurateRunOptions::shows_progress() const {
  return !quiet && errors_are_terminal();
}

ModelicaModel load_extended(const AccurateRunOptions& options, const Streams& streams,
                            const std::function<void(const Model&, ModelExtension&)>& use) {
  ModelicaModel plain = load(options.source);
  for (const auto& note : plain.notes)
    if (!options.quiet) streams.err << render(note);
  ModelExtension extension(plain.model);
  use(plain.model, extension);
  if (extension.text().empty()) return plain;
  ModelOptions source = options.source;
  source.extension = extension.text();
  return load(source);
}

std::string value_with_error(double value, double error) {
  if (!(error > 0.0) || !std::isfinite(error)) return fmt::format("{:.10g}", value);
  const double size = std::max(std::abs(value), error);
  const int digits =
      std::clamp(static_cast<int>(std::floor(std::log10(size)) - std::floor(std::log10(error))) + 3, 3, 15);
  return fmt::format("{:.{}g}", value, digits);
}

}  // namespace saltus::cli
