// What do many short runs of one small model cost, one at a time?
//
// Members: pairs of friction force and frequency of the dry-friction oscillator, 50 periods each. Saltus gets new
// values for a model that was compiled once (with_values), the others an automaton by hand. Errors: the mean of those
// of the states at the end, against the closed form. Then what a run costs beyond its steps: runs of few and of many
// steps.
#include <saltus/saltus.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

#include "by_hand.hpp"
#include "friction.hpp"
#include "measure.hpp"
#include "odeint_driver.hpp"
#include "problems/friction_oscillator.hpp"

namespace saltus::bench {
namespace {

constexpr double rtol = 1e-6;

std::vector<Friction> grid(int side) {
  constexpr int periods = 50;
  std::vector<Friction> members;
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j) {
      Friction p(0.1 + 0.8 * i / side, 0.1503 + 1.7 * j / side, periods);
      p.exact = problems::friction_oscillator(p.F, p.w, p.end, 1.0, 1.0).x;
      members.push_back(p);
    }
  return members;
}

/// The sum of what all members report, with the mean of their errors.
template <class Run>
Work all_of(const std::vector<Friction>& members, const Run& run) {
  Work sum;
  for (const Friction& p : members) {
    const Work work = run(p);
    sum.steps += work.steps;
    sum.evaluations += work.evaluations;
    sum.events += work.events;
    sum.error += work.error / static_cast<double>(members.size());
  }
  return sum;
}

void run_members(int side, int rounds) {
  const std::vector<Friction> members = grid(side);
  const CompiledModel model(friction_model());
  Table table;
  for (const std::int64_t flights : {1000, 200, 100})
    table.add(fmt::format("Saltus, flights after {}", flights), [&, flights] {
      return all_of(members, [&](const Friction& p) {
        SimulateOptions options{.stop = p.end, .rtol = rtol, .atol = rtol, .keep_steps = false};
        options.flights_after = flights;
        const Trajectory run = simulate(model.with_values({{"F", p.F}, {"w", p.w}}), options);
        const RunStatistics& s = run.statistics();
        return Work{s.steps, s.evaluations, 0, static_cast<long>(s.events), std::abs(run.final()[0] - p.exact)};
      });
    });
  table.add("by hand, dopri5",
            [&] { return all_of(members, [](const Friction& p) { return run_by_hand(p, rtol, rtol, 1e-3); }); });
  table.add("odeint dopri5, bisection",
            [&] { return all_of(members, [](const Friction& p) { return run_odeint(p, rtol, rtol, 1e-3); }); });
  table.run(fmt::format("{} members", members.size()), rtol, rounds);
}

/// Seconds of a run, least of several batches.
double seconds_of(const CompiledModel& model, const SimulateOptions& options, std::int64_t& steps) {
  constexpr int runs = 300, batches = 20;
  double best = 1e300;
  for (int batch = 0; batch < batches; ++batch) {
    const double begin = cpu_seconds();
    for (int k = 0; k < runs; ++k) steps = simulate(model, options).statistics().steps;
    best = std::min(best, (cpu_seconds() - begin) / runs);
  }
  return best;
}

void run_again() {
  Model m("oscillator");
  const Expr k = m.parameter("k", 1.0), x = m.variable("x", 1.0), v = m.variable("v", 0.0);
  m.equation(der(x) == v);
  m.equation(der(v) == -k * x);
  const CompiledModel model(m);
  SimulateOptions options{.stop = 1.0, .rtol = rtol, .atol = rtol, .keep_steps = false};
  std::int64_t few = 0, many = 0;
  const double short_run = seconds_of(model, options, few);
  options.stop = 50.0;
  const double long_run = seconds_of(model, options, many);
  const double step = (long_run - short_run) / static_cast<double>(many - few);
  fmt::print("a run again: {:.2f} us with {} steps of {:.3f} us, {:.2f} us beyond them\n", 1e6 * short_run, few,
             1e6 * step, 1e6 * (short_run - static_cast<double>(few) * step));
}

}  // namespace
}  // namespace saltus::bench

/// Arguments: the side of the grid of members (100), rounds (3).
int main(int argc, char** argv) {
  constexpr const char* usage = "[SIDE_OF_GRID [ROUNDS]]";
  const int side = static_cast<int>(saltus::bench::argument(argc, argv, 1, 100, usage));
  const int rounds = static_cast<int>(saltus::bench::argument(argc, argv, 2, 3, usage));
  saltus::bench::Table::header();
  saltus::bench::run_members(side, rounds);
  saltus::bench::run_again();
}
