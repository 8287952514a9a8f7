#include "sens/start_choice.hpp"

#include <fmt/format.h>
#include <saltus/dae/initialisation.hpp>

#include <algorithm>
#include <cmath>

namespace saltus {

StartChoice choose_start(const CompiledModel& model, RecordedSystem& system, double t, std::span<const double> x,
                         std::span<const Direction> directions, bool unchanged) {
  InitialisationOptions options;
  const std::vector<VariableInfo>& variables = model.variables();
  for (std::size_t j = 0; j < variables.size(); ++j)
    if (variables[j].fixed) options.fixed.push_back(static_cast<int>(j));
  const Initialisation found = initialise(system, t, x, options);
  if (!found.ok()) return {.why = "the values of the mode cannot be made consistent again: " + found.message};
  const auto held = [&](std::size_t j) {
    return std::ranges::find(found.held, static_cast<int>(j)) != found.held.end();
  };
  const std::size_t freedom = initialise(system, t, found.x).held.size();
  if (found.held.size() < freedom)
    return {.why = fmt::format("the start has {} degrees of freedom, and only {} start values are fixed", freedom,
                               found.held.size())};
  for (std::size_t j = 0; j < variables.size(); ++j) {
    const double size = std::max(std::abs(variables[j].start), variables[j].nominal);
    if (held(j) && unchanged && !(std::abs(x[j] - variables[j].start) <= 1e-6 * size))
      return {.why = fmt::format("the start value of '{}' was changed to find a start: it is no longer known which "
                                 "start values it depends on; fix as many as there are degrees of freedom, {}",
                                 variables[j].name, freedom)};
  }
  for (const Direction& d : directions)
    if (d.variable >= 0 && !held(static_cast<std::size_t>(d.variable)))
      throw UsageError(fmt::format("'{}' is a guess: the equations determine '{}', and the run does not depend on it",
                                   d.info.name, variables[static_cast<std::size_t>(d.variable)].name));
  return {.x = found.x, .xp = found.xp, .held = found.held};
}

}  // namespace saltus
