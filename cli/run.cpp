#include "cli/run.hpp"

#include <fmt/format.h>
#include <saltus/io/plot.hpp>
#include <saltus/io/result_files.hpp>
#include <saltus/saltus.hpp>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>

#include "cli/load_options.hpp"

namespace saltus::cli {

namespace {

struct RunOptions {
  ModelOptions source;
  std::optional<double> stop, rtol, atol, max_step;
  std::string method = "auto";
  int intervals = 500;
  std::string csv, json, plot, phase;
  std::vector<std::string> vars;
  std::size_t events = 40;
  std::vector<std::string> stop_on;
  bool quiet = false, no_plot = false;
};

const std::map<std::string, Method> methods = {{"auto", Method::automatic}, {"dopri5", Method::dopri5},
                                               {"tsit5", Method::tsit5},    {"bs3", Method::bs3},
                                               {"dop853", Method::dop853},  {"taylor", Method::taylor}, {"rodas4", Method::rodas4},
                                               {"rodas5p", Method::rodas5p}, {"radau5", Method::radau5},
                                               {"radau", Method::radau}, {"radau9", Method::radau9},  {"radau13", Method::radau13},
                                               {"bdf", Method::bdf}};

std::atomic<bool> interrupted = false;

/// Turns Ctrl-C into a request to end the run; a second one kills as usual.
class InterruptGuard {
 public:
  InterruptGuard() {
    interrupted = false;
    previous_ = std::signal(SIGINT, [](int) {
      interrupted = true;
      std::signal(SIGINT, SIG_DFL);
    });
  }
  ~InterruptGuard() { std::signal(SIGINT, previous_); }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  void (*previous_)(int);
};

/// A line on the terminal that shows how far a long run is.
class ProgressBar {
 public:
  ProgressBar(std::ostream& err, bool enabled) : err_(err), enabled_(enabled) {}
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  bool operator()(const Progress& p) {
    if (interrupted) return false;
    if (!enabled_) return true;
    const auto now = std::chrono::steady_clock::now();
    if (now - began_ < std::chrono::milliseconds(700) || now - shown_ < std::chrono::milliseconds(100)) return true;
    shown_ = now;
    const double share = (p.t - p.start) / (p.stop - p.start);
    const int filled = static_cast<int>(30.0 * share);
    err_ << fmt::format("\r[{:<30}] {:3.0f} %  t = {:.6g}  {} steps  {} events ", std::string(static_cast<std::size_t>(filled), '#'),
                        100.0 * share, p.t, p.steps, p.events)
         << std::flush;
    visible_ = true;
    return true;
  }

  void clear() {
    if (visible_) err_ << '\r' << std::string(100, ' ') << '\r' << std::flush;
    visible_ = false;
  }

 private:
  std::ostream& err_;
  bool enabled_, visible_ = false;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now(), shown_ = began_;
};

void print_events(std::ostream& out, const Trajectory& run, std::size_t limit) {
  const auto& events = run.events();
  if (events.empty()) {
    out << "no events\n";
    return;
  }
  out << fmt::format("{:>5}  {:>18}  {:<12} {}\n", "#", "time", "kind", "what");
  const std::size_t head = events.size() <= limit ? events.size() : limit - limit / 4;
  const std::size_t tail = events.size() <= limit ? events.size() : events.size() - limit / 4;
  for (std::size_t k = 0; k < events.size(); ++k) {
    if (k == head && head < tail) {
      out << fmt::format("{:>5}  … {} more events; --events N shows more, --json writes all\n", "", tail - head);
      k = tail;
    }
    const Event& e = events[k];
    const std::string text = e.describe();
    const std::string kind(to_string(e.kind));
    const std::string rest = text.size() > kind.size() + 2 ? text.substr(kind.size() + 2) : "";  // after ": " or "; "
    out << fmt::format("{:>5}  {:>18.12g}  {:<12} {}\n", k + 1, e.t, kind, rest);
  }
}

void print_summary(std::ostream& out, const Trajectory& run) {
  const Status& status = run.status();
  const RunStatistics& s = run.statistics();
  out << fmt::format("\n{} at t = {:.12g}{}{}\n", to_string(status.code), status.t, status.message.empty() ? "" : ": ",
                     status.message);
  if (!status.mode.empty()) out << "mode: " << status.mode << '\n';
  const auto final = run.final();
  constexpr std::size_t most = 12;
  for (std::size_t k = 0; k < std::min(final.size(), most); ++k)
    out << fmt::format("  {} = {:.12g}{}\n", run.variables()[k].name, final[k],
                       run.variables()[k].details->unit.empty() ? "" : " " + run.variables()[k].details->unit);
  if (final.size() > most) out << fmt::format("  … {} more variables; --csv or --json writes all\n", final.size() - most);
  out << fmt::format("{}: {} steps, {} rejected, {} evaluations, {} events, {:.3g} s\n", s.method, s.steps, s.rejected,
                     s.evaluations, s.events, s.seconds);
}

/// What would only be found out behind a long run, whose result would be lost.
void check_outputs(const RunOptions& o, const CompiledModel& compiled) {
  std::vector<std::string> names;
  for (const VariableInfo& v : compiled.observed()) names.push_back(v.name);
  const auto check_name = [&](const std::string& name, const char* option) {
    if (std::find(names.begin(), names.end(), name) != names.end()) return;
    const std::string near = nearest_name(name, names);
    throw UsageError(fmt::format("{}: there is no variable '{}' in the model{}", option, name, near.empty() ? "" : "; did you mean '" + near + "'?"));
  };
  for (const std::string& name : o.vars) check_name(name, "--vars");
  if (!o.phase.empty()) {
    const auto comma = o.phase.find(',');
    if (comma == std::string::npos) throw UsageError("--phase wants two names, for example --phase x,v");
    check_name(o.phase.substr(0, comma), "--phase");
    check_name(o.phase.substr(comma + 1), "--phase");
  }
  const std::string ending = std::filesystem::path(o.plot).extension().string();
  if (!o.plot.empty() && ending != ".svg" && ending != ".png" && ending != ".pdf")
    throw UsageError("--plot: '" + o.plot + "' must end in .svg, .png or .pdf");
  for (const std::string* path : {&o.csv, &o.json})
    if (!path->empty() && !std::ofstream(*path, std::ios::app)) throw UsageError("cannot write to '" + *path + "'");
}

void write_file(const std::string& path, const std::function<void(std::ostream&)>& write) {
  std::ofstream file(path);
  write(file);
  file.close();
  if (!file) throw UsageError("cannot write to '" + path + "'; is the disk full?");
}

void write_files(const RunOptions& o, const Trajectory& run, const CompiledModel& compiled, std::ostream& out) {
  if (!o.csv.empty()) write_file(o.csv, [&](std::ostream& file) { write_csv(file, run, o.intervals, o.vars); });
  if (!o.json.empty()) write_file(o.json, [&](std::ostream& file) { write_json(file, run, {compiled.name(), compiled.parameters()}); });
  if (o.no_plot) return;
  PlotOptions p;
  p.variables = o.vars;
  p.title = compiled.name();
  p.intervals = std::max(o.intervals, 2000);
  if (!o.phase.empty()) {
    const auto comma = o.phase.find(',');
    p.phase_x = o.phase.substr(0, comma);
    p.phase_y = o.phase.substr(comma + 1);
  }
  const bool by_default = o.plot.empty();
  const std::string file = by_default ? compiled.name() + ".svg" : o.plot;
  try {
    write_plot(run, file, p);
    if (!o.quiet) out << "plot: " << file << '\n';
  } catch (const Error& problem) {
    if (!by_default) throw;  // nobody asked for this plot: the result itself is there
    if (!o.quiet) out << "no plot: " << problem.what() << '\n';
  }
}

ExitCode run_model(const RunOptions& o, const Streams& streams) {
  const ModelicaModel source = load(o.source);
  for (const auto& note : source.notes)
    if (!o.quiet) streams.err << render(note);

  SimulateOptions s;
  s.start = o.source.start.value_or(source.experiment.start.value_or(0.0));
  s.stop = o.stop.value_or(source.experiment.stop.value_or(s.start + 1.0));
  s.rtol = o.rtol.value_or(source.experiment.tolerance.value_or(1e-6));
  s.atol = o.atol.value_or(s.rtol);
  s.method = methods.at(o.method);
  if (o.max_step) s.max_step = *o.max_step;
  for (const std::string& what : o.stop_on) (what == "chattering" ? s.stop_if_chattering : s.stop_if_non_unique) = true;

  const InterruptGuard guard;
  ProgressBar bar(streams.err, !o.quiet && isatty(STDERR_FILENO));
  s.progress = [&](const Progress& p) { return bar(p); };
  const auto compiled = std::make_shared<CompiledModel>(source.model);
  check_outputs(o, *compiled);
  const Trajectory run = simulate(compiled, s);
  bar.clear();
  if (!o.quiet) {
    print_events(streams.out, run, o.events);
    print_summary(streams.out, run);
  }
  write_files(o, run, *compiled, streams.out);
  if (run.status().ok()) return ExitCode::success;
  if (o.quiet) streams.err << fmt::format("{}: {}\n", to_string(run.status().code), run.status().message);
  return ExitCode::failure;
}

}  // namespace

Command run_command() {
  return {"run", [](CLI::App& parent) -> Action {
            auto o = std::make_shared<RunOptions>();
            CLI::App& app = *parent.add_subcommand("run", "Solve a model, print its events, draw a plot");
            app.footer("Examples:\n"
                       "  saltus run BouncingBall.mo\n"
                       "  saltus run BouncingBall.mo --stop 30 --set e=0.8 --csv ball.csv\n"
                       "  saltus run StickSlip.mo --plot phase.svg --phase v1,v2\n"
                       "  saltus run --library DIR --model Package.Examples.Model\n"
                       "Exit codes: 0 success, 1 the run failed (its status says why), 2 wrong command line or model.");
            o->source.add_to(app);
            app.add_option("--start", o->source.start, "Start time (default: the model's experiment annotation, or 0)");
            app.add_option("--stop", o->stop, "Stop time; before the start time runs backwards");
            app.add_option("--rtol", o->rtol, "Relative tolerance (default: experiment annotation, or 1e-6)");
            app.add_option("--atol", o->atol, "Absolute tolerance (default: as rtol)");
            std::vector<std::string> names;
            for (const auto& [name, method] : methods) names.push_back(name);
            app.add_option("--method", o->method, "auto; dopri5, tsit5, bs3, dop853 (explicit); taylor (explicit, or of any index); rodas4, rodas5p, radau, radau5, radau9, radau13, bdf (implicit)")->check(CLI::IsMember(names));
            app.add_option("--max-step", o->max_step, "Largest step");
            app.add_option("--stop-on", o->stop_on, "End the run at: chattering, non-unique (repeatable)")->check(CLI::IsMember({"chattering", "non-unique"}));
            app.add_option("--intervals", o->intervals, "Output intervals of CSV files and plots")->check(CLI::Range(1, 100000000));
            app.add_option("--csv", o->csv, "Write the variables over time to this file");
            app.add_option("--json", o->json, "Write events, status and statistics to this file");
            app.add_option("--plot", o->plot, "Draw into this file (.svg, .png, .pdf; default: MODEL.svg)");
            app.add_flag("--no-plot", o->no_plot, "Draw nothing");
            app.add_option("--vars", o->vars, "Variables for CSV and plot: a,b,c (default: all)")->delimiter(',');
            app.add_option("--phase", o->phase, "X,Y: draw Y over X instead of values over time");
            app.add_option("--events", o->events, "Longest event table to print")->check(CLI::Range(4, 100000000));
            app.add_flag("--quiet,-q", o->quiet, "Print nothing but errors");
            return [o](const Streams& streams) { return run_model(*o, streams); };
          }};
}

}  // namespace saltus::cli
