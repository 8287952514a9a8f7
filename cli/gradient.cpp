#include "cli/gradient.hpp"

#include <fmt/format.h>
#include <saltus/io/sensitivity_files.hpp>
#include <saltus/sens/adjoint.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include "cli/accurate_run.hpp"
#include "cli/files.hpp"
#include "cli/functional_text.hpp"
#include "cli/progress.hpp"
#include "cli/study_spec.hpp"

namespace saltus::cli {

namespace {

struct GradientCommandOptions : AccurateRunOptions {
  std::string of;
  std::vector<std::string> by;
  std::optional<double> stop;
  double memory = 256.0;
};

void print_gradient(std::ostream& out, const FunctionalGradient& found, const std::string& of) {
  const Status& status = found.trajectory.status();
  out << fmt::format("{} at t = {:.12g}{}{}\n", to_string(status.code), status.t, status.message.empty() ? "" : ": ",
                     status.message);
  if (!found.why.empty()) {
    out << fmt::format("{} has no derivatives: {}\n", of, found.why);
    return;
  }
  out << fmt::format("{} = {:.12g}\n\n", of, found.value);
  std::size_t width = 9;
  for (const std::string& name : found.parameters) width = std::max(width, name.size());
  out << fmt::format("  {:<{}}  {:>18}\n", "parameter", width, "derivative");
  for (std::size_t k = 0; k < found.parameters.size(); ++k)
    out << fmt::format("  {:<{}}  {:>18.10g}\n", found.parameters[k], width, found.derivatives[k]);
}

ExitCode find_gradient(const GradientCommandOptions& o, const Streams& streams) {
  if (o.of.empty()) throw UsageError("say what to differentiate: --of \"final_value(x)\"");
  if (o.by.empty()) throw UsageError("say by which parameters and start values: --by mu,x.start");
  Functional functional;
  const ModelicaModel model = load_extended(o, streams, [&](const Model&, ModelExtension& extension) {
    functional = parse_functional(o.of, "--of", extension);
  });
  const CompiledModel compiled(model.model);
  SimulateOptions options = o.simulate(model, compiled);
  options.stop = o.stop.value_or(model.experiment.stop.value_or(options.start + 1.0));
  std::optional<ProgressBar> bar(std::in_place, streams.err, o.shows_progress());
  options.progress = [&](const Progress& p) { return (*bar)(p); };
  const FunctionalGradient found =
      gradient(compiled, functional, o.by, options, {.memory = static_cast<std::size_t>(o.memory * 1024.0 * 1024.0)});
  bar.reset();
  std::ostream& words = o.json == "-" ? streams.err : streams.out;
  if (!o.quiet) print_gradient(words, found, o.of);
  if (!o.json.empty()) write_file(o.json, streams.out, [&](std::ostream& file) { write_gradient_json(file, found); });
  if (found.why.empty() && found.trajectory.status().ok()) return ExitCode::success;
  if (o.quiet) streams.err << fmt::format("no derivatives: {}\n", found.why);
  return ExitCode::failure;
}

}  // namespace

Command gradient_command() {
  return {"gradient", [](CLI::App& parent) -> Action {
            auto o = std::make_shared<GradientCommandOptions>();
            CLI::App& app =
                *parent.add_subcommand("gradient", "Derivatives of one number by many parameters (adjoint)");
            app.footer(
                "Examples:\n"
                "  saltus gradient Ball.mo --of \"final_value(h)\" --by e,g,h.start\n"
                "  saltus gradient Block.mo --of \"integral(x^2) + 0.1*event_time('x > 0.9', 2)\" --by mu,k --json -\n"
                "Exit codes: 0 success, 1 the run failed or has no derivatives, 2 wrong command line or model.");
            o->add_run(app);
            app.add_option("--stop", o->stop, "Stop time (default: the model's experiment annotation, or start + 1)")
                ->type_name("T")
                ->group("Model");
            const char* group = "Gradient";
            app.add_option("--of", o->of,
                           "What to differentiate: a sum of final_value(x), integral(x), event_time('x > 1', 2) and "
                           "sum_over_events('x > 1', y), with numbers as factors")
                ->type_name("SUM")
                ->group(group);
            app.add_option_function<std::string>(
                   "--by", [o](const std::string& text) { o->by = split_list(text); },
                   "Parameters and start values (x.start)")
                ->type_name("A,B")
                ->group(group);
            app.add_option("--memory", o->memory, "Most memory for the record of the run, in MB (256)")
                ->check(CLI::PositiveNumber)
                ->type_name("MB")
                ->group("Method");
            app.add_option("--json", o->json, "Write the result as JSON; - is standard output")
                ->type_name("FILE")
                ->group("Files");
            app.add_flag("--quiet,-q", o->quiet, "Print nothing but errors")->group("Terminal");
            return [o](const Streams& streams) { return find_gradient(*o, streams); };
          }};
}

}  // namespace saltus::cli
