// How fast are small models with very many events, and how exact are the times of the events?
//
// Saltus from a plain model against what a user would write by hand: Boost.odeint with bisection, and CVODE, ARKODE and IDA with their
// own root finding. Errors: ball, relative error of the last impact; buck converter, error of the last switching in periods; sampled
// controller, error of the state at the end.
#include <saltus/saltus.hpp>

#include <cstdlib>

#include "by_hand.hpp"
#include "measure.hpp"
#include "odeint_driver.hpp"
#include "problems.hpp"
#ifdef SALTUS_HAVE_SUNDIALS
#include "sundials_driver.hpp"
#endif

namespace saltus::bench {
namespace {

/// The model is compiled outside the measured time: what is measured is a run.
template <class Automaton, class Error>
Work run_saltus(const std::shared_ptr<CompiledModel>& model, const Automaton& p, double rtol, double atol, Method method, Error&& error) {
  const double begin = cpu_seconds();
  const Trajectory run =
      simulate(model, {.stop = p.stop(), .rtol = rtol, .atol = atol, .method = method, .keep_steps = false});
  const double seconds = cpu_seconds() - begin;
  const RunStatistics& s = run.statistics();
  Work work{s.steps, s.evaluations, 0, static_cast<long>(s.events), error(run)};
  work.seconds = seconds;
  if (!run.status().ok()) work.note = run.status().message;
  return work;
}

template <class Automaton>
void add_peers(Table& table, const Automaton& p, double rtol, double atol, double first_step) {
  table.add("by hand, dopri5", [=] { return run_by_hand(p, rtol, atol, first_step); });
  table.add("odeint dopri5, bisection", [=] { return run_odeint(p, rtol, atol, first_step); });
#ifdef SALTUS_HAVE_SUNDIALS
  table.add("ARKODE ERK dopri5", [=] { return run_arkode(p, rtol, atol); });
  table.add("CVODE Adams", [=] { return run_cvode(p, CV_ADAMS, rtol, atol); });
  table.add("CVODE BDF", [=] { return run_cvode(p, CV_BDF, rtol, atol); });
  table.add("IDA", [=] { return run_ida(p, rtol, atol); });
#endif
}

/// As many steps, of the same length, with a floor that is out of reach: what is left of the time of an event is its own. Steps take the place
/// of events in the table.
Work run_without_impacts(const std::shared_ptr<CompiledModel>& model, const Ball& p, double rtol) {
  const double begin = cpu_seconds();
  const Trajectory run = simulate(model, {.stop = p.stop(), .rtol = rtol, .atol = rtol, .method = Method::dopri5,
                                          .max_step = 2.0 * Ball::first_impact(), .keep_steps = false});
  Work work{run.statistics().steps, run.statistics().evaluations, 0, static_cast<long>(run.statistics().steps)};
  work.seconds = cpu_seconds() - begin;
  return work;
}

double last_crossing(const Trajectory& run) {
  for (auto e = run.events().rbegin(); e != run.events().rend(); ++e)
    if (e->kind != EventKind::time) return e->t;
  return 0.0;
}

void ball(long impacts, int rounds) {
  const auto model = std::make_shared<CompiledModel>(Ball::model()), high = std::make_shared<CompiledModel>(Ball::model(-1e15));
  for (const double rtol : {1e-6, 1e-9}) {
    const Ball p(impacts);
    Table table;
    for (const Method method : {Method::dopri5, Method::dop853, Method::taylor})
      table.add("Saltus " + std::string(to_string(method)), [=] {
        return run_saltus(model, p, rtol, rtol, method, [&](const Trajectory& run) {
          Ball q = p;
          q.last_event = last_crossing(run);
          return q.error();
        });
      });
    table.add("  its steps alone", [=] { return run_without_impacts(high, p, rtol); });
    add_peers(table, p, rtol, rtol, 1e-3);
    table.run("ball", rtol, rounds);
  }
}

void buck(long periods, int rounds) {
  const auto model = std::make_shared<CompiledModel>(Buck::model());
  const double exact = Buck::exact(periods);
  for (const double rtol : {1e-6, 1e-8}) {
    Buck p(periods);
    p.exact_last = exact;
    Table table;
    for (const Method method : {Method::dopri5, Method::dop853, Method::taylor})
      table.add("Saltus " + std::string(to_string(method)), [=] {
        return run_saltus(model, p, rtol, rtol, method, [&](const Trajectory& run) {
          Buck q = p;
          q.last_event = last_crossing(run);
          return q.error();
        });
      });
    add_peers(table, p, rtol, rtol, 1e-6);
    table.run("buck converter", rtol, rounds);
  }
}

void sampled(long samples, int rounds) {
  const auto model = std::make_shared<CompiledModel>(Sampled::model());
  for (const double rtol : {1e-6, 1e-9}) {
    const Sampled p(samples);
    Table table;
    for (const Method method : {Method::dopri5, Method::dop853})
      table.add("Saltus " + std::string(to_string(method)), [=] {
        return run_saltus(model, p, rtol, rtol, method, [&](const Trajectory& run) {
          Sampled q = p;
          q.end = run.final()[0];
          return q.error();
        });
      });
    add_peers(table, p, rtol, rtol, 1e-3);
    table.run("sampled controller", rtol, rounds);
  }
}

}  // namespace
}  // namespace saltus::bench

/// Arguments: rounds (5), and a divisor of the sizes (1) for a quick look.
int main(int argc, char** argv) {
  constexpr const char* usage = "[ROUNDS [PART]]";
  const int rounds = static_cast<int>(saltus::bench::argument(argc, argv, 1, 5, usage));
  const long part = static_cast<long>(saltus::bench::argument(argc, argv, 2, 1, usage));
  saltus::bench::Table::header();
  saltus::bench::ball(100000 / part, rounds);
  saltus::bench::buck(5000 / part, rounds);
  saltus::bench::sampled(100000 / part, rounds);
}
