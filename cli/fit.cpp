#include "cli/fit.hpp"

#include <fmt/format.h>
#include <saltus/io/fit_files.hpp>
#include <saltus/sens/fit.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include "cli/accurate_run.hpp"
#include "cli/files.hpp"
#include "cli/free_value.hpp"
#include "cli/progress.hpp"
#include "cli/study_spec.hpp"

namespace saltus::cli {

namespace {

struct FitCommandOptions : AccurateRunOptions {
  std::string data, events;
  std::vector<std::string> over, columns, measure, sigma;
  int max_runs = 200, windows = 1;
};

/// Keeps the columns that are asked for, or all.
void choose_columns(const FitCommandOptions& o, FitData& data) {
  for (const std::string& name : o.columns)
    if (std::ranges::find(data.series, name, &FitSeries::variable) == data.series.end()) {
      std::vector<std::string> names;
      for (const FitSeries& s : data.series) names.push_back(s.variable);
      const std::string near = nearest_name(name, names);
      throw UsageError(fmt::format("--columns: there is no column '{}' in '{}'{}", name, o.data,
                                   near.empty() ? "" : "; did you mean '" + near + "'?"));
    }
  if (!o.columns.empty())
    std::erase_if(data.series,
                  [&](const FitSeries& s) { return std::ranges::find(o.columns, s.variable) == o.columns.end(); });
}

/// Gives the columns their standard deviations and the variables that they are compared with.
void prepare_series(const FitCommandOptions& o, const Model& model, ModelExtension& extension, FitData& data) {
  for (const std::string& text : o.sigma) {
    const auto equals = text.rfind('=');
    const std::string name = equals == std::string::npos ? "" : text.substr(0, equals);
    const double value =
        parse_setting((name.empty() ? "x" : name) + "=" + text.substr(equals == std::string::npos ? 0 : equals + 1),
                      "--sigma")
            .second;
    bool found = name.empty();
    for (FitSeries& s : data.series)
      if (name.empty() ? s.sigma.empty() : s.variable == name) {
        s.sigma = {value};
        found = true;
      }
    for (FitEvents& e : data.events)
      if (name.empty() ? e.sigma.empty() : e.event == name) {
        e.sigma = {value};
        found = true;
      }
    if (!found)
      throw UsageError(fmt::format("--sigma: neither a column nor an event of the data is called '{}'", name));
  }
  for (FitSeries& s : data.series) s.label = s.variable;
  for (const std::string& text : o.measure) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw UsageError("--measure wants COLUMN=EXPRESSION, for example --measure distance='p1 - p2'; got '" + text +
                       "'");
    const auto found = std::ranges::find(data.series, text.substr(0, equals), &FitSeries::label);
    if (found == data.series.end())
      throw UsageError(fmt::format("--measure: there is no column '{}' in '{}'", text.substr(0, equals), o.data));
    found->variable = extension.value(text.substr(equals + 1));
  }
  for (const FitSeries& s : data.series) {
    if (s.variable != s.label || model.data().names.contains(s.variable)) continue;
    std::vector<std::string> names;
    for (const auto& [name, symbol] : model.data().names) names.push_back(name);
    const std::string near = nearest_name(s.variable, names);
    throw UsageError(
        fmt::format("the column '{0}' of '{1}' is no variable of the model; {2}say what it is with --measure "
                    "{0}=EXPRESSION, or choose other columns with --columns",
                    s.variable, o.data, near.empty() ? "" : "did you mean '" + near + "'? Otherwise "));
  }
}

void print_correlations(std::ostream& out, const Fit& fit, std::size_t width) {
  if (fit.parameters.size() < 2) return;
  out << "\ncorrelations\n";
  const int n = static_cast<int>(fit.parameters.size());
  out << fmt::format("  {:<{}}", "", width);
  for (int j = 0; j + 1 < n; ++j) out << fmt::format("  {:>10}", fit.parameters[static_cast<std::size_t>(j)].name);
  out << '\n';
  for (int i = 1; i < n; ++i) {
    out << fmt::format("  {:<{}}", fit.parameters[static_cast<std::size_t>(i)].name, width);
    for (int j = 0; j < i; ++j) {
      const double value = fit.correlations.empty() ? std::nan("") : fit.correlations(i, j);
      out << (std::isnan(value) ? fmt::format("  {:>10}", "-") : fmt::format("  {:>10.4f}", value));
    }
    out << '\n';
  }
}

void print_fit(std::ostream& out, const Fit& fit) {
  out << fmt::format("{} after {} runs and {} with derivatives\n", to_string(fit.status), fit.runs, fit.derivatives);
  if (!fit.message.empty()) out << fit.message << '\n';
  for (const std::string& note : fit.notes) out << "note: " << note << '\n';
  std::size_t width = 9;
  for (const FittedParameter& p : fit.parameters) width = std::max(width, p.name.size());
  out << fmt::format("\n  {:<{}}  {:>18}  {:>14}\n", "parameter", width, "value", "standard error");
  for (const FittedParameter& p : fit.parameters) {
    const std::string error = p.at_bound            ? "at its bound"
                              : p.undetermined      ? "undetermined"
                              : std::isnan(p.error) ? "unknown"
                                                    : fmt::format("{:.2g}", p.error);
    out << fmt::format("  {:<{}}  {:>18}  {:>14}\n", p.name, width, value_with_error(p.value, p.error), error);
  }
  print_correlations(out, fit, width);
  if (fit.status == FitStatus::failed) return;
  out << fmt::format("\n{} values, {} degree{} of freedom, sum of squares {:.6g}\n", fit.residuals.size(),
                     fit.degrees_of_freedom, fit.degrees_of_freedom == 1 ? "" : "s", fit.sum_of_squares);
  if (fit.deviation) out << fmt::format("standard deviation of the residuals: {:.4g}\n", *fit.deviation);
}

ExitCode fit_model(const FitCommandOptions& o, const Streams& streams) {
  if (o.over.empty()) throw UsageError("say which parameters to find: --over mu=0.4:0.1:1,k");
  if (o.data.empty() && o.events.empty())
    throw UsageError("say where the measured data are: --data FILE.csv, or --event-times FILE.csv");
  std::vector<FitParameter> parameters;
  for (const std::string& text : o.over) {
    const WrittenValue value = parse_free_value(text, "--over");
    parameters.push_back({.name = value.name, .guess = value.guess, .lower = value.lower, .upper = value.upper});
  }
  FitData data;
  if (!o.data.empty()) data = read_fit_data(o.data);
  if (!o.events.empty()) data.events = read_fit_events(o.events);
  const ModelicaModel model = load_extended(o, streams, [&](const Model& plain, ModelExtension& extension) {
    choose_columns(o, data);
    prepare_series(o, plain, extension, data);
  });
  const CompiledModel compiled(model.model);
  FitOptions options{.simulate = o.simulate(model, compiled), .max_runs = o.max_runs, .windows = o.windows};
  std::optional<SearchBar> progress(std::in_place, streams.err, o.shows_progress());
  options.simulate.progress = std::ref(*progress);
  options.progress = std::ref(*progress);
  const Fit result = fit(compiled, data, parameters, options);
  progress.reset();
  std::ostream& words = o.json == "-" ? streams.err : streams.out;
  if (!o.quiet) print_fit(words, result);
  if (!o.json.empty()) write_file(o.json, streams.out, [&](std::ostream& file) { write_fit_json(file, result); });
  if (!o.plot.empty() && result.run) {
    write_fit_plot(result, o.plot, compiled.name(), o.plot_size.empty() ? PlotSize{} : parse_plot_size(o.plot_size));
    if (!o.quiet) words << "plot: " << o.plot << '\n';
  }
  if (result.ok()) return ExitCode::success;
  if (o.quiet) streams.err << fmt::format("{}: {}\n", to_string(result.status), result.message);
  return ExitCode::failure;
}

}  // namespace

Command fit_command() {
  return {"fit", [](CLI::App& parent) -> Action {
            auto o = std::make_shared<FitCommandOptions>();
            CLI::App& app = *parent.add_subcommand("fit", "Parameters of a model from measured data");
            app.footer(
                "Examples:\n"
                "  saltus fit Ball.mo --data ball.csv --over e=0.8:0:1,h0 --plot fit.svg\n"
                "  saltus fit StickSlip.mo --data d.csv --measure distance='p1 - p2' --sigma 0.01 --over mu=0.3\n"
                "Exit codes: 0 converged, 1 not converged or undetermined, 2 wrong command line, model or data.");
            o->add_run(app);
            const char* group = "Data";
            app.add_option("--data", o->data, "Measured values: names in the first line, the time in the first column")
                ->type_name("FILE")
                ->group(group);
            app.add_option("--event-times", o->events, "Measured times of events: a column for each guard or kind")
                ->type_name("FILE")
                ->group(group);
            app.add_option_function<std::string>(
                   "--over", [o](const std::string& text) { o->over = split_list(text); },
                   "Parameters and start values (x.start) to find: NAME, NAME=GUESS or NAME=GUESS:LOWER:UPPER")
                ->type_name("A,B")
                ->group(group);
            app.add_option_function<std::string>(
                   "--columns", [o](const std::string& text) { o->columns = split_list(text); },
                   "Columns of the data to use (default: all)")
                ->type_name("A,B")
                ->group(group);
            app.add_option("--measure", o->measure, "What a column has the values of (repeatable)")
                ->type_name("COLUMN=EXPRESSION")
                ->group(group);
            app.add_option("--sigma", o->sigma, "Standard deviation of all values, or of a column: x=0.01 (repeatable)")
                ->type_name("S")
                ->group(group);
            app.add_option("--max-runs", o->max_runs, "Most runs of the model (200)")
                ->check(CLI::Range(1, 1000000))
                ->type_name("N")
                ->group("Method");
            app.add_option("--windows", o->windows,
                           "Multiple shooting: divide a long or chaotic record into so many windows first (1)")
                ->check(CLI::Range(1, 100000))
                ->type_name("N")
                ->group("Method");
            o->add_results(app, "Draw data and model (.svg, .png, .pdf)");
            return [o](const Streams& streams) { return fit_model(*o, streams); };
          }};
}

}  // namespace saltus::cli
