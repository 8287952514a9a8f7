// Events that accumulate: a ball that bounces infinitely often in finite time goes on in contact, switchings that
// spiral into the point where their surfaces meet go on there.
#include "hybrid/simulator_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hybrid/short_lists.hpp"

namespace saltus {

bool Simulator::Impl::Accumulation::larger_than_tolerance(std::span<const double> x_before) const {
  for (std::size_t j = 0; j < run.hybrid->variables().size(); ++j) {
    const double atol = run.options.atol_each.empty() ? run.options.atol : run.options.atol_each[j];
    const double rtol = run.options.rtol_each.empty() ? run.options.rtol : run.options.rtol_each[j];
    if (std::abs(run.x[j] - x_before[j]) > atol + rtol * std::abs(run.x[j])) return true;
  }
  return false;
}

bool Simulator::Impl::Accumulation::unresolved_flight(int guard, double duration, double speed) const {
  return duration < run.unresolved_interval() ||
         0.25 * duration * std::abs(speed) < 16.0 * run.instant.sides().noise(guard);
}

[[gnu::hot]] bool Simulator::Impl::Accumulation::flight_is_lost(std::size_t fired, int side) {
  constexpr double most = 0.3;  // where less is taken the flights are many, and seen to shrink, before they are lost
  constexpr double clear = 1e3 * std::numeric_limits<double>::epsilon();  // relative to the speed before
  const int guard = run.instant.fired()[fired];
  const double speed = run.slopes_after[fired], before = std::abs(run.slopes_before[fired]);
  if (std::abs(speed) > most * before || !(side * speed * run.direction > 0.0)) return false;
  if (run.instant.sides().multiplicity(guard) != 1 && !(std::abs(speed) > clear * before)) return false;
  const double bend = GuardSides::bend(*run.system, run.instant.consistency(), run.t, run.x, guard);
  return side * bend < 0.0 && unresolved_flight(guard, 2.0 * std::abs(speed / bend), speed);
}

// With the speed |d/dt g| = w behind a reset, r times the speed before it, and the acceleration a towards the surface,
// the next flights take 2 w / a, 2 r w / a, …, and the next jumps are r, r^2, … times the last one. Together
//   t_inf = t + 2 w / (a (1 - r)),   x_inf = x + (t_inf - t) x' + r / (1 - r) (x - x_before),
// up to terms of second order in w, which is tiny here.
std::optional<DensePolynomial> Simulator::Impl::Accumulation::rest_of_resets(std::size_t fired,
                                                                             std::span<const double> x_before) {
  constexpr double most = 0.999, same_ratio = 1e-6;
  const std::vector<int>& guards = run.instant.fired();
  const auto ratio_of = [&](std::size_t i) { return -run.slopes_after[i] / run.slopes_before[i]; };
  const double ratio = ratio_of(fired);
  if (!(ratio > 0.0 && ratio <= most) || x_before.size() != run.x.size()) return {};
  for (std::size_t i = 0; i < guards.size(); ++i)  // the jump may be that of several resets: all must shrink alike
    if (ratio_of(i) > 0.0 && !(std::abs(ratio_of(i) - ratio) <= same_ratio * ratio)) return {};
  const int side = -run.instant.fired_direction()[fired];
  const double bend = GuardSides::bend(*run.system, run.instant.consistency(), run.t, run.x, guards[fired]);
  if (!(side * bend < 0.0)) return {};
  const double duration = 2.0 * std::abs(run.slopes_after[fired] / bend) / (1.0 - ratio),
               t_end = run.t + run.direction * duration;
  const bool as_seen = std::abs(run.zeno.limit(guards[fired]) - t_end) <= 0.5 * duration + run.unresolved_interval();
  if ((run.zeno.accumulates(guards[fired]) && !as_seen) || run.reached(t_end, run.next_stop())) return {};
  DensePolynomial tail{
      .t0 = run.t, .h = t_end - run.t, .degree = 1, .variables = static_cast<int>(run.x.size()), .c = run.x};
  const Structure& structure = run.system->structure();
  for (std::size_t j = 0; j < run.x.size(); ++j) {
    const bool moves = structure.explicit_ode || structure.differentiated(static_cast<int>(j));
    tail.c.push_back(moves ? tail.h * run.xp[j] + ratio / (1.0 - ratio) * (run.x[j] - x_before[j]) : 0.0);
  }
  std::vector<GuardWatch> others = run.watch;
  for (const int k : guards) others[static_cast<std::size_t>(k)].side = 0;
  LocatedEvent event;
  if (run.watching && run.locator.earliest(*run.system, tail, others, event, run.system->linear_guards())) return {};
  return tail;
}

[[gnu::hot]] bool Simulator::Impl::Accumulation::come_to_rest(std::span<const double> x_before) {
  bool any = false;
  for (std::size_t i = 0; i < run.instant.fired().size(); ++i) {
    const int guard = run.instant.fired()[i];
    run.zeno.note(guard, run.t);
    any = any || run.zeno.accumulates(guard) || flight_is_lost(i, -run.instant.fired_direction()[i]);
  }
  return !any || rest_if_possible(x_before);
}

bool Simulator::Impl::Accumulation::rest_if_possible(std::span<const double> x_before) {
  std::vector<std::string> rested;  // what is to be said about each
  std::vector<std::string_view> actions;
  int stuck = -1;  // a guard whose intervals cannot be resolved, and that has no contact
  bool another_goes_on = false, denied = false;
  const std::size_t count = run.instant.fired().size();
  for (std::size_t i = 0; i < count; ++i) {
    const int guard = run.instant.fired()[i], side = -run.instant.fired_direction()[i];
    const bool accumulates = run.zeno.accumulates(guard), lost = !accumulates && flight_is_lost(i, side);
    if (!accumulates && !lost) continue;
    // a flight that is too short for the clock, or too low for the digits of the guard; below those of constraints
    // nothing must happen at all
    const double speed = std::abs(GuardSides::speed(*run.system, run.instant.consistency(), run.t, run.x, guard));
    const bool unresolved = lost || unresolved_flight(guard, run.zeno.interval(guard), speed) ||
                            0.25 * run.zeno.next_interval(guard) * speed <
                                16.0 * GuardSides::noise_of_constraints(*run.system, run.t, run.x, run.xp, guard);
    if (!unresolved && larger_than_tolerance(x_before)) {
      another_goes_on = true;
      continue;
    }
    const auto tail = rested.empty() ? rest_of_resets(i, x_before) : std::nullopt;
    const std::vector<double> x_last = run.x;
    if (tail) {
      run.t = tail->t1();
      for (std::size_t j = 0; j < run.x.size(); ++j) run.x[j] += tail->c[run.x.size() + j];
    }
    if (rested.empty()) {
      run.mode_before = run.mode;
      run.observation.observe(run.values_before);
    }
    const std::vector<double> x_limit = run.x;
    const std::span<const double> from = tail ? std::span<const double>(x_limit) : x_before;
    const Instant::Rest rest_there =
        run.instant.rest_on(guard, side, {.t = run.t, .mode = &run.mode_before, .x = from, .xp = run.slope_before});
    if (rest_there == Instant::Rest::begun) {
      if (tail && tail->h != 0.0 && run.options.keep_steps)
        run.result.segments_.back().steps.push_back({*tail, run.t, true});
      run.result.t_end_ = run.t;
      run.system = &run.instant.system();
      rested.push_back(
          lost ? "the flight after the reset is too low to be seen; the solution goes on in contact"
               : fmt::format("infinitely many resets accumulate at t = {:.12g}; the solution goes on in contact",
                             run.zeno.limit(guard)));
      actions.insert(actions.end(), run.instant.transition.fired.begin(), run.instant.transition.fired.end());
      run.zeno.forget(guard);
      continue;
    }
    if (tail) {
      run.t = tail->t0;
      run.x = x_last;
    }
    if (contains(run.mode.sliding, guard)) {  // it stays on the surface already: both sides push back
      run.zeno.forget(guard);
    } else if (unresolved && (!lost || rest_there == Instant::Rest::denied)) {
      stuck = guard;
      denied = rest_there == Instant::Rest::denied;
    }
  }
  if (!rested.empty()) return begin_staying(EventKind::contact, rested, std::move(actions));
  if (stuck < 0 || another_goes_on)
    return true;  // it may be the sign of a speed that the resets by the other one turn round
  const std::string& name = run.hybrid->guards()[stuck].name;
  const std::string why = denied ? fmt::format(
                                       "the equations do not let the solution stay there: a relation on the surface of "
                                       "'{}' stands in them, and as it is on the surface they push it away",
                                       name)
                                 : "no contact mode goes on from there";
  run.ending.end({StatusCode::zeno,
                  fmt::format("resets by '{}' accumulate at t = {:.12g}, and {}", name,
                              run.zeno.accumulates(stuck) ? run.zeno.limit(stuck) : run.t, why),
                  {name}});
  return false;
}

[[gnu::hot]] bool Simulator::Impl::Accumulation::meet_surfaces() {
  const std::vector<int>&fired = run.instant.fired(), &directions = run.instant.fired_direction();
  bool accumulate = false;
  for (std::size_t i = 0; i < fired.size(); ++i) {
    if (directions[i] < 0)
      run.switchings.note(fired[i], run.t);  // once in a turn: the other half of it may take a different time
    accumulate = accumulate || run.switchings.accumulates(fired[i]);
  }
  if (!accumulate) {
    run.near_events = 0;
    return true;
  }
  // those that meet at the same time
  std::vector<int> meeting;
  const auto first = std::find_if(fired.begin(), fired.end(), [&](int k) { return run.switchings.accumulates(k); });
  const double limit = run.switchings.limit(*first), interval = run.switchings.next_interval(*first);
  for (int k = 0; k < run.instant.family_guards; ++k)
    if (run.switchings.accumulates(k) && std::abs(run.switchings.limit(k) - limit) <= interval &&
        run.hybrid->guards()[k].rule != SurfaceRule::crossing)
      meeting.push_back(k);
  if (meeting.size() < 2) return true;
  // near are all events of a turn, in all variables that guards read
  const std::vector<double> tolerance =
      GuardSides::uncertainty(*run.system, run.t, run.x, run.xp, run.relative_tolerances(), run.absolute_tolerances());
  resize(run.g_then, run.watch.size());
  run.system->guards(run.t, run.x, run.xp, run.g_then);
  const bool near =
      std::all_of(meeting.begin(), meeting.end(), [&](int k) { return std::abs(run.g_then[k]) <= tolerance[k]; });
  run.near_events = near ? run.near_events + 1 : 0;
  const bool unresolved = interval < run.unresolved_interval();
  if (run.near_events < 2 * static_cast<int>(meeting.size()) && !unresolved) return true;
  run.mode_before = run.mode;
  run.observation.observe(run.values_before);
  if (!run.instant.slide_on(meeting, run.t)) return true;
  run.near_events = 0;
  const std::string message = fmt::format(
      "infinitely many switchings accumulate at t = {:.12g}; the solution goes on where their surfaces meet", limit);
  return begin_staying(EventKind::slide_enter, std::span(&message, 1), {});
}

bool Simulator::Impl::Accumulation::begin_staying(EventKind kind, std::span<const std::string> messages,
                                                  std::vector<std::string_view> actions) {
  const Mode free = run.mode_before;
  run.keep_state();
  run.instant.begin(run.mode_before);
  run.edges.forget();
  if (!run.instant.settle({.t = run.t, .mode = &run.mode_before, .x = run.state_before, .xp = run.slope_before})) {
    run.ending.end(run.instant.failure());
    return false;
  }
  const Transition& transition = run.instant.transition;
  if (!transition.terminate && !run.enter_mode()) return false;
  run.observation.observe(run.values_after);
  run.recorder.find_weights();
  actions.insert(actions.end(), transition.fired.begin(), transition.fired.end());
  for (const std::string& message : messages)
    run.recorder.record(
        {.kind = kind, .mode_before = &free, .mode_after = &run.mode, .actions = actions, .message = message},
        {.t = run.t, .before = run.values_before, .after = run.values_after, .weights = run.weights});
  run.close_events = 0;
  if (!transition.terminate) return true;
  run.ending.finish({StatusCode::terminated, run.ending.ended_by_model(), {}});
  return false;
}

[[gnu::hot]] bool Simulator::Impl::Accumulation::too_close() {
  const double interval = std::abs(run.t - run.last_event);
  run.close_events = interval < run.unresolved_interval() && interval <= run.last_interval ? run.close_events + 1 : 0;
  run.last_interval = interval;
  run.last_event = run.t;
  if (run.close_events < 10) return false;
  const std::vector<std::string> names = names_of(*run.hybrid, run.instant.fired());
  run.ending.end({StatusCode::zeno,
                  fmt::format("events{} accumulate at t = {:.12g}: the intervals between them shrink towards zero",
                              names.empty() ? "" : " by '" + names.front() + "'", run.t),
                  names});
  return true;
}

}  // namespace saltus
