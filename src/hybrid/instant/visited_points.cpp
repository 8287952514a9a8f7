#include "hybrid/instant/visited_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace saltus {

Failure VisitedPoints::describe_cycle(double t, const Mode& mode, const Transition& transition,
                                      const HybridSystem& hybrid) const {
  if (transition.fired.size() == cycle_)
    return {StatusCode::too_many_mode_changes,
            fmt::format("at t = {:.12g} discrete equations change their values in a cycle, through '{}'; write "
                        "pre() only where the value before the event is meant",
                        t, hybrid.describe(mode)),
            {}};
  std::string text = fmt::format("at t = {:.12g} clauses undo each other in a cycle:", t);
  std::vector<std::string> names;
  for (std::size_t k = transition.fired.size(); k-- > cycle_ && names.size() < 6;)
    if (std::find(names.begin(), names.end(), transition.fired[k]) == names.end())
      names.emplace_back(transition.fired[k]);
  std::reverse(names.begin(), names.end());
  for (std::size_t k = 0; k < names.size(); ++k) text.append(k > 0 ? ", '" : " '").append(names[k]).append("'");
  text +=
      "; write an if expression in the equations, along whose surface the solution can slide, or leave a band between "
      "the conditions";
  return {StatusCode::too_many_mode_changes, text, names};
}

Failure VisitedPoints::describe_repetition(double t, int most, std::string_view what, const Transition& transition) {
  const std::vector<std::string_view>& fired = transition.fired;
  const auto repeats = [&](std::size_t period) {  // three times, at the end
    for (std::size_t k = fired.size() - 2 * period; k < fired.size(); ++k)
      if (fired[k] != fired[k - period]) return false;
    return true;
  };
  std::size_t period = 1;
  while (3 * period <= fired.size() && !repeats(period)) ++period;
  const bool found = 3 * period <= fired.size();
  constexpr std::size_t many = 6;
  const std::size_t count = std::min({fired.size(), found ? period : many, many});
  std::vector<std::string> names(fired.end() - static_cast<std::ptrdiff_t>(count), fired.end());
  std::string text = fmt::format("more than {} {} at t = {:.12g}", most, what, t);
  for (std::size_t k = 0; k < names.size(); ++k)
    text += fmt::format("{}'{}'", k > 0 ? ", " : found ? ": in a cycle through " : ": the last were ", names[k]);
  text +=
      "; leave a band between the conditions that lead round, or raise max_mode_changes (--max-mode-changes) if this "
      "is "
      "meant";
  return {StatusCode::too_many_mode_changes, text, names};
}

}  // namespace saltus
