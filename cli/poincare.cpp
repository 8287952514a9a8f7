#include "cli/poincare.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/study_command.hpp"

namespace saltus::cli {

namespace {

ExitCode poincare(const StudyCommandOptions& o, const Streams& streams) {
  if (o.period.empty() && o.section.empty())
    throw UsageError("say where the section is: --section 'x - 0.1' or --period '2*pi/omega'");
  if (o.vars.size() != 2) throw UsageError("say which two values a point has: --vars x,v");
  PreparedStudy prepared =
      prepare_study(o, "poincare", streams, [&](const Model&, ModelExtension& extension, StudyPlan& plan) {
        std::vector<Collector> samples;
        for (const std::string& name : o.vars) samples.push_back({Collect::sample, extension.value(name), name});
        plan.collect.insert(plan.collect.begin(), samples.begin(), samples.end());
      });
  reduce_to(prepared, o, o.vars[0], o.vars[1]);
  const auto result = run_and_report(prepared, o, streams);
  if (!result) return without_result();
  draw_points(*result, prepared, o, o.vars[0], o.vars[1], streams);
  return exit_code(*result);
}

}  // namespace

Command poincare_command() {
  return {"poincare", [](CLI::App& parent) -> Action {
            auto o = std::make_shared<StudyCommandOptions>();
            CLI::App& app = *parent.add_subcommand("poincare", "Where a model passes through a section");
            app.footer(
                "Examples:\n"
                "  saltus poincare Impact.mo --period '2*pi/omega' --keep 1e4 --vars x,v --plot p.png\n"
                "  saltus poincare Lorenz.mo --section 'z - 27' --direction down --stop 1e3 --vars x,y --plot p.svg\n"
                "Exit codes: 0 success, 1 a member failed, 2 wrong command line or model, 130 stopped by Ctrl-C.");
            o->add_model(app);
            o->add_values(app);
            o->add_sampling(app, "100", "1000");
            app.add_option_function<std::string>(
                   "--vars", [o](const std::string& text) { o->vars = split_list(text); },
                   "The two variables or expressions of a point")
                ->type_name("A,B")
                ->group("Samples");
            o->add_run(app);
            o->add_reduce(app);
            o->add_plot(app, "Draw the points (.svg, .png); many of them become a raster");
            return [o](const Streams& streams) { return poincare(*o, streams); };
          }};
}

}  // namespace saltus::cli
