// Which guards are watched in the present mode of a run.
#include "hybrid/simulator_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/finite.hpp"
#include "hybrid/large_modes.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

void Simulator::Impl::GuardWatching::set_watch() {
  resize(run.watch, static_cast<std::size_t>(run.system->structure().guards));
  if (!run.watch.empty()) run.instant.look(run.t);
  const GuardSides& sides = run.instant.sides();
  run.watching = false;
  bool any_rests = false;  // guards that vanish with all derivatives that were looked at
  const auto begin_watch = [&](int guard, int side) {
    GuardWatch& w = run.watch[static_cast<std::size_t>(guard)];
    w.side = static_cast<signed char>(side);
    w.known_root = static_cast<unsigned char>(sides.multiplicity(guard));
    // zero is where the guard begins: what an event before it was moved here could not tell says nothing about its way
    w.noise = w.known_root > 0 ? std::min(sides.noise(guard), 4.0 * std::abs(sides.value(guard))) : 0.0;
    run.watching = run.watching || side != 0;
  };
  std::fill(run.watch.begin(), run.watch.end(), GuardWatch{});
  run.hybrid->positions(run.mode, run.positions);
  for (int k = 0; k < std::min(run.instant.family_guards, static_cast<int>(run.watch.size())); ++k) {
    if (run.has_time_guards && run.hybrid->guards()[static_cast<std::size_t>(k)].time_only) continue;
    const int side = side_of(run.positions[static_cast<std::size_t>(k)]);
    begin_watch(k, side);
    any_rests = any_rests || (side != 0 && sides.side(k) == 0);
  }
  if (run.mode.on_surfaces()) run.hybrid->exit_guards(run.mode, run.exits);
  for (std::size_t k = 0; k < run.mode.sliding.size(); ++k)
    for (const int above : {0, 1}) begin_watch(run.exits[k] + above, +1);
  for (std::size_t k = 0; k < run.mode.contacts.size(); ++k) {
    const int force = run.exits[run.mode.sliding.size() + k];
    begin_watch(force, +1);
    any_rests = any_rests || sides.side(force) == 0;
  }
  run.bands.clear();
  if (any_rests || !run.instant.doubt().slope_error.empty()) find_bands(any_rests);
  end_doubts();
  plan_time_events();
}

void Simulator::Impl::GuardWatching::take_watch(std::span<const GuardWatch> family) {
  resize(run.watch, static_cast<std::size_t>(run.system->structure().guards));
  std::fill(std::ranges::copy(family, run.watch.begin()).out, run.watch.end(), GuardWatch{});
  if (run.mode.on_surfaces()) run.hybrid->exit_guards(run.mode, run.exits);
  for (std::size_t k = 0; k < run.mode.sliding.size(); ++k)
    for (const int above : {0, 1}) run.watch[static_cast<std::size_t>(run.exits[k] + above)].side = +1;
  for (std::size_t k = 0; k < run.mode.contacts.size(); ++k)
    run.watch[static_cast<std::size_t>(run.exits[run.mode.sliding.size() + k])].side = +1;
  run.watching = std::ranges::any_of(run.watch, [](const GuardWatch& w) { return w.side != 0; });
  run.bands.clear();
  end_doubts();
  plan_time_events();
}

void Simulator::Impl::GuardWatching::end_doubts() {
  std::ranges::fill(run.instant.doubt().noise, 0.0);
  run.instant.doubt().slope_error.clear();
  run.instant.doubt().alternative_state.clear();
}

void Simulator::Impl::GuardWatching::plan_time_events() {
  if (!run.has_time_guards) return;
  run.inputs.plan(run.mode);
  run.time_guards.clear();
  run.next_time = run.hybrid->next_time_event(run.mode, run.t, run.direction, run.time_guards);
  // a time that agrees with the end within rounding errors (3 * 0.1 and 0.3) is the end
  if (run.t != run.options.stop && std::abs(run.next_time - run.options.stop) <= 4.0 * eps * std::abs(run.options.stop))
    run.next_time = run.options.stop;
}

/// Forces of contacts may vanish as guards do, weights may not.
bool Simulator::Impl::GuardWatching::may_rest(int guard) const {
  return guard < run.instant.family_guards ||
         std::find(run.exits.begin() + static_cast<std::ptrdiff_t>(run.mode.sliding.size()), run.exits.end(), guard) !=
             run.exits.end();
}

void Simulator::Impl::GuardWatching::find_bands(bool resting) {
  constexpr double errors_of_many_steps = 1e3, error_of_one = 1.0;  // in tolerances
  resting = resting && run.system->structure().taylor;  // otherwise only the first derivative has been looked at
  const std::vector<double>& denied = run.instant.doubt().slope_error;
  if (!resting && denied.empty()) return;
  const std::vector<double> tolerance =
      GuardSides::uncertainty(*run.system, run.t, run.x, run.xp, run.relative_tolerances(), run.absolute_tolerances());
  run.bands.assign(run.watch.size(), {});
  for (std::size_t k = 0; k < run.bands.size(); ++k) {
    if (run.watch[k].side == 0 || !may_rest(static_cast<int>(k))) continue;
    if (resting && run.instant.sides().side(static_cast<int>(k)) == 0)
      run.bands[k] = {std::max(run.watch[k].noise, errors_of_many_steps * tolerance[k])};
    else if (k < denied.size() && denied[k] != 0.0)
      run.bands[k] = {std::max(run.watch[k].noise, error_of_one * tolerance[k]), true};
    if (run.bands[k].width > 0.0) run.watch[k].noise = run.bands[k].width;
    if (run.bands[k].until_left) run.watch[k].known_root = 0;
  }
}

void Simulator::Impl::GuardWatching::arm_guards(double begin) {
  const auto family = static_cast<std::size_t>(run.instant.family_guards);
  const auto at_zero = [&](std::size_t k) {
    return k < family && run.watch[k].side != 0 && run.watch[k].known_root > 0;
  };
  bool any = false;
  for (std::size_t k = 0; k < run.watch.size(); ++k) any = any || at_zero(k);
  if (any) {
    resize(run.g_then, run.watch.size());
    run.system->guards(run.t, run.x, run.xp, run.g_then);
    any = false;
    for (std::size_t k = 0; k < run.watch.size(); ++k)
      any = any || (at_zero(k) && run.watch[k].side * run.g_then[k] <= 0.0);
  }
  if (any) run.approach.find_slopes();
  const bool no_time = std::abs(run.t - begin) <= run.unresolved_interval();
  for (std::size_t k = 0; k < run.watch.size(); ++k) {
    GuardWatch& w = run.watch[k];
    const double out = any && at_zero(k) ? -w.side * run.g_then[k] : -1.0;
    if (out >= 0.0 && (no_time || (out <= w.noise && w.side * run.guard_slopes[k] * run.direction > 0.0)))
      w.noise = std::max(w.noise, out);
    else
      w.known_root = 0, w.noise = 0.0;
  }
  if (!run.bands.empty()) keep_bands();
}

void Simulator::Impl::GuardWatching::keep_bands() {
  if (std::any_of(run.bands.begin(), run.bands.end(), [](const Band& band) { return band.until_left; })) {
    run.g_then.resize(run.watch.size());
    run.system->guards(run.t, run.x, run.xp, run.g_then);
    for (std::size_t k = 0; k < run.bands.size(); ++k)
      if (run.bands[k].until_left && run.watch[k].side * run.g_then[k] > run.bands[k].width) run.bands[k] = {};
  }
  for (std::size_t k = 0; k < run.bands.size(); ++k)
    run.watch[k].noise = std::max(run.watch[k].noise, run.bands[k].width);
}

}  // namespace saltus
