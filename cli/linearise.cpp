#include <fmt/format.h>
#include <fmt/ranges.h>
#include <saltus/io/linearisation_files.hpp>
#include <saltus/sens/linearisation.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <optional>

#include "cli/accurate_run.hpp"
#include "cli/commands.hpp"
#include "cli/files.hpp"
#include "cli/progress.hpp"
#include "cli/study_spec.hpp"

namespace saltus::cli {

namespace {

struct LineariseCommandOptions : AccurateRunOptions {
  std::optional<double> at, cycle, cycle_near, stop;
  bool equilibrium = false;
  std::vector<std::string> inputs_of, outputs_of;
  std::string npz;
};

constexpr int most_columns = 8;  // of a matrix on the terminal

std::string shown_number(double value) {
  return fmt::format("{:.6g}", value == 0.0 ? 0.0 : value);
}

void print_matrix(std::ostream& out, const std::string& name, const Matrix& a, const std::vector<std::string>& rows,
                  const std::vector<std::string>& columns) {
  if (a.rows() == 0 || a.columns() == 0) return;
  if (a.columns() > most_columns || a.rows() > 3 * most_columns) {
    out << fmt::format("{}: {} x {}; --json and --npz write it\n", name, a.rows(), a.columns());
    return;
  }
  std::size_t first = name.size();
  for (const std::string& row : rows) first = std::max(first, row.size());
  const auto width = [&](int j) { return std::max<std::size_t>(12, columns[static_cast<std::size_t>(j)].size()); };
  out << fmt::format("{:<{}}", name, first);
  for (int j = 0; j < a.columns(); ++j) out << fmt::format("  {:>{}}", columns[static_cast<std::size_t>(j)], width(j));
  out << '\n';
  for (int i = 0; i < a.rows(); ++i) {
    out << fmt::format("{:<{}}", rows[static_cast<std::size_t>(i)], first);
    for (int j = 0; j < a.columns(); ++j) out << fmt::format("  {:>{}}", shown_number(a(i, j)), width(j));
    out << '\n';
  }
}

/// `largest`: of all sizes; what is smaller by the unit roundoff is zero.
std::string eigenvalue_text(const Eigenvalue& e, double largest, bool of_cycle) {
  const auto shown = [&](double part) { return std::abs(part) < 1e-15 * largest ? 0.0 : part; };
  const double real = shown(e.value.real()), imaginary = shown(std::abs(e.value.imag())), size = std::abs(e.value);
  std::string text = shown_number(real);
  if (imaginary > 0.0) text += fmt::format(" ± {}i", shown_number(imaginary));
  std::string notes;
  if (of_cycle)
    notes = fmt::format("size {}", shown_number(size));
  else if (imaginary > 0.0)
    notes = fmt::format("frequency {} Hz, damping {}", shown_number(imaginary / (2.0 * std::numbers::pi)),
                        shown_number(-real / size));
  else if (real != 0.0)
    notes = fmt::format("time constant {}{}", shown_number(1.0 / std::abs(real)), real > 0.0 ? ", growing" : "");
  std::string states;
  for (const Eigenvalue::Share& s : e.shares)
    states += fmt::format("{}{} {:.0f} %", states.empty() ? "" : ", ", s.state, 100.0 * s.share);
  return fmt::format("  {:<26}  {:<40}  {}", text, notes, states);
}

void print_linearisation(std::ostream& out, const Linearisation& l) {
  if (!l.ok()) {
    out << "no linearisation: " << l.why << '\n';
    return;
  }
  const bool of_cycle = l.period > 0.0;
  print_matrix(out, "A", l.A, l.states, l.states);
  print_matrix(out, "B", l.B, l.states, l.inputs);
  print_matrix(out, "C", l.C, l.outputs, l.states);
  print_matrix(out, "D", l.D, l.outputs, l.inputs);
  if (l.states.empty()) {
    out << "no states: the mode has no degree of freedom\n";
    return;
  }
  out << fmt::format("{} ({})\n", of_cycle ? "multipliers" : "eigenvalues", to_string(l.stability()));
  double largest = 0.0;
  for (const Eigenvalue& e : l.eigenvalues) largest = std::max(largest, std::abs(e.value));
  for (const Eigenvalue& e : l.eigenvalues)
    if (e.value.imag() >= 0.0) out << eigenvalue_text(e, largest, of_cycle) << '\n';
}

void print_equilibrium(std::ostream& out, const Equilibrium& e) {
  const Linearisation& l = e.linearisation;
  out << fmt::format("mode {}\n", l.mode.empty() ? "without conditions" : "'" + l.mode + "'");
  if (!e.found) {
    out << "  no equilibrium: " << e.message << "\n\n";
    return;
  }
  out << fmt::format("{}equilibrium, {}{}\n", e.pseudo ? "pseudo-" : "", to_string(l.stability()),
                     e.admissible ? "" : ", outside of its mode: " + fmt::format("{}", fmt::join(e.violated, ", ")));
  if (!e.message.empty()) out << e.message << '\n';
  constexpr std::size_t most = 12;
  for (std::size_t k = 0; k < std::min(e.values.size(), most); ++k)
    out << fmt::format("  {} = {:.12g}\n", e.variables[k], e.values[k]);
  if (e.values.size() > most) out << fmt::format("  … {} more variables; --json writes all\n", e.values.size() - most);
  print_linearisation(out, l);
  out << '\n';
}

ExitCode linearise_model(const LineariseCommandOptions& o, const Streams& streams) {
  const ModelicaModel model = load_extended(o, streams, [](const Model&, ModelExtension&) {});
  const auto compiled = std::make_shared<CompiledModel>(model.model);
  const LinearisationOptions ports{.inputs = o.inputs_of, .outputs = o.outputs_of};
  SimulateOptions options = o.simulate(model, *compiled);
  std::ostream& words = o.json == "-" ? streams.err : streams.out;
  std::vector<Equilibrium> equilibria;
  Linearisation found;
  bool good = true;
  if (o.cycle || o.cycle_near) {
    CycleOptions c{.simulate = options};
    (o.cycle ? c.period : c.period_guess) = o.cycle ? *o.cycle : *o.cycle_near;
    found = linearise(find_cycle(*compiled, c));
    words << fmt::format("cycle of period {:.10g}\n", found.period);
  } else {
    options.stop = o.at ? *o.at : o.stop.value_or(model.experiment.stop.value_or(options.start + 1.0));
    std::optional<ProgressBar> bar(std::in_place, streams.err, o.shows_progress());
    options.progress = [&](const Progress& p) { return (*bar)(p); };
    std::vector<SimulatorState> entries;
    if (o.equilibrium && !o.at) {
      entries = states_at_entries(*compiled, options);
    } else {
      Simulator run(compiled, options);
      run.run();
      if (!run.status().ok())
        throw UsageError(fmt::format("the run ends before this point: {} at t = {:.12g}: {}",
                                     to_string(run.status().code), run.status().t, run.status().message));
      entries.push_back(run.state());
    }
    bar.reset();
    if (o.equilibrium)
      for (const SimulatorState& entry : entries) equilibria.push_back(find_equilibrium(*compiled, entry, ports));
    else
      found = linearise(*compiled, entries.front(), ports);
  }
  if (!o.equilibrium) good = found.ok();
  if (!o.quiet && !o.equilibrium) {
    if (found.period == 0.0)
      words << fmt::format("at t = {:.12g}{}\n", found.t, found.mode.empty() ? "" : ", mode '" + found.mode + "'");
    print_linearisation(words, found);
  }
  if (!o.quiet)
    for (const Equilibrium& e : equilibria) print_equilibrium(words, e);
  if (!o.json.empty())
    write_file(o.json, streams.out, [&](std::ostream& file) {
      if (o.equilibrium)
        write_equilibria_json(file, compiled->name(), equilibria);
      else
        write_linearisation_json(file, compiled->name(), found);
    });
  if (!o.npz.empty())
    write_file(o.npz, streams.out, [&](std::ostream& file) {
      write_linearisation_npz(file, o.equilibrium ? equilibria.front().linearisation : found);
    });
  if (o.equilibrium) good = std::ranges::any_of(equilibria, &Equilibrium::found);
  if (!good && o.quiet && !o.equilibrium) streams.err << "no linearisation: " << found.why << '\n';
  return good ? ExitCode::success : ExitCode::failure;
}

}  // namespace

Command linearise_command() {
  return {
      "linearise", [](CLI::App& parent) -> Action {
        auto o = std::make_shared<LineariseCommandOptions>();
        CLI::App& app =
            *parent.add_subcommand("linearise", "A, B, C, D and eigenvalues near a point, an equilibrium or a cycle");
        app.footer(
            "Examples:\n"
            "  saltus linearise Motor.mo --at 2 --inputs u --outputs w --npz motor.npz\n"
            "  saltus linearise StickSlip.mo --equilibrium\n"
            "Exit codes: 0 success, 1 no linearisation, 2 wrong command line or model.");
        o->add_run(app);
        const char* group = "Point";
        auto* at = app.add_option("--at", o->at, "The time of a run (default: the end of the experiment)")
                       ->type_name("T")
                       ->group(group);
        auto* equilibrium =
            app.add_flag("--equilibrium", o->equilibrium,
                         "The equilibrium of each mode that the run enters; with --at of the mode at that time")
                ->group(group);
        app.add_option("--stop", o->stop, "Stop time of the run that enters the modes")->type_name("T")->group(group);
        auto* cycle = app.add_option("--cycle", o->cycle, "The map of a cycle of this period")
                          ->check(CLI::PositiveNumber)
                          ->type_name("PERIOD")
                          ->excludes(at)
                          ->excludes(equilibrium)
                          ->group(group);
        app.add_option("--cycle-near", o->cycle_near, "The same where the period is unknown, and near this one")
            ->check(CLI::PositiveNumber)
            ->type_name("PERIOD")
            ->excludes(at)
            ->excludes(equilibrium)
            ->excludes(cycle)
            ->group(group);
        app.add_option_function<std::string>(
               "--inputs", [o](const std::string& text) { o->inputs_of = split_names(text); },
               "Inputs or parameters (default: the inputs of the model)")
            ->type_name("A,B")
            ->group("Ports");
        app.add_option_function<std::string>(
               "--outputs", [o](const std::string& text) { o->outputs_of = split_names(text); },
               "Variables (default: the outputs of the model, or all that are integrated)")
            ->type_name("A,B")
            ->group("Ports");
        app.add_option("--json", o->json, "Write the result as JSON; - is standard output")
            ->type_name("FILE")
            ->group("Files");
        app.add_option("--npz", o->npz, "Write the matrices for numpy")->type_name("FILE")->group("Files");
        app.add_flag("--quiet,-q", o->quiet, "Print nothing but errors")->group("Terminal");
        return [o](const Streams& streams) { return linearise_model(*o, streams); };
      }};
}

}  // namespace saltus::cli
