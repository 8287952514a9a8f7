// The dry-friction oscillator x'' + x = sin(w t) - F sign(x'): the unit of work of a bifurcation diagram.
//
// Saltus from a model that just says sign(v), against a hand-written automaton of three modes (slip forwards, slip backwards, stick) under
// Boost.odeint, CVODE, ARKODE and IDA. Error: of the state at the end against the closed form. Then a sweep over parameters, whose event counts
// are compared with the closed form.
#include <saltus/saltus.hpp>

#include <cmath>
#include <cstdlib>

#include "by_hand.hpp"
#include "friction.hpp"
#include "measure.hpp"
#include "odeint_driver.hpp"
#include "problems/friction_oscillator.hpp"
#ifdef SALTUS_HAVE_SUNDIALS
#include "sundials_driver.hpp"
#endif

namespace saltus::bench {
namespace {

void long_run(double w, int periods, int rounds) {
  Model m = friction_model();
  m.set("w", w);
  const auto compiled = std::make_shared<CompiledModel>(m);
  Friction p(0.4, w, periods);
  const problems::FrictionOscillator exact = problems::friction_oscillator(p.F, w, p.end, 1.0, 1.0);
  p.exact = exact.x;
  fmt::print("{} periods, 1/w = {}: {} events in closed form\n", periods, 1.0 / w, exact.events);
  for (const double rtol : {1e-4, 1e-6, 1e-8, 1e-10}) {
    Table table;
    for (const Method method : {Method::dopri5, Method::dop853, Method::taylor})
      table.add("Saltus " + std::string(to_string(method)), [=] {
        const Trajectory run =
            simulate(compiled, {.stop = p.end, .rtol = rtol, .atol = rtol, .method = method, .keep_steps = false});
        const RunStatistics& s = run.statistics();
        Work work{s.steps, s.evaluations, 0, static_cast<long>(s.events), std::abs(run.final()[0] - p.exact)};
        if (!run.status().ok()) work.note = run.status().message;
        return work;
      });
    table.add("by hand, dopri5", [=] { return run_by_hand(p, rtol, rtol, 1e-3); });
    table.add("odeint dopri5, bisection", [=] { return run_odeint(p, rtol, rtol, 1e-3); });
#ifdef SALTUS_HAVE_SUNDIALS
    table.add("ARKODE ERK dopri5", [=] { return run_arkode(p, rtol, rtol); });
    table.add("CVODE Adams", [=] { return run_cvode(p, CV_ADAMS, rtol, rtol); });
    table.add("CVODE BDF", [=] { return run_cvode(p, CV_BDF, rtol, rtol); });
#endif
    table.run("dry friction", rtol, rounds);
  }
}

void sweep(int side, int periods) {
  constexpr double tolerance = 1e-6;
  Model m = friction_model();
  long runs = 0, wrong = 0, on_the_edge = 0, failed = 0, events = 0;
  double seconds = 0.0;
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j) {
      const double F = 0.1 + 0.8 * i / side, w = 0.1503 + 1.7 * j / side, stop = periods * 2.0 * pi / w;
      m.set("F", F);
      m.set("w", w);
      const auto compiled = std::make_shared<CompiledModel>(m);
      const double begin = cpu_seconds();
      const Trajectory run = simulate(compiled, {.stop = stop, .rtol = tolerance, .atol = tolerance, .keep_steps = false});
      seconds += cpu_seconds() - begin;
      ++runs;
      events += static_cast<long>(run.events().size());
      if (!run.status().ok()) {
        ++failed;
        fmt::print("F = {} w = {}: {}\n", F, w, run.status().message);
        continue;
      }
      const int exact = problems::friction_oscillator(F, w, stop, 1.0, 1.0).events;
      if (static_cast<int>(run.events().size()) == exact) continue;
      bool edge = false;
      for (const double change : {-300.0, -30.0, 30.0, 300.0})
        edge = edge || problems::friction_oscillator(F * (1.0 + change * tolerance), w, stop, 1.0, 1.0).events != exact;
      ++(edge ? on_the_edge : wrong);
      if (!edge) fmt::print("F = {} w = {}: {} events, closed form {}\n", F, w, run.events().size(), exact);
    }
  fmt::print("sweep of {} parameter values x {} periods at {:.0e}: {:.2f} us per period, {} events, {} failed, {} wrong counts, {} counts "
             "that a change of F by 300 tolerances also changes\n",
             runs, periods, tolerance, 1e6 * seconds / static_cast<double>(runs * periods), events, failed, wrong, on_the_edge);
}

}  // namespace
}  // namespace saltus::bench

/// Arguments: rounds (5), periods (500), and the side of the parameter grid (100).
int main(int argc, char** argv) {
  constexpr const char* usage = "[ROUNDS [PERIODS [SIDE_OF_GRID]]]";
  const auto argument = [&](int number, double otherwise, double least) { return static_cast<int>(saltus::bench::argument(argc, argv, number, otherwise, usage, least)); };
  const int rounds = argument(1, 5, 1), periods = argument(2, 500, 1), side = argument(3, 100, 0);
  saltus::bench::Table::header();
  saltus::bench::long_run(1.0 / 3.0, periods, rounds);
  if (side > 0) saltus::bench::sweep(side, 50);
}
