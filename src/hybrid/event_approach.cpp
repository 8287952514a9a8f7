// The way to the point of an event, and what is not certain about it.
#include "hybrid/simulator_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/finite.hpp"
#include "hybrid/large_modes.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

namespace {
bool is_near(double when, double end, double h) {
  constexpr double near = 1e-3;  // relative to the step: the error inside it has fallen by as much
  return std::abs(when - end) <= near * std::abs(h);
}
}  // namespace

void Simulator::Impl::EventApproach::polish(double when, std::vector<double>& values,
                                            std::vector<double>& slopes_there) {
  if (run.system->structure().explicit_ode || (run.stepper->keeps_constraints() && when == run.stepper->t())) return;
  if (!run.instant.consistency().polish(*run.system, when, values, slopes_there)) state_at(when, values, slopes_there);
}

bool Simulator::Impl::EventApproach::step_to(double target) {
  run.steppers.start_stepper(std::abs(target - run.t));
  for (const double begin = run.t; run.stepper->t() != target;) {
    if (run.stepper->t() != begin) run.take_step(run.stepper->t());  // a part of the way: it stays
    const StepOutcome outcome = run.stepper->advance(target);
    if (!outcome.ok()) {
      if (!run.steppers.try_another_method(outcome) && !run.steppers.get_help()) run.ending.report_failure(outcome);
      return false;
    }
    ++run.steps_made;
  }
  return true;
}

// Newton's method at first, along the integrated solution: derivatives from stiff equations have the errors of the
// state, multiplied. Then secants, between a place on the guard's side and one beyond it.
void Simulator::Impl::EventApproach::approach_event() {
  constexpr int most_steps = 4, most_places = 12;  // further places are those of the dense output
  constexpr double overshoot = 8.0,
                   enough = 32.0;  // in units of the last place: the new side is wanted, and rounding errors count
  run.in_rest = false;
  const int guard = run.located.guards.front();
  resize(run.x_then, run.x.size());
  resize(run.xp_then, run.x.size());
  resize(run.g_then, run.watch.size());
  struct Place {
    double t, u;  // u: the guard times its side
  };
  std::optional<Place> last, inside, outside;  // of the present step
  const double first = run.located.t_after,
               looked_at = run.stepper->t();  // where other guards cannot have left, and may have been found to leave
  const double furthest = run.next_stop();
  double target = first, last_size = 0.0;
  bool found = false;
  for (int steps = 0, places = 0; places < most_places && !found; ++places) {
    const bool ahead = run.reached(target, run.stepper->t()), unknown = ahead && !run.reached(looked_at, target);
    if (places == 0 || (!near_the_end(target) && !unknown && steps < most_steps)) {
      if (!step_to(target)) return;
      ++steps;
      last = inside = outside = {};
    } else if (!near_the_end(target) && ahead) {
      break;
    }
    state_at(target, run.x_then, run.xp_then);
    polish(target, run.x_then, run.xp_then);
    run.system->guards(target, run.x_then, run.xp_then, run.g_then);
    const double u = run.watch[guard].side * run.g_then[guard],
                 unit = eps * std::max(std::abs(target), std::abs(run.t));
    (u < 0.0 ? outside : inside) = {target, u};
    double slope = last && std::abs(target - last->t) > enough * unit ? (u - last->u) / (target - last->t) : 0.0;
    if (!(slope * run.direction < 0.0)) {
      run.stepper->dense().derivative(target, run.xp_then);
      run.slopes.find(*run.system, target, run.x_then, run.xp_then, std::abs(target - run.t),
                      static_cast<int>(run.watch.size()), run.guard_slopes);
      slope = run.watch[guard].side * run.guard_slopes[guard];
    }
    const double correction = -u / slope, size = std::abs(correction);
    if (!std::isfinite(u) || !(slope * run.direction < 0.0)) break;
    found = u <= 0.0 && size <= enough * unit;  // zero over a longer time, by rounding: push_across finds its end
    if (found) break;
    double next = target + correction + run.direction * overshoot * unit;
    if (inside && outside && !(run.reached(next, inside->t) && run.reached(outside->t, next)))
      next = 0.5 * (inside->t + outside->t);
    const bool behind = !run.reached(furthest, next);
    if (behind) next = furthest;
    if (!run.reached(next, run.t) || next == run.t || next == target) break;
    // the next correction would be smaller by about the same factor: nothing that could be seen
    found = !behind && last && near_the_end(next) && size < 0.1 * last_size && size * (size / last_size) <= 4.0 * unit;
    last = {target, u};
    last_size = size;
    target = next;
  }
  if (!found && inside &&
      inside->t == furthest) {  // the crossing lies behind the end of the run, a pause or a time event
    const double end = run.stepper->t();
    return end == run.next_time ? run.event_at(end, false, true) : run.accept_step(end);
  }
  if (!found && !outside && run.reached(first, run.stepper->t()))
    return run.accept_step(run.stepper->t());  // near to a zero, but not across
  if (!found && outside) target = outside->t;
  const bool crossed = found || outside;
  if (!crossed || (!run.reached(first, target) && another_has_left(target))) {
    // what lies ahead is left to the next step
    if (run.reached(run.t, first))
      run.steppers.start_stepper(run.stepper->next_step());  // the first part of the way has been accepted already
    else if (step_to(first))
      run.accept_step(first);
    return;
  }
  run.located.t_before = run.located.t_after = target;
  run.event_at(target, true, true);
}

bool Simulator::Impl::EventApproach::another_has_left(double when) {
  state_at(when, run.x_then, run.xp_then);
  polish(when, run.x_then, run.xp_then);
  run.system->guards(when, run.x_then, run.xp_then, run.g_then);
  for (std::size_t k = 0; k < run.watch.size(); ++k)
    if (run.watch[k].known_root == 0 && run.watch[k].side * run.g_then[k] < -run.watch[k].noise &&
        !contains(run.located.guards, static_cast<int>(k)))
      return true;
  return false;
}

bool Simulator::Impl::EventApproach::near_the_end(double when) {
  return is_near(when, run.stepper->t(), run.stepper->dense().h);
}

// Near the end the change since then is added to the end itself, by Simpson's rule: rounding errors of the
// coefficients, which may be large and of different signs, do not count there.
[[gnu::hot]] void Simulator::Impl::EventApproach::state_at(double when, std::span<double> state,
                                                           std::span<double> slope) {
  const double end = run.stepper->t();
  const bool explicit_ode = run.system->structure().explicit_ode;
  if (when == end) {  // most often, and without dense output, which may cost evaluations
    std::copy(run.stepper->x().begin(), run.stepper->x().end(), state.begin());
    std::copy(run.stepper->xp().begin(), run.stepper->xp().end(), slope.begin());
    if (!explicit_ode || run.stepper->xp_is_rhs()) return;
  } else if (const DensePolynomial& dense = run.stepper->dense(); is_near(when, end, dense.h)) {
    std::copy(run.stepper->x().begin(), run.stepper->x().end(), state.begin());
    const double sixth = (when - end) / 6.0;
    for (const auto& [place, weight] : {std::pair{end, sixth}, {0.5 * (end + when), 4.0 * sixth}, {when, sixth}}) {
      dense.derivative(place, slope);
      for (std::size_t j = 0; j < state.size(); ++j) state[j] += weight * slope[j];
    }
  } else {
    dense.evaluate(when, state);
    if (!explicit_ode) dense.derivative(when, slope);
  }
  if (explicit_ode) run.system->rhs(when, state, slope);
}

[[gnu::hot]] double Simulator::Impl::EventApproach::at_least_some_units_before(double t_after, double t_before) const {
  const double width = 4.0 * eps * std::max({std::abs(t_before), std::abs(t_after), 1e-300});
  return std::abs(t_after - t_before) < width ? t_after - run.direction * width : t_before;
}

void Simulator::Impl::EventApproach::measure_bracket(double t_before, double t_after, bool by_guard, bool own_step) {
  const auto count = static_cast<std::size_t>(run.system->structure().guards);
  t_before = at_least_some_units_before(t_after, t_before);
  std::vector<double>& noise = run.instant.doubt().noise;
  resize(noise, count);
  run.jumps.clear();
  if (run.system->structure().explicit_ode && !all_linear(*run.system).empty()) {
    for (std::size_t k = 0; k < count; ++k) noise[k] = std::abs(run.guard_slopes[k] * (t_after - t_before));
  } else {
    const auto guards_at = [&](double when, std::vector<double>& g) {
      resize(run.x_then, run.x.size());
      resize(run.xp_then, run.x.size());
      resize(g, count);
      run.stepper->dense().evaluate(when, run.x_then);
      if (run.system->structure().guards_read_xp) run.stepper->dense().derivative(when, run.xp_then);
      run.system->guards(when, run.x_then, run.xp_then, g);
    };
    guards_at(t_before, run.g_then);
    guards_at(t_after, noise);
    if (by_guard && run.system->structure().explicit_ode) {
      // a guard that changes by far more than its slope explains has a cut there (an angle), not a zero: its value
      // decides
      constexpr double far_more = 1e6, small = 1e-3;
      std::vector<double> g_begin, g_end;
      for (int k = 0; k < run.instant.family_guards; ++k) {
        const double change = std::abs(noise[k] - run.g_then[k]);
        if (!(change > far_more * std::abs(run.guard_slopes[k] * (t_after - t_before)))) continue;
        if (g_begin.empty()) {
          guards_at(run.stepper->dense().t0, g_begin);
          guards_at(run.stepper->t(), g_end);
        }
        if (change > small * std::max(std::abs(g_begin[k]), std::abs(g_end[k]))) run.jumps.push_back(k);
      }
    }
    for (std::size_t k = 0; k < count; ++k) noise[k] = std::abs(noise[k] - run.g_then[k]);
    for (const int k : run.jumps) noise[k] = 0.0;
  }
  for (double& value : noise) value = std::isfinite(value) ? 4.0 * value : 0.0;
  // what is left of the guards of the event is noise: a rebound may be lower
  const bool without_cuts = run.system->structure().explicit_ode && !all_linear(*run.system).empty();
  if (by_guard && (own_step || without_cuts)) {
    resize(run.x_then, run.x.size());
    resize(run.xp_then, run.x.size());
    resize(run.g_then, count);
    state_at(t_after, run.x_then, run.xp_then);
    run.system->guards(t_after, run.x_then, run.xp_then, run.g_then);
    note_crossings();
  }
  for (std::size_t k = 0; k < count; ++k)  // others may not have left their last event yet
    if (run.watch[k].known_root > 0 && !(by_guard && contains(run.located.guards, static_cast<int>(k))))
      noise[k] = std::max(noise[k], run.watch[k].noise);
  resize(noise, run.hybrid->guards().size());  // the weights of a sliding mode end with it
  for (std::size_t k = 0; k < std::min(run.bands.size(), noise.size()); ++k)
    noise[k] = std::max(noise[k], run.bands[k].width);
}

/// A guard that is beyond zero here has crossed here, up to the errors of the run, whether it was located (or its last
/// rebound was too low for that): what is left of its value is noise.
void Simulator::Impl::EventApproach::note_crossings() {
  std::vector<double>& noise = run.instant.doubt().noise;
  std::vector<double> tolerance;
  for (int k = 0; k < std::min(run.instant.family_guards, static_cast<int>(run.watch.size())); ++k) {
    const auto place = static_cast<std::size_t>(k);
    const double size = std::abs(run.g_then[place]);
    const bool crossed = run.watch[place].side * run.g_then[place] < 0.0 || contains(run.located.guards, k);
    if (!crossed || 4.0 * size <= noise[place] || contains(run.jumps, k)) continue;
    if (tolerance.empty())
      tolerance = GuardSides::uncertainty(*run.system, run.t, run.x_then, run.xp_then, run.relative_tolerances(),
                                          run.absolute_tolerances());
    if (size <= Resolution::same_point * tolerance[place]) noise[place] = 4.0 * size;
  }
}

void Simulator::Impl::EventApproach::find_slopes() {
  run.slopes.find(*run.system, run.t, run.x, run.xp, run.time_scale(), run.instant.family_guards, run.guard_slopes);
}

void Simulator::Impl::EventApproach::correct_slopes() {
  run.instant.doubt().slope_error.clear();
  const auto crosses = [&](int k, double slope) { return run.watch[k].side * slope * run.direction < 0.0; };
  const auto denied = [&](int k) { return k < run.instant.family_guards && !crosses(k, run.guard_slopes[k]); };
  if (run.located.at_start || std::none_of(run.located.guards.begin(), run.located.guards.end(), denied)) return;
  resize(run.xp_then, run.x.size());
  run.stepper->dense().derivative(run.t, run.xp_then);
  std::vector<double> integrated;
  run.slopes.find(*run.system, run.t, run.x, run.xp_then, run.time_scale(), run.instant.family_guards, integrated);
  run.instant.doubt().slope_error.assign(run.hybrid->guards().size(), 0.0);
  for (const int k : run.located.guards) {
    if (!denied(k) || !crosses(k, integrated[k])) continue;
    run.instant.doubt().slope_error[k] = integrated[k] - run.guard_slopes[k];
    run.guard_slopes[k] = integrated[k];
  }
}

void Simulator::Impl::EventApproach::project_event_state() {
  if (!run.mode.on_surfaces()) return;
  run.instant.doubt().alternative_state = run.x;
  if (run.system->project(run.t, run.x)) {
    run.find_derivatives();
    find_slopes();
  } else {
    run.instant.doubt().alternative_state.clear();
  }
  run.instant.raise_noise_of_projection(run.t);
}

bool Simulator::Impl::EventApproach::cross_edge() {
  run.located.guards.clear();
  for (double& slope : run.xp)
    if (!std::isfinite(slope)) slope = 0.0;
  find_slopes();
  const bool taylor = run.system->structure().taylor;
  const std::vector<double> speeds =
      taylor ? GuardSides::speeds(*run.system, run.instant.consistency(), run.t, run.x) : run.guard_slopes;
  double nearest = run.unresolved_interval();
  std::vector<double> g(run.watch.size());
  run.system->guards(run.t, run.x, run.xp, g);
  const std::vector<double> tolerance =
      GuardSides::uncertainty(*run.system, run.t, run.x, run.xp, run.relative_tolerances(), run.absolute_tolerances());
  constexpr double nothing = 0.0, few_ulps = 4.0 * eps;
  const std::vector<double> rounding =
      GuardSides::uncertainty(*run.system, run.t, run.x, run.xp, std::span(&few_ulps, 1), std::span(&nothing, 1));
  for (std::size_t k = 0; k < run.watch.size(); ++k) {
    if (run.watch[k].side == 0 || run.guarding.vanishes(k)) continue;
    if (run.watch[k].side * g[k] < 0.0 &&
        std::abs(g[k]) <=
            tolerance[k]) {  // a step of an implicit method has ended beyond, where nothing can be evaluated
      if (nearest > 0.0) run.located.guards.clear();
      nearest = 0.0;
      run.located.guards.push_back(static_cast<int>(k));
      continue;
    }
    const double speed = speeds[k];
    const double left = std::abs(g[k]) <= rounding[k] ? 0.0 : -g[k] / speed * run.direction;
    if (!(run.watch[k].side * speed * run.direction < 0.0) || !(left <= nearest)) continue;
    if (left < 0.5 * nearest) run.located.guards.clear();
    nearest = left;
    run.located.guards.push_back(static_cast<int>(k));
  }
  if (run.located.guards.empty()) return false;
  run.instant.doubt().noise.assign(run.hybrid->guards().size(), 0.0);
  run.located.at_start = false;
  for (const int k : run.located.guards) run.instant.doubt().noise[k] = 4.0 * std::max(rounding[k], std::abs(g[k]));
  for (const LinearGuard& guard :
       run.system->linear_guards())  // where only rounding errors are left, to the other side
    if (contains(run.located.guards, guard.guard) && std::abs(g[guard.guard]) <= rounding[guard.guard]) {
      double square = 0.0;
      for (const double c : guard.coefficients) square += c * c;
      for (std::size_t i = 0; i < guard.variables.size(); ++i)
        run.x[guard.variables[i]] -= 2.0 * g[guard.guard] * guard.coefficients[i] / square;
    }
  push_across(run.located.guards);
  run.handle_event(true, run.t == run.next_time, run.stepper->next_step());
  return true;
}

void Simulator::Impl::EventApproach::push_across(std::span<const int> guards) {
  constexpr double units_of_dense =
      64.0;  // rounding errors of high degrees, whose weights are large: more than the end of the step has
  std::vector<double>& g = run.g_then;
  resize(g, run.watch.size());
  const auto all = [&](auto holds) {
    return std::all_of(guards.begin(), guards.end(),
                       [&](int k) { return k >= run.instant.family_guards || holds(static_cast<std::size_t>(k)); });
  };
  const bool cross = all([&](std::size_t k) { return run.watch[k].side * run.guard_slopes[k] * run.direction < 0.0; });
  const double furthest = (cross ? units_of_dense : 1.0) * run.unresolved_interval();
  for (double step = eps * std::max(std::abs(run.t), 1e-300); step <= furthest; step *= 2.0) {
    run.system->guards(run.t, run.x, run.xp, g);
    if (all([&](std::size_t k) { return !(run.watch[k].side * g[k] >= 0.0); })) {
      // what is left of them is the difference of two ways to the state here: they vanish at the event. Where the step
      // began beyond the surface, that is so if it takes no time to go there (the step before ended at the surface, at
      // a pause).
      const auto vanishes = [&](std::size_t k) {
        return !run.located.at_start ||
               (cross && std::abs(g[k]) <= std::abs(run.guard_slopes[k]) * run.unresolved_interval());
      };
      for (const int k : guards)
        if (k < run.instant.family_guards && vanishes(static_cast<std::size_t>(k)) && !contains(run.jumps, k)) {
          double& noise = run.instant.doubt().noise[static_cast<std::size_t>(k)];
          noise = std::max(noise, 4.0 * std::abs(g[static_cast<std::size_t>(k)]));
        }
      return;
    }
    run.t += run.direction * step;
    if (run.reached(run.t, run.options.stop)) run.t = run.options.stop;  // its last bits do not matter to the state
    for (std::size_t j = 0; j < run.x.size(); ++j) run.x[j] += run.direction * step * run.xp[j];
    run.result.t_end_ = run.t;
  }
}

}  // namespace saltus
