#include "hybrid/failure_places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace saltus {

namespace {

/// Whether the texts of a code say what to try at the place where the failure is found.
bool advises_itself(StatusCode code) {
  switch (code) {
    case StatusCode::initialisation_failed:
    case StatusCode::too_many_steps:
    case StatusCode::too_many_mode_changes:
    case StatusCode::contradiction:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string undefined_equation(System& system, double t, int direction, std::span<const double> x,
                               std::span<const double> xp) {
  const std::size_t m = static_cast<std::size_t>(system.structure().equations);
  std::vector<double> there(x.begin(), x.end()), slope(xp.begin(), xp.end()), F(m);
  for (double& value : slope)
    if (!std::isfinite(value)) value = 0.0;  // what is asked for: the equation shows it by other terms
  // steps along the tangent, from the resolution of time on
  double h = 0.0;
  for (int k = 0; k < 60; ++k) {
    for (std::size_t j = 0; j < there.size(); ++j) there[j] = x[j] + direction * h * slope[j];
    system.residual(t + direction * h, there, slope, F);
    for (std::size_t i = 0; i < m; ++i) {
      if (std::isfinite(F[i])) continue;
      const int equation = static_cast<int>(i);
      const std::string part = system.undefined_part(equation, t + direction * h, there, slope);
      const std::size_t line = std::min(part.find('\n'), part.size());
      return (part.empty() ? ": " : fmt::format(": '{}' in ", part.substr(0, line))) + "'" +
             system.equation_name(equation) + "'" + part.substr(line);
    }
    h = h == 0.0 ? 4.0 * std::numeric_limits<double>::epsilon() * std::max(std::abs(t), 1e-3) : 2.0 * h;
  }
  return "";
}

std::string equation_with(const System& system, int variable) {
  const Structure& s = system.structure();
  if (variable < 0 || variable >= s.variables) return "";
  int equation = -1;
  if (s.explicit_ode) {
    equation = variable;
  } else {
    for (const SparsePattern* pattern : {&s.state_pattern, &s.derivative_pattern})
      if (pattern->start[variable] < pattern->start[variable + 1]) equation = pattern->row[pattern->start[variable]];
  }
  return equation < 0 ? "" : fmt::format(" in '{}'", system.equation_name(equation));
}

std::string complete_message(const Failure& failure, double t, std::span<const GuardInfo> guards) {
  const std::size_t line = std::min(failure.message.find('\n'), failure.message.size());
  std::string text = failure.message.substr(0, line);
  if (text.find("t = ") == std::string::npos && !text.starts_with("at the start"))
    text = fmt::format("at t = {:.9g} {}", t, text);
  std::vector<std::string> places;
  for (const GuardInfo& guard : guards) {
    if (!guard.where.known() || std::ranges::find(failure.culprits, guard.name) == failure.culprits.end()) continue;
    std::string place = to_string(guard.where);
    if (text.find(place) != std::string::npos || std::ranges::find(places, place) != places.end()) continue;
    places.push_back(std::move(place));
    if (places.size() == 3) break;
  }
  for (std::size_t k = 0; k < places.size(); ++k) text += (k == 0 ? " (" : ", ") + places[k];
  if (!places.empty()) text += ")";
  if (line < failure.message.size())
    text += ". " + failure.message.substr(line + 1) + (failure.message.ends_with("…") ? "" : ".");
  else if (!advises_itself(failure.code))
    if (const auto advice = explain(failure.code).advice; !advice.empty()) text += fmt::format(". {}", advice);
  return text;
}

}  // namespace saltus
