#include "hybrid/guard_errors.hpp"

#include <algorithm>
#include <cmath>

namespace saltus {

GuardErrors::GuardErrors(std::span<const GuardInfo> guards, double rtol, double atol) : rtol_(rtol), atol_(atol) {
  for (std::size_t k = 0; k < guards.size(); ++k)
    if (guards[k].nominal > 0.0) controlled_.push_back({k, guards[k].nominal});
}

bool GuardErrors::accept(System& system, std::span<const GuardWatch> watch, const Stepper& stepper, double t,
                         std::span<const double> x, std::span<const double> xp, std::span<const double> rtol,
                         std::span<const double> atol) {
  // as step-size control is usual: a little below what the estimate allows, and no great changes
  constexpr double safety = 0.9, most_growth = 5.0, least = 0.1;
  const double error = ratio(system, watch, stepper, t, x, xp, rtol, atol), length = std::abs(stepper.t() - t);
  const double factor = error > 0.0 ? safety * std::pow(error, -1.0 / stepper.order()) : most_growth;
  if (error > 1.0) {
    longest_ = length * std::max(factor, least);
    return false;
  }
  const bool was_longest = !(length < longest_);
  const double next = factor < most_growth ? length * factor : std::numeric_limits<double>::infinity();
  longest_ = was_longest || !std::isfinite(longest_) ? next : std::max(next, longest_);
  return true;
}

double GuardErrors::ratio(System& system, std::span<const GuardWatch> watch, const Stepper& stepper, double t,
                          std::span<const double> x, std::span<const double> xp, std::span<const double> rtol,
                          std::span<const double> atol) {
  const Structure& s = system.structure();
  for (std::vector<double>* list : {&begin_, &end_, &shifted_}) list->resize(static_cast<std::size_t>(s.guards));
  error_.assign(static_cast<std::size_t>(s.guards), 0.0);
  system.guards(t, x, xp, begin_);
  const std::span<const double> x_end = stepper.x(), xp_end = stepper.xp();
  system.guards(stepper.t(), x_end, xp_end, end_);
  beside_.assign(x_end.begin(), x_end.end());
  const auto of = [](std::span<const double> list, std::size_t j) { return list[std::min(j, list.size() - 1)]; };
  const auto add = [&](std::size_t j) {
    beside_[j] += stepper.error() * (of(rtol, j) * std::abs(x_end[j]) + of(atol, j));
    system.guards(stepper.t(), beside_, xp_end, shifted_);
    beside_[j] = x_end[j];
    for (const Controlled& c : controlled_) error_[c.guard] += std::abs(shifted_[c.guard] - end_[c.guard]);
  };
  for (const int j : s.guard_variables) add(static_cast<std::size_t>(j));
  for (std::size_t j = 0; s.guard_variables.empty() && j < x_end.size(); ++j) add(j);
  double worst = 0.0;
  for (const Controlled& c : controlled_) {
    if (c.guard >= watch.size() || watch[c.guard].side == 0) continue;
    const bool crosses = (begin_[c.guard] > 0.0) != (end_[c.guard] > 0.0);
    const double size = crosses ? 0.0 : std::min(std::abs(begin_[c.guard]), std::abs(end_[c.guard]));
    const double allowed = rtol_ * size + atol_ * c.nominal;
    worst = std::max(worst, error_[c.guard] / allowed);
  }
  return worst;
}

}  // namespace saltus
