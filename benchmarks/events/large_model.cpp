// What does a switch cost in a large stiff model? A thermostat on a rod in 10^3 to 10^5 cells, 50 switches, against CVODE with a band
// matrix and IDA with KLU. Errors: of the last switching time, against a run with a hundredth of the tolerance.
#include <saltus/saltus.hpp>

#include <cstdlib>

#include "heat.hpp"
#include "heat_by_hand.hpp"
#include "measure.hpp"
#ifdef SALTUS_HAVE_SUNDIALS
#include "heat_sundials.hpp"
#endif

namespace saltus::bench {
namespace {

constexpr double stop = 6.4;

Work run_saltus(const std::shared_ptr<CompiledModel>& model, double rtol, Method method) {
  const Trajectory run = simulate(model, {.stop = stop, .rtol = rtol, .atol = rtol, .method = method, .keep_steps = false});
  long switches = 0;
  double last = 0.0;
  for (const Event& e : run.events())
    if (!e.actions.empty()) {
      ++switches;
      last = e.t;
    }
  const RunStatistics& s = run.statistics();
  return {s.steps, s.evaluations, 0, switches, last, run.status().ok() ? "" : run.status().message};
}

void thermostat(long cells, double rtol, int rounds, bool with_error) {
  const Heat p(cells);
  const auto model = std::make_shared<CompiledModel>(p.model());
  const double exact = with_error ? run_saltus(model, 0.01 * rtol, Method::radau5).error : 0.0;
  const auto judged = [=](Work work) {
    work.error = with_error ? std::abs(work.error - exact) : std::nan("");
    return work;
  };
  Table table;
  for (const Method method : {Method::rodas5p, Method::radau5})
    table.add("Saltus " + std::string(to_string(method)), [=] { return judged(run_saltus(model, rtol, method)); });
  table.add("by hand, rodas4", [=] { return judged(HeatByHand(p).run(stop, rtol, rtol)); });
#ifdef SALTUS_HAVE_SUNDIALS
  table.add("CVODE BDF, band", [=] { return judged(run_heat_cvode(p, stop, rtol, rtol)); });
  table.add("IDA, KLU", [=] { return judged(run_heat_ida(p, stop, rtol, rtol)); });
#endif
  table.run("heat, " + std::to_string(cells) + " cells", rtol, rounds);
}

}  // namespace
}  // namespace saltus::bench

/// Arguments: the number of cells (1000), rtol (1e-5), rounds (3), and 1 for the error as well (1).
int main(int argc, char** argv) {
  constexpr const char* usage = "[CELLS [RTOL [ROUNDS [WITH_ERROR]]]]";
  const auto argument = [&](int number, double otherwise, double least) { return saltus::bench::argument(argc, argv, number, otherwise, usage, least); };
  const auto cells = static_cast<long>(argument(1, 1000, 2));
  const double rtol = argument(2, 1e-5, 1e-14);
  const int rounds = static_cast<int>(argument(3, 3, 1));
  const bool with_error = argument(4, 1, 0) != 0;
  saltus::bench::Table::header();
  saltus::bench::thermostat(cells, rtol, rounds, with_error);
}
