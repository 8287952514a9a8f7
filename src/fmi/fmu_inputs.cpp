#include "fmi/fmu_inputs.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/base/names.hpp>

#include <algorithm>

namespace saltus {

GivenValues apply_values(FmuDescription& about, const std::vector<std::pair<std::string, double>>& values) {
  using Role = DescribedVariable::Role;
  std::vector<DescribedVariable*> settable;
  for (DescribedVariable& v : about.variables)
    if (v.has_start && v.role != Role::input) settable.push_back(&v);
  const NameTable names(settable, [](const DescribedVariable* v) -> std::string_view { return v->info.name; });
  GivenValues given;
  for (const auto& [name, value] : values) {
    const auto place = names.find_settable(name);
    if (!place) throw UsageError(fmt::format("there is no parameter or start value '{}'{}", name, names.hint(name)));
    DescribedVariable* const found = settable[*place];
    if (found->role == Role::structural_parameter)
      throw UsageError(
          fmt::format("'{}' decides sizes in the FMU: it keeps its start value {}", name, found->info.start));
    found->info.start = value;
    given.emplace_back(found, value);
  }
  return given;
}

InputInfo place_input(const DescribedVariable& input, int variable, int next) {
  InputInfo info{.variable = variable};
  info.coefficients = {next++};
  info.next_coefficients = {next++};
  if (input.continuous) {
    info.coefficients.push_back(next++);
    info.next_coefficients.push_back(next++);
    info.since = next++;
    info.next_since = next++;
  }
  info.next = next++;
  info.previous = next++;
  info.following = next;
  return info;
}

void begin_input(const InputInfo& info, double start, std::vector<double>& numbers) {
  numbers[static_cast<std::size_t>(info.coefficients[0])] = start;
  numbers[static_cast<std::size_t>(info.next)] = InputInfo::never;
  numbers[static_cast<std::size_t>(info.previous)] = -InputInfo::never;
  numbers[static_cast<std::size_t>(info.following)] = InputInfo::never;
}

double input_value(const InputInfo& info, std::span<const double> numbers, double t) {
  const auto number = [&](int place) { return numbers[static_cast<std::size_t>(place)]; };
  if (info.since < 0) return number(info.coefficients[0]);
  return number(info.coefficients[0]) + number(info.coefficients[1]) * (t - number(info.since));
}

void change_input(const InputInfo& info, std::vector<double>& numbers) {
  const auto at = [&](int place) -> double& { return numbers[static_cast<std::size_t>(place)]; };
  for (std::size_t c = 0; c < info.coefficients.size(); ++c) at(info.coefficients[c]) = at(info.next_coefficients[c]);
  if (info.since >= 0) at(info.since) = at(info.next_since);
  at(info.next) = at(info.following);
}

}  // namespace saltus
