#include "cli/bifurcation.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/study_command.hpp"

namespace saltus::cli {

namespace {

ExitCode bifurcation(const StudyCommandOptions& o, const Streams& streams) {
  if (o.over.empty()) throw UsageError("say which parameter the diagram is drawn over: --over NAME=FROM:TO:COUNT");
  if (o.period.empty() && o.section.empty())
    throw UsageError("say when members are sampled: --period '2*pi/omega' or --section 'v'");
  if (o.vars.empty()) throw UsageError("say what is sampled: --vars x");
  PreparedStudy prepared =
      prepare_study(o, "bifurcation", streams, [&](const Model&, ModelExtension& extension, StudyPlan& plan) {
        std::vector<Collector> samples;
        for (const std::string& name : o.vars) samples.push_back({Collect::sample, extension.value(name), name});
        plan.collect.insert(plan.collect.begin(), samples.begin(), samples.end());
      });
  const std::string x = prepared.study.plan().axes.back().name, y = o.vars.front();
  reduce_to(prepared, o, x, y);
  const auto result = run_and_report(prepared, o, streams);
  if (!result) return without_result();
  draw_points(*result, prepared, o, x, y, streams);
  return exit_code(*result);
}

}  // namespace

Command bifurcation_command() {
  return {"bifurcation", [](CLI::App& parent) -> Action {
            auto o = std::make_shared<StudyCommandOptions>();
            CLI::App& app = *parent.add_subcommand("bifurcation", "Samples over a parameter: a bifurcation diagram");
            app.footer(
                "Examples:\n"
                "  saltus bifurcation DryFriction.mo --over r=0.5:6:1000 --period '2*pi*r' --vars v --plot d.png\n"
                "  saltus bifurcation Duffing.mo --over w=1:2.6:400 --period '2*pi/w' --vars x --follow both\n"
                "Exit codes: 0 success, 1 a member failed, 2 wrong command line or model, 130 stopped by Ctrl-C.");
            o->add_model(app);
            o->add_values(app);
            o->add_sampling(app, "100", "50");
            app.add_option_function<std::string>(
                   "--vars", [o](const std::string& text) { o->vars = split_list(text); },
                   "Variables or expressions to sample; the first one is drawn")
                ->type_name("A,B")
                ->group("Samples");
            app.add_option("--follow", o->follow,
                           "up, down or both: members start where their neighbour on the last axis ended")
                ->check(CLI::IsMember({"up", "down", "both"}))
                ->type_name("D")
                ->group("Members");
            o->add_run(app);
            o->add_reduce(app);
            o->add_plot(app, "Draw the diagram (.svg, .png); many points become a raster");
            app.add_option("--lines", o->lines, "Vertical lines in the plot at these values")
                ->delimiter(',')
                ->type_name("A,B")
                ->group("Plot");
            return [o](const Streams& streams) { return bifurcation(*o, streams); };
          }};
}

}  // namespace saltus::cli
