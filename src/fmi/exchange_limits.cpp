#include "fmi/exchange_limits.hpp"

#include <fmt/format.h>
#include <saltus/hybrid/simulate.hpp>

#include <algorithm>
#include <optional>

namespace saltus {

std::string exchange_problem(const Structure& structure, const CharacteristicValues* values,
                             std::span<const int> states) {
  int differentiated = 0;
  for (int j = 0; j < structure.variables; ++j) differentiated += structure.differentiated(j) ? 1 : 0;
  const bool same = std::ranges::all_of(states, [&](int j) { return structure.differentiated(j); });
  if (structure.explicit_ode && states.empty()) return "";
  if (!same || differentiated != static_cast<int>(states.size())) return "other variables are states than at the start";
  if (structure.explicit_ode) return "";
  if (values->numbers.mu > 0 || values->numbers.d < static_cast<int>(states.size()))
    return "there are constraints between the states, or hidden ones";
  if (values->numbers.u > 0) return "the equations do not determine all variables";
  return "";
}

std::string why_not_exchangeable(const ExportedModel& model) {
  const Experiment& experiment = model.experiment();
  SimulateOptions options;
  options.start = experiment.start.value_or(0.0);
  options.stop = experiment.stop.value_or(options.start + 1.0);
  options.rtol = options.atol = experiment.tolerance.value_or(1e-6);
  const Trajectory run = simulate(model.compiled(), options);
  if (!run.status().ok())
    return fmt::format("the default experiment fails, so that its modes are not known ({}: {})",
                       to_string(run.status().code), run.status().message);
  CompiledModel compiled(model.compiled());
  const std::vector<int> states(model.state_positions().begin(), model.state_positions().end());
  for (const Trajectory::Segment& segment : run.segments()) {
    if (segment.steps.empty()) continue;
    const DensePolynomial& step = segment.steps.front().polynomial;
    const Mode mode = run.mode(segment);
    System& system = compiled.system(mode);
    std::vector<double> x(step.c.begin(), step.c.begin() + step.variables);
    x.resize(static_cast<std::size_t>(system.structure().variables), 0.0);
    std::optional<CharacteristicValues> values;
    if (!system.structure().explicit_ode) values = characteristic_values(system, step.t0, x);
    const std::string why = exchange_problem(system.structure(), values ? &*values : nullptr, states);
    if (!why.empty()) return fmt::format("at t = {:.6g}, in the mode '{}', {}", step.t0, compiled.describe(mode), why);
  }
  return "";
}

}  // namespace saltus
