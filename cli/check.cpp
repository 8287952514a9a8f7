#include "cli/check.hpp"

#include <fmt/format.h>
#include <saltus/dae/characteristic_values.hpp>
#include <saltus/saltus.hpp>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/input_options.hpp"
#include "cli/load_options.hpp"
#include "cli/progress.hpp"

namespace saltus::cli {

namespace {

struct CheckOptions {
  ModelOptions source;
  InputOptions inputs;
  std::size_t most = 40;
  bool no_run = false;
};

/// Prints at most so many lines of a list and says how many were left out.
template <class Line>
void print_list(std::ostream& out, std::size_t count, std::size_t most, Line line) {
  for (std::size_t k = 0; k < std::min(count, most); ++k) out << "  " << line(k) << '\n';
  if (count > most) out << fmt::format("  … {} more; --all N shows more\n", count - most);
}

std::string place(const SourceLocation& where) { return where.known() ? "  (" + to_string(where) + ")" : ""; }

std::string variable_line(const VariableInfo& v) {
  std::string text = fmt::format("{}  start = {:.6g}{}{}{}", v.name, v.start, v.details->unit.empty() ? "" : " ", v.details->unit, v.fixed ? ", fixed" : v.details->causality == Causality::input ? ", input" : "");
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
    out << fmt::format("{} variables, {} of them computed from explicit equations:\n", all, compiled.stands_still() ? all : all - std::min(all, compiled.variables().size()));
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

void print_mode(std::ostream& out, CompiledModel& compiled, const Mode& mode, double t, const std::vector<double>& x) {
  const std::string name = compiled.describe(mode);
  out << (name.empty() ? "the mode" : "mode '" + name + "'") << fmt::format(" at t = {:.6g}\n", t);
  System& system = compiled.system(mode);
  const Structure& s = system.structure();
  if (compiled.stands_still()) {
    out << "  nothing to integrate\n";
    return;
  }
  if (s.explicit_ode) {
    out << fmt::format("  explicit ordinary differential equations, {} variables{}\n", s.variables, s.linear ? ", linear" : "");
    return;
  }
  const CharacteristicValues values = characteristic_values(system, t, x);
  const StructuralAnalysis& structure = values.structure;
  if (structure.singular())
    out << "  structurally singular: " << describe_singularity(structure, system) << '\n';
  else
    out << fmt::format("  structural index {}, {} degrees of freedom, {} blocks{}\n", structure.index,
                       structure.degrees_of_freedom, structure.blocks.blocks(),
                       values.certificate.valid ? fmt::format(" (certified, reciprocal condition {:.1e})",
                                                              values.certificate.reciprocal_condition)
                                                : " (not certified at this point)");
  const CharacteristicNumbers& n = values.numbers;
  out << fmt::format("  strangeness index mu = {}: d = {} differential, a = {} algebraic, u = {} undetermined, v = {} redundant "
                     "({} decision; kept {:.1e}, dropped {:.1e})\n",
                     n.mu, n.d, n.a, n.u, n.v, to_string(values.status), values.kept, values.dropped);
  if (n.u > 0) {
    std::string names;
    for (const int j : undetermined_variables(system, t, values)) names += (names.empty() ? "" : ", ") + system.variable_name(j);
    out << fmt::format("  warning: the equations do not determine {}\n", names.empty() ? "some variables" : names);
  }
  if (n.v > 0) out << "  warning: some equations are redundant, or contradict each other\n";
}

/// Every mode that the run visits, once, at the point where it was entered.
ExitCode print_modes(std::ostream& out, const std::shared_ptr<CompiledModel>& compiled, const SimulateOptions& options,
                     std::size_t most) {
  const Trajectory run = simulate(compiled, options);
  std::vector<std::pair<Mode, const Structure*>> seen;  // a discrete variable makes another mode only if it changes the structure
  for (const auto& segment : run.segments()) {
    if (segment.steps.empty() || seen.size() >= most) continue;
    const Mode mode = run.mode(segment);
    std::pair<Mode, const Structure*> key(mode, &compiled->system(mode).structure());
    key.first.discrete.clear();
    for (const int guard : compiled->dormant(mode)) compiled->set_side(key.first, guard, -1);
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) continue;
    seen.push_back(key);
    const DensePolynomial& p = segment.steps.front().polynomial;
    std::vector<double> x(static_cast<std::size_t>(p.variables));
    p.evaluate(p.t0, x);
    print_mode(out, *compiled, mode, p.t0, x);
  }
  out << fmt::format("{} at t = {:.6g}{}{}\n", to_string(run.status().code), run.status().t,
                     run.status().message.empty() ? "" : ": ", run.status().message);
  return run.status().ok() ? ExitCode::success : ExitCode::failure;
}

ExitCode check(const CheckOptions& o, const Streams& streams) {
  const ModelicaModel source = load(o.source);
  for (const auto& note : source.notes) streams.err << render(note);
  const auto compiled = std::make_shared<CompiledModel>(source.model);
  streams.out << "model " << compiled->name() << '\n';
  print_declarations(streams.out, *compiled, source.model.data(), o.most);
  SimulateOptions s;
  s.start = source.experiment.start.value_or(0.0);
  s.stop = o.no_run ? s.start : source.experiment.stop.value_or(s.start + 1.0);
  s.rtol = s.atol = source.experiment.tolerance.value_or(1e-6);
  s.inputs = o.inputs.read(*compiled);
  if (!o.no_run) {
    const InterruptGuard guard;
    ProgressBar bar(streams.err, isatty(STDERR_FILENO));
    s.progress = [&](const Progress& p) { return bar(p); };
    return print_modes(streams.out, compiled, s, o.most);
  }
  Simulator start(compiled, s);
  const std::vector<double> x(start.x().begin(), start.x().end());
  if (start.status().ok()) print_mode(streams.out, *compiled, start.mode(), start.t(), x);
  else streams.out << fmt::format("{}: {}\n", to_string(start.status().code), start.status().message);
  return start.status().ok() ? ExitCode::success : ExitCode::failure;
}

}  // namespace

Command check_command() {
  return {"check", [](CLI::App& parent) -> Action {
            auto o = std::make_shared<CheckOptions>();
            CLI::App& app = *parent.add_subcommand("check", "Show variables, equations, guards, and the index of each mode");
            app.footer("Runs the model over its experiment's time span and analyses each mode when it is first entered.\n"
                       "Exit codes: 0 all is well, 1 the run failed, 2 wrong command line or model.");
            o->source.add_to(app);
            o->inputs.add_to(app);
            app.add_option("--all", o->most, "Longest list to print")->check(CLI::Range(1, 100000000));
            app.add_flag("--no-run", o->no_run, "Analyse the first mode only");
            return [o](const Streams& streams) { return check(*o, streams); };
          }};
}

}  // namespace saltus::cli
