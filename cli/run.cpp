#include "cli/run.hpp"

#include <fmt/format.h>
#include <saltus/base/atomic_file.hpp>
#include <saltus/base/names.hpp>
#include <saltus/base/terminal.hpp>
#include <saltus/hybrid/event_text.hpp>
#include <saltus/hybrid/impulses.hpp>
#include <saltus/hybrid/locked_mode.hpp>
#include <saltus/io/html_report.hpp>
#include <saltus/io/plot.hpp>
#include <saltus/io/result_files.hpp>
#include <saltus/io/state_file.hpp>
#include <saltus/saltus.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>
#include <tuple>

#include "cli/bounded_run.hpp"
#include "cli/commands.hpp"
#include "cli/files.hpp"
#include "cli/input_options.hpp"
#include "cli/load_options.hpp"
#include "cli/open_file.hpp"
#include "cli/progress.hpp"
#include "cli/run_options.hpp"
#include "cli/run_parts.hpp"
#include "cli/run_settings.hpp"
#include "cli/run_subject.hpp"
#include "cli/step_log.hpp"

namespace saltus::cli {

void print_events(std::ostream& out, const Trajectory& run, std::size_t limit, HybridSystem* system) {
  const auto count = static_cast<std::size_t>(run.statistics().events);
  if (limit == 0) return;
  if (count == 0) {
    out << "no events\n";
    return;
  }
  out << fmt::format("{:>5}  {:>18}  {:<12} {}\n", "#", "time", "kind", "what");
  const std::size_t head = count <= limit ? count : limit - limit / 4;
  const std::size_t tail = count <= limit ? count : count - limit / 4;
  std::size_t k = 0;
  run.for_each_event([&](const Event& e) {
    if (k == head && head < tail)
      out << fmt::format("{:>5}  … {} more events; --events N shows more, --json writes all\n", "", tail - head);
    ++k;
    if (k > head && k <= tail) return;
    std::string text = event_text(e, run.variables());
    constexpr std::size_t most = 2;
    if (system)
      for (const std::string& impulse : impulse_texts(impulses_of(*system, run, e), most)) text += "; " + impulse;
    const std::string kind(to_string(e.kind));
    const std::string rest = text.size() > kind.size() + 2 ? text.substr(kind.size() + 2) : "";  // after ": " or "; "
    out << fmt::format("{:>5}  {:>18.12g}  {:<12} {}\n", k, e.t, kind, rest);
  });
}

namespace {

/// "1 event", "7 events".
std::string counted(std::int64_t count, const char* word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

/// Counters that only some runs have: "12 sliding steps, 40 guard evaluations, ".
std::string event_counters(const RunStatistics& s) {
  std::string text;
  if (s.sliding_steps > 0) text += counted(s.sliding_steps, "sliding step") + ", ";
  if (s.guard_evaluations > 0) text += counted(s.guard_evaluations, "guard evaluation") + ", ";
  return text;
}

}  // namespace

void print_summary(std::ostream& out, const Trajectory& run) {
  const Status& status = run.status();
  const RunStatistics& s = run.statistics();
  out << fmt::format("\n{} at t = {:.12g}{}{}\n", to_string(status.code), status.t, status.message.empty() ? "" : ": ",
                     status.message);
  if (!status.mode.empty()) out << "mode: " << status.mode << '\n';
  const auto final = run.final();
  constexpr std::size_t most = 12;
  for (std::size_t k = 0; k < std::min(final.size(), most); ++k)
    out << fmt::format("  {} = {}{}\n", run.variables()[k].name, value_text(*run.variables()[k].details, final[k]),
                       run.variables()[k].details->unit.empty() ? "" : " " + run.variables()[k].details->unit);
  if (final.size() > most)
    out << fmt::format("  … {} more variables; --csv or --json writes all\n", final.size() - most);
  out << fmt::format("{}{}{}, {} rejected, {}, {}, {}{:.3g} s\n", s.method, s.method.empty() ? "" : ": ",
                     counted(s.steps, "step"), s.rejected, counted(s.evaluations, "evaluation"),
                     counted(s.events, "event"), event_counters(s), s.seconds);
}

namespace {

/// The files that the options ask for, each with its option.
std::vector<std::pair<const char*, const std::string*>> output_files(const RunOptions& o) {
  std::vector<std::pair<const char*, const std::string*>> files;
  for (const auto& [option, path] :
       std::initializer_list<std::pair<const char*, const std::string*>>{{"--csv", &o.csv},
                                                                         {"--json", &o.json},
                                                                         {"--html", &o.html},
                                                                         {"--mat", &o.mat},
                                                                         {"--npz", &o.npz},
                                                                         {"--save-state", &o.save_state}})
    if (!path->empty()) files.emplace_back(option, path);
  return files;
}

/// Whether a result goes to standard output; what people read goes to standard error then.
bool writes_to_output(const RunOptions& o) {
  const auto files = output_files(o);
  return std::ranges::any_of(files, [](const auto& file) { return *file.second == "-"; });
}

/// Throws UsageError for a file that cannot be written, is asked for twice, or is the model itself.
void check_files(const RunOptions& o) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  std::vector<std::pair<const char*, const std::string*>> seen;
  auto files = output_files(o);
  if (!o.plot.empty()) files.emplace_back("--plot", &o.plot);
  for (const auto& [option, path] : files) {
    for (const auto& [other, before] : seen)
      if (*path == *before || (*path != "-" && fs::equivalent(*path, *before, ignored)))
        throw UsageError(fmt::format("{} and {} both write to '{}'; name two files", other, option, *path));
    seen.emplace_back(option, path);
    if (*path == "-") continue;
    if (!o.source.file.empty() && fs::equivalent(*path, o.source.file, ignored))
      throw UsageError(fmt::format("{} would replace the model '{}' by its result; name another file", option, *path));
    const fs::path folder = fs::path(*path).parent_path();
    if (!folder.empty() && !fs::is_directory(folder, ignored))
      throw UsageError(fmt::format("{}: cannot write to '{}': there is no folder '{}'; make it first", option, *path,
                                   folder.string()));
    try {
      require_writable(*path);
    } catch (const UsageError& problem) {
      throw UsageError(fmt::format("{}: {}; name another file", option, problem.what()));
    }
  }
}

/// --log guards: each relation as it was written, and what is watched for it.
void print_guards(std::ostream& out, const HybridSystem& system) {
  const auto* compiled = dynamic_cast<const CompiledModel*>(&system);
  for (std::size_t k = 0; k < system.guards().size(); ++k) {
    const GuardInfo& guard = system.guards()[k];
    if (guard.same_as >= 0) continue;
    out << fmt::format("guard {}: {}{}\n", k + 1, guard.name,
                       guard.where.known() ? "  (" + to_string(guard.where) + ")" : "");
    if (compiled)
      out << fmt::format("  watched: {}{}\n", compiled->watched_text(static_cast<int>(k)),
                         guard.time_only ? ", at times known in advance" : "");
  }
}

/// What would only be found out behind a long run, whose result would be lost.
void check_outputs(const RunOptions& o, const SimulateOptions& s, const HybridSystem& system) {
  const NameTable names(system.observed(), [](const VariableInfo& v) -> std::string_view { return v.name; });
  const auto refuse = [&](const std::string& name, const char* option) {
    const std::string hint = names.hint(name);
    throw UsageError(fmt::format("{}: there is no variable '{}' in the model{}", option, name,
                                 hint.empty() ? "; saltus check lists the variables" : hint));
  };
  const auto known = [&](const std::string& name, bool one) {  // der(x) is known where x is
    const auto has = [&](const std::string& n) { return one ? names.find(n).has_value() : !names.find_all(n).empty(); };
    if (has(name)) return true;
    const NameSpelling spelling = read_name(name);
    return spelling.of == NameSpelling::Of::derivative && has(spelling.name);
  };
  for (const std::string& name : o.vars)
    if (!known(name, false)) refuse(name, "--vars");
  if (!o.phase.empty()) {
    const std::vector<std::string> pair = split_names(o.phase);
    if (pair.size() != 2) throw UsageError("--phase wants two names, for example --phase x,v");
    for (const std::string& name : pair)
      if (!known(name, true)) refuse(name, "--phase");
  }
  if (!o.times.empty()) {
    const std::vector<double> times = parse_times(o.times);
    const double low = std::min(s.start, s.stop), high = std::max(s.start, s.stop), rounding = 1e-9 * (high - low);
    for (const double t : {times.front(), times.back()})
      if (t < low - rounding || t > high + rounding)
        throw UsageError(
            fmt::format("--times: {} lies outside of the run, which goes from {} to {}; change --times or --stop", t,
                        s.start, s.stop));
  }
  if (o.open) check_open();
  if (o.open && o.html.empty() && o.no_plot)
    throw UsageError("--open shows a report or a plot; leave out --no-plot, or add --html FILE");
  if (o.open && o.html == "-") throw UsageError("--open shows a file; name one: --html report.html");
  if (!o.plot_size.empty()) parse_plot_size(o.plot_size);
  const std::string ending = std::filesystem::path(o.plot).extension().string();
  if (!o.plot.empty() && ending != ".svg" && ending != ".png" && ending != ".pdf")
    throw UsageError("--plot: '" + o.plot + "' must end in .svg, .png or .pdf");
  check_files(o);
}

/// The two names of --phase; empty without the option.
std::pair<std::string, std::string> phase_names(const RunOptions& o) {
  if (o.phase.empty()) return {};
  const std::vector<std::string> pair = split_names(o.phase);
  return {pair.front(), pair.back()};
}

void write_html(const RunOptions& o, const Trajectory& run, const RunSubject& subject, std::ostream& file) {
  HtmlReportOptions h;
  h.model = subject.system->name();
  h.description = subject.description;
  if (!o.source.file.empty() && subject.model) {
    h.source = text_of(o.source.file);
    h.source_file = o.source.file;
  }
  h.parameters = subject.parameters;
  h.variables = o.vars;
  std::tie(h.phase_x, h.phase_y) = phase_names(o);
  h.notes = subject.notes;
  h.system = subject.model ? subject.system.get() : nullptr;
  h.most_nodes = o.html_nodes;
  write_html_report(file, run, h);
}

/// Whether a file other than CSV needs the variables over time.
bool needs_table(const RunOptions& o) {
  return !o.mat.empty() || !o.npz.empty() || o.trajectories;
}

TableOptions table_options(const RunOptions& o, double start, double stop) {
  TableOptions t;
  t.variables = o.vars;
  t.intervals = o.intervals;
  if (!o.times.empty()) t.times = parse_times(o.times);
  if (o.samples) t.times = equal_times(start, stop, *o.samples);
  return t;
}

/// Whether a plot is drawn: where one is asked for, or where a person sees its name.
bool draws(const RunOptions& o, const Streams& streams) {
  if (o.no_plot) return false;
  const bool asked = !o.plot.empty() || !o.phase.empty() || o.draw || (o.open && o.html.empty());
  return asked || (streams.terminal && !o.quiet);
}

/// `bounded`: null, or how the run was made, if its steps were not kept.
void write_files(const RunOptions& o, const Trajectory& run, const DifferentiatedRun* derivatives,
                 const BoundedRun* bounded, const RunSubject& subject, std::ostream& out, const Streams& streams) {
  std::ostream& standard = streams.out;
  const std::vector<VariableInfo>& parameters = subject.parameters;
  const std::string& name = subject.system->name();
  ResultTable table;
  if (bounded) {
    table = bounded->table();
  } else if (!o.csv.empty() || needs_table(o)) {
    table = result_table(run, table_options(o, run.t_start(), run.t_end()));
    if (derivatives) derivatives->add_to(table);
  }
  if (!o.csv.empty() && !bounded)
    write_file(o.csv, standard, [&](std::ostream& file) {
      write_csv(file, table, o.csv_units ? CsvHeader::described : CsvHeader::names);
    });
  if (!o.json.empty())
    write_file(o.json, standard, [&](std::ostream& file) {
      const auto record = derivatives ? std::optional(derivatives->record()) : std::nullopt;
      write_json(file, run,
                 {name, parameters, o.trajectories ? &table : nullptr, record ? &*record : nullptr,
                  subject.system.get(), o.arguments});
    });
  if (!o.mat.empty()) write_file(o.mat, standard, [&](std::ostream& file) { write_mat(file, table, parameters); });
  if (!o.npz.empty()) write_file(o.npz, standard, [&](std::ostream& file) { write_npz(file, table, parameters); });
  if (!o.html.empty()) {
    write_file(o.html, standard, [&](std::ostream& file) { write_html(o, run, subject, file); });
    if (!o.quiet) out << "report: " << o.html << '\n';
  }
  if (o.open && !o.html.empty()) open_file(o.html);
  if (!draws(o, streams)) return;
  if (bounded) {
    if (!o.quiet) out << "no plot: the steps of the run were not kept\n";
    return;
  }
  if (std::ranges::all_of(run.segments(), [](const auto& segment) { return segment.steps.empty(); })) {
    if (!o.quiet) out << "no plot: the run has only its first instant\n";
    return;
  }
  PlotOptions p;
  p.variables = o.vars;
  p.title = name;
  p.system = subject.model ? subject.system.get() : nullptr;
  if (!o.plot_size.empty()) p.size = parse_plot_size(o.plot_size);
  if (o.plot_font) p.size.font = *o.plot_font;
  std::tie(p.phase_x, p.phase_y) = phase_names(o);
  const bool by_default = o.plot.empty();
  const std::string file = by_default ? name + ".svg" : o.plot;
  try {
    write_plot(run, file, p);
    if (!o.quiet) {
      const std::size_t all = run.variables().size(),
                        shown = p.variables.empty() ? std::min(all, plot_most_curves) : all;
      const bool some = p.phase_x.empty() && shown < all;
      out << "plot: " << file << (some ? fmt::format(" ({} of {} variables; --vars chooses)\n", shown, all) : "\n");
    }
    if (o.open && o.html.empty()) open_file(file);
  } catch (const Error& problem) {
    if (!by_default) throw;  // nobody asked for this plot: the result itself is there
    if (!o.quiet) out << "no plot: " << problem.what() << '\n';
  }
}

/// Throws UsageError for options that only models take which were read as text.
void check_fmu_options(const RunOptions& o) {
  if (!is_fmu(o.source.file)) return;
  for (const auto& [given, option] :
       {std::pair(!o.start_from.empty(), "--start-from"), std::pair(!o.save_state.empty(), "--save-state"),
        std::pair(!o.sensitivities.empty(), "--sensitivities"), std::pair(o.lock_mode, "--lock-mode")})
    if (given) throw UsageError(fmt::format("{} is for Modelica models; FMUs do not have it", option));
}

/// An FMU is said to be code before it runs, --quiet or not, unless the user has said that this is known.
void announce_code(const RunOptions& o, const Streams& streams) {
  const char* const allowed = std::getenv("SALTUS_ALLOW_FOREIGN_CODE");
  if (!is_fmu(o.source.file) || o.allow_code || (allowed && std::string_view(allowed) == "1")) return;
  streams.err << fmt::format(
      "note: '{}' is native code of others, which runs with your rights; --allow-foreign-code, or "
      "SALTUS_ALLOW_FOREIGN_CODE=1 in the environment, says that you know\n",
      o.source.file);
}

/// Throws UsageError for runs that need more than this program has.
void check_parts(const RunOptions& o, const RunParts& parts) {
  const bool fmu = is_fmu(o.source.file) && !parts.load_fmu;
  if (fmu || (!o.sensitivities.empty() && !parts.differentiate))
    throw UsageError(
        fmt::format("this program is for plain runs, it has no {}; the whole one is the target saltus_cli, "
                    "which ./run builds where it is needed",
                    fmu ? "FMUs" : "derivatives"));
}

constexpr double usually_kept = 1.0;  // GB

/// Whether the memory for steps is watched without being asked: a report or plot that is asked for needs them all.
bool watches_memory(const RunOptions& o) {
  return o.html.empty() && o.plot.empty() && o.phase.empty() && !o.open;
}

/// Whether the values of variables at events would take much memory.
bool is_large(const RunOptions& o, const HybridSystem& system) {
  constexpr std::size_t many = 1000;
  return system.variables().size() >= many && watches_memory(o);
}

ExitCode run_model(const RunOptions& o, const RunParts& parts, const Streams& streams) {
  check_fmu_options(o);
  check_parts(o, parts);
  announce_code(o, streams);
  RunSubject subject = is_fmu(o.source.file) ? parts.load_fmu(o.source, o.stop, o.max_step) : load_subject(o.source);
  if (o.lock_mode) subject.system = lock_mode(subject.system);
  if (!o.quiet)
    for (const std::string& note : subject.notes) streams.err << note;

  double start = o.source.start.value_or(subject.experiment.start.value_or(0.0));
  std::optional<SimulatorState> from;
  if (!o.start_from.empty()) {
    if (o.source.start) throw UsageError("--start-from says where the run begins; leave out --start");
    from = read_state(o.start_from);
    start = from->t;
  }
  SimulateOptions s = run_settings(o, subject, start);

  const InterruptGuard guard;
  const bool logs_steps = std::ranges::find(o.log, "steps") != o.log.end();
  ProgressBar bar(streams.err, !o.quiet && !logs_steps && errors_are_terminal());
  s.progress = [&](const Progress& p) { return bar(p); };
  const std::shared_ptr<HybridSystem>& system = subject.system;
  s.keep_event_values = !is_large(o, *system);
  check_outputs(o, s, *system);
  if (std::ranges::find(o.log, "guards") != o.log.end()) print_guards(streams.err, *system);
  std::optional<SimulatorState> state;
  std::unique_ptr<DifferentiatedRun> derivatives;
  std::optional<BoundedRun> bounded;
  const auto simulate = [&] {
    Simulator simulator = from ? Simulator(system, s, *from) : Simulator(system, s);
    if (logs_steps) {
      run_with_log(simulator, *system, s, streams.err);
    } else if (o.keep || watches_memory(o)) {
      const BoundedRun::Files files{table_options(o, s.start, s.stop), o.csv,
                                    o.csv_units ? CsvHeader::described : CsvHeader::names, needs_table(o)};
      bounded.emplace(system, files, s.start, s.stop, streams.out);
      bounded->go(simulator, 1e9 * o.keep.value_or(usually_kept));
    } else {
      simulator.run();
    }
    if (!o.save_state.empty()) state = simulator.state();
    return simulator.take();
  };
  if (!o.sensitivities.empty())
    derivatives = parts.differentiate(CompiledModel(*subject.model), o.sensitivities, s, !o.no_sensitivity_control);
  const Trajectory run = derivatives ? derivatives->trajectory() : simulate();
  if (bounded && bounded->steps_were_kept()) bounded.reset();
  bar.clear();
  std::ostream& words = writes_to_output(o) ? streams.err : streams.out;
  if (!o.quiet) {
    print_events(words, run, o.events, system.get());
    print_summary(words, run);
    if (derivatives) derivatives->print(words, o.events);
    if (bounded)
      words << fmt::format(
          "kept: events and {}, because the steps take more than {} GB; --keep allows more, --vars and --samples make "
          "files "
          "smaller\n",
          o.csv.empty() && !needs_table(o) ? "both ends" : "what the files have", o.keep.value_or(usually_kept));
  }
  if (state) write_file(o.save_state, streams.out, [&](std::ostream& file) { write_state(file, *state); });
  write_files(o, run, derivatives.get(), bounded ? &*bounded : nullptr, subject, words, streams);
  if (run.status().ok()) return ExitCode::success;
  if (o.quiet) streams.err << fmt::format("{}: {}\n", to_string(run.status().code), run.status().message);
  return ExitCode::failure;
}

/// When the file was last written; nothing while an editor replaces it.
std::optional<std::filesystem::file_time_type> written(const std::string& file) {
  std::error_code problem;
  const auto time = std::filesystem::last_write_time(file, problem);
  if (problem) return std::nullopt;
  return time;
}

/// Runs the model again whenever its file changes, until Ctrl-C.
ExitCode watch_model(const RunOptions& o, const RunParts& parts, const Streams& streams) {
  for (;;) {
    const auto before = written(o.source.file);
    ExitCode code = ExitCode::success;
    try {
      code = run_model(o, parts, streams);
    } catch (const Error& problem) {  // the next version of the file may be better
      streams.err << problem.what() << '\n';
      code = ExitCode::usage;
    }
    streams.out << "\nwatching " << o.source.file << "; Ctrl-C ends" << std::endl;
    const InterruptGuard guard;
    for (auto now = written(o.source.file); !now || now == before; now = written(o.source.file)) {
      if (InterruptGuard::interrupted()) return code;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    streams.out << '\n' << std::string(72, '-') << '\n';
  }
}

}  // namespace

Command run_command(const RunParts& parts) {
  return {"run", [parts](CLI::App& parent) -> Action {
            auto o = std::make_shared<RunOptions>();
            CLI::App& app = *parent.add_subcommand("run", "Solve a model, print its events, draw a plot");
            add_run_options(app, *o);
            return [o, parts, &app](const Streams& streams) {
              sort_outputs(*o);
              o->arguments = repeated_arguments(app);
              return o->watch ? watch_model(*o, parts, streams) : run_model(*o, parts, streams);
            };
          }};
}

Command plain_run_command() {
  return run_command(RunParts{});
}

}  // namespace saltus::cli
