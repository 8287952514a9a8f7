#include "cli/run_options.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>

#include <filesystem>
#include <map>

#include "cli/method_option.hpp"

namespace saltus::cli {

namespace {

void add_model_options(CLI::App& app, RunOptions& o) {
  const char* group = "Model";
  app.add_option("MODEL.mo", o.source.file,
                 "Modelica file, or an FMU (FILE.fmu); may be left out where --library and --model say it all")
      ->check(existing_model());
  app.add_option("--model", o.source.model, "Which model (default: the last one of the file)")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--library", o.source.libraries,
                 "Folder of a Modelica library (repeatable; then those of MODELICAPATH)")
      ->type_name("DIR")
      ->group(group);
  app.add_option("--set", o.source.settings,
                 "Change a parameter or start value; VALUE may be an expression, or {1,2,3} for an array (repeatable)")
      ->type_name("NAME=VALUE")
      ->group(group);
  o.inputs.add_to(app, group);
  app.add_flag("--unbalanced", o.source.unbalanced, unbalanced_help)->group(group);
  app.add_flag("--allow-foreign-code", o.allow_code, "Run the code of an FMU without a note")->group(group);
  app.add_option("--start", o.source.start, "Start time (default: the model's experiment annotation, or 0)")
      ->type_name("T")
      ->group(group);
  app.add_option("--stop", o.stop, "Stop time; before the start time runs backwards")->type_name("T")->group(group);
}

void add_method_options(CLI::App& app, RunOptions& o) {
  const char* group = "Method";
  app.add_option("--rtol", o.rtol,
                 "Relative tolerance: a number (default: experiment annotation, or 1e-6), or NAME=R of one variable "
                 "(repeatable)")
      ->type_name("R")
      ->group(group);
  app.add_option("--atol", o.atol,
                 "Absolute tolerance: a number (default: as rtol), or that of one variable, NAME=A (repeatable)")
      ->type_name("A")
      ->group(group);
  add_method_option(app, o.method, group);
  app.add_option("--mode-method", o.mode_methods,
                 "Method of one mode, MODE=M; MODE is its name, or its description as events show it (repeatable)")
      ->type_name("MODE=M")
      ->group(group);
  add_scaling(app, o.source.scaling, group);
  add_stabilisation(app, o.source.stabilise, group);
  app.add_option("--max-step", o.max_step, "Largest step")->type_name("H")->group(group);
  app.add_option("--initial-step", o.initial_step, "First step (default: chosen by the method)")
      ->type_name("H")
      ->group(group);
  app.add_option("--max-order", o.max_order, "Highest order of bdf, radau and taylor (default: no limit)")
      ->check(CLI::Range(2, 60))
      ->type_name("N")
      ->group(group);
  app.add_option("--max-steps", o.max_steps, "Most steps (default: 10 million)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 50))
      ->type_name("N")
      ->group(group);
  app.add_option("--max-events", o.max_events, "Most events; one more ends the run (default: no limit)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 50))
      ->type_name("N")
      ->group(group);
  app.add_option("--max-mode-changes", o.max_mode_changes, "Most rounds of one instant (default: 100)")
      ->check(CLI::Range(1, 1 << 30))
      ->type_name("N")
      ->group(group);
  app.add_option("--shortest-interval", o.shortest_interval,
                 "Chattering: end the run where two intervals in a row between events are shorter (default: never)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("T")
      ->group(group);
  app.add_flag("--lock-mode", o.lock_mode,
               "Stay in the mode of the start: no guard is watched, and relations keep their truths")
      ->group(group);
  app.add_option("--stop-on", o.stop_on, "End the run at: chattering, non-unique (repeatable)")
      ->check(CLI::IsMember({"chattering", "non-unique"}))
      ->type_name("WHAT")
      ->group(group);
}

void add_file_options(CLI::App& app, RunOptions& o) {
  const char* group = "Files";
  const auto file = [&](const char* name, std::string& path, const char* text) {  // "-" is standard output
    return app.add_option(name, path, text)->type_name("FILE")->group(group);
  };
  app.add_option("-o,--output", o.outputs,
                 "A result in the format of its ending: .csv .json .html .mat .npz .svg .png .pdf (repeatable)")
      ->type_name("FILE")
      ->group(group);
  file("--html", o.html, "A report for the browser: one page that needs nothing else");
  file("--csv", o.csv, "The variables over time; - is standard output");
  file("--json", o.json, "Events, status and statistics");
  file("--mat", o.mat, "A result file for Modelica tools (MAT, version 4)");
  file("--npz", o.npz, "Arrays for numpy");
  file("--save-state", o.save_state, "Where the run ended, for --start-from");
  file("--start-from", o.start_from, "Go on where another run of the model ended: in its mode, with its values")
      ->check(CLI::ExistingFile);
  app.add_flag("--trajectories", o.trajectories, "Put the variables over time into the JSON file, too")
      ->needs("--json")
      ->group(group);
  app.add_flag("--csv-units", o.csv_units, "Units and descriptions as first lines of the CSV file")->group(group);
  app.add_option_function<std::vector<std::string>>(
         "--vars",
         [&o](const std::vector<std::string>& texts) {
           for (const std::string& text : texts)
             for (std::string& name : split_names(text)) o.vars.push_back(std::move(name));
         },
         "Variables for files and plots: a,b,c (default: all)")
      ->type_name("A,B")
      ->group(group);
  auto* intervals =
      app.add_option("--intervals", o.intervals, "Equal intervals of files and plots, with both sides of all events")
          ->check(CLI::Range(1, 100000000))
          ->type_name("N")
          ->group(group);
  auto* samples = app.add_option("--samples", o.samples, "Instead: so many equal times, without the events")
                      ->check(CLI::Range(std::size_t{2}, std::size_t{100000000}))
                      ->type_name("N")
                      ->excludes(intervals)
                      ->group(group);
  app.add_option("--times", o.times, "Instead: these times, without the events")
      ->type_name("FROM:STEP:TO")
      ->excludes(intervals)
      ->excludes(samples)
      ->group(group);
  app.add_option("--keep", o.keep, "Most memory for the steps, in GB (1); beyond it files are written as the run goes")
      ->check(CLI::NonNegativeNumber)
      ->excludes("--html")
      ->type_name("GB")
      ->group(group);
  app.add_option("--html-nodes", o.html_nodes, "Most nodes of a curve in the report (20000)")
      ->check(CLI::Range(10, 10000000))
      ->type_name("N")
      ->group(group);
}

}  // namespace

void add_run_options(CLI::App& app, RunOptions& o) {
  app.footer(
      "Examples:\n"
      "  saltus run BouncingBall.mo\n"
      "  saltus run BouncingBall.mo --stop 30 --set e=0.8 --csv ball.csv\n"
      "  saltus run StickSlip.mo --html report.html --open\n"
      "  saltus run StickSlip.mo --plot phase.svg --phase v1,v2\n"
      "Exit codes: 0 success, 1 the run failed (its status says why), 2 wrong command line or model.");
  add_model_options(app, o);
  add_method_options(app, o);
  add_file_options(app, o);
  const char* plots = "Plots";
  app.add_option("--plot", o.plot,
                 "Draw into this file (.svg, .png, .pdf); default: MODEL.svg, where the output is a terminal")
      ->type_name("FILE")
      ->group(plots);
  app.add_option("--plot-size", o.plot_size, "paper, slide, wide, or WIDTHxHEIGHT in pixels")
      ->type_name("SIZE")
      ->group(plots);
  app.add_option("--plot-font", o.plot_font, "Size of the letters in points")
      ->check(CLI::Range(4.0, 100.0))
      ->type_name("N")
      ->group(plots);
  app.add_flag("--no-plot", o.no_plot, "Draw nothing")->group(plots);
  app.add_flag("--draw", o.draw, "Draw MODEL.svg also where the output is no terminal")->group(plots);
  app.add_option("--phase", o.phase, "Draw Y over X instead of values over time")->type_name("X,Y")->group(plots);
  for (const char* other : {"--plot", "--phase"}) app.get_option("--keep")->excludes(other);
  app.add_flag("--open", o.open, "Show the report, or else the plot, when the run is over")->group(plots);
  const char* terminal = "Terminal";
  app.add_option("--events", o.events, "Longest event table to print (40); 0 prints none")
      ->check(CLI::Range(0, 100000000))
      ->type_name("N")
      ->group(terminal);
  app.add_option_function<std::vector<std::string>>(
         "--sensitivities",
         [&o](const std::vector<std::string>& texts) {
           for (const std::string& text : texts)
             for (std::string& name : split_names(text)) o.sensitivities.push_back(std::move(name));
         },
         "Differentiate the run by parameters and start values: mu,x.start")
      ->excludes("--start-from")
      ->excludes("--save-state")
      ->type_name("A,B")
      ->group(terminal);
  app.add_flag("--no-sensitivity-control", o.no_sensitivity_control,
               "Derivatives take the steps of the run: their own errors are not tested")
      ->needs("--sensitivities")
      ->group(terminal);
  app.add_flag("--watch", o.watch, "Run again whenever the file changes")->group(terminal);
  app.add_flag_callback(
         "--verbose,-v", [&o] { o.log.emplace_back("steps"); }, "The same as --log steps")
      ->group(terminal);
  app.add_option(
         "--log", o.log,
         "steps: a line for each step; guards: what is watched for each relation; on standard error (repeatable)")
      ->check(CLI::IsMember({"steps", "guards"}))
      ->expected(1)
      ->type_name("WHAT")
      ->group(terminal);
  app.get_option("--log")->excludes("--sensitivities");
  for (const char* other : {"--start-from", "--save-state", "--sensitivities"})
    app.get_option("--lock-mode")->excludes(other);
  app.get_option("--verbose")->excludes("--sensitivities");
  for (const char* other : {"--open", "--log", "--verbose", "--sensitivities"})
    app.get_option("--keep")->excludes(other);
  app.add_flag("--quiet,-q", o.quiet, "Print nothing but errors")->group(terminal);
}

void sort_outputs(RunOptions& o) {
  const std::map<std::string, std::string*> places = {{".csv", &o.csv},  {".json", &o.json}, {".html", &o.html},
                                                      {".htm", &o.html}, {".mat", &o.mat},   {".npz", &o.npz},
                                                      {".svg", &o.plot}, {".png", &o.plot},  {".pdf", &o.plot}};
  for (const std::string& file : o.outputs) {
    const auto place = places.find(std::filesystem::path(file).extension().string());
    if (place == places.end())
      throw UsageError(
          fmt::format("-o: the name '{}' must end in .csv, .json, .html, .mat or .npz (results), or in .svg, "
                      ".png or .pdf (a plot)",
                      file));
    if (!place->second->empty())
      throw UsageError(
          fmt::format("-o: '{}' and '{}' would hold the same; leave out one of them", *place->second, file));
    *place->second = file;
  }
  o.outputs.clear();
}

}  // namespace saltus::cli
