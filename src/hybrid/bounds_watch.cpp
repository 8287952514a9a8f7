#include "hybrid/bounds_watch.hpp"

#include <fmt/format.h>

#include <cmath>

namespace saltus {

namespace {
constexpr double slack = 10.0;  // tolerances: errors of values that stay on a bound
constexpr std::size_t most_shown = 3;
}  // namespace

BoundsWatch::BoundsWatch(std::span<const VariableInfo> variables, double rtol, double atol) : rtol_(rtol), atol_(atol) {
  for (std::size_t k = 0; k < variables.size(); ++k)
    if (std::isfinite(variables[k].details->min) || std::isfinite(variables[k].details->max))
      bounded_.push_back(static_cast<int>(k));
}

void BoundsWatch::check(std::span<const VariableInfo> variables, double t, std::span<const double> values) {
  std::erase_if(bounded_, [&](int k) {
    const VariableDetails& details = *variables[static_cast<std::size_t>(k)].details;
    const double value = values[static_cast<std::size_t>(k)];
    const auto margin = [&](double bound) {
      return slack * (atol_ * variables[static_cast<std::size_t>(k)].nominal + rtol_ * std::abs(bound));
    };
    const bool low = value<details.min - margin(details.min), high = value> details.max + margin(details.max);
    if (!low && !high) return false;
    found_.push_back(fmt::format("{} = {:.6g} is {} = {:.6g} at t = {:.6g}{}",
                                 variables[static_cast<std::size_t>(k)].name, value,
                                 low ? "below its min" : "above its max", low ? details.min : details.max, t,
                                 details.where.known() ? " (" + to_string(details.where) + ")" : ""));
    return true;
  });
}

std::string BoundsWatch::describe() const {
  std::string text;
  for (std::size_t k = 0; k < found_.size() && k < most_shown; ++k) text += (k == 0 ? "" : "; ") + found_[k];
  if (found_.size() > most_shown)
    text += fmt::format("; {} more variables leave their bounds", found_.size() - most_shown);
  return text;
}

}  // namespace saltus
