#include "cli/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <saltus/base/terminal.hpp>
#include <saltus/saltus.hpp>
#include <saltus/sens/mode_analysis.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/check_json.hpp"
#include "cli/files.hpp"
#include "cli/input_options.hpp"
#include "cli/load_options.hpp"
#include "cli/progress.hpp"

namespace saltus::cli {

namespace {

struct CheckOptions {
  ModelOptions source;
  InputOptions inputs;
  std::optional<double> stop;
  std::string json;
  std::size_t most = 40;
  bool no_run = false;
};

/// Prints at most so many lines of a list and says how many were left out.
template <class Line>
void print_list(std::ostream& out, std::size_t count, std::size_t most, Line line) {
  for (std::size_t k = 0; k < std::min(count, most); ++k) out << "  " << line(k) << '\n';
  if (count > most) out << fmt::format("  … {} more; --all N shows more\n", count - most);
}

std::string place(const SourceLocation& where) {
  return where.known() ? "  (" + to_string(where) + ")" : "";
}

std::string variable_line(const VariableInfo& v) {
  std::string text =
      fmt::format("{}  start = {:.6g}{}{}{}", v.name, v.start, v.details->unit.empty() ? "" : " ", v.details->unit,
                  v.fixed                                    ? ", fixed"
                  : v.details->causality == Causality::input ? ", input"
                                                             : "");
  if (!v.details->description.empty()) text += "  \"" + v.details->description + "\"";
  return text + place(v.details->where);
}

/// A value with its unit, as its type says: "2.5 N/m", "true", "high".
std::string valued(const VariableDetails& details, double value) {
  return value_text(details, value, 6) + (details.unit.empty() ? "" : " ") + details.unit;
}

void print_declarations(std::ostream& out, const CompiledModel& compiled, const ModelData& data, std::size_t most) {
  const std::size_t all = data.variables.size();
  if (all == 0)
    out << "no continuous variables\n";
  else
    out << fmt::format("{} variables, {} of them computed from explicit equations:\n", all,
                       compiled.stands_still() ? all : all - std::min(all, compiled.variables().size()));
  print_list(out, all, most, [&](std::size_t k) { return variable_line(data.variable_info[k]); });
  std::vector<const ModelData::Discrete*> discretes;
  for (const auto& q : data.discretes)
    if (!q.hidden) discretes.push_back(&q);
  if (!discretes.empty()) {
    out << fmt::format("{} discrete variables:\n", discretes.size());
    print_list(out, discretes.size(), most, [&](std::size_t k) {
      return fmt::format("{}  start = {}{}", discretes[k]->name, valued(*discretes[k]->details, discretes[k]->start),
                         discretes[k]->details->causality == Causality::input ? ", input" : "");
    });
  }
  const auto parameters = compiled.parameter_info();
  out << fmt::format("{} parameters:\n", parameters.size());
  print_list(out, parameters.size(), most, [&](std::size_t k) {
    return fmt::format("{} = {}", parameters[k].name, valued(*parameters[k].details, parameters[k].start));
  });
  out << fmt::format("{} equations:\n", data.equations.size());
  print_list(out, data.equations.size(), most, [&](std::size_t k) {
    return (data.equations[k].name.empty() ? to_string(data.equations[k].equation, 90) : data.equations[k].name) +
           place(data.equations[k].where);
  });
  std::vector<const ModelData::Clause*> clauses;
  for (const auto& c : data.clauses)
    if (!c.name.empty()) clauses.push_back(&c);  // those of samples have no name
  if (!clauses.empty()) {
    out << fmt::format("{} clauses:\n", clauses.size());
    print_list(out, clauses.size(), most, [&](std::size_t k) { return clauses[k]->name + place(clauses[k]->where); });
  }
  std::vector<const GuardInfo*> guards;
  for (const GuardInfo& g : compiled.guards())
    if (g.same_as < 0 && !g.of_input) guards.push_back(&g);  // inputs stand among the variables
  out << fmt::format("{} guards:\n", guards.size());
  print_list(out, guards.size(), most, [&](std::size_t k) {
    return guards[k]->name + (guards[k]->time_only ? "  [time]" : "") + place(guards[k]->where);
  });
}

/// What the run did in a mode.
void print_use(std::ostream& out, const ModeAnalysis& a) {
  if (a.steps == 0) return;
  out << fmt::format("  entered {}, {:.6g} of time in ", a.entered == 1 ? "once" : fmt::format("{} times", a.entered),
                     a.time);
  out << (a.steps == 1 ? std::string("1 step\n")
                       : fmt::format("{} steps of {:.2g} to {:.2g}\n", a.steps, a.shortest_step, a.longest_step));
}

void print_mode(std::ostream& out, const ModeAnalysis& a) {
  out << (a.mode.empty() ? "the mode" : "mode '" + a.mode + "'") << fmt::format(" at t = {:.6g}\n", a.t);
  if (a.stands_still) {
    out << "  nothing to integrate\n";
    return;
  }
  if (a.explicit_ode) {
    out << fmt::format("  explicit ordinary differential equations, {} variables{}\n", a.variables,
                       a.linear ? ", linear" : "");
    print_use(out, a);
    return;
  }
  if (!a.singularity.empty())
    out << "  structurally singular: " << a.singularity << '\n';
  else
    out << fmt::format("  structural index {}, {} degrees of freedom, {} blocks{}\n", a.index, a.degrees_of_freedom,
                       a.blocks,
                       a.certified ? fmt::format(" (certified, reciprocal condition {:.1e})", a.reciprocal_condition)
                                   : " (not certified at this point)");
  const CharacteristicNumbers& n = a.numbers;
  out << fmt::format(
      "  strangeness index mu = {}: d = {} differential, a = {} algebraic, u = {} undetermined, v = {} redundant "
      "({} decision; kept {:.1e}, dropped {:.1e})\n",
      n.mu, n.d, n.a, n.u, n.v, a.decision, a.kept, a.dropped);
  if (n.u > 0)
    out << fmt::format("  warning: the equations do not determine {}\n",
                       a.undetermined.empty() ? "some variables" : fmt::format("{}", fmt::join(a.undetermined, ", ")));
  if (n.v > 0) out << "  warning: some equations are redundant, or contradict each other\n";
  print_use(out, a);
}

ExitCode check(const CheckOptions& o, const Streams& streams) {
  const ModelicaModel source = load(o.source);
  for (const auto& note : source.notes) streams.err << render(note);
  const auto compiled = std::make_shared<CompiledModel>(source.model);
  std::ostream& words = o.json == "-" ? streams.err : streams.out;
  words << "model " << compiled->name() << '\n';
  print_declarations(words, *compiled, source.model.data(), o.most);
  SimulateOptions s;
  s.start = o.source.start.value_or(source.experiment.start.value_or(0.0));
  s.stop = o.no_run ? s.start : o.stop.value_or(source.experiment.stop.value_or(s.start + 1.0));
  s.rtol = s.atol = source.experiment.tolerance.value_or(1e-6);
  s.inputs = o.inputs.read(*compiled);
  const InterruptGuard guard;
  ProgressBar bar(streams.err, !o.no_run && errors_are_terminal());
  if (!o.no_run) s.progress = [&](const Progress& p) { return bar(p); };
  const auto [modes, status] = analyse_modes(*compiled, s, o.most);
  bar.clear();
  for (const ModeAnalysis& mode : modes) print_mode(words, mode);
  if (!o.no_run)
    words << fmt::format("{} at t = {:.6g}{}{}\n", to_string(status.code), status.t, status.message.empty() ? "" : ": ",
                         status.message);
  else if (!status.ok())
    words << fmt::format("{}: {}\n", to_string(status.code), status.message);
  if (!o.json.empty())
    write_file(o.json, streams.out, [&](std::ostream& file) {
      write_check_json(file, {.model = source.model.data(), .compiled = *compiled, .modes = modes, .status = status});
    });
  return status.ok() ? ExitCode::success : ExitCode::failure;
}

}  // namespace

Command check_command() {
  return {"check", [](CLI::App& parent) -> Action {
            auto o = std::make_shared<CheckOptions>();
            CLI::App& app =
                *parent.add_subcommand("check", "Show variables, equations, guards, and the index of each mode");
            app.footer(
                "Runs the model over its experiment's time span and analyses each mode when it is first entered.\n"
                "Exit codes: 0 all is well, 1 the run failed, 2 wrong command line or model.");
            o->source.add_to(app);
            o->inputs.add_to(app);
            app.add_option("--start", o->source.start, "Start time (default: the model's experiment annotation, or 0)")
                ->type_name("T");
            app.add_option("--stop", o->stop, "Stop time; before the start time runs backwards")->type_name("T");
            app.add_option("--json", o->json, "Write everything as JSON; - is standard output")->type_name("FILE");
            app.add_option("--all", o->most, "Longest list to print")->check(CLI::Range(1, 100000000));
            app.add_flag("--no-run", o->no_run, "Analyse the first mode only");
            return [o](const Streams& streams) { return check(*o, streams); };
          }};
}

}  // namespace saltus::cli
