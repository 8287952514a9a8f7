#include "step/tolerances.hpp"

#include <saltus/base/error.hpp>

#include <string>

namespace saltus {

void Tolerances::set(const StepOptions& options, int n, bool spread) {
  const std::size_t given = options.atol.size();
  const bool further = given < static_cast<std::size_t>(n) && options.further_atol > 0.0;
  if (given != 1 && given != static_cast<std::size_t>(n) && !further)
    throw UsageError("StepOptions::atol has " + std::to_string(given) + " entries: give one for all variables, or " +
                     std::to_string(n) + ", one each");
  if (!(options.rtol >= 0.0) || !std::isfinite(options.rtol))
    throw UsageError("StepOptions::rtol must be a number that is not negative");
  for (const double a : options.atol)
    if (!(a >= 0.0) || (a == 0.0 && options.rtol == 0.0))
      throw UsageError("StepOptions::atol must not be negative, and not zero where rtol is zero");
  if (!(options.max_step > 0.0)) throw UsageError("StepOptions::max_step must be positive");
  if (!(options.initial_step >= 0.0))
    throw UsageError("StepOptions::initial_step must be positive, or 0 for a choice by the method");
  rtol_ = options.rtol;
  atol_.resize(spread || given > 1 ? static_cast<std::size_t>(n) : 1);
  // a variable that is exactly zero must not divide by zero when its atol is zero
  for (std::size_t j = 0; j < atol_.size(); ++j)
    atol_[j] = std::max(given == 1 ? options.atol[0] : j < given ? options.atol[j] : options.further_atol, 1e-290);
}

void Tolerances::rescale(double factor, double power) {
  const double rtol = rtol_ > 0.0 ? factor * std::pow(rtol_, power) : 0.0;
  for (double& atol : atol_) atol = rtol_ > 0.0 ? atol * (rtol / rtol_) : factor * std::pow(atol, power);
  rtol_ = rtol;
}

}  // namespace saltus
