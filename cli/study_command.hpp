// What the commands that run studies share: their options, the run with its progress, and the words at its end.
#pragma once

#include <saltus/study/run_study.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/app.hpp"
#include "cli/load_options.hpp"
#include "cli/study_spec.hpp"

namespace saltus::cli {

/// The options as they were typed.
struct StudyCommandOptions {
  ModelOptions source;
  std::vector<std::string> over, random;
  std::string table, members;
  std::uint64_t seed = 0;
  std::optional<double> stop, rtol, atol, max_step, after, time_limit, tolerance;
  std::optional<std::int64_t> max_steps, max_events;
  std::optional<double> shortest_interval;
  std::string method = "auto";
  std::vector<std::string> collect, vars;
  std::string period, section, direction = "up";
  std::string transient, keep;
  std::string follow = "none";
  std::string executor = "full";
  std::string out, shard, block, reduce;
  int threads = 0;
  bool restart = false, quiet = false, progress = false;
  std::string plot, plot_size;
  std::vector<double> lines;

  void add_model(CLI::App& app);
  /// --over, --random, --table, --members, --seed.
  void add_values(CLI::App& app);
  /// --period, --section, --direction, --transient, --keep; the texts say what the usual numbers are.
  void add_sampling(CLI::App& app, const std::string& usual_transient, const std::string& usual_keep);
  /// --out, --threads, --shard, --block, --restart, --quiet, --progress.
  void add_run(CLI::App& app);
  /// --reduce, for commands that draw points.
  void add_reduce(CLI::App& app);
  void add_plot(CLI::App& app, const char* text);
};

/// A study that is ready to run, and what is stored beside it.
struct PreparedStudy {
  Study study;
  StudyOptions options;
  std::string model;  ///< its name
};

/// Reads the model, with the expressions that the options ask for. `command`: for the usual name of the folder.
/// `collectors`: adds what the command itself keeps.
PreparedStudy prepare_study(const StudyCommandOptions& options, const std::string& command, const Streams& streams,
                            const std::function<void(const Model&, ModelExtension&, StudyPlan&)>& more);

/// Keeps only the density of two results, if the options say so (--reduce).
void reduce_to(PreparedStudy& prepared, const StudyCommandOptions& options, const std::string& x, const std::string& y);

/// Draws points, or their density, if there is to be a plot and no member is missing.
void draw_points(const StudyResult& result, const PreparedStudy& prepared, const StudyCommandOptions& options,
                 const std::string& x, const std::string& y, const Streams& streams);
/// The same for one number of each member over two axes.
void draw_map(const StudyResult& result, const PreparedStudy& prepared, const StudyCommandOptions& options,
              const std::string& name, const Streams& streams);

/// Runs and reports. Nothing: Ctrl-C has stopped it, or another process of the same launcher (ranks.hpp) reports.
std::optional<StudyResult> run_and_report(const PreparedStudy& prepared, const StudyCommandOptions& options,
                                          const Streams& streams);

/// The exit code of a command whose run_and_report gave nothing.
ExitCode without_result();

/// 1 if a member failed.
ExitCode exit_code(const StudyResult& result);

/// How many members there are, by status, and the first ones that failed.
void print_study(std::ostream& out, const StudyResult& result, std::size_t most_failures);
/// A member that failed, in words, and the command that repeats it.
void print_failure(std::ostream& out, const StudyResult& result, const MemberFailure& failure);

/// The study in a folder once more, from the text of the model that is stored with it.
Study reload_study(const StudyResult& result);

/// "  62 %  620/1000 members  11.1/s  0:00:34 left  3 failed".
std::string study_progress_line(const StudyProgress& progress);

}  // namespace saltus::cli
