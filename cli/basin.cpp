#include "cli/basin.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "cli/study_command.hpp"

namespace saltus::cli {

namespace {

/// What tells attractors apart: the values that vary, where they are start values.
std::vector<std::string> usual_variables(const Model& model, const StudyPlan& plan) {
  std::vector<std::string> names;
  for (const std::string& name : varied_names(plan)) {
    const auto found = model.data().names.find(name);
    if (found != model.data().names.end() && found->second.kind != SymbolKind::parameter) names.push_back(name);
  }
  if (names.empty()) throw UsageError("say what tells attractors apart: --vars x,v");
  return names;
}

void print_attractors(std::ostream& out, const StudyResult& result) {
  std::map<int, std::int64_t> counts;
  for (const double label : result.values("attractor")) ++counts[static_cast<int>(label)];
  for (const auto& [label, count] : counts) {
    const std::string name = label > 0 ? fmt::format("attractor {}", label) : label == 0 ? "not periodic" : "failed";
    out << fmt::format("{}: {} members\n", name, count);
  }
}

ExitCode basin(const StudyCommandOptions& o, const Streams& streams) {
  if (o.over.size() != 2) throw UsageError("a basin has two axes, for example --over x=-2:2:200 --over v=-2:2:200");
  if (o.period.empty() && o.section.empty())
    throw UsageError("say when members are sampled: --period '2*pi/omega' or --section 'v'");
  const PreparedStudy prepared =
      prepare_study(o, "basin", streams, [&](const Model& model, ModelExtension& extension, StudyPlan& plan) {
        const std::vector<std::string> names = o.vars.empty() ? usual_variables(model, plan) : o.vars;
        for (const std::string& name : names) plan.collect.push_back({Collect::sample, extension.value(name), name});
      });
  auto result = run_and_report(prepared, o, streams);
  if (!result) return without_result();
  if (!result->finished()) return exit_code(*result);  // one of several shards
  find_attractors(*result);
  if (!o.quiet) print_attractors(streams.out, *result);
  draw_map(*result, prepared, o, "attractor", streams);
  return exit_code(*result);
}

}  // namespace

Command basin_command() {
  return {"basin", [](CLI::App& parent) -> Action {
            auto o = std::make_shared<StudyCommandOptions>();
            CLI::App& app = *parent.add_subcommand("basin", "Which attractor is reached from where");
            app.footer(
                "Example:\n"
                "  saltus basin Wells.mo --over x=-2:2:200 --over v=-2:2:200 --period 1 --plot basin.png\n"
                "Exit codes: 0 success, 1 a member failed, 2 wrong command line or model, 130 stopped by Ctrl-C.");
            o->add_model(app);
            o->add_values(app);
            o->add_sampling(app, "200", "8");
            app.add_option_function<std::string>(
                   "--vars", [o](const std::string& text) { o->vars = split_list(text); },
                   "What tells attractors apart (default: the start values that vary)")
                ->type_name("A,B")
                ->group("Samples");
            o->add_run(app);
            o->add_plot(app, "Draw the basins, with a legend (.svg, .png)");
            return [o](const Streams& streams) { return basin(*o, streams); };
          }};
}

}  // namespace saltus::cli
