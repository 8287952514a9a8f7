// Events that accumulate: a ball that bounces infinitely often in finite time goes on in contact, switchings that
// spiral into the point where their surfaces meet go on there.
#include "hybrid/simulator_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hybrid/reset_limit.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

std::vector<double> Simulator::Impl::Accumulation::tolerances() const {
  const auto of = [](std::span<const double> list, std::size_t j) { return list[std::min(j, list.size() - 1)]; };
  std::vector<double> result(run.hybrid->variables().size());
  for (std::size_t j = 0; j < result.size(); ++j)
    result[j] = of(run.absolute_tolerances(), j) + of(run.relative_tolerances(), j) * std::abs(run.x[j]);
  return result;
}

bool Simulator::Impl::Accumulation::larger_than_tolerance(std::span<const double> x_before) const {
  const std::vector<double> tolerance = tolerances();
  for (std::size_t j = 0; j < tolerance.size(); ++j)
    if (std::abs(run.x[j] - x_before[j]) > tolerance[j]) return true;
  return false;
}

bool Simulator::Impl::Accumulation::unresolved_flight(int guard, double duration, double speed) const {
  return duration < run.unresolved_interval() ||
         0.25 * duration * std::abs(speed) < 16.0 * run.instant.sides().noise(guard);
}

[[gnu::hot]] bool Simulator::Impl::Accumulation::flight_is_lost(std::size_t fired, int side) {
  constexpr double clear = 1e3 * std::numeric_limits<double>::epsilon();  // relative to the speed before
  const int guard = run.instant.fired()[fired];
  const double speed = run.slopes_after[fired], before = std::abs(run.slopes_before[fired]);
  if (!(side * speed * run.direction > 0.0)) return false;
  if (run.instant.sides().multiplicity(guard) != 1 && !(std::abs(speed) > clear * before)) return false;
  const double bend = GuardSides::bend(*run.system, run.instant.consistency(), run.t, run.x, guard);
  return side * bend < 0.0 && unresolved_flight(guard, 2.0 * std::abs(speed / bend), speed);
}

// With the speed |d/dt g| = w after a reset, r times the speed before it, and the acceleration a towards the surface,
// the next flights take 2 w / a, 2 r w / a, …, and the next jumps are r, r^2, … times the last one. Together
//   t_inf = t + 2 w / (a (1 - r)),   x_inf = x + (t_inf - t) x' + r / (1 - r) (x - x_before),
// up to terms of second order in w, which is tiny here. (Jumps that do not vanish with w: reset_limit.hpp.)
std::optional<DensePolynomial> Simulator::Impl::Accumulation::tail_of_resets(std::size_t fired,
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
  constexpr int repeated = 3;  // each guard of a group has fired, been turned round, and fired again
  const std::vector<int>&guards = run.instant.fired(), &directions = run.instant.fired_direction();
  const bool small = !larger_than_tolerance(x_before);
  if (!small) run.small_resets.clear();
  bool any = false, all_repeated = small;
  for (std::size_t i = 0; i < guards.size(); ++i) {
    run.zeno.note(guards[i], run.t);
    any = any || run.zeno.accumulates(guards[i]) || flight_is_lost(i, -directions[i]);
    if (!small) continue;
    const auto known = std::ranges::find(run.small_resets, guards[i], &SmallResets::guard);
    if (known != run.small_resets.end())
      ++known->count;
    else
      run.small_resets.push_back({guards[i], -directions[i], 1});
  }
  for (const SmallResets& one : run.small_resets) all_repeated = all_repeated && one.count >= repeated;
  return !(any || all_repeated) || rest_if_possible(x_before, small, all_repeated);
}

/// Whether there is a mode in contact with the surface of a guard: its resets turn it round. Others, as the sign of a
/// speed, only fire together with it.
bool Simulator::Impl::Accumulation::can_rest(const Instant::Contact& contact) {
  Mode alone = run.mode;
  std::erase(alone.sliding, contact.guard);
  run.hybrid->begin_contact(alone, contact.guard, contact.side);
  return run.hybrid->can_stay_on_surfaces(alone);
}

/// The guards whose resets are over, by the flights that are left of them. `stuck`: one whose flights are unresolved.
std::vector<Instant::Contact> Simulator::Impl::Accumulation::resting_guards(bool small, Stuck& stuck) {
  std::vector<Instant::Contact> contacts;
  for (std::size_t i = 0; i < run.instant.fired().size(); ++i) {
    const int guard = run.instant.fired()[i], side = -run.instant.fired_direction()[i];
    const bool accumulates = run.zeno.accumulates(guard), lost = !accumulates && flight_is_lost(i, side);
    if ((!accumulates && !lost) || contains(run.mode.contacts, guard)) continue;
    // a flight that is too short for the clock, or too low for the digits of the guard; below those of constraints
    // nothing must happen at all
    const double speed = std::abs(GuardSides::speed(*run.system, run.instant.consistency(), run.t, run.x, guard));
    const bool unresolved = lost || unresolved_flight(guard, run.zeno.interval(guard), speed) ||
                            0.25 * run.zeno.next_interval(guard) * speed <
                                16.0 * GuardSides::noise_of_constraints(*run.system, run.t, run.x, run.xp, guard);
    if (!unresolved && !small) {
      stuck.another_goes_on = true;
      continue;
    }
    if (can_rest({guard, side})) contacts.push_back({guard, side});
    if (unresolved && stuck.guard < 0) {
      stuck.guard = guard;
      stuck.lost = lost;
    }
  }
  return contacts;
}

/// Guards that fire by turns, each time with a jump below the tolerance, and whose surfaces are as near: bodies that
/// come to rest on each other. They are one contact.
void Simulator::Impl::Accumulation::add_group(std::vector<Instant::Contact>& contacts) {
  const std::vector<double> near =
      GuardSides::uncertainty(*run.system, run.t, run.x, run.xp, run.relative_tolerances(), run.absolute_tolerances());
  resize(run.g_then, run.watch.size());
  run.system->guards(run.t, run.x, run.xp, run.g_then);
  for (const SmallResets& one : run.small_resets) {
    const auto k = static_cast<std::size_t>(one.guard);
    const bool known = contains(run.mode.contacts, one.guard) ||
                       std::ranges::find(contacts, one.guard, &Instant::Contact::guard) != contacts.end();
    if (!known && std::abs(run.g_then[k]) <= near[k] && can_rest({one.guard, one.side}))
      contacts.push_back({one.guard, one.side});
  }
}

/// Guards that were zero within their noise at the last event are so still.
void Simulator::Impl::Accumulation::keep_noise() {
  std::vector<double>& noise = run.instant.doubt().noise;
  resize(noise, run.hybrid->guards().size());
  for (std::size_t k = 0; k < noise.size(); ++k)
    if (run.watch[k].known_root > 0) noise[k] = std::max(noise[k], run.watch[k].noise);
}

bool Simulator::Impl::Accumulation::rest_if_possible(std::span<const double> x_before, bool small, bool all_repeated) {
  keep_noise();
  Stuck stuck;
  std::vector<Instant::Contact> contacts = resting_guards(small, stuck);
  const std::vector<int>& guards = run.instant.fired();
  std::optional<DensePolynomial> tail;
  if (contacts.size() == 1)
    tail = tail_of_resets(static_cast<std::size_t>(std::ranges::find(guards, contacts.front().guard) - guards.begin()),
                          x_before);
  if (all_repeated) add_group(contacts);
  if (contacts.empty()) return go_on_without_contact(stuck, false);
  const double t_last = run.t;
  const std::vector<double> x_last = run.x;
  if (tail && contacts.size() == 1) {
    run.t = tail->t1();
    for (std::size_t j = 0; j < run.x.size(); ++j) run.x[j] += tail->c[run.x.size() + j];
  }
  const std::vector<double> tolerance = tolerances();
  const std::size_t family = tolerance.size();
  for (const Instant::Contact& one : contacts) {
    const ResetLimit limit =
        limit_of_resets(*run.hybrid, run.mode, one.guard, one.side, run.t, std::span(run.x).first(family),
                        std::span(run.xp).first(family), tolerance);
    if (limit.unknown >= 0) {
      run.t = t_last;
      run.x = x_last;
      run.system = &run.hybrid->system(run.mode);
      if (stuck.guard < 0) return true;  // flights can still be resolved
      return end_unresolved(one.guard, fmt::format("'{}', which each of them changes, has no limit that is known",
                                                   run.hybrid->variables()[limit.unknown].name));
    }
    std::ranges::copy(limit.x, run.x.begin());
  }
  run.system = &run.hybrid->system(run.mode);
  run.mode_before = run.mode;
  run.observation.observe(run.values_before);
  const std::vector<double> x_limit = run.x;
  const bool moved = run.t != t_last || x_limit != x_last;
  const Instant::Rest rest = run.instant.rest_on(contacts, {.t = run.t,
                                                            .mode = &run.mode_before,
                                                            .x = moved ? std::span<const double>(x_limit) : x_before,
                                                            .xp = run.slope_before});
  if (rest == Instant::Rest::begun) {
    if (run.t != t_last && run.options.keep_steps) keep_tail(t_last, x_last, x_limit);
    run.result.t_end_ = run.t;
    run.system = &run.instant.system();
    std::vector<std::string> messages;
    for (const Instant::Contact& one : contacts) {
      if (!contains(run.mode.contacts, one.guard)) continue;
      messages.push_back(
          stuck.lost ? "the flight after the reset is too low to be seen; the solution goes on in contact"
                     : fmt::format("infinitely many resets accumulate at t = {:.12g}; the solution goes on in "
                                   "contact",
                                   contacts.size() == 1 && run.zeno.accumulates(one.guard) ? run.zeno.limit(one.guard)
                                                                                           : run.t));
      run.zeno.forget(one.guard);
    }
    const auto& fired = run.instant.transition.fired;
    return begin_staying(EventKind::contact, messages, {fired.begin(), fired.end()}) && rest_too_low();
  }
  run.t = t_last;
  run.x = x_last;
  return go_on_without_contact(stuck, rest == Instant::Rest::denied);
}

/// Where a contact has begun, flights over it have got an acceleration. One that begins below its surface, by what its
/// last event could not resolve, and is lower than that, would never come out: it ends in contact as well. Each guard
/// is looked at once, since a contact may open again.
bool Simulator::Impl::Accumulation::rest_too_low() {
  resize(run.g_then, run.watch.size());
  run.system->guards(run.t, run.x, run.xp, run.g_then);
  for (int k = 0; k < run.instant.family_guards; ++k) {
    const GuardWatch& w = run.watch[static_cast<std::size_t>(k)];
    const double depth = -w.side * run.g_then[static_cast<std::size_t>(k)];
    if (w.side == 0 || w.known_root != 1 || !(depth > 0.0)) continue;
    const double speed = GuardSides::speed(*run.system, run.instant.consistency(), run.t, run.x, k),
                 bend = GuardSides::bend(*run.system, run.instant.consistency(), run.t, run.x, k);
    if (!(w.side * speed * run.direction > 0.0 && w.side * bend < 0.0) || speed * speed > 2.0 * std::abs(bend) * depth)
      continue;
    const Instant::Contact contact{k, w.side};
    const std::size_t family = run.hybrid->variables().size();
    if (!can_rest(contact) || reset_from(*run.hybrid, run.mode, k, w.side, run.t, std::span(run.x).first(family),
                                         std::span(run.xp).first(family))
                                  .empty())
      continue;
    keep_noise();
    run.mode_before = run.mode;
    run.observation.observe(run.values_before);
    const std::vector<double> x_before = run.x;
    if (run.instant.rest_on(std::span(&contact, 1),
                            {.t = run.t, .mode = &run.mode_before, .x = x_before, .xp = run.slope_before}) !=
        Instant::Rest::begun)
      continue;
    run.system = &run.instant.system();
    if (run.zeno.accumulates(k)) run.zeno.forget(k);
    const std::string message = "the flight after the reset is too low to be seen; the solution goes on in contact";
    if (!begin_staying(EventKind::contact, std::span(&message, 1), {})) return false;
    resize(run.g_then, run.watch.size());
    run.system->guards(run.t, run.x, run.xp, run.g_then);
  }
  return true;
}

/// There is no contact: resets whose flights are resolved go on, others end the run.
bool Simulator::Impl::Accumulation::go_on_without_contact(const Stuck& stuck, bool denied) {
  if (stuck.guard >= 0 && contains(run.mode.sliding, stuck.guard)) {  // it stays on the surface: both sides push back
    run.zeno.forget(stuck.guard);
    return true;
  }
  // another one may be the sign of a speed that the resets by the other one turn round
  if (stuck.guard < 0 || stuck.another_goes_on || (stuck.lost && !denied)) return true;
  return end_unresolved(stuck.guard,
                        denied ? fmt::format("the equations do not let the solution stay there: a relation on the "
                                             "surface of '{}' stands in them, and as it is on the surface they push "
                                             "it away",
                                             run.hybrid->guards()[stuck.guard].name)
                               : "no contact mode goes on from there");
}

/// The straight way from the last reset to where all that are left accumulate.
void Simulator::Impl::Accumulation::keep_tail(double t_last, std::span<const double> x_last,
                                              std::span<const double> x_limit) {
  DensePolynomial tail{.t0 = t_last,
                       .h = run.t - t_last,
                       .degree = 1,
                       .variables = static_cast<int>(x_last.size()),
                       .c = {x_last.begin(), x_last.end()}};
  for (std::size_t j = 0; j < x_last.size(); ++j) tail.c.push_back(x_limit[j] - x_last[j]);
  run.result.segments_.back().steps.push_back({std::move(tail), run.t, true});
}

bool Simulator::Impl::Accumulation::end_unresolved(int guard, const std::string& why) {
  const std::string& name = run.hybrid->guards()[guard].name;
  run.ending.end({StatusCode::zeno,
                  fmt::format("resets by '{}' accumulate at t = {:.12g}, and {}", name,
                              run.zeno.accumulates(guard) ? run.zeno.limit(guard) : run.t, why),
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
