#include "cli/study.hpp"

#include <fmt/format.h>
#include <saltus/io/plot.hpp>
#include <saltus/io/result_files.hpp>
#include <saltus/io/result_table.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/files.hpp"
#include "cli/run.hpp"
#include "cli/study_command.hpp"

namespace saltus::cli {

namespace {

struct StudyLookOptions {
  std::string what, folder, plot, csv;
  std::optional<std::int64_t> index;
  std::size_t events = 40;
};

ExitCode show_status(const StudyResult& result, const Streams& streams) {
  print_study(streams.out, result, 0);
  streams.out << fmt::format("members in a block: {}; results:\n", result.block_size());
  for (const StudyArray& array : result.arrays())
    streams.out << fmt::format("  {}{}{}\n", array.name, array.width == 0 ? "" : fmt::format(" × {}", array.width),
                               array.unit.empty() ? "" : " [" + array.unit + "]");
  if (!result.finished())
    streams.out << fmt::format("{} members are missing; the command that made the study goes on with them\n",
                               result.members() - result.members_done());
  return ExitCode::success;
}

ExitCode show_failed(const StudyResult& result, const Streams& streams) {
  constexpr std::size_t all = 1'000'000'000;
  const auto failures = result.failures(all);
  for (const MemberFailure& failure : failures) print_failure(streams.out, result, failure);
  if (failures.empty()) streams.out << "no member has failed\n";
  return failures.empty() ? ExitCode::success : ExitCode::failure;
}

ExitCode show_damage(const StudyResult& result, const Streams& streams) {
  constexpr std::size_t most = 1000;
  const std::vector<std::string> lines = result.check();
  for (std::size_t k = 0; k < std::min(lines.size(), most); ++k) streams.out << lines[k] << '\n';
  if (lines.size() > most) streams.out << fmt::format("… {} more\n", lines.size() - most);
  if (lines.empty())
    streams.out << fmt::format("{} members: everything is there, as it was written\n", result.members());
  else
    streams.out << "the command that made the study computes what is missing or damaged once more\n";
  return lines.empty() ? ExitCode::success : ExitCode::failure;
}

ExitCode run_again(const StudyLookOptions& o, const StudyResult& result, const Streams& streams) {
  if (!o.index) throw UsageError("say which member: saltus study member " + o.folder + " 17");
  const Study study = reload_study(result);
  const Trajectory run = study.run_member(*o.index);
  print_events(streams.out, run, o.events);
  print_summary(streams.out, run);
  if (!o.csv.empty()) {
    write_file(o.csv, streams.out,
               [&](std::ostream& file) { write_csv(file, result_table(run, {}), CsvHeader::names); });
  }
  if (!o.plot.empty()) {
    write_plot(run, o.plot, {.title = fmt::format("{}, member {}", study.model().name(), *o.index)});
    streams.out << "plot: " << o.plot << '\n';
  }
  const bool as_wanted = run.status().code == StatusCode::cancelled;  // after the last sample
  return run.status().ok() || as_wanted ? ExitCode::success : ExitCode::failure;
}

ExitCode look(const StudyLookOptions& o, const Streams& streams) {
  const StudyResult result = StudyResult::open(o.folder);
  if (o.what == "status") return show_status(result, streams);
  if (o.what == "failed") return show_failed(result, streams);
  if (o.what == "check") return show_damage(result, streams);
  return run_again(o, result, streams);
}

}  // namespace

Command study_command() {
  return {"study", [](CLI::App& parent) -> Action {
            auto o = std::make_shared<StudyLookOptions>();
            CLI::App& app = *parent.add_subcommand("study", "Look at a stored study; run a member of it again");
            app.footer(
                "Examples:\n"
                "  saltus study status d.zarr         what it has, and what is missing\n"
                "  saltus study failed d.zarr         members that failed, and why\n"
                "  saltus study check d.zarr          files that are damaged, missing or of another study\n"
                "  saltus study member d.zarr 17      one member once more, with its events\n"
                "Exit codes: 0 success, 1 there are failed members, damaged or missing files, or this member failed,\n"
                "2 wrong command line.");
            app.add_option("WHAT", o->what, "status, failed, check or member")
                ->required()
                ->check(CLI::IsMember({"status", "failed", "check", "member"}));
            app.add_option("STUDY", o->folder, "Folder of the study")->required();
            app.add_option("INDEX", o->index, "Number of the member, from 0 on");
            app.add_option("--plot", o->plot, "Draw the member (.svg, .png, .pdf)")->type_name("FILE");
            app.add_option("--csv", o->csv, "The variables of the member over time")->type_name("FILE");
            app.add_option("--events", o->events, "Longest event table to print (40)")
                ->check(CLI::Range(4, 100000000))
                ->type_name("N");
            return [o](const Streams& streams) { return look(*o, streams); };
          }};
}

}  // namespace saltus::cli
