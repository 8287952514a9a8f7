#include "cli/cycle.hpp"

#include <fmt/format.h>
#include <saltus/io/cycle_files.hpp>
#include <saltus/io/plot.hpp>

#include <CLI/CLI.hpp>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include "cli/files.hpp"
#include "cli/progress.hpp"
#include "cli/study_spec.hpp"

namespace saltus::cli {

void CycleCommandOptions::add_cycle(CLI::App& app) {
  const char* group = "Cycle";
  app.add_option("--period", period, "The period of a model that is forced: a number, or an expression of parameters")
      ->type_name("T")
      ->group(group);
  app.add_option("--period-guess", period_guess, "A guess of the period, if it is not known")
      ->check(CLI::PositiveNumber)
      ->type_name("T")
      ->group(group);
  app.add_option("--section", section, "Where a cycle of unknown period begins: a variable and its value")
      ->type_name("NAME=VALUE")
      ->group(group);
  app.add_option("--transient", transient, "Run the model so long first, to come near a stable cycle")
      ->check(CLI::NonNegativeNumber)
      ->type_name("T")
      ->group(group);
  app.add_option_function<std::string>(
         "--state", [this](const std::string& text) { state = split_list(text); },
         "The variables that make up the state (default: all that are integrated, and discrete Reals)")
      ->type_name("A,B")
      ->group(group);
}

CycleOptions CycleCommandOptions::cycle_options(ModelExtension& extension) const {
  CycleOptions options{.period_guess = period_guess, .transient = transient, .variables = state};
  if (!period.empty()) {
    char* end = nullptr;
    options.period = std::strtod(period.c_str(), &end);
    if (*end != '\0') {
      options.period = 0.0;
      options.period_of = extension.value(period);
    } else if (!(options.period > 0.0)) {
      throw UsageError("--period wants a positive number, or an expression such as '2*pi/omega'; got '" + period + "'");
    }
  }
  if (!section.empty()) {
    const auto equals = section.rfind('=');
    if (equals == std::string::npos || equals == 0)
      throw UsageError("--section wants a variable and its value, for example --section v=0; got '" + section + "'");
    options.section = parse_setting(section, "--section");
  }
  return options;
}

std::string multiplier_text(const std::complex<double>& value) {
  if (value.imag() == 0.0) return fmt::format("{:.10g}", value.real());
  return fmt::format("{:.10g} {} {:.10g}i", value.real(), value.imag() < 0.0 ? '-' : '+', std::abs(value.imag()));
}

namespace {

struct CycleRunOptions : CycleCommandOptions {
  std::string phase;
};

void print_cycle(std::ostream& out, const Cycle& cycle) {
  out << fmt::format("{} after {} iteration{}\n", to_string(cycle.status), cycle.iterations,
                     cycle.iterations == 1 ? "" : "s");
  if (!cycle.message.empty()) out << cycle.message << '\n';
  if (cycle.start.empty()) return;
  out << fmt::format("\nperiod {:.12g}\n", cycle.period);
  for (std::size_t k = 0; k < cycle.start.size(); ++k)
    out << fmt::format("  {} = {:.12g}\n", cycle.variables[k], cycle.start[k]);
  if (!cycle.ok()) return;
  out << "\nmultipliers\n";
  for (const auto& value : cycle.multipliers)
    out << fmt::format("  {}{}\n", multiplier_text(value),
                       value.imag() != 0.0 ? fmt::format(" (size {:.10g})", std::abs(value)) : "");
  out << (cycle.stable() ? "stable\n" : "unstable\n");
}

ExitCode find_the_cycle(const CycleRunOptions& o, const Streams& streams) {
  CycleOptions options;
  const ModelicaModel model =
      load_extended(o, streams, [&](const Model&, ModelExtension& extension) { options = o.cycle_options(extension); });
  const CompiledModel compiled(model.model);
  options.simulate = o.simulate(model, compiled);
  std::optional<SearchBar> progress(std::in_place, streams.err, o.shows_progress());
  options.simulate.progress = std::ref(*progress);
  options.progress = std::ref(*progress);
  const Cycle cycle = find_cycle(compiled, options);
  progress.reset();
  std::ostream& words = o.json == "-" ? streams.err : streams.out;
  if (!o.quiet) print_cycle(words, cycle);
  if (!o.json.empty()) write_file(o.json, streams.out, [&](std::ostream& file) { write_cycle_json(file, cycle); });
  if (!o.plot.empty() && cycle.run) {
    PlotOptions plot{.title = compiled.name()};
    if (!o.plot_size.empty()) plot.size = parse_plot_size(o.plot_size);
    if (!o.phase.empty()) {
      const std::vector<std::string> pair = split_names(o.phase);
      if (pair.size() != 2) throw UsageError("--phase wants two names, for example --phase x,v");
      plot.phase_x = pair[0];
      plot.phase_y = pair[1];
    }
    write_plot(*cycle.run, o.plot, plot);
    if (!o.quiet) words << "plot: " << o.plot << '\n';
  }
  if (cycle.ok()) return ExitCode::success;
  if (o.quiet) streams.err << fmt::format("{}: {}\n", to_string(cycle.status), cycle.message);
  return ExitCode::failure;
}

}  // namespace

Command cycle_command() {
  return {"cycle", [](CLI::App& parent) -> Action {
            auto o = std::make_shared<CycleRunOptions>();
            CLI::App& app = *parent.add_subcommand("cycle", "A periodic solution, its period and its multipliers");
            app.footer(
                "Examples:\n"
                "  saltus cycle DryFriction.mo --period '2*pi*r' --plot cycle.svg --phase x,v\n"
                "  saltus cycle VanDerPol.mo --section y=0 --transient 50\n"
                "Exit codes: 0 a cycle was found, 1 it was not, 2 wrong command line or model.");
            o->add_run(app);
            o->add_cycle(app);
            o->add_results(app, "Draw one period (.svg, .png, .pdf)");
            app.add_option("--phase", o->phase, "Draw Y over X instead of values over time")
                ->type_name("X,Y")
                ->group("Files");
            return [o](const Streams& streams) { return find_the_cycle(*o, streams); };
          }};
}

}  // namespace saltus::cli
