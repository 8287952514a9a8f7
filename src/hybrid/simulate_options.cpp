#include "hybrid/simulate_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace saltus {

void check_options(const SimulateOptions& o, std::size_t variables) {
  const auto positive = [](double v, const char* name) {
    if (!(v > 0.0)) throw UsageError(fmt::format("the option {} must be positive, not {}; 1e-6 is usual for tolerances", name, v));
  };
  if (!std::isfinite(o.start) || !std::isfinite(o.stop)) throw UsageError("start and stop must be finite times");
  positive(o.rtol, "rtol");
  positive(o.max_step, "max_step");
  if (o.rtol < 10.0 * std::numeric_limits<double>::epsilon()) throw UsageError(fmt::format("rtol = {} is below what double precision can reach", o.rtol));
  if (!o.rtol_each.empty() && o.rtol_each.size() != variables)
    throw UsageError(fmt::format("rtol_each has {} values for {} variables", o.rtol_each.size(), variables));
  for (const double r : o.rtol_each) {
    positive(r, "rtol_each");
    if (r < 10.0 * std::numeric_limits<double>::epsilon())
      throw UsageError(fmt::format("rtol_each = {} is below what double precision can reach", r));
  }
  if (!(o.atol >= 0.0)) throw UsageError("the option atol must not be negative");
  if (!(o.initial_step >= 0.0)) throw UsageError("the option initial_step must not be negative");
  if (o.max_order < 0 || o.max_order == 1) throw UsageError("the option max_order must be at least 2, or 0 for no limit");
  if (!o.atol_each.empty() && o.atol_each.size() != variables)
    throw UsageError(fmt::format("atol_each has {} values for {} variables", o.atol_each.size(), variables));
  if (o.max_steps < 1 || o.max_mode_changes < 1) throw UsageError("max_steps and max_mode_changes must be at least 1");
  if (o.max_events < 0) throw UsageError("the option max_events must not be negative");
  if (!(o.shortest_interval >= 0.0))
    throw UsageError("the option shortest_interval must not be negative; 0 means that any interval is allowed");
}

SimulateOptions with_nominal_values(SimulateOptions options, std::span<const VariableInfo> variables) {
  const auto unusual = [](const VariableInfo& v) { return v.nominal != 1.0; };
  if (!options.atol_each.empty() || std::none_of(variables.begin(), variables.end(), unusual)) return options;
  for (const VariableInfo& v : variables) options.atol_each.push_back(options.atol * std::abs(v.nominal));
  return options;
}

}  // namespace saltus
