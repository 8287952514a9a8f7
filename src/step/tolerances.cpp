#include "step/tolerances.hpp"

#include <saltus/base/error.hpp>

#include <string>

namespace saltus {

double StepOptions::tightest_rtol() const {
  return rtol_each.empty() ? rtol : *std::min_element(rtol_each.begin(), rtol_each.end());
}

void Tolerances::set(const StepOptions& options, int n, bool spread) {
  const std::size_t given = options.atol.size();
  const bool further = given < static_cast<std::size_t>(n) && options.further_atol > 0.0;
  if (given != 1 && given != static_cast<std::size_t>(n) && !further)
    throw UsageError("StepOptions::atol has " + std::to_string(given) + " entries: give one for all variables, or " +
                     std::to_string(n) + ", one each");
  if (!(options.rtol >= 0.0) || !std::isfinite(options.rtol))
    throw UsageError("StepOptions::rtol must be a number that is not negative");
  for (const double r : options.rtol_each)
    if (!(r > 0.0) || !std::isfinite(r)) throw UsageError("StepOptions::rtol_each must have positive numbers");
  if (options.rtol_each.size() > static_cast<std::size_t>(n) || (!options.rtol_each.empty() && options.rtol == 0.0))
    throw UsageError("StepOptions::rtol_each has more entries than there are variables, or rtol is zero");
  for (const double a : options.atol)
    if (!(a >= 0.0) || (a == 0.0 && options.rtol == 0.0))
      throw UsageError("StepOptions::atol must not be negative, and not zero where rtol is zero");
  if (!(options.max_step > 0.0)) throw UsageError("StepOptions::max_step must be positive");
  if (!(options.initial_step >= 0.0))
    throw UsageError("StepOptions::initial_step must be positive, or 0 for a choice by the method");
  rtol_ = options.rtol;
  rtol_each_ = options.rtol_each;
  if (!rtol_each_.empty()) {
    rtol_each_.resize(static_cast<std::size_t>(n), options.rtol);
    rtol_ = *std::min_element(rtol_each_.begin(), rtol_each_.end());
  }
  atol_.resize(spread || given > 1 || !rtol_each_.empty() ? static_cast<std::size_t>(n) : 1);
  // a variable that is exactly zero must not divide by zero when its atol is zero
  for (std::size_t j = 0; j < atol_.size(); ++j)
    atol_[j] = std::max(given == 1 ? options.atol[0] : j < given ? options.atol[j] : options.further_atol, 1e-290);
}

void Tolerances::rescale(double factor, double power) {
  const auto rescaled = [&](double tolerance) { return factor * std::pow(tolerance, power); };
  for (std::size_t j = 0; j < atol_.size(); ++j)
    atol_[j] = rtol_ > 0.0 ? atol_[j] * (rescaled(rtol(j)) / rtol(j)) : rescaled(atol_[j]);
  for (double& rtol : rtol_each_) rtol = rescaled(rtol);
  rtol_ = rtol_ > 0.0 ? rescaled(rtol_) : 0.0;
}

}  // namespace saltus
