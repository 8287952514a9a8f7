// What happens at an event: the state is moved to it, the controller settles what changes, and the event is recorded.
#include "hybrid/simulator_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "hybrid/large_modes.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

[[gnu::hot]] void Simulator::Impl::event_at(double when, bool by_guard, bool approached) {
  const bool by_time = when == next_time;
  const double step_size = stepper->next_step();
  flights.begin_event(by_guard, by_time);
  take_step(when);
  if (by_guard != by_time && !approached && repeat_event(by_time, step_size)) return;
  const bool explicit_ode = system->structure().explicit_ode;
  if (explicit_ode) approach.find_slopes();
  approach.measure_bracket(by_guard && !by_time ? located.t_before : when, when, by_guard,
                           by_guard && (approached || when == stepper->t()));
  if (!explicit_ode) {
    approach.polish(t, x, xp);
    approach.find_slopes();
  }
  if (by_guard) {
    approach.push_across(located.guards);
    approach.correct_slopes();
  }
  approach.project_event_state();
  handle_event(by_guard, by_time, step_size);
}

[[gnu::hot]] bool Simulator::Impl::repeat_event(bool by_time, double step_size) {
  const std::vector<int>& guards = by_time ? time_guards : located.guards;
  if (guards.size() != 1 || (!by_time && located.at_start) || !bands.empty()) return false;
  const int guard = guards.front();
  if (!edges.knows(guard, by_time ? hybrid->side(mode, guard) : watch[static_cast<std::size_t>(guard)].side))
    return false;
  const auto linear = system->linear_guards();
  if (linear.size() != watch.size()) return false;
  resize(g_then, watch.size());
  system->guards(t, x, xp, g_then);
  resize(guard_slopes, watch.size());
  std::vector<double>& noise = instant.doubt().noise;
  resize(noise, watch.size());
  const double width = t - approach.at_least_some_units_before(t, by_time ? t : located.t_before);
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
  observation.observe(values_before);
  if (const Mode* same_as_before = edges.known_mode()) {
    mode_left = same_as_before;
    copy(x, state_before);
    copy(xp, slope_before);
  } else {
    keep_state();
  }
  causes.assign(1, guard);
  also_zero.clear();
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
  observation.observe(values_before);
  keep_state();
  find_causes(by_guard, by_time);
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
  const Arrival arrival{.t = t, .mode = &mode_before, .x = state_before, .xp = slope_before};
  if (!(noticed ? instant.settle(arrival) : instant.pass_by(arrival))) return ending.end(instant.failure());
  if (noticed) edges.learn();
  leave_event(by_time, step_size);
}

void Simulator::Impl::find_causes(bool by_guard, bool by_time) {
  causes.clear();
  also_zero.clear();
  const auto begins = [&](int k) {
    const bool of_family = k < instant.family_guards;
    if (of_family && hybrid->guards()[static_cast<std::size_t>(k)].same_as >= 0) return;
    if (!contains(causes, k)) causes.push_back(k);
  };
  if (by_guard) std::ranges::for_each(located.guards, begins);
  if (by_time) std::ranges::for_each(time_guards, begins);
  const std::vector<double>& noise = instant.doubt().noise;
  resize(g_then, static_cast<std::size_t>(system->structure().guards));
  system->guards(t, x, xp, g_then);
  const auto family = static_cast<std::size_t>(instant.family_guards);
  const std::size_t count = std::min({noise.size(), g_then.size(), watch.size(), family});
  for (std::size_t k = 0; k < count; ++k)
    if (watch[k].side != 0 && watch[k].known_root == 0 && std::abs(g_then[k]) <= noise[k] &&
        hybrid->guards()[k].same_as < 0 && !contains(causes, static_cast<int>(k)))
      also_zero.push_back(static_cast<int>(k));
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
    guarding.set_watch();
  } else if (!transition.terminate && !(edges.sides().empty() ? enter_mode() : enter_mode_again())) {
    return;
  }
  // a guard may touch zero within its errors, or a weight its end, and the solution go on as before
  const bool nothing = !by_time && !reset && transition.fired.empty() && !transition.recorded &&
                       !transition.terminate && same(mode, *mode_left);
  if (noticed && !inputs.empty() && !transition.terminate)
    inputs.note_impulses(*system, state_before, x, *std::ranges::max_element(relative_tolerances()), options.atol,
                         [&](std::string text) { instant.transition.notes.push_back(std::move(text)); });
  const bool inputs_alone = noticed && input_events.alone();
  if (noticed && !nothing && !(inputs_alone && input_events.only_slopes())) {
    recorder.record_settled(by_time);
    flights.end_event(by_time);
  }
  if (transition.terminate) return ending.finish({StatusCode::terminated, ending.ended_by_model(), {}});
  if (reset && !accumulation.come_to_rest(state_before)) return;
  if (noticed && !reset && !by_time && !nothing && !accumulation.meet_surfaces()) return;
  if (noticed && !nothing && !inputs_alone && ends_by_limit(by_time)) return;
  bool other_method = false;
  if (noticed && !by_time && !nothing && chatter.note(t, instant.fired()) && !dismiss_chattering(instant.fired())) {
    other_method = steppers.suspect_stiffness(hybrid->system(*mode_left), *system);
    if (other_method) {
      chatter.postpone();
    } else if (options.stop_if_chattering) {
      const auto& episode = chatter.episodes().back();
      const Chattering found{episode.from, episode.to, episode.events, names_of(*hybrid, episode.guards)};
      return ending.end({StatusCode::chattering, ending.describe(found), found.guards});
    }
  }
  if (noticed && !inputs_alone && accumulation.too_close()) return;
  if (t == options.stop) return ending.finish();
  const bool repeated = goes_on || !edges.sides().empty();
  if ((!repeated || equations.event_is_due()) &&
      !(observation.relations_held(time_scale()) && (goes_on || observation.equations_hold(t, time_scale())) &&
        observation.relations_hold(time_scale())))
    return;
  give_back(x.size(), state_before, slope_before, values_before, values_after);
  instant.end();
  // a time event may have been planned within the step that the stepper has already done
  if (goes_on && !other_method && reached(next_time, stepper->t()))
    go_on();
  else
    restart(step_size);
  if (progress()) flights.consider();
}

bool Simulator::Impl::times_due() {
  constexpr double rounding = 8.0 * std::numeric_limits<double>::epsilon();
  time_guards.clear();
  if (!has_time_guards) return false;
  const double just_before = std::nextafter(t, -direction * std::numeric_limits<double>::infinity());
  const double due = hybrid->next_time_event(mode, just_before, direction, time_guards);
  return std::abs(due - t) <= rounding * std::abs(t);
}

void Simulator::Impl::handle_due_times() {
  next_time = t;
  if (!system->structure().explicit_ode) {
    copy(x, x_then);
    copy(xp, xp_then);
    if (!instant.consistency().polish(*system, t, x, xp)) {
      copy(x_then, x);
      copy(xp_then, xp);
    }
  }
  approach.find_slopes();
  const double width = t - approach.at_least_some_units_before(t, t);
  std::vector<double>& noise = instant.doubt().noise;
  resize(noise, guard_slopes.size());
  for (std::size_t k = 0; k < noise.size(); ++k)
    noise[k] = std::isfinite(guard_slopes[k]) ? 4.0 * std::abs(guard_slopes[k] * width) : 0.0;
  approach.project_event_state();
  handle_event(false, true, stepper->next_step());
}

bool Simulator::Impl::ends_by_limit(bool by_time) {
  const std::int64_t events = result.statistics_.events;
  if (events > options.max_events) {
    ending.end({StatusCode::too_many_steps,
                fmt::format("{} events were not enough: the event at t = {:.12g} is one more; raise max_events "
                            "(--max-events), or look at the events for chattering",
                            options.max_events, t),
                names_of(*hybrid, instant.fired())});
    return true;
  }
  if (by_time || options.shortest_interval == 0.0) return false;
  const std::array<double, 2> before = chatter.latest();
  if (!chatter.too_close(t, options.shortest_interval)) return false;
  const std::vector<std::string> names = names_of(*hybrid, instant.fired());
  ending.end({StatusCode::chattering,
              fmt::format("chattering: events at t = {:.9g}, {:.9g} and {:.9g}, the last one of '{}', are closer than "
                          "shortest_interval = {:g}; shorten the interval (--shortest-interval) if this is meant",
                          before[0], before[1], t, names.empty() ? "" : names.front(), options.shortest_interval),
              names});
  return true;
}

bool Simulator::Impl::dismiss_chattering(std::span<const int> fired) {
  constexpr double many_tolerances = 100.0;
  const std::vector<double> tolerance =
      GuardSides::uncertainty(*system, t, x, xp, relative_tolerances(), absolute_tolerances());
  for (std::size_t i = 0; i < std::min(fired.size(), slopes_before.size()); ++i) {
    const double speed =
        std::max(std::abs(slopes_before[i]), i < slopes_after.size() ? std::abs(slopes_after[i]) : 0.0);
    if (speed * chatter.interval() <= many_tolerances * tolerance[static_cast<std::size_t>(fired[i])]) return false;
  }
  chatter.dismiss();
  return true;
}

bool Simulator::Impl::without_consequences() const {
  if (methods.per_mode() || t == options.stop || !hybrid->same_equations(*mode_left, mode) || !same(x, state_before))
    return false;
  // the state may have been moved away from the stepper's by rounding errors (polishing); within a step values come
  // from the polynomial, except near the end of a step that was made for the event
  return t == stepper->t()
             ? std::equal(state_before.begin(), state_before.end(), stepper->x().begin(), stepper->x().end())
             : dense_is_accurate() && reached(stepper->t(), t);
}

void Simulator::Impl::go_on() {
  in_rest = t != stepper->t();
  if (in_rest) stepper->dense().tail(t, rest);
  if (options.keep_steps) begin_segment();
}

}  // namespace saltus
