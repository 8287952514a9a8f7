#include <fmt/format.h>
#include <saltus/sens/event_reason.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.hpp"
#include "cli/files.hpp"
#include "cli/progress.hpp"
#include "cli/run_options.hpp"
#include "cli/run_settings.hpp"
#include "cli/run_subject.hpp"

namespace saltus::cli {

namespace {

using Json = nlohmann::ordered_json;

struct WhyOptions {
  std::string subject, json;
  std::size_t event = 0;
  ReasonOptions reason;
  bool quiet = false;
};

/// The command line of the run that a result of `saltus run --json` came from.
std::vector<std::string> arguments_of(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw UsageError(fmt::format("'{}' cannot be opened", file));
  const Json document = Json::parse(in, nullptr, false);
  if (!document.is_object() || !document.contains("arguments") || !document["arguments"].is_array())
    throw UsageError(fmt::format("'{}' is not a result of saltus run --json", file));
  std::vector<std::string> arguments;
  for (const Json& argument : document["arguments"])
    if (argument.is_string()) arguments.push_back(argument.get<std::string>());
  if (arguments.empty())
    throw UsageError(
        fmt::format("'{}' does not say how its run was made; name the model: saltus why MODEL.mo EVENT", file));
  // the model is where it was, or beside the result
  namespace fs = std::filesystem;
  if (const fs::path beside = fs::path(file).parent_path() / fs::path(arguments.front());
      !fs::exists(arguments.front()) && fs::exists(beside))
    arguments.front() = beside.string();
  return arguments;
}

RunOptions parse_run(std::vector<std::string> arguments) {
  RunOptions options;
  CLI::App app;
  add_run_options(app, options);
  for (CLI::Option* option : app.get_options())
    if (!option->get_positional() && option->get_items_expected_max() > 1) option->allow_extra_args(false);
  std::ranges::reverse(arguments);  // as CLI11 takes them
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& problem) {
    throw UsageError(std::string("options of the run: ") + problem.what());
  }
  if (!options.start_from.empty() || options.lock_mode)
    throw UsageError("why: runs with --start-from or --lock-mode are not explained");
  return options;
}

std::string reason_number(double value) {
  return std::isfinite(value) ? fmt::format("{:.6g}", value) : "unknown";
}

std::string signed_number(double value) {
  return !std::isfinite(value) ? "unknown" : value == 0.0 ? "0" : fmt::format("{:+.4g}", value);
}

void print_reason(std::ostream& out, const EventReason& r) {
  out << fmt::format("event {} at t = {:.12g}: {}\n", r.event, r.t, r.text);
  out << "\nit reads\n";
  for (const EventReason::Reading& v : r.reads)
    out << fmt::format("  {} = {}{}\n", v.name, reason_number(v.value),
                       v.parameter ? " (parameter)" : fmt::format(", derivative {}", reason_number(v.slope)));
  if (!r.earlier.empty()) out << "\nif an earlier event came later by 1, this one would come later by\n";
  for (const EventReason::Cause& c : r.earlier)
    out << fmt::format("  {:>10}  event {} at t = {:.9g}: {}\n", signed_number(c.derivative), c.event, c.t, c.text);
  if (!r.parameters.empty())
    out << fmt::format("\n  {:>14}  {:>14}  parameter or start value\n", "1 % more", "derivative");
  constexpr std::size_t most = 15;
  std::string without;  // effect
  for (std::size_t k = 0; k < std::min(most, r.parameters.size()); ++k) {
    const EventReason::Influence& p = r.parameters[k];
    if (p.derivative == 0.0) {
      without += (without.empty() ? "" : ", ") + p.name;
      continue;
    }
    out << fmt::format("  {:>14}  {:>14}  {} = {}{}\n", signed_number(p.per_percent), signed_number(p.derivative),
                       p.name, reason_number(p.value), p.by_differences ? "  (by differences)" : "");
  }
  if (r.parameters.size() > most) out << fmt::format("  … {} more; --json writes all\n", r.parameters.size() - most);
  if (!without.empty()) out << "  no effect: " << without << '\n';
  if (r.prevention)
    out << fmt::format("\nit does not happen with {} = {} instead of {} ({:+.3g} %)\n", r.prevention->name,
                       reason_number(r.prevention->to), reason_number(r.prevention->from),
                       100.0 * (r.prevention->to / r.prevention->from - 1.0));
  else if (!r.parameters.empty())
    out << "\nno change of one parameter that was tried prevents it\n";
  if (!r.near_misses.empty()) out << "\nnear misses up to there\n";
  for (std::size_t k = 0; k < std::min(most, r.near_misses.size()); ++k)
    out << fmt::format("  {} at t = {:.9g}, {:.2g} % of its largest distance\n", r.near_misses[k].guard,
                       r.near_misses[k].t, 100.0 * r.near_misses[k].distance);
  for (const std::string& note : r.notes) out << "note: " << note << '\n';
}

Json number_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

void write_reason(std::ostream& out, const EventReason& r) {
  Json reads = Json::array(), earlier = Json::array(), parameters = Json::array(), misses = Json::array();
  for (const auto& v : r.reads)
    reads.push_back({{"name", v.name},
                     {"value", number_or_null(v.value)},
                     {"slope", number_or_null(v.slope)},
                     {"parameter", v.parameter}});
  for (const auto& c : r.earlier)
    earlier.push_back({{"event", c.event}, {"t", c.t}, {"text", c.text}, {"derivative", number_or_null(c.derivative)}});
  for (const auto& p : r.parameters)
    parameters.push_back({{"name", p.name},
                          {"value", number_or_null(p.value)},
                          {"derivative", number_or_null(p.derivative)},
                          {"per_percent", number_or_null(p.per_percent)},
                          {"by_differences", p.by_differences}});
  for (const auto& m : r.near_misses)
    misses.push_back({{"guard", m.guard}, {"t", m.t}, {"distance", number_or_null(m.distance)}});
  Json document = {{"format", "saltus why"}, {"version", 1},   {"event", r.event},   {"t", r.t},
                   {"text", r.text},         {"reads", reads}, {"earlier", earlier}, {"parameters", parameters}};
  document["prevention"] =
      r.prevention ? Json({{"name", r.prevention->name}, {"from", r.prevention->from}, {"to", r.prevention->to}})
                   : Json(nullptr);
  document["near_misses"] = misses;
  document["notes"] = r.notes;
  out << document.dump(1) << '\n';
}

ExitCode explain(const WhyOptions& o, const std::vector<std::string>& more, const Streams& streams) {
  std::vector<std::string> arguments =
      o.subject.ends_with(".json") ? arguments_of(o.subject) : std::vector<std::string>{o.subject};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const RunOptions run = parse_run(std::move(arguments));
  if (is_fmu(run.source.file))
    throw UsageError("why: an FMU does not show its equations; events of models are explained");
  const RunSubject subject = load_subject(run.source);
  const CompiledModel model(*subject.model);
  SimulateOptions options =
      run_settings(run, subject, run.source.start.value_or(subject.experiment.start.value_or(0.0)));
  ReasonOptions reason = o.reason;
  const InterruptGuard guard;
  reason.progress = [](double) { return !InterruptGuard::interrupted(); };
  const EventReason found = explain_event(model, options, o.event, reason);
  std::ostream& words = o.json == "-" ? streams.err : streams.out;
  if (!o.quiet) print_reason(words, found);
  if (!o.json.empty()) write_file(o.json, streams.out, [&](std::ostream& file) { write_reason(file, found); });
  return ExitCode::success;
}

}  // namespace

Command why_command() {
  return {"why", [](CLI::App& parent) -> Action {
            auto o = std::make_shared<WhyOptions>();
            CLI::App& app = *parent.add_subcommand("why", "Why an event happens, what moves it, what would prevent it");
            app.footer(
                "Runs the model again, several times. Further options are those of saltus run.\n"
                "Examples:\n"
                "  saltus run Gear.mo --json gear.json\n"
                "  saltus why gear.json 17\n"
                "  saltus why Gear.mo 17 --set mu=0.2 --stop 5\n"
                "Exit codes: 0 success, 2 wrong command line, model or event.");
            app.add_option("RESULT", o->subject, "A result of saltus run --json, or the model itself")
                ->required()
                ->check(CLI::ExistingFile)
                ->type_name("");
            app.add_option("EVENT", o->event, "Number of the event, as saltus run prints it")
                ->required()
                ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000'000}))
                ->type_name("");
            app.add_option("--causes", o->reason.most_causes, "Earlier events to look at (8)")->type_name("N");
            app.add_option("--largest-change", o->reason.largest_change,
                           "Of a parameter, by its value, to prevent the event (1)")
                ->check(CLI::PositiveNumber)
                ->type_name("X");
            app.add_option("--near", o->reason.near, "Distance of near misses (0.01)")
                ->check(CLI::PositiveNumber)
                ->type_name("X");
            app.add_option("--json", o->json, "Write everything as JSON; - is standard output")->type_name("FILE");
            app.add_flag("--quiet,-q", o->quiet, "Print nothing but errors");
            app.allow_extras();
            return [o, &app](const Streams& streams) { return explain(*o, app.remaining(), streams); };
          }};
}

}  // namespace saltus::cli
