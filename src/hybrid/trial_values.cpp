#include "hybrid/trial_values.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/finite.hpp"

namespace saltus {

namespace {
constexpr int largest = 200;                 // variables: the matrices are dense
constexpr double least_condition = 1e3 * eps;  // below, the matrix is singular as far as anybody can tell
constexpr int most_iterations = 8;
}  // namespace

bool TrialValues::too_large(const Structure& structure) { return structure.variables > largest; }

bool TrialValues::find(System& system, double t, std::span<const double> x, std::span<const double> xp) {
  const Structure& s = system.structure();
  singular_ = false;
  if (s.variables != s.equations || too_large(s)) return false;
  x_.assign(x.begin(), x.end());
  xp_.assign(x.size(), 0.0);
  for (int j = 0; j < s.variables; ++j)
    if (s.differentiated(j) && static_cast<std::size_t>(j) < xp.size() && std::isfinite(xp[static_cast<std::size_t>(j)]))
      xp_[static_cast<std::size_t>(j)] = xp[static_cast<std::size_t>(j)];
  for (int iteration = 0; iteration < most_iterations; ++iteration) {
    const double change = step(system, t);
    if (!std::isfinite(change)) return false;
    if (change > 1e-10) continue;  // of the unknowns; one more step makes it a rounding error
    if (!std::isfinite(step(system, t))) return false;
    estimate_noise(system, t);
    return true;
  }
  return false;
}

/// One step of Newton's method. Returns the largest change relative to its variable and the largest of all; infinite if it is not possible.
double TrialValues::step(System& system, double t) {
  const Structure& s = system.structure();
  const auto n = static_cast<std::size_t>(s.variables);
  F_.resize(n);
  Fx_.resize(s.state_pattern.row.size());
  Fxp_.resize(s.derivative_pattern.row.size());
  system.residual(t, x_, xp_, F_);
  system.jacobian(t, x_, xp_, Fx_, Fxp_);
  J_.assign(n * n, 0.0);
  sizes_.assign(n, 0.0);  // of the terms of each equation
  for (int j = 0; j < s.variables; ++j) {
    const auto column = static_cast<std::size_t>(j);
    const bool differentiated = s.differentiated(j);
    for (int k = s.state_pattern.start[j]; k < s.state_pattern.start[j + 1]; ++k) {
      const auto row = static_cast<std::size_t>(s.state_pattern.row[k]);
      if (!differentiated) J_[column * n + row] = Fx_[k];
      sizes_[row] += std::abs(Fx_[k] * x_[column]);
    }
    for (int k = s.derivative_pattern.start[j]; k < s.derivative_pattern.start[j + 1]; ++k) {
      const auto row = static_cast<std::size_t>(s.derivative_pattern.row[k]);
      J_[column * n + row] = Fxp_[k];
      sizes_[row] += std::abs(Fxp_[k] * xp_[column]);
    }
  }
  constexpr double impossible = std::numeric_limits<double>::infinity();
  if (!std::all_of(J_.begin(), J_.end(), [](double v) { return std::isfinite(v); })) return impossible;
  singular_ = !lu_.factorise(s.variables, J_) || lu_.reciprocal_condition() < least_condition;
  if (singular_) return impossible;
  lu_.solve(F_);
  double largest_change = 0.0, largest_value = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    double& unknown = s.differentiated(static_cast<int>(j)) ? xp_[j] : x_[j];
    unknown -= F_[j];
    if (!std::isfinite(unknown)) return impossible;
    largest_change = std::max(largest_change, std::abs(F_[j]));
    largest_value = std::max(largest_value, std::abs(unknown));
  }
  return largest_change / (largest_value + std::numeric_limits<double>::min());
}

/// Every equation is off by a few units in the last place of its terms, in two patterns of signs.
void TrialValues::estimate_noise(System& system, double t) {
  const auto guards = static_cast<std::size_t>(system.structure().guards);
  g_.resize(guards);
  shifted_.resize(guards);
  noise_.assign(guards, 0.0);
  system.guards(t, x_, xp_, g_);
  for (const int pattern : {1, 2}) {
    correction_ = sizes_;
    for (std::size_t i = 0; i < correction_.size(); ++i) correction_[i] *= (static_cast<int>(i) / pattern) % 2 == 0 ? 16.0 * eps : -16.0 * eps;
    lu_.solve(correction_);
    moved_ = x_;
    for (std::size_t j = 0; j < moved_.size(); ++j)
      if (!system.structure().differentiated(static_cast<int>(j))) moved_[j] += correction_[j];
    system.guards(t, moved_, xp_, shifted_);
    for (std::size_t k = 0; k < guards; ++k) noise_[k] = std::max(noise_[k], std::abs(shifted_[k] - g_[k]));
  }
}

}  // namespace saltus
