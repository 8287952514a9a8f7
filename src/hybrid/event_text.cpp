#include <fmt/format.h>
#include <saltus/hybrid/event_text.hpp>

#include <algorithm>
#include <cmath>

namespace saltus {

namespace {

constexpr std::size_t most_in_a_line = 2;  // jumps

bool is_relation(const std::string& name) {
  return name.find_first_of("<>") != std::string::npos;
}

}  // namespace

int truth_change(const GuardInfo& guard, int direction) {
  return is_relation(guard.name) ? direction * guard.true_side : 0;
}

std::string guard_change(const std::string& name, int direction, int becomes) {
  if (name.starts_with("sample(")) return name + " is due";
  if (name.starts_with("input ")) return name + " changes";
  if (name.ends_with(" an integer")) return name;  // of a rounding: it says where to
  if (becomes != 0) return name + (becomes > 0 ? " becomes true" : " becomes false");
  if (is_relation(name)) return name + ": both sides become equal for an instant";
  return name + (direction > 0 ? " (rising)" : direction < 0 ? " (falling)" : " (touching)");
}

std::vector<std::string> jump_texts(const Event& e, const std::vector<VariableInfo>& variables, std::size_t most) {
  if (e.before.size() != variables.size() || e.after.size() != variables.size()) {
    if (e.jump > 0.0) return {fmt::format("largest jump {:.6g}", e.jump)};
    return {};
  }
  struct Jump {
    std::size_t variable;
    double share;
  };
  std::vector<Jump> jumps;
  for (std::size_t k = 0; k < variables.size(); ++k) {
    const double change = std::abs(e.after[k] - e.before[k]);
    const double size = std::max({std::abs(e.after[k]), std::abs(e.before[k]), std::abs(variables[k].nominal) * 1e-3});
    if (std::isfinite(change) && change > 1e-9 * size) jumps.push_back({k, change / size});
  }
  std::ranges::stable_sort(jumps, std::ranges::greater(), &Jump::share);
  std::vector<std::string> texts;
  for (std::size_t n = 0; n < std::min(jumps.size(), most); ++n) {
    const std::size_t k = jumps[n].variable;
    const VariableDetails& details = *variables[k].details;
    if (details.type == VariableType::boolean || details.type == VariableType::enumeration) {
      texts.push_back(fmt::format("{} changes from {} to {}", variables[k].name, value_text(details, e.before[k]),
                                  value_text(details, e.after[k])));
      continue;
    }
    const std::string& unit = details.unit;
    // what is left of zero is rounding
    const double least = 1e-9 * std::max(std::abs(e.before[k]), std::abs(e.after[k]));
    const auto shown = [&](double value) { return std::abs(value) < least ? 0.0 : value; };
    const std::string from = fmt::format("{:.6g}", shown(e.before[k])), to = fmt::format("{:.6g}", shown(e.after[k]));
    const std::string values = from == to ? fmt::format("by {:.3g} from {}", e.after[k] - e.before[k], from)
                                          : fmt::format("from {} to {}", from, to);
    texts.push_back(fmt::format("{} jumps {}{}{}", variables[k].name, values, unit.empty() ? "" : " ", unit));
  }
  if (jumps.size() > most)
    texts.push_back(
        fmt::format("{} more {}", jumps.size() - most, jumps.size() - most == 1 ? "variable jumps" : "variables jump"));
  return texts;
}

std::string event_text(const Event& e, const std::vector<VariableInfo>& variables) {
  Event without_jump = e;
  without_jump.jump = 0.0;
  without_jump.message.clear();
  std::string text = without_jump.describe();
  for (const std::string& jump : jump_texts(e, variables, most_in_a_line)) text += "; " + jump;
  return e.message.empty() ? text : text + "; " + e.message;
}

}  // namespace saltus
