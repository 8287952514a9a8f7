#include "cli/lyapunov.hpp"

#include <fmt/format.h>
#include <saltus/sens/lyapunov.hpp>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <optional>

#include "cli/accurate_run.hpp"
#include "cli/progress.hpp"
#include "cli/study_spec.hpp"

namespace saltus::cli {

namespace {

struct LyapunovCommandOptions : AccurateRunOptions {
  double interval = 1.0, transient = 0.0;
  int intervals = 1000;
  std::vector<std::string> state;
};

ExitCode find_exponents(const LyapunovCommandOptions& o, const Streams& streams) {
  const ModelicaModel model = load_extended(o, streams, [](const Model&, ModelExtension&) {});
  const CompiledModel compiled(model.model);
  LyapunovOptions options{.simulate = o.simulate(model, compiled),
                          .interval = o.interval,
                          .transient = o.transient,
                          .intervals = o.intervals,
                          .variables = o.state};
  const double start = options.simulate.start, stop = start + o.transient + o.interval * o.intervals;
  std::optional<ProgressBar> bar(std::in_place, streams.err, o.shows_progress());
  options.simulate.progress = [&](const Progress& p) { return (*bar)({p.t, start, stop, p.steps, p.events}); };
  const LyapunovExponents found = lyapunov_exponents(compiled, options);
  bar.reset();
  streams.out << fmt::format("{}: average over {:.6g}, up to t = {:.9g}\n", to_string(found.status), found.time,
                             found.t_end);
  if (!found.message.empty()) streams.out << found.message << '\n';
  if (!found.values.empty()) streams.out << fmt::format("\n  {:>14}  {:>14}\n", "exponent", "standard error");
  for (std::size_t k = 0; k < found.values.size(); ++k)
    streams.out << (std::isfinite(found.values[k])
                        ? fmt::format("  {:>14}  {:>14.2g}\n", value_with_error(found.values[k], found.errors[k]),
                                      found.errors[k])
                        : fmt::format("  {:>14}  {:>14}\n", "-infinity", "a slide"));
  return found.status == LyapunovStatus::finished ? ExitCode::success : ExitCode::failure;
}

}  // namespace

Command lyapunov_command() {
  return {"lyapunov", [](CLI::App& parent) -> Action {
            auto o = std::make_shared<LyapunovCommandOptions>();
            CLI::App& app = *parent.add_subcommand("lyapunov", "Lyapunov exponents: is a model chaotic?");
            app.footer(
                "Example:\n"
                "  saltus lyapunov Lorenz.mo --transient 50 --intervals 2000\n"
                "Exit codes: 0 success, 1 the run has ended or has no derivative, 2 wrong command line or model.");
            o->add_run(app);
            const char* group = "Average";
            app.add_option("--interval", o->interval, "Time after which differences are made orthogonal again (1)")
                ->check(CLI::PositiveNumber)
                ->type_name("T")
                ->group(group);
            app.add_option("--intervals", o->intervals, "How many of them the average has (1000)")
                ->check(CLI::Range(1, 1000000000))
                ->type_name("N")
                ->group(group);
            app.add_option("--transient", o->transient, "Run the model so long first")
                ->check(CLI::NonNegativeNumber)
                ->type_name("T")
                ->group(group);
            app.add_option_function<std::string>(
                   "--state", [o](const std::string& text) { o->state = split_list(text); },
                   "The variables that make up the state (default: all that are integrated, and discrete Reals)")
                ->type_name("A,B")
                ->group(group);
            return [o](const Streams& streams) { return find_exponents(*o, streams); };
          }};
}

}  // namespace saltus::cli
