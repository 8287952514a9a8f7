#include "cli/study_command.hpp"

#include <fmt/format.h>
#include <saltus/base/terminal.hpp>
#include <saltus/hybrid/methods.hpp>
#include <saltus/io/plot.hpp>
#include <saltus/io/study_plot.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <thread>
#include <vector>

#include "cli/files.hpp"
#include "cli/progress.hpp"
#include "cli/ranks.hpp"

namespace saltus::cli {

namespace {

std::string as_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    lines.push_back(text.substr(begin, end - begin));
  return lines;
}

std::string scaling_word(Scaling scaling) {
  for (const auto& [word, value] : scaling_words())
    if (value == scaling) return word;
  return {};
}

/// What reload_study reads.
std::vector<std::pair<std::string, std::string>> source_of(const ModelOptions& o) {
  return {{"file", o.file},
          {"text", o.file.empty() ? "" : text_of(o.file)},
          {"model", o.model},
          {"libraries", as_lines(o.libraries)},
          {"settings", as_lines(o.settings)},
          {"start", o.start ? fmt::format("{}", *o.start) : ""},
          {"unbalanced", o.unbalanced ? "yes" : ""},
          {"scaling", scaling_word(o.scaling)},
          {"extension", o.extension}};
}

StudyPlan plan_of(const StudyCommandOptions& o, const ModelicaModel& source) {
  StudyPlan plan;
  for (const std::string& text : o.over) plan.axes.push_back(parse_axis(text));
  for (const std::string& text : o.random) plan.random.push_back(parse_random(text));
  if (!o.table.empty()) plan.table = read_table(o.table);
  if (!o.members.empty()) plan.draws = parse_count(o.members, "--members");
  plan.seed = o.seed;
  SimulateOptions& s = plan.simulate;
  s.start = o.source.start.value_or(source.experiment.start.value_or(0.0));
  s.stop = o.stop.value_or(source.experiment.stop.value_or(s.start + 1.0));
  s.rtol = o.rtol.value_or(source.experiment.tolerance.value_or(1e-6));
  s.atol = o.atol.value_or(s.rtol);
  s.method = find_method(o.method).value();
  if (o.max_step) s.max_step = *o.max_step;
  if (o.max_steps) s.max_steps = *o.max_steps;
  if (o.max_events) s.max_events = *o.max_events;
  if (o.shortest_interval) s.shortest_interval = *o.shortest_interval;
  if (o.after) plan.collect_after = *o.after;
  if (o.time_limit) plan.member_seconds = *o.time_limit;
  if (o.tolerance) plan.period_tolerance = *o.tolerance;
  plan.follow = o.follow == "up"     ? Follow::up
                : o.follow == "down" ? Follow::down
                : o.follow == "both" ? Follow::both
                                     : Follow::none;
  plan.path = o.executor == "full" || o.executor == "processes" ? MemberPath::full : MemberPath::lanes;
  return plan;
}

void add_sampling(const StudyCommandOptions& o, ModelExtension& extension, StudyPlan& plan) {
  if (o.period.empty() && o.section.empty()) return;
  if (!o.period.empty() && !o.section.empty())
    throw UsageError("--period and --section are two ways to sample; leave out one of them");
  plan.sampling.transient = o.transient == "0" ? 0 : parse_count(o.transient, "--transient");
  plan.sampling.keep = parse_count(o.keep, "--keep");
  if (!o.period.empty()) {
    plan.sampling.at = SampleAt::period;
    plan.sampling.variable = extension.value(o.period);
    return;
  }
  plan.sampling.at = SampleAt::section;
  if (!o.stop)
    throw UsageError(
        "--section: say with --stop when a member ends that does not cross it often enough, for example "
        "--stop 1e4");
  const std::string g = "(\n" + o.section + "\n)";
  std::vector<std::string> conditions;
  if (o.direction != "down") conditions.push_back(g + " > 0");
  if (o.direction != "up") conditions.push_back(g + " < 0");
  plan.sampling.variable = extension.counter(conditions);
}

std::string clock_time(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::min(seconds, 1e9));
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

/// A line that is written over itself on a terminal, and a line a second elsewhere.
class StudyProgressLine {
 public:
  StudyProgressLine(std::ostream& err, bool enabled, bool terminal)
      : err_(err), enabled_(enabled), terminal_(terminal) {}
  ~StudyProgressLine() {
    if (width_ > 0) err_ << '\r' << std::string(width_, ' ') << '\r' << std::flush;
  }
  StudyProgressLine(const StudyProgressLine&) = delete;
  StudyProgressLine& operator=(const StudyProgressLine&) = delete;

  void show(const StudyProgress& p) {
    const auto now = std::chrono::steady_clock::now();
    if (!enabled_ || now - shown_ < (terminal_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(1000)))
      return;
    shown_ = now;
    const std::string line = study_progress_line(p);
    if (!terminal_) {
      err_ << line << std::endl;
      return;
    }
    err_ << '\r' << line << std::string(width_ > line.size() ? width_ - line.size() : 0, ' ') << std::flush;
    width_ = std::max(width_, line.size());
  }

 private:
  std::ostream& err_;
  bool enabled_, terminal_;
  std::size_t width_ = 0;
  std::chrono::steady_clock::time_point shown_ = std::chrono::steady_clock::now();
};

/// Blocks are dealt out among the processes, and so are the cores of a machine.
void take_part(const Ranks& ranks, StudyOptions& options) {
  if (options.restart)
    throw UsageError("--restart: processes that start together must not discard what others have made; remove '" +
                     options.store.string() + "' first");
  options.shard = ranks.rank;
  options.shards = ranks.size;
  if (options.threads == 0)
    options.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / std::max(1, ranks.local));
}

/// The first process reports when all are ready. False: this one has nothing more to do. Throws UsageError if another
/// process has ended before its blocks were done: some launchers leave the others alone.
bool wait_for_others(const Ranks& ranks, const StudyResult& result) {
  if (ranks.rank > 0) return false;
  constexpr auto latest_begin = std::chrono::seconds(30);
  const auto began = std::chrono::steady_clock::now();
  std::vector<bool> seen(static_cast<std::size_t>(ranks.size));  // at work: an old lock says nothing of this run
  for (;;) {
    bool done = true;
    for (int k = 0; k < ranks.size; ++k) {
      const auto place = static_cast<std::size_t>(k);
      const ShardState state = result.shard_state(k, ranks.size);
      if (state == ShardState::at_work) seen[place] = true;
      done = done && state == ShardState::done;
      const bool late = std::chrono::steady_clock::now() - began > latest_begin;
      if (state == ShardState::ended && (seen[place] || late))
        throw UsageError(
            fmt::format("process {} of {} has ended before its blocks were done; {} of {} members are "
                        "stored in '{}': the same command goes on from there",
                        k + 1, ranks.size, result.members_done(), result.members(), result.store().string()));
    }
    if (done || InterruptGuard::interrupted()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

/// How many members were run in lanes, and why others were not.
void print_lanes(std::ostream& out, const Study& study, const StudyResult& result) {
  const std::int64_t flown = result.members_in_lanes(), others = result.members_done() - flown;
  std::string reasons;
  if (others > 0)
    for (const std::string& reason : obstacles_to_lanes(study)) reasons += (reasons.empty() ? ": " : "; ") + reason;
  out << (flown > 0 ? fmt::format("{} in lanes, {} by simulators of their own", flown, others) : "none in lanes")
      << reasons << "\n";
}

}  // namespace

std::string study_progress_line(const StudyProgress& p) {
  const double done = static_cast<double>(p.done), rate = p.seconds > 0.0 ? done / p.seconds : 0.0;
  std::string line =
      fmt::format("{:4.0f} %  {}/{} members", p.members > 0 ? 100.0 * done / static_cast<double>(p.members) : 100.0,
                  p.done, p.members);
  if (rate > 0.0)
    line += fmt::format("  {:.3g}/s  {} left", rate, clock_time(static_cast<double>(p.members - p.done) / rate));
  if (p.failed > 0) line += fmt::format("  {} failed", p.failed);
  return line;
}

PreparedStudy prepare_study(const StudyCommandOptions& o, const std::string& command, const Streams& streams,
                            const std::function<void(const Model&, ModelExtension&, StudyPlan&)>& more) {
  const ModelicaModel plain = load(o.source);
  for (const auto& note : plain.notes)
    if (!o.quiet) streams.err << render(note);
  StudyPlan plan = plan_of(o, plain);
  ModelExtension extension(plain.model);
  add_sampling(o, extension, plan);
  for (const std::string& text : o.collect) extension.collect(text, plan.collect);
  more(plain.model, extension, plan);
  ModelOptions source = o.source;
  source.extension = extension.text();
  const Model model = source.extension.empty() ? plain.model : load(source).model;
  StudyOptions options{.restart = o.restart, .threads = o.threads, .source = source_of(source)};
  options.store = o.out.empty() ? model.name() + "-" + command + ".zarr" : o.out;
  if (!o.block.empty()) options.block = parse_count(o.block, "--block");
  if (o.executor == "processes") options.executor = make_process_executor(o.threads);
  if (o.executor == "cuda") {
    constexpr std::int64_t usual = 1 << 20, most_numbers = 1 << 25;
    options.executor = make_cuda_executor(o.threads);
    if (options.block == 0 &&
        (o.restart || !std::filesystem::exists(options.store)))  // a stored study keeps its blocks
      options.block = std::clamp<std::int64_t>(most_numbers / std::max<std::int64_t>(1, plan.sampling.keep), 1, usual);
  }
  if (!o.shard.empty()) std::tie(options.shard, options.shards) = parse_shard(o.shard);
  if (!o.plot_size.empty()) parse_plot_size(o.plot_size);
  if (!o.plot.empty() && !o.plot.ends_with(".svg") && !o.plot.ends_with(".png"))
    throw UsageError("--plot: '" + o.plot + "' must end in .svg or .png");
  return {Study(model, std::move(plan)), std::move(options), model.name()};
}

void reduce_to(PreparedStudy& prepared, const StudyCommandOptions& o, const std::string& x, const std::string& y) {
  if (!o.reduce.empty()) prepared.options.reduce = parse_reduce(o.reduce, x, y);
}

namespace {

StudyPlotOptions plot_options(const PreparedStudy& prepared, const StudyCommandOptions& o) {
  StudyPlotOptions p{.title = prepared.model, .lines = o.lines};
  if (!o.plot_size.empty()) p.size = parse_plot_size(o.plot_size);
  return p;
}

}  // namespace

void draw_map(const StudyResult& result, const PreparedStudy& prepared, const StudyCommandOptions& o,
              const std::string& name, const Streams& streams) {
  if (o.plot.empty() || !result.finished()) return;
  write_map(result, name, o.plot, plot_options(prepared, o));
  if (!o.quiet) streams.out << "plot: " << o.plot << '\n';
}

void draw_points(const StudyResult& result, const PreparedStudy& prepared, const StudyCommandOptions& o,
                 const std::string& x, const std::string& y, const Streams& streams) {
  if (o.plot.empty() || !result.finished()) return;
  const StudyPlotOptions p = plot_options(prepared, o);
  if (result.density())
    write_density(result, o.plot, p);
  else
    write_diagram(result, x, y, o.plot, p);
  if (!o.quiet) streams.out << "plot: " << o.plot << '\n';
}

std::optional<StudyResult> run_and_report(const PreparedStudy& prepared, const StudyCommandOptions& o,
                                          const Streams& streams) {
  const InterruptGuard guard;
  StudyOptions options = prepared.options;
  const std::string folder = options.store.string();
  const Ranks ranks = o.shard.empty() ? find_ranks() : Ranks();
  if (ranks.size > 1) take_part(ranks, options);
  std::optional<StudyResult> result;
  {
    const bool terminal = errors_are_terminal();
    StudyProgressLine line(streams.err, !o.quiet && (terminal || o.progress), terminal);
    options.progress = [&](const StudyProgress& p) {
      line.show(p);
      return !InterruptGuard::interrupted();
    };
    result = run_study(prepared.study, options);
  }
  if (ranks.size > 1 && !wait_for_others(ranks, *result)) return {};
  if (InterruptGuard::interrupted()) {
    streams.err << fmt::format("stopped: {} of {} members are stored in {}; the same command goes on from there\n",
                               result->members_done(), result->members(), folder);
    return {};
  }
  if (!o.quiet) print_study(streams.out, *result, 5);
  if (!o.quiet && prepared.study.plan().path == MemberPath::lanes) print_lanes(streams.out, prepared.study, *result);
  if (!o.quiet && o.executor == "cuda")
    for (const std::string& reason : obstacles_to_device(prepared.study))
      streams.out << "no device: " << reason << "\n";
  return result;
}

ExitCode without_result() {
  return InterruptGuard::interrupted() ? ExitCode::interrupted : ExitCode::success;
}

ExitCode exit_code(const StudyResult& result) {
  return result.failures(1).empty() ? ExitCode::success : ExitCode::failure;
}

void print_study(std::ostream& out, const StudyResult& result, std::size_t most_failures) {
  std::string counts;
  std::int64_t failed = 0;
  for (const auto& [status, count] : result.count_by_status()) {
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, member_status_text(status));
    if (!member_ok(status) && status != member_not_run) failed += count;
  }
  out << fmt::format("{}: {} member{}: {}\n", result.store().string(), result.members(),
                     result.members() == 1 ? "" : "s", counts);
  for (const MemberFailure& failure : result.failures(most_failures)) print_failure(out, result, failure);
  if (failed > static_cast<std::int64_t>(most_failures))
    out << fmt::format("… {} more: saltus study failed {}\n", failed - static_cast<std::int64_t>(most_failures),
                       result.store().string());
}

void print_failure(std::ostream& out, const StudyResult& result, const MemberFailure& failure) {
  std::string values;
  for (const auto& [name, value] : member_values(result.plan(), failure.index))
    values += fmt::format("{}{} = {:.12g}", values.empty() ? "" : ", ", name, value);
  out << fmt::format("member {} ({}): {} at t = {:.9g}: {}\n  saltus study member {} {}\n", failure.index, values,
                     member_status_text(failure.status), failure.t, failure.message, result.store().string(),
                     failure.index);
}

Study reload_study(const StudyResult& result) {
  ModelOptions o;
  o.file = result.source("file");
  o.model = result.source("model");
  if (o.file.empty() && o.model.empty())
    throw UsageError("the study in '" + result.store().string() +
                     "' was not made by a command; its members are run again by the program that made it");
  if (!o.file.empty()) o.text = result.source("text");
  o.libraries = split_lines(result.source("libraries"));
  o.settings = split_lines(result.source("settings"));
  o.extension = result.source("extension");
  o.unbalanced = !result.source("unbalanced").empty();
  if (const std::string start = result.source("start"); !start.empty()) o.start = std::stod(start);
  if (const auto word = scaling_words().find(result.source("scaling")); word != scaling_words().end())
    o.scaling = word->second;
  return Study(load(o).model, result.plan());
}

}  // namespace saltus::cli
