#include "io/event_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace saltus {

namespace {

constexpr std::size_t most_jumps = 4;  // that are listed

std::string guard_line(const Event& e, std::size_t k) {
  const std::string& name = e.guards[k];
  const bool relation = name.find_first_of("<>=") != std::string::npos;
  const int direction = k < e.direction.size() ? e.direction[k] : 0;
  std::string text = name;
  if (direction == 0)
    text += relation ? ": both sides become equal for an instant" : " touches zero";
  else if (name.starts_with("sample("))
    return text + " is due";
  else if (name.starts_with("input "))
    return text + " changes";
  else if (relation)
    text += direction > 0 ? " becomes true" : " becomes false";
  else
    text += direction > 0 ? " rises through its limit" : " falls through its limit";
  const bool slopes = k < e.slope_before.size() && k < e.slope_after.size() && std::isfinite(e.slope_before[k]) &&
                      std::isfinite(e.slope_after[k]);
  if (slopes) {
    // what is left of a slope that vanishes on the surface is rounding
    const double scale = 1e-9 * std::max({1.0, std::abs(e.slope_before[k]), std::abs(e.slope_after[k])});
    const auto shown = [&](double slope) { return std::abs(slope) < scale ? 0.0 : slope; };
    const double before = shown(e.slope_before[k]), after = shown(e.slope_after[k]);
    if (before == after)
      text += fmt::format(" (slope {:.4g})", before);
    else
      text += fmt::format(" (slope {:.4g} → {:.4g})", before, after);
  }
  return text;
}

/// The variables that jumped, the largest changes in proportion to their size first.
void add_jump_lines(const Event& e, const std::vector<VariableInfo>& variables, std::vector<std::string>& lines) {
  if (e.before.size() != variables.size() || e.after.size() != variables.size()) {
    if (e.jump > 0.0) lines.push_back(fmt::format("largest jump {:.6g}", e.jump));
    return;
  }
  struct Jump {
    std::size_t variable;
    double share;
  };
  std::vector<Jump> jumps;
  for (std::size_t k = 0; k < variables.size(); ++k) {
    const double change = std::abs(e.after[k] - e.before[k]);
    const double size = std::max({std::abs(e.after[k]), std::abs(e.before[k]), std::abs(variables[k].nominal) * 1e-6});
    if (std::isfinite(change) && change > 1e-9 * size) jumps.push_back({k, change / size});
  }
  std::ranges::stable_sort(jumps, std::ranges::greater(), &Jump::share);
  for (std::size_t n = 0; n < std::min(jumps.size(), most_jumps); ++n) {
    const std::size_t k = jumps[n].variable;
    const VariableDetails& details = *variables[k].details;
    if (details.type == VariableType::boolean || details.type == VariableType::enumeration) {
      lines.push_back(fmt::format("{} changes from {} to {}", variables[k].name, value_text(details, e.before[k]),
                                  value_text(details, e.after[k])));
      continue;
    }
    const std::string& unit = details.unit;
    // what is left of zero is rounding
    const double least = 1e-9 * std::max(std::abs(e.before[k]), std::abs(e.after[k]));
    const auto shown = [&](double value) { return std::abs(value) < least ? 0.0 : value; };
    lines.push_back(fmt::format("{} jumps from {:.6g} to {:.6g}{}{}", variables[k].name, shown(e.before[k]),
                                shown(e.after[k]), unit.empty() ? "" : " ", unit));
  }
  if (jumps.size() > most_jumps)
    lines.push_back(fmt::format("{} more {}", jumps.size() - most_jumps,
                                jumps.size() - most_jumps == 1 ? "variable jumps" : "variables jump"));
  if (!jumps.empty() && e.cause == JumpCause::consistency && e.actions.empty())
    lines.push_back("the new mode's equations ask for the jump");
}

}  // namespace

std::string_view title_of(EventKind kind) {
  switch (kind) {
    case EventKind::initial:
      return "start of the run";
    case EventKind::crossing:
      return "a condition changes";
    case EventKind::reset:
      return "values are reset";
    case EventKind::transition:
      return "changes to another mode";
    case EventKind::slide_enter:
      return "begins to slide";
    case EventKind::slide_exit:
      return "stops sliding";
    case EventKind::contact:
      return "comes to rest in contact";
    case EventKind::release:
      return "the contact opens";
    case EventKind::time:
      return "an instant known in advance";
    case EventKind::record:
      return "recorded on request";
    case EventKind::touch:
      return "touches a surface without crossing";
    case EventKind::terminal:
      return "the model ends the run";
  }
  return "event";
}

std::vector<std::string> explain(const Event& e, const std::vector<VariableInfo>& variables) {
  std::vector<std::string> lines;
  for (std::size_t k = 0; k < e.guards.size(); ++k) lines.push_back(guard_line(e, k));
  for (const std::string& action : e.actions) lines.push_back("acts: " + action);
  for (std::size_t k = 0; k < e.surfaces.size(); ++k)
    lines.push_back(fmt::format("slides on {}", e.surfaces[k]) +
                    (k < e.weights.size() ? fmt::format(" (weight of the positive side {:.4g})", e.weights[k]) : ""));
  for (const std::string& contact : e.contacts) lines.push_back("in contact with " + contact);
  add_jump_lines(e, variables, lines);
  if (!e.proved) lines.push_back("an earlier crossing is unlikely, but not excluded");
  if (!e.message.empty()) lines.push_back(e.message);
  return lines;
}

}  // namespace saltus
