#include "cli/sweep.hpp"

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

/// True if one number for each member is shown over two axes.
bool is_map(const StudyResult& result, const std::string& y) {
  return result.plan().axes.size() == 2 && result.array(y).width == 0;
}

ExitCode sweep(const StudyCommandOptions& o, const Streams& streams) {
  if (o.over.empty() && o.random.empty() && o.table.empty())
    throw UsageError("say what varies: --over NAME=FROM:TO:COUNT, --random or --table");
  PreparedStudy prepared = prepare_study(o, "sweep", streams, [](const Model& model, ModelExtension&, StudyPlan& plan) {
    if (plan.collect.empty()) collect_all(model, plan);
  });
  const std::string x = prepared.study.arrays().front().name, y = result_name(prepared.study.plan().collect.front());
  reduce_to(prepared, o, x, y);
  const auto result = run_and_report(prepared, o, streams);
  if (!result) return without_result();
  if (prepared.options.reduce || !is_map(*result, y))
    draw_points(*result, prepared, o, x, y, streams);
  else
    draw_map(*result, prepared, o, y, streams);
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
            o->add_reduce(app);
            o->add_plot(app, "Draw the first result over what varies (.svg, .png)");
            return [o](const Streams& streams) { return sweep(*o, streams); };
          }};
}

}  // namespace saltus::cli
