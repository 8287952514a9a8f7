// Events at which inputs change.
#include <algorithm>
#include <cmath>

#include "hybrid/short_lists.hpp"
#include "hybrid/simulator_impl.hpp"

namespace saltus {

void Simulator::Impl::InputEvents::set(std::span<const InputChange> changes) {
  run.inputs.set(run.mode, run.t, changes, run.options);
  run.system = &run.hybrid->system(run.mode);
  run.in_rest = false;
  if (run.times_due()) run.handle_due_times();
}

bool Simulator::Impl::InputEvents::alone() const {
  const std::vector<int>& fired = run.instant.fired();
  return !(fired.empty() && run.inputs.empty()) && std::ranges::all_of(fired, [&](int k) {
    return k < run.instant.family_guards && run.hybrid->guards()[static_cast<std::size_t>(k)].of_input;
  });
}

bool Simulator::Impl::InputEvents::only_slopes() {
  const Transition& transition = run.instant.transition;
  if (!transition.fired.empty() || transition.recorded || transition.terminate || !transition.message.empty() ||
      !transition.notes.empty())
    return false;
  run.observation.observe(run.values_after);
  const double rtol = *std::ranges::max_element(run.relative_tolerances());
  const std::vector<VariableInfo>& all = run.hybrid->observed();
  for (std::size_t k = 0; k < all.size(); ++k) {
    const double a = run.values_before[k], b = run.values_after[k];
    if (!(std::abs(a - b) <= rtol * std::max(std::abs(a), std::abs(b)) + run.options.atol * all[k].nominal))
      return false;
  }
  return true;
}

}  // namespace saltus
