// What happens at an event: the state is moved to it, the controller settles what changes, and the event is recorded.
#include "hybrid/simulator_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "hybrid/large_modes.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

namespace {
constexpr double eps = std::numeric_limits<double>::epsilon();

bool is_near(double when, double end, double h) {
  constexpr double near = 1e-3;  // relative to the step: the error inside it has fallen by as much
  return std::abs(when - end) <= near * std::abs(h);
}
}  // namespace

void Simulator::Impl::polish(double when, std::vector<double>& values, std::vector<double>& slopes_there) {
  if (system->structure().explicit_ode || (stepper->keeps_constraints() && when == stepper->t())) return;
  if (!instant.consistency().polish(*system, when, values, slopes_there)) state_at(when, values, slopes_there);
}

bool Simulator::Impl::step_to(double target) {
  start_stepper(std::abs(target - t));
  for (const double begin = t; stepper->t() != target;) {
    if (stepper->t() != begin) take_step(stepper->t());  // a part of the way: it stays
    const StepOutcome outcome = stepper->advance(target);
    if (!outcome.ok()) {
      if (!get_help()) report_failure(outcome);
      return false;
    }
    ++steps_made;
  }
  return true;
}

// Newton's method at first, along the integrated solution: derivatives from stiff equations have the errors of the state, multiplied. Then
// secants, between a place on the guard's side and one beyond it.
void Simulator::Impl::approach_event() {
  constexpr int most_steps = 4, most_places = 12;  // further places are those of the dense output
  constexpr double overshoot = 8.0, enough = 32.0;  // in units of the last place: the new side is wanted, and rounding errors count
  in_rest = false;
  const int guard = located.guards.front();
  resize(x_then, x.size());
  resize(xp_then, x.size());
  resize(g_then, watch.size());
  struct Place {
    double t, u;  // u: the guard times its side
  };
  std::optional<Place> last, inside, outside;  // of the present step
  const double first = located.t_after, looked_at = stepper->t();  // where other guards cannot have left, and may have been found to leave
  const double furthest = next_stop();
  double target = first, last_size = 0.0;
  bool found = false;
  for (int steps = 0, places = 0; places < most_places && !found; ++places) {
    const bool ahead = reached(target, stepper->t()), unknown = ahead && !reached(looked_at, target);
    if (places == 0 || (!near_the_end(target) && !unknown && steps < most_steps)) {
      if (!step_to(target)) return;
      ++steps;
      last = inside = outside = {};
    } else if (!near_the_end(target) && ahead) {
      break;
    }
    state_at(target, x_then, xp_then);
    polish(target, x_then, xp_then);
    system->guards(target, x_then, xp_then, g_then);
    const double u = watch[guard].side * g_then[guard], unit = eps * std::max(std::abs(target), std::abs(t));
    (u < 0.0 ? outside : inside) = {target, u};
    double slope = last && std::abs(target - last->t) > enough * unit ? (u - last->u) / (target - last->t) : 0.0;
    if (!(slope * direction < 0.0)) {
      stepper->dense().derivative(target, xp_then);
      slopes.find(*system, target, x_then, xp_then, std::abs(target - t), static_cast<int>(watch.size()), guard_slopes);
      slope = watch[guard].side * guard_slopes[guard];
    }
    const double correction = -u / slope, size = std::abs(correction);
    if (!std::isfinite(u) || !(slope * direction < 0.0)) break;
    found = u <= 0.0 && size <= enough * unit;  // zero over a longer time, by rounding: push_across finds its end
    if (found) break;
    double next = target + correction + direction * overshoot * unit;
    if (inside && outside && !(reached(next, inside->t) && reached(outside->t, next))) next = 0.5 * (inside->t + outside->t);
    const bool behind = !reached(furthest, next);
    if (behind) next = furthest;
    if (!reached(next, t) || next == t || next == target) break;
    // the next correction would be smaller by about the same factor: nothing that could be seen
    found = !behind && last && near_the_end(next) && size < 0.1 * last_size && size * (size / last_size) <= 4.0 * unit;
    last = {target, u};
    last_size = size;
    target = next;
  }
  if (!found && inside && inside->t == furthest) {  // the crossing lies behind the end of the run, a pause or a time event
    const double end = stepper->t();
    return end == next_time ? event_at(end, false, true) : accept_step(end);
  }
  if (!found && !outside && reached(first, stepper->t())) return accept_step(stepper->t());  // near to a zero, but not across
  if (!found && outside) target = outside->t;
  const bool crossed = found || outside;
  if (!crossed || (!reached(first, target) && another_has_left(target))) {
    // what lies ahead is left to the next step
    if (reached(t, first))
      start_stepper(stepper->next_step());  // the first part of the way has been accepted already
    else if (step_to(first))
      accept_step(first);
    return;
  }
  located.t_before = located.t_after = target;
  event_at(target, true, true);
}

bool Simulator::Impl::another_has_left(double when) {
  state_at(when, x_then, xp_then);
  polish(when, x_then, xp_then);
  system->guards(when, x_then, xp_then, g_then);
  for (std::size_t k = 0; k < watch.size(); ++k)
    if (watch[k].known_root == 0 && watch[k].side * g_then[k] < -watch[k].noise && !contains(located.guards, static_cast<int>(k))) return true;
  return false;
}

bool Simulator::Impl::near_the_end(double when) { return is_near(when, stepper->t(), stepper->dense().h); }

// Near the end the change since then is added to the end itself, by Simpson's rule: rounding errors of the coefficients, which may be
// large and of different signs, do not count there.
[[gnu::hot]] void Simulator::Impl::state_at(double when, std::span<double> state, std::span<double> slope) {
  const double end = stepper->t();
  const bool explicit_ode = system->structure().explicit_ode;
  if (when == end) {  // most often, and without dense output, which may cost evaluations
    std::copy(stepper->x().begin(), stepper->x().end(), state.begin());
    std::copy(stepper->xp().begin(), stepper->xp().end(), slope.begin());
    if (!explicit_ode || stepper->xp_is_rhs()) return;
  } else if (const DensePolynomial& dense = stepper->dense(); is_near(when, end, dense.h)) {
    std::copy(stepper->x().begin(), stepper->x().end(), state.begin());
    const double sixth = (when - end) / 6.0;
    for (const auto& [place, weight] : {std::pair{end, sixth}, {0.5 * (end + when), 4.0 * sixth}, {when, sixth}}) {
      dense.derivative(place, slope);
      for (std::size_t j = 0; j < state.size(); ++j) state[j] += weight * slope[j];
    }
  } else {
    dense.evaluate(when, state);
    if (!explicit_ode) dense.derivative(when, slope);
  }
  if (explicit_ode) system->rhs(when, state, slope);
}

[[gnu::hot]] double Simulator::Impl::at_least_some_units_before(double t_after, double t_before) const {
  const double width = 4.0 * eps * std::max({std::abs(t_before), std::abs(t_after), 1e-300});
  return std::abs(t_after - t_before) < width ? t_after - direction * width : t_before;
}

void Simulator::Impl::measure_bracket(double t_before, double t_after, bool by_guard, bool own_step) {
  const auto count = static_cast<std::size_t>(system->structure().guards);
  t_before = at_least_some_units_before(t_after, t_before);
  std::vector<double>& noise = instant.doubt().noise;
  resize(noise, count);
  jumps.clear();
  if (system->structure().explicit_ode && !all_linear(*system).empty()) {
    for (std::size_t k = 0; k < count; ++k) noise[k] = std::abs(guard_slopes[k] * (t_after - t_before));
  } else {
    const auto guards_at = [&](double when, std::vector<double>& g) {
      resize(x_then, x.size());
      resize(xp_then, x.size());
      resize(g, count);
      stepper->dense().evaluate(when, x_then);
      if (system->structure().guards_read_xp) stepper->dense().derivative(when, xp_then);
      system->guards(when, x_then, xp_then, g);
    };
    guards_at(t_before, g_then);
    guards_at(t_after, noise);
    if (by_guard && system->structure().explicit_ode) {
      // a guard that changes by far more than its slope explains has a cut there (an angle), not a zero: its value decides
      constexpr double far_more = 1e6, small = 1e-3;
      std::vector<double> g_begin, g_end;
      for (int k = 0; k < instant.family_guards; ++k) {
        const double change = std::abs(noise[k] - g_then[k]);
        if (!(change > far_more * std::abs(guard_slopes[k] * (t_after - t_before)))) continue;
        if (g_begin.empty()) {
          guards_at(stepper->dense().t0, g_begin);
          guards_at(stepper->t(), g_end);
        }
        if (change > small * std::max(std::abs(g_begin[k]), std::abs(g_end[k]))) jumps.push_back(k);
      }
    }
    for (std::size_t k = 0; k < count; ++k) noise[k] = std::abs(noise[k] - g_then[k]);
    for (const int k : jumps) noise[k] = 0.0;
  }
  for (double& value : noise) value = std::isfinite(value) ? 4.0 * value : 0.0;
  if (own_step) {  // what is left of the guards of the event is noise
    resize(x_then, x.size());
    resize(xp_then, x.size());
    resize(g_then, count);
    state_at(t_after, x_then, xp_then);
    system->guards(t_after, x_then, xp_then, g_then);
    for (const int k : located.guards)
      if (!contains(jumps, k)) noise[k] = std::max(noise[k], 4.0 * std::abs(g_then[k]));
  }
  for (std::size_t k = 0; k < count; ++k)  // others may not have left their last event yet
    if (watch[k].known_root > 0 && !(by_guard && contains(located.guards, static_cast<int>(k)))) noise[k] = std::max(noise[k], watch[k].noise);
  resize(noise, hybrid->guards().size());  // the weights of a sliding mode end with it
  for (std::size_t k = 0; k < std::min(bands.size(), noise.size()); ++k) noise[k] = std::max(noise[k], bands[k].width);
}

void Simulator::Impl::find_slopes() { slopes.find(*system, t, x, xp, time_scale(), instant.family_guards, guard_slopes); }

void Simulator::Impl::correct_slopes() {
  instant.doubt().slope_error.clear();
  const auto crosses = [&](int k, double slope) { return watch[k].side * slope * direction < 0.0; };
  const auto denied = [&](int k) { return k < instant.family_guards && !crosses(k, guard_slopes[k]); };
  if (located.at_start || std::none_of(located.guards.begin(), located.guards.end(), denied)) return;
  resize(xp_then, x.size());
  stepper->dense().derivative(t, xp_then);
  std::vector<double> integrated;
  slopes.find(*system, t, x, xp_then, time_scale(), instant.family_guards, integrated);
  instant.doubt().slope_error.assign(hybrid->guards().size(), 0.0);
  for (const int k : located.guards) {
    if (!denied(k) || !crosses(k, integrated[k])) continue;
    instant.doubt().slope_error[k] = integrated[k] - guard_slopes[k];
    guard_slopes[k] = integrated[k];
  }
}

void Simulator::Impl::project_event_state() {
  if (!mode.on_surfaces()) return;
  instant.doubt().alternative_state = x;
  if (system->project(t, x)) {
    find_derivatives();
    find_slopes();
  } else {
    instant.doubt().alternative_state.clear();
  }
  // the mode keeps these guards at zero: what is left of them means nothing
  resize(g_then, watch.size());
  system->guards(t, x, xp, g_then);
  for (const auto* surfaces : {&mode.sliding, &mode.contacts})
    for (const int k : *surfaces) instant.doubt().noise[k] = std::max(instant.doubt().noise[k], 4.0 * std::abs(g_then[k]));
}

[[gnu::hot]] void Simulator::Impl::event_at(double when, bool by_guard, bool approached) {
  const bool by_time = when == next_time;
  const double step_size = stepper->next_step();
  take_step(when);
  if (by_guard != by_time && !approached && repeat_event(by_time, step_size)) return;
  const bool explicit_ode = system->structure().explicit_ode;
  if (explicit_ode) find_slopes();
  measure_bracket(by_guard && !by_time ? located.t_before : when, when, by_guard, by_guard && (approached || when == stepper->t()));
  if (!explicit_ode) {
    polish(t, x, xp);
    find_slopes();
  }
  if (by_guard) {
    push_across(located.guards);
    correct_slopes();
  }
  project_event_state();
  handle_event(by_guard, by_time, step_size);
}

bool Simulator::Impl::cross_edge() {
  located.guards.clear();
  double nearest = unresolved_interval();
  std::vector<double> g(watch.size());
  system->guards(t, x, xp, g);
  const std::vector<double> tolerance =
      GuardSides::uncertainty(*system, t, x, xp, relative_tolerances(), absolute_tolerances());
  constexpr double nothing = 0.0, few_ulps = 4.0 * eps;
  const std::vector<double> rounding = GuardSides::uncertainty(*system, t, x, xp, std::span(&few_ulps, 1), std::span(&nothing, 1));
  for (std::size_t k = 0; k < watch.size(); ++k) {
    if (watch[k].side == 0 || vanishes(k)) continue;
    if (watch[k].side * g[k] < 0.0 && std::abs(g[k]) <= tolerance[k]) {  // a step of an implicit method has ended beyond, where nothing can be evaluated
      if (nearest > 0.0) located.guards.clear();
      nearest = 0.0;
      located.guards.push_back(static_cast<int>(k));
      continue;
    }
    const double speed = GuardSides::speed(*system, instant.consistency(), t, x, static_cast<int>(k));
    const double left = std::abs(g[k]) <= rounding[k] ? 0.0 : -g[k] / speed * direction;
    if (!(watch[k].side * speed * direction < 0.0) || !(left <= nearest)) continue;
    if (left < 0.5 * nearest) located.guards.clear();
    nearest = left;
    located.guards.push_back(static_cast<int>(k));
  }
  if (located.guards.empty()) return false;
  instant.doubt().noise.assign(hybrid->guards().size(), 0.0);
  located.at_start = false;
  for (double& slope : xp)
    if (!std::isfinite(slope)) slope = 0.0;
  find_slopes();
  for (const int k : located.guards) instant.doubt().noise[k] = 4.0 * std::max(rounding[k], std::abs(g[k]));
  for (const LinearGuard& guard : system->linear_guards())  // where only rounding errors are left, to the other side
    if (contains(located.guards, guard.guard) && std::abs(g[guard.guard]) <= rounding[guard.guard]) {
      double square = 0.0;
      for (const double c : guard.coefficients) square += c * c;
      for (std::size_t i = 0; i < guard.variables.size(); ++i) x[guard.variables[i]] -= 2.0 * g[guard.guard] * guard.coefficients[i] / square;
    }
  push_across(located.guards);
  handle_event(true, t == next_time, stepper->next_step());
  return true;
}

void Simulator::Impl::push_across(std::span<const int> guards) {
  constexpr double units_of_dense = 64.0;  // rounding errors of high degrees, whose weights are large: more than the end of the step has
  std::vector<double>& g = g_then;
  resize(g, watch.size());
  const auto all = [&](auto holds) {
    return std::all_of(guards.begin(), guards.end(), [&](int k) { return k >= instant.family_guards || holds(static_cast<std::size_t>(k)); });
  };
  const bool cross = all([&](std::size_t k) { return watch[k].side * guard_slopes[k] * direction < 0.0; });
  const double furthest = (cross ? units_of_dense : 1.0) * unresolved_interval();
  for (double step = eps * std::max(std::abs(t), 1e-300); step <= furthest; step *= 2.0) {
    system->guards(t, x, xp, g);
    if (all([&](std::size_t k) { return !(watch[k].side * g[k] >= 0.0); })) {
      // what is left of them is the difference of two ways to the state here: they vanish at the event. Where the step began beyond the surface, that is
      // so if it takes no time to go there (the step before ended at the surface, at a pause).
      const auto vanishes = [&](std::size_t k) { return !located.at_start || (cross && std::abs(g[k]) <= std::abs(guard_slopes[k]) * unresolved_interval()); };
      for (const int k : guards)
        if (k < instant.family_guards && vanishes(static_cast<std::size_t>(k)) && !contains(jumps, k)) {
          double& noise = instant.doubt().noise[static_cast<std::size_t>(k)];
          noise = std::max(noise, 4.0 * std::abs(g[static_cast<std::size_t>(k)]));
        }
      return;
    }
    t += direction * step;
    if (reached(t, options.stop)) t = options.stop;  // its last bits do not matter to the state
    for (std::size_t j = 0; j < x.size(); ++j) x[j] += direction * step * xp[j];
    result.t_end_ = t;
  }
}

[[gnu::hot]] bool Simulator::Impl::repeat_event(bool by_time, double step_size) {
  const std::vector<int>& guards = by_time ? time_guards : located.guards;
  if (guards.size() != 1 || (!by_time && located.at_start) || !bands.empty()) return false;
  const int guard = guards.front();
  if (!edges.knows(guard, by_time ? hybrid->side(mode, guard) : watch[static_cast<std::size_t>(guard)].side)) return false;
  const auto linear = system->linear_guards();
  if (linear.size() != watch.size()) return false;
  resize(g_then, watch.size());
  system->guards(t, x, xp, g_then);
  resize(guard_slopes, watch.size());
  std::vector<double>& noise = instant.doubt().noise;
  resize(noise, watch.size());
  const double width = t - at_least_some_units_before(t, by_time ? t : located.t_before);
  for (const LinearGuard& one : linear) {
    const auto k = static_cast<std::size_t>(one.guard);
    guard_slopes[k] = slope_of(one, xp);
    const double over_bracket = std::abs(guard_slopes[k] * width);
    noise[k] = std::isfinite(over_bracket) ? 4.0 * over_bracket : 0.0;
    if (watch[k].known_root > 0 && (by_time || one.guard != guard)) noise[k] = std::max(noise[k], watch[k].noise);
  }
  if (!by_time) {
    const auto k = static_cast<std::size_t>(guard);
    const int side = watch[k].side;
    if (!(side * g_then[k] < 0.0) || !(side * guard_slopes[k] * direction < 0.0)) return false;
    noise[k] = std::max(noise[k], 4.0 * std::abs(g_then[k]));
  }
  observe(values_before);
  if (const Mode* same_as_before = edges.known_mode()) {
    mode_left = same_as_before;
    copy(x, state_before);
    copy(xp, slope_before);
  } else {
    keep_state();
  }
  instant.begin(*mode_left);
  instant.doubt().time_scale = time_scale();
  if (!edges.follow(guard, {.t = t, .mode = mode_left, .x = state_before, .xp = slope_before})) return false;
  stepper->forget_dense();
  leave_event(by_time, step_size);
  return true;
}

void Simulator::Impl::handle_event(bool by_guard, bool by_time, double step_size) {
  give_back(x.size(), x_then, xp_then);
  stepper->forget_dense();
  observe(values_before);
  keep_state();
  instant.begin(mode_before);
  instant.doubt().time_scale = time_scale();
  instant.place_dormant(t);
  if (by_guard && !by_time && located.guards.size() == 1 && located.guards.front() < instant.family_guards)
    instant.leave(located.guards.front(), guard_slopes[static_cast<std::size_t>(located.guards.front())]);
  edges.forget();
  if (const std::vector<int>& guards = by_time ? time_guards : located.guards;
      edges.learns() && by_guard != by_time && guards.size() == 1)
    instant.alone(guards.front());
  if (by_guard)
    for (std::size_t k = located.guards.size(); k-- > 0;) instant.fire(located.guards[k]);
  if (by_time)
    for (const int k : time_guards) instant.fire(k);
  const bool noticed = !instant.fired().empty();
  if (!(noticed ? instant.settle({.t = t, .mode = &mode_before, .x = state_before, .xp = slope_before}) : instant.pass_by(t))) {
    restore_state();
    return end(instant.failure());
  }
  if (noticed) edges.learn();
  leave_event(by_time, step_size);
}

[[gnu::hot]] void Simulator::Impl::leave_event(bool by_time, double step_size) {
  const Transition& transition = instant.transition;
  const bool noticed = !instant.fired().empty();
  const bool reset = instant.reset();
  if (reset && !instant.doubt().alternative_state.empty()) {  // the other point is no longer near
    instant.doubt().alternative_state.clear();
    instant.forget_view();
  }
  const bool goes_on = !reset && !transition.terminate && without_consequences();
  if (goes_on) {
    copy(slope_before, xp);  // as the stepper has them
    system = &instant.system();
    set_watch();
  } else if (!transition.terminate && !(edges.sides().empty() ? enter_mode() : enter_mode_again())) {
    return;
  }
  // a guard may touch zero within its errors, or a weight its end, and the solution go on as before
  const bool nothing = !by_time && !reset && transition.fired.empty() && !transition.recorded && !transition.terminate && same(mode, *mode_left);
  if (noticed && !nothing) record_settled(by_time);
  if (transition.terminate) return finish({StatusCode::terminated, ended_by_model(), {}});
  if (reset && !come_to_rest(state_before)) return;
  if (noticed && !reset && !by_time && !nothing && !meet_surfaces()) return;
  if (noticed && !by_time && !nothing && chatter.note(t, instant.fired()) && !dismiss_chattering() &&
      options.stop_if_chattering) {
    const auto& episode = chatter.episodes().back();
    const Chattering found{episode.from, episode.to, episode.events, names_of(*hybrid, episode.guards)};
    return end({StatusCode::chattering, describe(found), found.guards});
  }
  if (noticed && too_close()) return;
  if (t == options.stop) return finish();
  if (!goes_on && edges.sides().empty() && !equations_hold(t, time_scale())) return;
  give_back(x.size(), state_before, slope_before, values_before, values_after);
  instant.end();
  // a time event may have been planned within the step that the stepper has already done
  if (goes_on && reached(next_time, stepper->t()))
    go_on();
  else
    restart(step_size);
  progress();
}

bool Simulator::Impl::dismiss_chattering() {
  constexpr double many_tolerances = 100.0;
  const std::vector<double> tolerance =
      GuardSides::uncertainty(*system, t, x, xp, relative_tolerances(), absolute_tolerances());
  const std::vector<int>& fired = instant.fired();
  for (std::size_t i = 0; i < std::min(fired.size(), slopes_before.size()); ++i) {
    const double speed = std::max(std::abs(slopes_before[i]), i < slopes_after.size() ? std::abs(slopes_after[i]) : 0.0);
    if (speed * chatter.interval() <= many_tolerances * tolerance[static_cast<std::size_t>(fired[i])]) return false;
  }
  chatter.dismiss();
  return true;
}

bool Simulator::Impl::without_consequences() const {
  if (methods.per_mode() || t == options.stop ||
      !hybrid->same_equations(*mode_left, mode) || !same(x, state_before))
    return false;
  // the state may have been moved away from the stepper's by rounding errors (polishing); within a step values come from the polynomial,
  // except near the end of a step that was made for the event
  return t == stepper->t() ? std::equal(state_before.begin(), state_before.end(), stepper->x().begin(), stepper->x().end())
                           : dense_is_accurate() && reached(stepper->t(), t);
}

void Simulator::Impl::go_on() {
  in_rest = t != stepper->t();
  if (in_rest) stepper->dense().tail(t, rest);
  if (options.keep_steps) begin_segment();
}

}  // namespace saltus
