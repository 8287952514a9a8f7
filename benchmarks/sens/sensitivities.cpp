// What does a derivative of a run cost? The plain run, derivatives forward and backward, difference quotients, CVODES
// and IDAS, by turns in one process, with the errors of the derivatives.
//
//   saltus_bench_sens [ROUNDS] [PROBLEM]        least times of so many rounds (5), of problems with this in their name
#include <saltus/saltus.hpp>
#include <saltus/sens/adjoint.hpp>
#include <saltus/sens/sensitivities.hpp>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "events/measure.hpp"
#include "problems.hpp"
#ifdef WITH_SUNDIALS
#include "cvodes_runs.hpp"
#include "idas_runs.hpp"
#endif

namespace saltus::bench {
namespace {

using Derivatives = std::vector<std::vector<double>>;  // by parameter: of the variables at the end

/// The largest error of a derivative, relative to the largest derivative by the same parameter.
double error_of(const Derivatives& found, const Derivatives& exact) {
  double worst = 0.0;
  for (std::size_t k = 0; k < found.size(); ++k) {
    double size = 0.0, error = 0.0;
    for (std::size_t j = 0; j < found[k].size(); ++j) {
      size = std::max(size, std::abs(exact[k][j]));
      error = std::max(error, std::abs(found[k][j] - exact[k][j]));
    }
    if (size > 0.0) worst = std::max(worst, error / size);
  }
  return worst;
}

/// The same of the final value of the first variable, relative to its largest derivative.
double adjoint_error(const std::vector<double>& found, const Derivatives& exact) {
  double size = 0.0, error = 0.0;
  for (std::size_t k = 0; k < found.size(); ++k) {
    size = std::max(size, std::abs(exact[k][0]));
    error = std::max(error, std::abs(found[k] - exact[k][0]));
  }
  return error / size;
}

/// One problem: rows that are run by turns, the first one is the plain run.
class Comparison {
 public:
  Comparison(std::string problem, std::size_t directions) : problem_(std::move(problem)), directions_(directions) {}

  /// `run` returns the error, or NaN where there is none. `directions`: 0: they do not count.
  void add(const std::string& solver, std::size_t directions, std::function<double()> run) {
    rows_.push_back({solver, directions, std::move(run)});
  }
  void run(int rounds) {
    for (int round = 0; round < rounds; ++round)
      for (Row& row : rows_) {
        const double begin = cpu_seconds();
        row.error = row.run();
        row.seconds = std::min(row.seconds, cpu_seconds() - begin);
      }
    const double plain = rows_.front().seconds;
    for (const Row& row : rows_) {
      const double extra = row.seconds - plain;
      fmt::print("{:<18} {:<32} {:>10.3f} {:>8.2f} {:>14} {:>9}\n", problem_, row.solver, 1e3 * row.seconds,
                 row.seconds / plain,
                 row.directions > 0 ? fmt::format("{:.2f}", extra / plain / static_cast<double>(row.directions)) : "",
                 std::isnan(row.error) ? "" : fmt::format("{:.1e}", row.error));
    }
    std::fflush(stdout);
  }

 private:
  struct Row {
    std::string solver;
    std::size_t directions;
    std::function<double()> run;
    double seconds = 1e300, error = 0.0;
  };
  std::string problem_;
  std::size_t directions_;
  std::vector<Row> rows_;
};

Derivatives forward(const CompiledModel& model, const std::vector<std::string>& names, const SimulateOptions& options) {
  const SensitivityRun run = simulate_with_sensitivities(model, names, options);
  if (!run.why().empty()) fmt::print("no derivatives: {}\n", run.why());
  Derivatives result;
  for (const std::string& name : names) result.push_back(run.final(name));
  return result;
}

Derivatives differences(const CompiledModel& model, const std::vector<std::string>& names,
                        const SimulateOptions& options) {
  Derivatives result;
  for (const std::string& name : names) {
    double value = 0.0;
    for (const auto& [known, number] : model.parameters())
      if (known == name) value = number;
    const double step = std::cbrt(options.rtol) * (value == 0.0 ? 1.0 : std::abs(value));
    const std::vector<double> up = simulate(model.with_values({{name, value + step}}), options).final(),
                              down = simulate(model.with_values({{name, value - step}}), options).final();
    result.emplace_back();
    for (std::size_t j = 0; j < up.size(); ++j) result.back().push_back((up[j] - down[j]) / (2.0 * step));
  }
  return result;
}

struct Case {
  std::string name;
  Model model;
  SimulateOptions options;
  double tight = 1e-12;  ///< tolerance of the reference
};

std::vector<std::string> parameter_names(const CompiledModel& model) {
  std::vector<std::string> names;
  for (const auto& [name, value] : model.parameters()) names.push_back(name);
  return names;
}

/// Rows of Saltus; the exact derivatives come from a run with a tight tolerance.
Comparison compare(const Case& c, const CompiledModel& model, const std::vector<std::string>& names,
                   Derivatives& exact) {
  SimulateOptions tight = c.options;
  tight.rtol = c.tight;
  tight.atol = 0.01 * c.tight * c.options.atol / c.options.rtol;
  exact = forward(model, names, tight);
  Comparison table(c.name, names.size());
  const std::size_t m = names.size();
  table.add("plain run", 0, [&model, c] { return simulate(model, c.options).t_end() * std::nan(""); });
  table.add("forward, 1 direction", 1, [&, c] { return error_of(forward(model, {names[0]}, c.options), {exact[0]}); });
  table.add(fmt::format("forward, {} directions", m), m,
            [&, c] { return error_of(forward(model, names, c.options), exact); });
  if (m <= 8)
    table.add("central differences", m, [&, c] { return error_of(differences(model, names, c.options), exact); });
  for (const double share : {1.0, 10.0}) {
    SimulateOptions o = c.options;
    o.rtol *= share;
    o.atol *= share;
    table.add(fmt::format("adjoint, {} parameters, rtol {:.0e}", m, o.rtol), 0, [&, o] {
      return adjoint_error(gradient(model, final_value(model.observed().front().name), names, o).derivatives, exact);
    });
  }
  return table;
}

#ifdef WITH_SUNDIALS
/// Rows of CVODES or IDAS; of adjoints at several tolerances, since their errors differ much from ours.
template <class Run>
void add_peer(Comparison& table, const std::string& name, const PeerProblem& problem, double stop,
              const Derivatives& exact) {
  table.add(name + ", plain run", 0, [&problem, stop] {
    Run(problem, 1.0).plain(stop);
    return std::nan("");
  });
  for (const SensitivityErrors errors : {SensitivityErrors::ignored, SensitivityErrors::controlled})
    table.add(name + (errors == SensitivityErrors::controlled ? ", errors controlled" : ", errors ignored"), 0,
              [&, stop, errors] { return error_of(Run(problem, 1.0).forward(stop, errors), exact); });
  for (const double share : {1.0, 0.1, 0.01, 0.001})
    table.add(name + fmt::format(", adjoint, rtol {:.0e}", share * problem.rtol), 0,
              [&, stop, share] { return adjoint_error(Run(problem, share).adjoint(stop), exact); });
}
#endif

SimulateOptions options(double stop, double rtol, double atol) {
  return {.stop = stop, .rtol = rtol, .atol = atol};
}

}  // namespace
}  // namespace saltus::bench

int main(int argc, char** argv) {
  using namespace saltus;
  using namespace saltus::bench;
  const int rounds = static_cast<int>(argument(argc, argv, 1, 5, "[ROUNDS] [PROBLEM]"));
  const std::string wanted = argc > 2 ? argv[2] : "";
  fmt::print("{:<18} {:<32} {:>10} {:>8} {:>14} {:>9}\n", "problem", "solver", "time [ms]", "runs", "runs/direction",
             "error");
  std::vector<Case> cases;
  cases.push_back({"van der Pol", van_der_pol(), options(100.0, 1e-6, 1e-8)});
  cases.push_back({"van der Pol 1e-9", van_der_pol(), options(100.0, 1e-9, 1e-11)});
  cases.push_back({"dry friction", dry_friction(), options(600.0, 1e-6, 1e-8)});
  cases.push_back({"ball", bouncing_ball(), options(100.0, 1e-6, 1e-8)});
  cases.push_back({"two pendulums", two_pendulums(), options(20.0, 1e-6, 1e-8)});
  cases.push_back({"ring", ring(20), options(20.0, 1e-6, 1e-8)});
  cases.push_back({"Robertson", Robertson::model(), options(4e4, 1e-6, 1e-10), 1e-10});
  cases.push_back({"heat 400", Heat{400, 50}.model(), options(0.2, 1e-6, 1e-8), 1e-10});
  cases.push_back({"heat 10000", Heat{10000, 8}.model(), options(0.2, 1e-6, 1e-8), 1e-8});
  cases.push_back({"plate 20 x 20", plate(20, 20), options(0.1, 1e-6, 1e-8), 1e-10});
  cases.push_back({"plate 100 x 100", plate(100, 8), options(0.1, 1e-6, 1e-8), 1e-8});
  cases.push_back({"pendulum, index 3", cartesian_pendulum(), options(10.0, 1e-6, 1e-8)});
  cases.push_back({"chain, index 1", algebraic_chain(20), options(10.0, 1e-6, 1e-8), 1e-10});
  for (const Case& c : cases) {
    if (c.name.find(wanted) == std::string::npos) continue;
    const CompiledModel model(c.model);
    const std::vector<std::string> names = parameter_names(model);
    Derivatives exact;
    Comparison table = compare(c, model, names, exact);
#ifdef WITH_SUNDIALS
    std::unique_ptr<PeerProblem> peer;
    if (c.name == "Robertson") peer = std::make_unique<RobertsonByHand>(c.options.rtol, c.options.atol);
    if (c.name == "heat 400") peer = std::make_unique<HeatByHand>(Heat{400, 50}, c.options.rtol, c.options.atol);
    if (peer) {
      add_peer<CvodesRun>(table, "CVODES", *peer, c.options.stop, exact);
      add_peer<IdasRun>(table, "IDAS", *peer, c.options.stop, exact);
    }
#endif
    table.run(rounds);
  }
  return 0;
}
