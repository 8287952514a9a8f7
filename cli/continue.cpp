#include "cli/continue.hpp"

#include <fmt/format.h>
#include <saltus/io/cycle_files.hpp>
#include <saltus/sens/continuation.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include "cli/cycle.hpp"
#include "cli/files.hpp"
#include "cli/progress.hpp"
#include "cli/study_spec.hpp"

namespace saltus::cli {

namespace {

struct ContinueOptions : CycleCommandOptions {
  std::string over, csv, variable, show = "highest";
  double step = 0.02;
  int max_points = 1000;
};

/// "r=0.5:3" as a name and two numbers.
void parse_range(const std::string& text, ContinuationOptions& options) {
  const auto equals = text.find('='), colon = text.find(':', equals == std::string::npos ? 0 : equals);
  if (equals == std::string::npos || equals == 0 || colon == std::string::npos ||
      text.find(':', colon + 1) != std::string::npos)
    throw UsageError("--over wants NAME=FROM:TO, for example --over r=0.5:3; got '" + text + "'");
  options.parameter = text.substr(0, equals);
  options.from = parse_setting(options.parameter + "=" + text.substr(equals + 1, colon - equals - 1), "--over").second;
  options.to = parse_setting(options.parameter + "=" + text.substr(colon + 1), "--over").second;
}

void print_branch(std::ostream& out, const Branch& branch) {
  out << fmt::format("{}: {} points", to_string(branch.status), branch.points.size());
  if (!branch.points.empty())
    out << fmt::format(", {0} from {1:.10g} to {2:.10g}", branch.parameter, branch.points.front().parameter,
                       branch.points.back().parameter);
  out << '\n';
  if (!branch.message.empty()) out << branch.message << '\n';
  if (branch.points.empty()) return;
  out << fmt::format("\n  {:<14}  {:>18}  {:>16}\n", "bifurcation", branch.parameter, "period");
  // only digits that are certain: value_with_error shows two of the error
  for (const Bifurcation& b : branch.bifurcations)
    out << fmt::format("  {:<14}  {:>18}  {:>16.8g}\n", to_string(b.kind),
                       value_with_error(b.point.parameter, 100.0 * b.uncertainty), b.point.period);
  if (branch.bifurcations.empty()) out << "  none\n";
  // stretches of equal stability and events
  out << fmt::format("\n  {:>14}  {:>14}  {:<8}  {}\n", "from", "to", "", "events in a period");
  for (std::size_t k = 0; k < branch.points.size();) {
    std::size_t last = k;
    const BranchPoint& first = branch.points[k];
    while (last + 1 < branch.points.size() && branch.points[last + 1].stable == first.stable &&
           branch.points[last + 1].events == first.events)
      ++last;
    const auto events = first.events.empty() ? 0 : 1 + std::ranges::count(first.events, ',');
    out << fmt::format("  {:>14.8g}  {:>14.8g}  {:<8}  {}\n", first.parameter, branch.points[last].parameter,
                       first.stable ? "stable" : "unstable", events);
    k = last + 1;
  }
}

ExitCode follow(const ContinueOptions& o, const Streams& streams) {
  if (o.over.empty()) throw UsageError("say which parameter the branch is followed over: --over r=0.5:3");
  ContinuationOptions options{.step = o.step, .max_points = o.max_points};
  parse_range(o.over, options);
  const ModelicaModel model = load_extended(
      o, streams, [&](const Model&, ModelExtension& extension) { options.cycle = o.cycle_options(extension); });
  const CompiledModel compiled(model.model);
  options.cycle.simulate = o.simulate(model, compiled);
  std::optional<SearchBar> progress(std::in_place, streams.err, o.shows_progress());
  options.cycle.simulate.progress = std::ref(*progress);
  options.progress = std::ref(*progress);
  const Branch branch = follow_cycle(compiled, options);
  progress.reset();
  std::ostream& words = o.json == "-" || o.csv == "-" ? streams.err : streams.out;
  if (!o.quiet) print_branch(words, branch);
  if (!o.json.empty()) write_file(o.json, streams.out, [&](std::ostream& file) { write_branch_json(file, branch); });
  if (!o.csv.empty()) write_file(o.csv, streams.out, [&](std::ostream& file) { write_branch_csv(file, branch); });
  if (!o.plot.empty() && !branch.points.empty()) {
    BranchPlotOptions plot{.variable = o.variable, .title = compiled.name()};
    plot.value = o.show == "start"    ? BranchValue::start
                 : o.show == "lowest" ? BranchValue::lowest
                                      : BranchValue::highest;
    if (!o.plot_size.empty()) plot.size = parse_plot_size(o.plot_size);
    write_branch_plot(branch, o.plot, plot);
    if (!o.quiet) words << "plot: " << o.plot << '\n';
  }
  if (branch.status == BranchStatus::finished || branch.status == BranchStatus::ended) return ExitCode::success;
  if (o.quiet) streams.err << fmt::format("{}: {}\n", to_string(branch.status), branch.message);
  return ExitCode::failure;
}

}  // namespace

Command continue_command() {
  return {
      "continue", [](CLI::App& parent) -> Action {
        auto o = std::make_shared<ContinueOptions>();
        CLI::App& app = *parent.add_subcommand("continue", "A branch of cycles over a parameter, and where it changes");
        app.footer(
            "Examples:\n"
            "  saltus continue DryFriction.mo --over r=1.5:3 --period '2*pi*r' --transient 200 --plot branch.svg\n"
            "  saltus continue VanDerPol.mo --over mu=1:5 --section y=0 --transient 50 --vars x\n"
            "Exit codes: 0 the branch was followed to its end, 1 it was not, 2 wrong command line or model.");
        o->add_run(app);
        app.add_option("--over", o->over, "The parameter, its value at the first cycle and at the end of the branch")
            ->type_name("NAME=FROM:TO")
            ->group("Cycle");
        o->add_cycle(app);
        app.add_option("--step", o->step, "Largest step along the branch, as a share of its length (0.02)")
            ->check(CLI::Range(1e-6, 1.0))
            ->type_name("H")
            ->group("Method");
        app.add_option("--max-points", o->max_points, "Most points of the branch (1000)")
            ->check(CLI::Range(2, 10000000))
            ->type_name("N")
            ->group("Method");
        app.add_option("--csv", o->csv, "Write the points of the branch as rows; - is standard output")
            ->type_name("FILE")
            ->group("Files");
        o->add_results(app, "Draw the branch (.svg, .png, .pdf)");
        app.add_option("--vars", o->variable, "The variable that is drawn (default: the first)")
            ->type_name("A")
            ->group("Files");
        app.add_option("--show", o->show, "Its highest or lowest value on the cycle, or that at its start")
            ->check(CLI::IsMember({"highest", "lowest", "start"}))
            ->type_name("WHAT")
            ->group("Files");
        return [o](const Streams& streams) { return follow(*o, streams); };
      }};
}

}  // namespace saltus::cli
