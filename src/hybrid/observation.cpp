// Values of a run that the user sees, and whether they satisfy the equations.
#include "hybrid/simulator_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "base/finite.hpp"
#include "hybrid/large_modes.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

[[gnu::hot]] void Simulator::Impl::Observation::observe(std::vector<double>& values) const {
  resize(values, run.observed);
  run.hybrid->observe(run.mode, run.t, run.x, run.xp, values);
}

void Simulator::Impl::Observation::refine() {
  // (a run that ends while a mode is being entered has the values of another one)
  if (!run.system || run.system->structure().explicit_ode ||
      run.x.size() != static_cast<std::size_t>(run.system->structure().variables))
    return;
  if (run.stepper) run.stepper->forget_dense();
  run.instant.consistency().refine(*run.system, run.t, run.x, run.xp);
}

std::vector<double> Simulator::Impl::Observation::observe_refined() {
  std::vector<double> values(run.observed), state = run.x, slope = run.xp;
  if (run.system && state.size() == static_cast<std::size_t>(run.system->structure().variables))
    run.instant.consistency().refine(*run.system, run.t, state, slope);
  run.hybrid->observe(run.mode, run.t, state, slope, values);
  return values;
}

bool Simulator::Impl::Observation::equations_hold(double when, double length) {
  resize(run.x_then, run.x.size());
  resize(run.xp_then, run.x.size());
  if (when == run.t) {
    copy(run.x, run.x_then);
    copy(run.xp, run.xp_then);
  } else {
    run.approach.state_at(when, run.x_then, run.xp_then);
  }
  if (!run.system->structure().explicit_ode)
    run.instant.consistency().refine(*run.system, when, run.x_then, run.xp_then);
  resize(run.values_after, run.observed);
  run.hybrid->observe(run.mode, when, run.x_then, run.xp_then, run.values_after);
  if (!run.system->structure().explicit_ode && when != run.t &&
      run.x.size() <= static_cast<std::size_t>(very_large_mode))
    length = std::min(length, compare_slopes(when, length));
  Failure failure = run.equations.check(*run.hybrid, run.mode, when, run.values_after, run.x_then, run.xp_then, length);
  give_back(run.x.size(), run.x_then, run.xp_then, run.values_after);
  if (!failure) return true;
  run.ending.end(std::move(failure));
  return false;
}

bool Simulator::Impl::Observation::relations_hold(double length) {
  copy(run.x, run.x_then);
  copy(run.xp, run.xp_then);
  if (!run.system->structure().explicit_ode)
    run.instant.consistency().refine(*run.system, run.t, run.x_then, run.xp_then);
  resize(run.values_after, run.observed);
  run.hybrid->observe(run.mode, run.t, run.x_then, run.xp_then, run.values_after);
  Failure failure =
      run.equations.check_relations(*run.hybrid, run.mode, run.t, run.values_after, run.x_then, run.xp_then, length);
  give_back(run.x.size(), run.x_then, run.xp_then, run.values_after);
  if (!failure) return true;
  run.ending.end(std::move(failure));
  return false;
}

bool Simulator::Impl::Observation::relations_held(double length) {
  if (run.slope_before.size() < run.hybrid->variables().size() || run.slope_before.size() != run.state_before.size())
    return true;
  Failure failure = run.equations.check_relations(*run.hybrid, *run.mode_left, run.t, run.values_before,
                                                  run.state_before, run.slope_before, length);
  if (!failure) return true;
  run.ending.end(std::move(failure));
  return false;
}

// The values of derived variables follow from the derivatives that were found with x, so that an equation between
// both holds whatever these are. Differences of the solution are the independent evaluation: of order 4, over a part of
// the step that is long enough for the accuracy of the values, and only where both sides of the point agree.
double Simulator::Impl::Observation::compare_slopes(double when, double length) {
  constexpr double part = 1e-3, resolution = 1e6;
  const double begin = run.t - run.direction * length;
  const double room = std::min(std::abs(when - begin), std::abs(run.t - when));
  const double h = std::min(part * length, 0.5 * room);
  if (!(h > resolution * eps * std::abs(when))) return length;
  constexpr std::array places = {-2.0, -1.0, 1.0, 2.0};
  auto& at = around_;
  std::vector<double>& slopes = at.back();
  slopes.resize(run.x.size());
  for (std::size_t k = 0; k < places.size(); ++k) {
    at[k].resize(run.x.size());
    run.approach.state_at(when + places[k] * h, at[k], slopes);
    run.instant.consistency().refine(*run.system, when + places[k] * h, at[k], slopes);
  }
  bool compared = false;
  for (std::size_t j = 0; j < run.x.size(); ++j) {
    const double before = (3.0 * run.x_then[j] - 4.0 * at[1][j] + at[0][j]) / (2.0 * h),
                 after = (4.0 * at[2][j] - 3.0 * run.x_then[j] - at[3][j]) / (2.0 * h),
                 slope = (8.0 * (at[2][j] - at[1][j]) - (at[3][j] - at[0][j])) / (12.0 * h);
    if (!(std::abs(after - before) <= 0.5 * std::abs(slope - run.xp_then[j]))) continue;
    run.xp_then[j] = slope;
    compared = true;
  }
  return compared ? h : length;
}

bool Simulator::Impl::Observation::derived_are_finite(double when) {
  run.x_then.resize(run.x.size());
  run.xp_then.resize(run.x.size());
  run.approach.state_at(when, run.x_then, run.xp_then);
  return finite_at(when, run.x_then, run.xp_then);
}

bool Simulator::Impl::Observation::derived_are_finite_now() {
  if (finite_at(run.t, run.x, run.xp)) return true;
  run.ending.end_where_derived_are_finite(run.t);
  return false;
}

bool Simulator::Impl::Observation::finite_at(double when, std::span<const double> state,
                                             std::span<const double> slope) {
  run.values_after.resize(run.hybrid->observed().size());
  run.hybrid->observe(run.mode, when, state, slope, run.values_after);
  for (std::size_t k = 0; k < run.values_after.size(); ++k)
    if (!std::isfinite(run.values_after[k])) {
      run.not_finite_at = static_cast<int>(k);
      return false;
    }
  return true;
}

}  // namespace saltus
