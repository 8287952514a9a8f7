#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/dae/hybrid_system.hpp>

#include <algorithm>
#include <string>

namespace saltus {

std::string_view to_string(VariableType type) {
  switch (type) {
    case VariableType::real: return "Real";
    case VariableType::integer: return "Integer";
    case VariableType::boolean: return "Boolean";
    case VariableType::enumeration: return "enumeration";
  }
  return "";
}

std::string_view to_string(Causality causality) {
  switch (causality) {
    case Causality::local: return "local";
    case Causality::input: return "input";
    case Causality::output: return "output";
  }
  return "";
}

std::string value_text(const VariableDetails& variable, double value, int digits) {
  if (variable.type == VariableType::boolean && (value == 0.0 || value == 1.0)) return value != 0.0 ? "true" : "false";
  if (variable.type == VariableType::enumeration)
    for (std::size_t k = 0; k < variable.literals.size(); ++k)
      if (value == static_cast<double>(k + 1)) return variable.literals[k];
  return fmt::format("{:.{}g}", value, digits);
}

namespace {
constexpr std::pair<SurfaceRule, std::string_view> names_of_rules[] = {{SurfaceRule::filippov, "filippov"},
                                                                       {SurfaceRule::stay, "stay"},
                                                                       {SurfaceRule::crossing, "crossing"},
                                                                       {SurfaceRule::stop, "stop"}};
}  // namespace

std::string_view name_of(SurfaceRule rule) {
  for (const auto& [known, name] : names_of_rules)
    if (known == rule) return name;
  return "";
}

std::optional<SurfaceRule> surface_rule(std::string_view name) {
  for (const auto& [rule, known] : names_of_rules)
    if (known == name) return rule;
  return std::nullopt;
}

void HybridSystem::positions(const Mode& mode, std::vector<Position>& positions) const {
  positions.resize(guards().size());
  for (std::size_t k = 0; k < positions.size(); ++k)
    positions[k] = static_cast<Position>(side(mode, static_cast<int>(k)));
  for (const int k : mode.sliding) positions[static_cast<std::size_t>(k)] = Position::sliding;
  for (const int k : mode.contacts) positions[static_cast<std::size_t>(k)] = Position::contact;
}

bool HybridSystem::follow(Mode& mode, int guard, double /*value*/, int to_side) const {
  if (to_side == 0)
    rest(mode, guard);
  else
    set_side(mode, guard, to_side);
  return true;
}

void HybridSystem::begin_contact(Mode& mode, int guard, int from) const {
  const auto place = std::lower_bound(mode.contacts.begin(), mode.contacts.end(), guard);
  if (place != mode.contacts.end() && *place == guard) throw UsageError("begin_contact: guard " + std::to_string(guard) + " is in contact already");
  mode.contact_sides.insert(mode.contact_sides.begin() + (place - mode.contacts.begin()), from);
  mode.contacts.insert(place, guard);
  rest(mode, guard);
}

void HybridSystem::end_contact(Mode& mode, int guard) const {
  const auto place = std::lower_bound(mode.contacts.begin(), mode.contacts.end(), guard);
  if (place == mode.contacts.end() || *place != guard) throw UsageError("end_contact: guard " + std::to_string(guard) + " is not in contact");
  const auto from = mode.contact_sides.begin() + (place - mode.contacts.begin());
  const int to_side = *from;
  mode.contact_sides.erase(from);
  mode.contacts.erase(place);
  set_side(mode, guard, to_side);
}

void HybridSystem::identify(const Mode& mode, std::vector<double>& key) const {
  const auto add = [&key](const auto& values) {
    key.push_back(static_cast<double>(values.size()));
    key.insert(key.end(), values.begin(), values.end());
  };
  key.push_back(mode.automaton);
  for (const auto* values : {&mode.discrete, &mode.locks, &mode.conditions}) add(*values);
  for (const auto* surfaces : {&mode.sliding, &mode.contacts, &mode.contact_sides}) add(*surfaces);
}

const std::vector<InputInfo>& HybridSystem::inputs() const {
  static const std::vector<InputInfo> none;
  return none;
}

void HybridSystem::exit_guards(const Mode& mode, std::vector<int>& numbers) const {
  numbers.clear();
  int next = static_cast<int>(guards().size());
  for (std::size_t k = 0; k < mode.sliding.size(); ++k, next += 2) numbers.push_back(next);
  for (std::size_t k = 0; k < mode.contacts.size(); ++k, ++next) numbers.push_back(next);
}

bool HybridSystem::can_stay_on_surfaces(const Mode&) { return false; }

void HybridSystem::observe(const Mode&, double, std::span<const double> x, std::span<const double>, std::span<double> values) {
  std::copy(x.begin(), x.end(), values.begin());
}

}  // namespace saltus
