#include "hybrid/guard_sides.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace saltus {

namespace {
constexpr double eps = std::numeric_limits<double>::epsilon();
constexpr int taylor_order = 8;
constexpr int series_order = 4;           // of modes that are not explicit, whose coefficients cost more
constexpr double series_accuracy = 1e-11;  // relative, of such coefficients
constexpr double shift = 4.0 * eps;  // by how much arguments are moved to see the effect of rounding errors
}  // namespace

void GuardSides::look(System& system, Consistency& consistency, double t, std::span<const double> x, std::span<const double> xp,
                      int direction, double scale, std::span<const double> least_noise, std::span<const double> twin) {
  const auto count = static_cast<std::size_t>(system.structure().guards);
  g_.resize(count);
  side_.assign(count, 0);
  multiplicity_.assign(count, 0);
  if (count == 0) return;
  system.guards(t, x, xp, g_);
  estimate_noise(system, t, x, xp, twin);
  for (std::size_t k = 0; k < least_noise.size(); ++k) noise_[k] = std::max(noise_[k], least_noise[k]);
  bool on_surface = false;
  for (std::size_t k = 0; k < count; ++k) {
    if (std::abs(g_[k]) > noise_[k])
      side_[k] = g_[k] > 0.0 ? +1 : -1;
    else
      on_surface = true;
  }
  if (!on_surface) return;
  if (system.structure().taylor && system.structure().explicit_ode)
    use_taylor(system, t, x, direction, twin);
  else if (!use_series(system, consistency, t, x, direction))
    use_difference(system, t, x, xp, direction, scale);
}

// How much the guards move when every argument moves by a few units in the last place, in a fixed pattern of signs.
void GuardSides::estimate_noise(System& system, double t, std::span<const double> x, std::span<const double> xp,
                                std::span<const double> twin) {
  noise_.resize(g_.size());
  shifted_.resize(g_.size());
  x_.assign(x.begin(), x.end());
  xp_.assign(xp.begin(), xp.end());
  std::fill(noise_.begin(), noise_.end(), 0.0);
  for (const int pattern : {0x55555555, 0x33333333, -1}) {
    const auto sign = [pattern](std::size_t j) { return (pattern >> (j % 31)) & 1 ? 1.0 : -1.0; };
    for (std::size_t j = 0; j < x.size(); ++j) x_[j] = x[j] * (1.0 + shift * sign(j));
    for (std::size_t j = 0; j < xp.size(); ++j) xp_[j] = xp[j] * (1.0 + shift * sign(j + 1));
    system.guards(t * (1.0 + shift * sign(x.size())), x_, xp_, shifted_);
    for (std::size_t k = 0; k < g_.size(); ++k)
      if (std::isfinite(shifted_[k])) noise_[k] = std::max(noise_[k], std::abs(shifted_[k] - g_[k]));
  }
  rounding_ = noise_;
  // the time is known to some units in its last place: what the guard moves meanwhile
  const double instant = 8.0 * eps * std::abs(t);
  for (std::size_t j = 0; j < x.size(); ++j) x_[j] = x[j] + instant * xp[j];
  system.guards(t + instant, x_, xp, shifted_);
  for (std::size_t k = 0; k < g_.size(); ++k)
    if (std::isfinite(shifted_[k])) noise_[k] = std::max(noise_[k], std::abs(shifted_[k] - g_[k]));
  if (!twin.empty()) {
    system.guards(t, twin, xp, shifted_);
    for (std::size_t k = 0; k < g_.size(); ++k)
      if (std::isfinite(shifted_[k])) noise_[k] = std::max(noise_[k], std::abs(shifted_[k] - g_[k]));
  }
  for (double& noise : noise_) noise = 4.0 * noise + std::numeric_limits<double>::min();
}

void GuardSides::use_taylor(System& system, double t, std::span<const double> x, int direction,
                            std::span<const double> twin) {
  const std::size_t n = x.size(), count = g_.size();
  const auto expand = [&](double when, std::span<const double> point, std::vector<double>& series) {
    solution_.assign(n * (taylor_order + 2), 0.0);
    std::copy(point.begin(), point.end(), solution_.begin());
    system.solution_taylor(when, taylor_order + 1, solution_);
    series.resize(count * (taylor_order + 1));
    system.guards_taylor(when, taylor_order, solution_, series);
  };
  expand(t, x, series_);
  // A coefficient counts if it is larger than what rounding errors of its arguments make of it; its size compared with the
  // others says nothing: a ball that leaves the floor at 1e-9 m/s still leaves it.
  for (std::size_t j = 0; j < n; ++j) x_[j] = x[j] * (1.0 + shift * (j % 2 == 0 ? 1.0 : -1.0));
  expand(t * (1.0 + shift), x_, shifted_);
  if (!twin.empty()) expand(t, twin, twin_series_);
  choose_sides(taylor_order, t, direction, twin.empty() ? std::span<const double>() : twin_series_);
}

// The same with the coefficients of a mode that is not explicit. They come from iterations, whose accuracy decides.
bool GuardSides::use_series(System& system, Consistency& consistency, double t, std::span<const double> x, int direction) {
  if (!consistency.series(system, t, x, series_order, solution_)) return false;
  const std::size_t count = g_.size();
  series_.resize(count * (series_order + 1));
  shifted_.resize(series_.size());
  system.guards_taylor(t, series_order, solution_, series_);
  for (std::size_t j = 0; j < solution_.size(); ++j) solution_[j] *= 1.0 + series_accuracy * (j % 2 == 0 ? 1.0 : -1.0);
  system.guards_taylor(t * (1.0 + shift), series_order, solution_, shifted_);
  choose_sides(series_order, t, direction, {});
  return true;
}

/// The first coefficient of each vanishing guard that rounding errors (shifted_), the resolution of time and the twin do not explain.
void GuardSides::choose_sides(int order, double t, int direction, std::span<const double> twin_series) {
  const double instant = 8.0 * eps * std::abs(t);  // what happens within it has happened at t
  const std::size_t count = g_.size();
  for (std::size_t k = 0; k < count; ++k) {
    if (side_[k] != 0) continue;
    multiplicity_[k] = 2;
    double sign = 1.0;
    for (int i = 1; i <= order; ++i) {
      sign *= direction;
      const std::size_t place = static_cast<std::size_t>(i) * count + k;
      double noise = 4.0 * std::abs(shifted_[place] - series_[place]) + std::numeric_limits<double>::min();
      if (i < order) noise += (i + 1) * std::abs(series_[place + count]) * instant;
      if (!twin_series.empty()) noise += 4.0 * std::abs(twin_series[place] - series_[place]);
      if (!(std::abs(series_[place]) > noise)) continue;
      side_[k] = series_[place] * sign > 0.0 ? +1 : -1;
      multiplicity_[k] = i;
      break;
    }
  }
}

double GuardSides::speed(System& system, Consistency& consistency, double t, std::span<const double> x, int guard) {
  const auto guards = static_cast<std::size_t>(system.structure().guards);
  std::vector<double> X, G(2 * guards);
  if (!consistency.series(system, t, x, 1, X)) return std::numeric_limits<double>::quiet_NaN();
  system.guards_taylor(t, 1, X, G);
  return G[guards + static_cast<std::size_t>(guard)];
}

// Without Taylor coefficients: the change over a short time along the tangent. It sees first derivatives only.
void GuardSides::use_difference(System& system, double t, std::span<const double> x, std::span<const double> xp, int direction,
                                double scale) {
  const double h = direction * std::max(1e-4 * scale, 1e-8 * std::max(1.0, std::abs(t)));
  for (std::size_t j = 0; j < x.size(); ++j) x_[j] = x[j] + h * xp[j];
  system.guards(t + h, x_, xp, shifted_);
  for (std::size_t k = 0; k < g_.size(); ++k) {
    if (side_[k] != 0) continue;
    const double change = shifted_[k] - g_[k];  // of two neighbouring points: only rounding errors disturb it
    if (std::abs(change) > 8.0 * rounding_[k]) side_[k] = change > 0.0 ? +1 : -1;
    multiplicity_[k] = side_[k] != 0 ? 1 : 2;
  }
}

}  // namespace saltus
