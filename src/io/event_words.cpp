#include "io/event_words.hpp"

#include <fmt/format.h>
#include <saltus/hybrid/event_text.hpp>

#include <algorithm>
#include <cmath>

namespace saltus {

namespace {

constexpr std::size_t most_jumps = 4;  // that are listed

std::string guard_line(const Event& e, std::size_t k) {
  std::string text =
      guard_change(e.guards[k], k < e.direction.size() ? e.direction[k] : 0, k < e.becomes.size() ? e.becomes[k] : 0);
  if (text.ends_with(" is due") || text.ends_with(" changes")) return text;  // known in advance: slopes say nothing
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
  const std::vector<std::string> jumps = jump_texts(e, variables, most_jumps);
  lines.insert(lines.end(), jumps.begin(), jumps.end());
  if (!jumps.empty() && e.cause == JumpCause::consistency && e.actions.empty())
    lines.push_back("the new mode's equations ask for the jump");
  if (!e.proved) lines.push_back("an earlier crossing is unlikely, but not excluded");
  if (!e.message.empty()) lines.push_back(e.message);
  return lines;
}

}  // namespace saltus
