// Events that accumulate: a ball that bounces infinitely often in finite time goes on in contact, switchings that spiral into the point where their
// surfaces meet go on there.
#include "hybrid/simulator_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hybrid/short_lists.hpp"

namespace saltus {

bool Simulator::Impl::larger_than_tolerance(std::span<const double> x_before) const {
  for (std::size_t j = 0; j < hybrid->variables().size(); ++j) {
    const double atol = options.atol_each.empty() ? options.atol : options.atol_each[j];
    const double rtol = options.rtol_each.empty() ? options.rtol : options.rtol_each[j];
    if (std::abs(x[j] - x_before[j]) > atol + rtol * std::abs(x[j])) return true;
  }
  return false;
}

bool Simulator::Impl::unresolved_flight(int guard, double duration, double speed) const {
  return duration < unresolved_interval() || 0.25 * duration * std::abs(speed) < 16.0 * instant.sides().noise(guard);
}

[[gnu::hot]] bool Simulator::Impl::flight_is_lost(std::size_t fired, int side) {
  constexpr double most = 0.3;  // where less is taken the flights are many, and seen to shrink, before they are lost
  constexpr double clear = 1e3 * std::numeric_limits<double>::epsilon();  // relative to the speed before
  const int guard = instant.fired()[fired];
  const double speed = slopes_after[fired], before = std::abs(slopes_before[fired]);
  if (std::abs(speed) > most * before || !(side * speed * direction > 0.0)) return false;
  if (instant.sides().multiplicity(guard) != 1 && !(std::abs(speed) > clear * before)) return false;
  const double bend = GuardSides::bend(*system, instant.consistency(), t, x, guard);
  return side * bend < 0.0 && unresolved_flight(guard, 2.0 * std::abs(speed / bend), speed);
}

// With the speed |d/dt g| = w behind a reset, r times the speed before it, and the acceleration a towards the surface,
// the next flights take 2 w / a, 2 r w / a, …, and the next jumps are r, r^2, … times the last one. Together
//   t_inf = t + 2 w / (a (1 - r)),   x_inf = x + (t_inf - t) x' + r / (1 - r) (x - x_before),
// up to terms of second order in w, which is tiny here.
std::optional<DensePolynomial> Simulator::Impl::rest_of_resets(std::size_t fired, std::span<const double> x_before) {
  constexpr double most = 0.999, same_ratio = 1e-6;
  const std::vector<int>& guards = instant.fired();
  const auto ratio_of = [&](std::size_t i) { return -slopes_after[i] / slopes_before[i]; };
  const double ratio = ratio_of(fired);
  if (!(ratio > 0.0 && ratio <= most) || x_before.size() != x.size()) return {};
  for (std::size_t i = 0; i < guards.size(); ++i)  // the jump may be that of several resets: all must shrink alike
    if (ratio_of(i) > 0.0 && !(std::abs(ratio_of(i) - ratio) <= same_ratio * ratio)) return {};
  const int side = -instant.fired_direction()[fired];
  const double bend = GuardSides::bend(*system, instant.consistency(), t, x, guards[fired]);
  if (!(side * bend < 0.0)) return {};
  const double duration = 2.0 * std::abs(slopes_after[fired] / bend) / (1.0 - ratio), t_end = t + direction * duration;
  const bool as_seen = std::abs(zeno.limit(guards[fired]) - t_end) <= 0.5 * duration + unresolved_interval();
  if ((zeno.accumulates(guards[fired]) && !as_seen) || reached(t_end, next_stop())) return {};
  DensePolynomial tail{.t0 = t, .h = t_end - t, .degree = 1, .variables = static_cast<int>(x.size()), .c = x};
  const Structure& structure = system->structure();
  for (std::size_t j = 0; j < x.size(); ++j) {
    const bool moves = structure.explicit_ode || structure.differentiated(static_cast<int>(j));
    tail.c.push_back(moves ? tail.h * xp[j] + ratio / (1.0 - ratio) * (x[j] - x_before[j]) : 0.0);
  }
  std::vector<GuardWatch> others = watch;
  for (const int k : guards) others[static_cast<std::size_t>(k)].side = 0;
  LocatedEvent event;
  if (watching && locator.earliest(*system, tail, others, event, system->linear_guards())) return {};
  return tail;
}

[[gnu::hot]] bool Simulator::Impl::come_to_rest(std::span<const double> x_before) {
  bool any = false;
  for (std::size_t i = 0; i < instant.fired().size(); ++i) {
    const int guard = instant.fired()[i];
    zeno.note(guard, t);
    any = any || zeno.accumulates(guard) || flight_is_lost(i, -instant.fired_direction()[i]);
  }
  return !any || rest_if_possible(x_before);
}

bool Simulator::Impl::rest_if_possible(std::span<const double> x_before) {
  std::vector<std::string> rested;  // what is to be said about each
  std::vector<std::string_view> actions;
  int stuck = -1;  // a guard whose intervals cannot be resolved, and that has no contact
  bool another_goes_on = false, denied = false;
  const std::size_t count = instant.fired().size();
  for (std::size_t i = 0; i < count; ++i) {
    const int guard = instant.fired()[i], side = -instant.fired_direction()[i];
    const bool accumulates = zeno.accumulates(guard), lost = !accumulates && flight_is_lost(i, side);
    if (!accumulates && !lost) continue;
    // a flight that is too short for the clock, or too low for the digits of the guard; below those of constraints nothing must happen at all
    const double speed = std::abs(GuardSides::speed(*system, instant.consistency(), t, x, guard));
    const bool unresolved = lost || unresolved_flight(guard, zeno.interval(guard), speed) ||
                            0.25 * zeno.next_interval(guard) * speed < 16.0 * GuardSides::noise_of_constraints(*system, t, x, xp, guard);
    if (!unresolved && larger_than_tolerance(x_before)) {
      another_goes_on = true;
      continue;
    }
    const auto tail = rested.empty() ? rest_of_resets(i, x_before) : std::nullopt;
    const std::vector<double> x_last = x;
    if (tail) {
      t = tail->t1();
      for (std::size_t j = 0; j < x.size(); ++j) x[j] += tail->c[x.size() + j];
    }
    if (rested.empty()) {
      mode_before = mode;
      observe(values_before);
    }
    const std::vector<double> x_limit = x;
    const std::span<const double> from = tail ? std::span<const double>(x_limit) : x_before;
    const Instant::Rest rest_there = instant.rest_on(guard, side, {.t = t, .mode = &mode_before, .x = from, .xp = slope_before});
    if (rest_there == Instant::Rest::begun) {
      if (tail && tail->h != 0.0 && options.keep_steps) result.segments_.back().steps.push_back({*tail, t, true});
      result.t_end_ = t;
      system = &instant.system();
      rested.push_back(lost ? "the flight after the reset is too low to be seen; the solution goes on in contact"
                            : fmt::format("infinitely many resets accumulate at t = {:.12g}; the solution goes on in contact", zeno.limit(guard)));
      actions.insert(actions.end(), instant.transition.fired.begin(), instant.transition.fired.end());
      zeno.forget(guard);
      continue;
    }
    if (tail) {
      t = tail->t0;
      x = x_last;
    }
    if (contains(mode.sliding, guard)) {  // it stays on the surface already: both sides push back
      zeno.forget(guard);
    } else if (unresolved && (!lost || rest_there == Instant::Rest::denied)) {
      stuck = guard;
      denied = rest_there == Instant::Rest::denied;
    }
  }
  if (!rested.empty()) return begin_staying(EventKind::contact, rested, std::move(actions));
  if (stuck < 0 || another_goes_on) return true;  // it may be the sign of a speed that the resets by the other one turn round
  const std::string& name = hybrid->guards()[stuck].name;
  const std::string why =
      denied ? fmt::format("the equations do not let the solution stay there: a relation on the surface of '{}' stands in them, and as it is on the surface they push it away", name)
             : "no contact mode goes on from there";
  end({StatusCode::zeno, fmt::format("resets by '{}' accumulate at t = {:.12g}, and {}", name, zeno.accumulates(stuck) ? zeno.limit(stuck) : t, why), {name}});
  return false;
}

[[gnu::hot]] bool Simulator::Impl::meet_surfaces() {
  const std::vector<int>&fired = instant.fired(), &directions = instant.fired_direction();
  bool accumulate = false;
  for (std::size_t i = 0; i < fired.size(); ++i) {
    if (directions[i] < 0) switchings.note(fired[i], t);  // once in a turn: the other half of it may take a different time
    accumulate = accumulate || switchings.accumulates(fired[i]);
  }
  if (!accumulate) {
    near_events = 0;
    return true;
  }
  // those that meet at the same time
  std::vector<int> meeting;
  const auto first = std::find_if(fired.begin(), fired.end(), [&](int k) { return switchings.accumulates(k); });
  const double limit = switchings.limit(*first), interval = switchings.next_interval(*first);
  for (int k = 0; k < instant.family_guards; ++k)
    if (switchings.accumulates(k) && std::abs(switchings.limit(k) - limit) <= interval && hybrid->guards()[k].rule != SurfaceRule::crossing) meeting.push_back(k);
  if (meeting.size() < 2) return true;
  // near are all events of a turn, in all variables that guards read
  const std::vector<double> tolerance =
      GuardSides::uncertainty(*system, t, x, xp, relative_tolerances(), absolute_tolerances());
  resize(g_then, watch.size());
  system->guards(t, x, xp, g_then);
  const bool near = std::all_of(meeting.begin(), meeting.end(), [&](int k) { return std::abs(g_then[k]) <= tolerance[k]; });
  near_events = near ? near_events + 1 : 0;
  const bool unresolved = interval < unresolved_interval();
  if (near_events < 2 * static_cast<int>(meeting.size()) && !unresolved) return true;
  mode_before = mode;
  observe(values_before);
  if (!instant.slide_on(meeting, t)) return true;
  near_events = 0;
  const std::string message = fmt::format("infinitely many switchings accumulate at t = {:.12g}; the solution goes on where their surfaces meet", limit);
  return begin_staying(EventKind::slide_enter, std::span(&message, 1), {});
}

bool Simulator::Impl::begin_staying(EventKind kind, std::span<const std::string> messages, std::vector<std::string_view> actions) {
  const Mode free = mode_before;
  keep_state();
  instant.begin(mode_before);
  edges.forget();
  if (!instant.settle({.t = t, .mode = &mode_before, .x = state_before, .xp = slope_before})) {
    restore_state();
    end(instant.failure());
    return false;
  }
  const Transition& transition = instant.transition;
  if (!transition.terminate && !enter_mode()) return false;
  observe(values_after);
  find_weights();
  actions.insert(actions.end(), transition.fired.begin(), transition.fired.end());
  for (const std::string& message : messages)
    record({.kind = kind, .mode_before = &free, .mode_after = &mode, .actions = actions, .message = message},
           {.t = t, .before = values_before, .after = values_after, .weights = weights});
  close_events = 0;
  if (!transition.terminate) return true;
  finish({StatusCode::terminated, ended_by_model(), {}});
  return false;
}

[[gnu::hot]] bool Simulator::Impl::too_close() {
  const double interval = std::abs(t - last_event);
  close_events = interval < unresolved_interval() && interval <= last_interval ? close_events + 1 : 0;
  last_interval = interval;
  last_event = t;
  if (close_events < 10) return false;
  const std::vector<std::string> names = names_of(*hybrid, instant.fired());
  end({StatusCode::zeno,
       fmt::format("events{} accumulate at t = {:.12g}: the intervals between them shrink towards zero",
                   names.empty() ? "" : " by '" + names.front() + "'", t),
       names});
  return true;
}

}  // namespace saltus
