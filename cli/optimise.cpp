#include "cli/optimise.hpp"

#include <fmt/format.h>
#include <saltus/io/html_report.hpp>
#include <saltus/io/optimum_files.hpp>
#include <saltus/optimise/optimise.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "cli/accurate_run.hpp"
#include "cli/files.hpp"
#include "cli/programme_text.hpp"
#include "cli/progress.hpp"
#include "cli/study_spec.hpp"

namespace saltus::cli {

namespace {

struct OptimiseCommandOptions : AccurateRunOptions {
  WrittenProgramme written;
  std::string file, homotopy, controls_file, html, shooting = "auto";
  std::optional<double> stop;
  std::vector<std::string> draw;
  double tolerance = 1e-6;
  int max_runs = 300, starts = 1;
  std::uint64_t seed = 1;
  bool verbose = false;
};

const std::map<std::string, Shooting>& shooting_words() {
  static const std::map<std::string, Shooting> words{
      {"auto", Shooting::automatic}, {"single", Shooting::single}, {"multiple", Shooting::multiple}};
  return words;
}

void print_controls(std::ostream& out, const Optimum& best) {
  constexpr std::size_t most = 12;  // values of a control that are shown
  for (const FoundControl& c : best.controls) {
    out << fmt::format("\n{}, {} values{}\n", c.input, c.values.size(),
                       c.curve == ControlCurve::linear ? " joined by lines" : "");
    for (std::size_t k = 0; k < c.values.size() && k < most; ++k)
      out << (c.curve == ControlCurve::linear
                  ? fmt::format("  {:>12.6g}  {:>12.5g}\n", c.times[k], c.values[k])
                  : fmt::format("  {:>12.6g} to {:>12.6g}  {:>12.5g}\n", c.times[k], c.times[k + 1], c.values[k]));
    if (c.values.size() > most) out << fmt::format("  and {} more: --controls FILE.csv\n", c.values.size() - most);
  }
}

void print_optimum(std::ostream& out, const Optimum& best) {
  out << fmt::format("{} after {} iterations and {} runs\n", to_string(best.status), best.iterations, best.runs);
  if (!best.message.empty()) out << best.message << '\n';
  for (const std::string& note : best.notes) out << "note: " << note << '\n';
  if (best.values.empty() && !best.run) return;
  out << fmt::format("\n  objective  {:.8g}\n", best.objective);
  if (!best.conditions.empty()) out << fmt::format("  violation  {:.1e}\n", best.violation);
  std::size_t width = 9;
  const auto alone = [&](const FoundValue& v) {  // not a value of a control
    return std::ranges::none_of(best.controls,
                                [&](const FoundControl& c) { return v.name.starts_with(c.input + "["); });
  };
  for (const FoundValue& v : best.values)
    if (alone(v)) width = std::max(width, v.name.size());
  for (const FoundValue& v : best.values)
    if (alone(v))
      out << fmt::format("  {:<{}}  {:.7g}{}\n", v.name, width, v.value, v.at_bound ? "  at its bound" : "");
  print_controls(out, best);
  constexpr std::size_t most = 20;  // conditions that are shown
  if (!best.conditions.empty()) out << fmt::format("\n  {:<32}  {:>14}  {}\n", "condition", "value", "multiplier");
  std::size_t shown = 0, held = 0;
  for (const FoundCondition& c : best.conditions) {
    const bool matters = c.violation > 0.0 || std::abs(c.multiplier) > 1e-9 || c.lower == c.upper;
    held += !matters;
    if (!matters || ++shown > most) continue;
    const std::string where = std::isnan(c.t) ? "" : fmt::format(" at t = {:.6g}", c.t);
    out << fmt::format("  {:<32}  {:>14.6g}  {:.4g}{}\n", c.label, c.value, c.multiplier, where);
  }
  if (shown > most) out << fmt::format("  and {} more: --json FILE\n", shown - most);
  if (held > 0)
    out << fmt::format("  {} other condition{} hold{} by themselves\n", held, held == 1 ? "" : "s",
                       held == 1 ? "s" : "");
  if (best.tries.size() > 1) {
    out << "\n  starts\n";
    for (const OptimiseTry& t : best.tries)
      out << fmt::format("  {:<24}  {:<16}  {:.10g}\n", t.text, to_string(t.status), t.objective);
  }
}

ExitCode exit_code_of(OptimumStatus status) {
  switch (status) {
    case OptimumStatus::optimal:
    case OptimumStatus::optimal_at_kink:
      return ExitCode::success;
    case OptimumStatus::infeasible:
    case OptimumStatus::dead:
      return ExitCode::infeasible;
    case OptimumStatus::not_converged:
      return ExitCode::not_converged;
    case OptimumStatus::interrupted:
      return ExitCode::interrupted;
    case OptimumStatus::failed:
      break;
  }
  return ExitCode::failure;
}

/// One line over and over, or one per iteration.
class Reporter {
 public:
  Reporter(const OptimiseCommandOptions& o, const Streams& streams)
      : err_(streams.err), each_(o.verbose && !o.quiet), line_(streams.err, o.shows_progress() && !each_) {}

  bool operator()(const OptimiseProgress& p) {
    const auto text = [&](double) {
      return fmt::format("{}: iteration {}, {} of {} runs, objective {:.8g}, violation {:.1e}, radius {:.1e}{}{}",
                         p.doing, p.iteration, p.runs, p.max_runs, p.objective, p.violation, p.radius,
                         p.step.empty() ? "" : ", ", p.step);
    };
    if (each_) err_ << text(0.0) << '\n' << std::flush;
    line_.show(text);
    return !InterruptGuard::interrupted();
  }
  void clear() { line_.clear(); }

 private:
  std::ostream& err_;
  bool each_;
  TerminalLine line_;
};

void write_results(const OptimiseCommandOptions& o, const Streams& streams, const ModelicaModel& model,
                   const Optimum& best) {
  std::ostream& words = o.json == "-" ? streams.err : streams.out;
  if (!o.json.empty()) write_file(o.json, streams.out, [&](std::ostream& f) { write_optimum_json(f, best); });
  if (!o.controls_file.empty() && !best.controls.empty())
    write_file(o.controls_file, streams.out, [&](std::ostream& f) { write_controls_csv(f, best); });
  if (!best.run) return;
  if (!o.plot.empty()) {
    PlotOptions options{.variables = o.draw, .title = model.model.name()};
    if (!o.plot_size.empty()) options.size = parse_plot_size(o.plot_size);
    write_optimum_plot(best, o.plot, options);
    if (!o.quiet) words << "plot: " << o.plot << '\n';
  }
  if (o.html.empty()) return;
  HtmlReportOptions report{.model = model.model.name(), .description = model.description};
  report.notes.push_back(fmt::format("{}: objective {:.10g}, violation {:.1e}. {}", to_string(best.status),
                                     best.objective, best.violation, best.message));
  for (const FoundValue& v : best.values) report.parameters.push_back({.name = v.name, .start = v.value});
  write_file(o.html, streams.out, [&](std::ostream& f) { write_html_report(f, *best.run, report); });
  if (!o.quiet) words << "report: " << o.html << '\n';
}

ExitCode optimise_model(OptimiseCommandOptions o, const Streams& streams) {
  if (!o.file.empty()) o.written.read(o.file);
  if (o.written.controls.empty() && o.written.over.empty() && o.written.free_stop.empty())
    throw UsageError("say what is free: --control u=20, --over mu=0.4:0.1:1 or --free-stop 1:20");
  std::optional<ProgrammeText> text;
  const ModelicaModel model =
      load_extended(o, streams, [&](const Model&, ModelExtension& extension) { text.emplace(o.written, extension); });
  OptimiseOptions options{.tolerance = o.tolerance, .max_runs = o.max_runs, .starts = o.starts, .seed = o.seed};
  options.simulate = o.simulate(model, CompiledModel(model.model));
  options.homotopy = o.homotopy;
  options.shooting = shooting_words().at(o.shooting);
  const double asked = o.stop.value_or(text->stop());
  options.simulate.stop = std::isnan(asked) ? model.experiment.stop.value_or(options.simulate.start + 1.0) : asked;
  const InterruptGuard guard;
  Reporter report(o, streams);
  options.progress = [&](const OptimiseProgress& p) { return report(p); };
  options.simulate.progress = [](const Progress&) { return !InterruptGuard::interrupted(); };
  const Optimum best = optimise(model.model, text->programme(model.model), options);
  report.clear();
  if (!o.quiet) print_optimum(o.json == "-" ? streams.err : streams.out, best);
  write_results(o, streams, model, best);
  if (o.quiet && !best.ok()) streams.err << fmt::format("{}: {}\n", to_string(best.status), best.message);
  return exit_code_of(best.status);
}

void add_programme(CLI::App& app, OptimiseCommandOptions& o) {
  const char* group = "Programme";
  app.add_option(
         "--control", o.written.controls,
         "An input that is free: INPUT=INTERVALS or INPUT=START:STOP:INTERVALS, then :linear, :free (lengths of "
         "the intervals) or :held (values stay) (repeatable)")
      ->type_name("CONTROL")
      ->group(group);
  app.add_option("--bounds", o.written.bounds, "Bounds of a control: u=-5:5 (repeatable)")
      ->type_name("INPUT=A:B")
      ->group(group);
  app.add_option("--guess", o.written.guesses, "Where a control begins: u=0, or one value each: u=0,1,0 (repeatable)")
      ->type_name("INPUT=V")
      ->group(group);
  app.add_option_function<std::string>(
         "--over", [&o](const std::string& text) { o.written.over = split_list(text); },
         "Parameters and start values (x.start) that are free: NAME, NAME=GUESS or NAME=GUESS:LOWER:UPPER")
      ->type_name("A,B")
      ->group(group);
  app.add_option("--free-stop", o.written.free_stop, "The end of the run is free: LOWER:UPPER or GUESS:LOWER:UPPER")
      ->type_name("A:B")
      ->group(group);
  app.add_option("--minimise", o.written.minimise,
                 "An expression at the end of the run, or a sum of final_value(x), integral(x) and event_time('x > 1', "
                 "2) with numbers as factors")
      ->type_name("WHAT")
      ->group(group);
  app.add_option("--end", o.written.end, "A condition at the end of the run: 'x = 1', '0 <= x <= 1' (repeatable)")
      ->type_name("CONDITION")
      ->group(group);
  app.add_option("--path", o.written.path, "A condition for all times: 'x <= 2' (repeatable)")
      ->type_name("CONDITION")
      ->group(group);
  app.add_option("--programme", o.file, "Read all these from a JSON file, under the names of the options")
      ->type_name("FILE")
      ->group(group);
}

}  // namespace

Command optimise_command() {
  return {
      "optimise", [](CLI::App& parent) -> Action {
        auto o = std::make_shared<OptimiseCommandOptions>();
        CLI::App& app = *parent.add_subcommand(
            "optimise", "Controls, parameters and start values that make a number of a run least");
        app.footer(
            "Examples:\n"
            "  saltus optimise Motor.mo --control u=0:0.08:53 --bounds u=-5:5 --minimise 'integral(u^2)' \\\n"
            "    --end 'x1 = 0.01' --end 'v1 = 0' --path 'x1 <= 0.012' --plot motor.svg\n"
            "  saltus optimise Car.mo --control u=5:free --bounds u=-5:5 --free-stop 1:40 --minimise time \\\n"
            "    --end 'q = 200' --end 'v = 0'\n"
            "Exit codes: 0 optimal, 1 failed, 2 wrong command line or model, 3 infeasible or dead, 4 not converged, "
            "130 interrupted (the best point is written).");
        o->add_run(app);
        app.add_option("--stop", o->stop, "Stop time (default: that of a control, of the model, or start + 1)")
            ->type_name("T")
            ->group("Model");
        add_programme(app, *o);
        const char* group = "Search";
        app.add_option("--tolerance", o->tolerance, "Of the sum of violations (1e-6)")
            ->check(CLI::PositiveNumber)
            ->type_name("E")
            ->group(group);
        app.add_option("--max-runs", o->max_runs, "Most runs of the model (300)")
            ->check(CLI::Range(1, 1000000))
            ->type_name("N")
            ->group(group);
        app.add_option("--starts", o->starts, "So many searches, from the guess and from random ones (1)")
            ->check(CLI::Range(1, 100000))
            ->type_name("N")
            ->group(group);
        app.add_option("--seed", o->seed, "Of random guesses (1)")->type_name("N")->group(group);
        app.add_option("--shooting", o->shooting, "auto, single (runs from start to end) or multiple (joined)")
            ->check(CLI::IsMember({"auto", "single", "multiple"}))
            ->type_name("HOW")
            ->group(group);
        app.add_option("--homotopy", o->homotopy, "A parameter that makes it hard: it is zero at first")
            ->type_name("P")
            ->group(group);
        app.add_flag("--verbose,-v", o->verbose, "A line for each iteration")->group("Terminal");
        o->add_results(app, "Draw controls and variables (.svg, .png, .pdf)");
        app.add_option_function<std::string>(
               "--variables", [o](const std::string& names) { o->draw = split_names(names); },
               "What to draw beside the controls")
            ->type_name("A,B")
            ->group("Files");
        app.add_option("--controls", o->controls_file, "Write the controls as a table for --input of saltus run")
            ->type_name("FILE")
            ->group("Files");
        app.add_option("--html", o->html, "Write a report of the run for the browser")
            ->type_name("FILE")
            ->group("Files");
        return [o](const Streams& streams) { return optimise_model(*o, streams); };
      }};
}

}  // namespace saltus::cli
