// A start by continuation from simpler equations (EasierStart) to the actual ones. All simplifications share one
// number, as the Modelica Language Specification 3.6, section 3.7.4.3, recommends.
#include <fmt/format.h>
#include <saltus/dae/easier_start.hpp>

#include "hybrid/simulator_impl.hpp"

namespace saltus {

namespace {

struct Continuation {
  std::vector<double> values;  // of the observed variables, in the actual equations; empty: not found
  int starts = 0;              // that were looked for
};

Continuation follow_simplified(const EasierStart& easier, const SimulateOptions& options) {
  constexpr double least_step = 1e-3;
  constexpr int most = 100;
  Continuation result;
  std::vector<double> values;
  const auto solve = [&](double share) {
    const std::shared_ptr<HybridSystem> system = easier.eased(share, values);
    if (!system) return false;
    ++result.starts;
    const Simulator start(system, options);
    if (!start.status().ok()) return false;
    values = start.values();
    return true;
  };
  if (!solve(0.0)) return result;
  double share = 0.0;
  for (double step = 0.25; step >= least_step && result.starts < most;) {
    const double next = std::min(1.0, share + step);
    if (!solve(next)) {
      step *= 0.25;
      continue;
    }
    share = next;
    step *= 2.0;
    if (share == 1.0) {
      result.values = std::move(values);
      return result;
    }
  }
  return result;
}

}  // namespace

bool Simulator::Impl::start_by_homotopy() {
  const auto* easier = dynamic_cast<const EasierStart*>(hybrid.get());
  if (!easier) return false;
  const Continuation found = follow_simplified(*easier, {.start = options.start,
                                                         .stop = options.start,
                                                         .rtol = options.rtol,
                                                         .atol = options.atol,
                                                         .inputs = options.inputs});
  if (found.values.empty()) return false;
  std::unordered_map<std::string, double> value_of;
  for (std::size_t k = 0; k < found.values.size(); ++k) value_of.emplace(hybrid->observed()[k].name, found.values[k]);
  for (std::size_t j = 0; j < hybrid->variables().size(); ++j)
    if (const auto it = value_of.find(hybrid->variables()[j].name);
        it != value_of.end() && !hybrid->variables()[j].fixed)
      x[j] = it->second;
  keep_state();
  instant.consistency().forget();
  if (!find_start()) return false;
  add_remark(fmt::format("the start was found by homotopy, in {} steps from the simplified equations", found.starts));
  return true;
}

}  // namespace saltus
