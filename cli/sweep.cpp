#include "cli/sweep.hpp"

#include <saltus/io/study_plot.hpp>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/study_command.hpp"

namespace saltus::cli {

namespace {

/// Without a list: the end of everything.
void collect_all(const Model& model, StudyPlan& plan) {
  constexpr std::size_t most = 50;
  std::vector<std::string> names;
  for (const VariableInfo& v : model.data().variable_info) names.push_back(v.name);
  for (const auto& d : model.data().discretes)
    if (!d.hidden && !d.pulse) names.push_back(d.name);
  if (names.size() > most)
    throw UsageError("the model has " + std::to_string(names.size()) +
                     " variables; say what to keep of each member: --collect 'final(x),max(abs(v))'");
  for (const std::string& name : names) plan.collect.push_back({Collect::final_value, name});
}

/// What the plot shows over the first axis: the first thing that was asked for.
void draw(const StudyResult& result, const StudyCommandOptions& o, const std::string& title) {
  StudyPlotOptions p{.title = title, .lines = o.lines};
  if (!o.plot_size.empty()) p.size = parse_plot_size(o.plot_size);
  const std::string y = result_name(result.plan().collect.front());
  if (result.plan().axes.size() == 2 && result.array(y).width == 0)
    write_map(result, y, o.plot, p);
  else
    write_diagram(result, result.arrays().front().name, y, o.plot, p);
}

ExitCode sweep(const StudyCommandOptions& o, const Streams& streams) {
  if (o.over.empty() && o.random.empty() && o.table.empty())
    throw UsageError("say what varies: --over NAME=FROM:TO:COUNT, --random or --table");
  const PreparedStudy prepared =
      prepare_study(o, "sweep", streams, [](const Model& model, ModelExtension&, StudyPlan& plan) {
        if (plan.collect.empty()) collect_all(model, plan);
      });
  const auto result = run_and_report(prepared, o, streams);
  if (!result) return without_result();
  if (!o.plot.empty() && result->finished()) {
    draw(*result, o, prepared.model);
    if (!o.quiet) streams.out << "plot: " << o.plot << '\n';
  }
  return exit_code(*result);
}

}  // namespace

Command sweep_command() {
  return {"sweep", [](CLI::App& parent) -> Action {
            auto o = std::make_shared<StudyCommandOptions>();
            CLI::App& app = *parent.add_subcommand("sweep", "Run a model for many values, in threads");
            app.footer(
                "Examples:\n"
                "  saltus sweep StickSlip.mo --over mu=0.1:0.5:1000 --stop 20 --collect 'final(p1),max(abs(v1))'\n"
                "  saltus sweep Ball.mo --random 'e~uniform(0.5,0.9)' --members 1e4 --collect 'count(h < 0)'\n"
                "Exit codes: 0 success, 1 a member failed, 2 wrong command line or model, 130 stopped by Ctrl-C.");
            o->add_model(app);
            o->add_values(app);
            app.add_option("--after", o->after, "Minima, maxima, means and counts see the run from this time on")
                ->type_name("T")
                ->group("Members");
            o->add_sampling(app, "0", "1");
            o->add_run(app);
            o->add_plot(app, "Draw the first result over what varies (.svg, .png)");
            return [o](const Streams& streams) { return sweep(*o, streams); };
          }};
}

}  // namespace saltus::cli
