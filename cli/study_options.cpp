// The options of the commands that run studies.

#include "cli/method_option.hpp"
#include "cli/study_command.hpp"

namespace saltus::cli {

void StudyCommandOptions::add_model(CLI::App& app) {
  const char* group = "Model";
  app.add_option("MODEL.mo", source.file, "Modelica file; may be left out where --library and --model say it all")
      ->check(existing_model());
  app.add_option("--model", source.model, "Which model (default: the last one of the file)")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--library", source.libraries, "Folder of a Modelica library (repeatable; then those of MODELICAPATH)")
      ->type_name("DIR")
      ->group(group);
  app.add_option("--set", source.settings, "Change a parameter or start value for all members (repeatable)")
      ->type_name("NAME=VALUE")
      ->group(group);
  app.add_flag("--unbalanced", source.unbalanced, unbalanced_help)->group(group);
  app.add_option("--start", source.start, "Start time (default: the model's experiment annotation, or 0)")
      ->type_name("T")
      ->group(group);
  app.add_option("--stop", stop, "Stop time; with --period it follows from the samples")->type_name("T")->group(group);
  const char* method_group = "Method";
  app.add_option("--rtol", rtol, "Relative tolerance (default: experiment annotation, or 1e-6)")
      ->type_name("R")
      ->group(method_group);
  app.add_option("--atol", atol, "Absolute tolerance (default: as rtol)")->type_name("A")->group(method_group);
  add_method_option(app, method, method_group);
  add_scaling(app, source.scaling, method_group);
  app.add_option("--max-step", max_step, "Largest step")->type_name("H")->group(method_group);
  app.add_option("--max-steps", max_steps, "Most steps of a member (default: 10 million)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 50))
      ->type_name("N")
      ->group(method_group);
  app.add_option("--max-events", max_events, "Most events of a member (default: no limit)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 50))
      ->type_name("N")
      ->group(method_group);
  app.add_option("--shortest-interval", shortest_interval,
                 "Chattering: end a member where two intervals in a row between events are shorter (default: never)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("T")
      ->group(method_group);
  app.add_option("--time-limit", time_limit, "Longest time of a member on the clock, in seconds (default: none)")
      ->check(CLI::PositiveNumber)
      ->type_name("S")
      ->group(method_group);
}

void StudyCommandOptions::add_values(CLI::App& app) {
  const char* group = "Members";
  app.add_option("--over", over,
                 "NAME=FROM:TO:COUNT, NAME=log:FROM:TO:COUNT or NAME=A,B,C (repeatable: all combinations)")
      ->type_name("AXIS")
      ->group(group);
  app.add_option("--random", random, "NAME~uniform(A,B), ~loguniform(A,B) or ~normal(MEAN,DEVIATION) (repeatable)")
      ->type_name("VALUE")
      ->group(group);
  app.add_option("--members", members, "Draws of the random values for each combination (default: 1)")
      ->type_name("N")
      ->group(group);
  app.add_option("--seed", seed, "Other random values (default: 0)")->type_name("N")->group(group);
  app.add_option("--table", table, "A CSV file with names in its first line and a member in each other")
      ->check(CLI::ExistingFile)
      ->type_name("FILE")
      ->group(group);
}

void StudyCommandOptions::add_sampling(CLI::App& app, const std::string& usual_transient,
                                       const std::string& usual_keep) {
  const char* group = "Samples";
  transient = usual_transient;
  keep = usual_keep;
  app.add_option("--period", period, "Sample at multiples of this time: a number or an expression, '2*pi/omega'")
      ->type_name("T")
      ->group(group);
  app.add_option("--section", section, "Or where this expression passes through zero: 'x - 0.1'")
      ->type_name("G")
      ->group(group);
  app.add_option("--direction", direction, "Of the section: up (default), down or both")
      ->check(CLI::IsMember({"up", "down", "both"}))
      ->type_name("D")
      ->group(group);
  app.add_option("--transient", transient, "Samples to drop first (" + usual_transient + ")")
      ->type_name("N")
      ->group(group);
  app.add_option("--keep", keep, "Samples to keep (" + usual_keep + ")")->type_name("N")->group(group);
  app.add_option("--tolerance", tolerance, "Samples that differ by less repeat (1e-4)")
      ->check(CLI::PositiveNumber)
      ->type_name("R")
      ->group(group);
}

void StudyCommandOptions::add_run(CLI::App& app) {
  const char* group = "Run";
  app.add_option(
         "--collect", collect,
         "final(x), min(x), max(x), mean(x), count(x > 1), first(x > 1), sample(x), period(x); NAME=… names one")
      ->type_name("LIST")
      ->group("Members");
  app.add_option("--out", out,
                 "Folder of the results, a Zarr group (default: MODEL-COMMAND.zarr); goes on if it is there")
      ->type_name("DIR")
      ->group(group);
  app.add_option("--executor", executor,
                 "full: every model, each member by itself (default); processes: the same in processes, so that a "
                 "member that crashes or hangs leaves the others alone; lanes: eight members at a time, several times "
                 "faster where the model allows it; cuda: on a device, with the results of lanes")
      ->check(CLI::IsMember({"full", "processes", "lanes", "cuda"}))
      ->type_name("WAY")
      ->group(group);
  app.add_option("--threads", threads, "Threads (default: as many as the machine has)")
      ->check(CLI::Range(0, 4096))
      ->type_name("N")
      ->group(group);
  app.add_option("--shard", shard, "Only part I of N, for clusters: I/N")->type_name("I/N")->group(group);
  app.add_option("--block", block, "Members that are stored together (usually 1024)")->type_name("N")->group(group);
  app.add_flag("--restart", restart, "Discard what is in the folder")->group(group);
  app.add_flag("--progress", progress, "Show progress also where there is no terminal")->group(group);
  app.add_flag("--quiet,-q", quiet, "Print nothing but errors")->group(group);
}

void StudyCommandOptions::add_reduce(CLI::App& app) {
  app.add_option("--reduce", reduce,
                 "density:COLUMNSxROWS (or density): keep only how many points are where, not the members: for very "
                 "many of them")
      ->type_name("WHAT")
      ->group("Run");
}

void StudyCommandOptions::add_plot(CLI::App& app, const char* text) {
  const char* group = "Plot";
  app.add_option("--plot", plot, text)->type_name("FILE")->group(group);
  app.add_option("--plot-size", plot_size, "paper, slide, wide, or WIDTHxHEIGHT in pixels")
      ->type_name("SIZE")
      ->group(group);
}

}  // namespace saltus::cli
