// What a run writes down about its events.
#include "hybrid/simulator_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "hybrid/short_lists.hpp"

namespace saltus {

[[gnu::hot]] EventNumbers Simulator::Impl::settled_numbers() {
  const std::vector<int>& fired = instant.fired();
  observe(values_after);
  double jump = 0.0;
  for (std::size_t k = 0; k < values_after.size(); ++k) jump = std::max(jump, std::abs(values_after[k] - values_before[k]));
  const GuardSides& seen = instant.sides();
  const std::size_t count = fired.size();
  resize(slopes_before, count);
  resize(slopes_after, instant.transition.terminate ? 0 : count);
  bool all_seen = true;  // the slopes behind the event
  for (std::size_t i = 0; i < count; ++i) {
    slopes_before[i] = guard_slopes[static_cast<std::size_t>(fired[i])];
    if (slopes_after.empty()) continue;
    slopes_after[i] = seen.slope(fired[i]);
    all_seen = all_seen && seen.multiplicity(fired[i]) == 1;
  }
  if (!all_seen) {
    find_slopes();
    for (std::size_t i = 0; i < count; ++i)
      if (seen.multiplicity(fired[i]) != 1) slopes_after[i] = guard_slopes[static_cast<std::size_t>(fired[i])];
  }
  return {.t = t,
          .cause = jump == 0.0 ? JumpCause::none : instant.reset() ? JumpCause::reset : JumpCause::consistency,
          .jump = jump,
          .proved = proved,
          .slope_before = slopes_before,
          .slope_after = slopes_after,
          .before = options.keep_event_values ? std::span<const double>(values_before) : std::span<const double>{},
          .after = options.keep_event_values ? std::span<const double>(values_after) : std::span<const double>{}};
}

[[gnu::hot]] void Simulator::Impl::record_settled(bool by_time) {
  const Transition& transition = instant.transition;
  const std::vector<int>& fired = instant.fired();
  if (!pending_touches.empty()) std::erase_if(pending_touches, [&](const PendingTouch& touch) { return contains(fired, touch.guard); });
  EventNumbers numbers = settled_numbers();
  EventTag* const on_edge = edges.tag();
  if (on_edge && on_edge->known()) {
    ++result.statistics_.events;
    return result.events_->add(*on_edge, numbers);
  }
  find_weights();
  numbers.weights = weights;
  const EventTag tag = record({.kind = kind_of_settled(by_time),
                               .mode_before = mode_left,
                               .mode_after = &mode,
                               .guards = fired,
                               .directions = instant.fired_direction(),
                               .actions = transition.fired,
                               .message = message_of_settled()},
                              numbers);
  if (on_edge) *on_edge = tag;
}

std::string Simulator::Impl::message_of_settled() {
  std::string text = instant.transition.message;
  for (const std::string& note : instant.transition.notes) text += (text.empty() ? "" : "; ") + note;
  return text;
}

EventKind Simulator::Impl::kind_of_settled(bool by_time) const {
  const Transition& transition = instant.transition;
  const auto more = [](const std::vector<int>& list, const std::vector<int>& than) {
    return std::any_of(list.begin(), list.end(), [&](int k) { return !contains(than, k); });
  };
  if (transition.terminate) return EventKind::terminal;
  if (mode.automaton != mode_left->automaton) return EventKind::transition;
  if (more(mode.contacts, mode_left->contacts)) return EventKind::contact;
  if (instant.reset()) return EventKind::reset;
  if (mode.on_surfaces() || mode_left->on_surfaces()) {
    if (more(mode.sliding, mode_left->sliding)) return EventKind::slide_enter;
    if (more(mode_left->sliding, mode.sliding)) return EventKind::slide_exit;
    if (more(mode_left->contacts, mode.contacts)) return EventKind::release;
  }
  return transition.recorded ? EventKind::record : by_time ? EventKind::time : EventKind::crossing;
}

void Simulator::Impl::record_touches(bool found) {
  const auto wanted = [&](int k) { return k < instant.family_guards && hybrid->guards()[k].record_touch; };
  const auto crosses_at = [&](const PendingTouch& touch) {
    return found && contains(located.guards, touch.guard) && std::abs(located.t_after - touch.t) <= 1e-6 * std::abs(stepper->t() - t);
  };
  std::vector<PendingTouch> touches;
  for (const PendingTouch& touch : pending_touches)
    if (!crosses_at(touch)) touches.push_back(touch);
  pending_touches.clear();
  for (const GuardTouch& touch : locator.touches()) {
    if (!wanted(touch.guard)) continue;
    const auto of_guard = [&](const PendingTouch& one) { return one.guard == touch.guard; };
    if (touch.t_low == t && std::any_of(touches.begin(), touches.end(), of_guard)) continue;  // the one at the end of the last step goes on
    if (touch.kind == RootKind::zero_at_end)
      pending_touches.push_back({touch.guard, touch.t_high});
    else if (touch.kind == RootKind::even)
      touches.push_back({touch.guard, 0.5 * (touch.t_low + touch.t_high)});
  }
  std::stable_sort(touches.begin(), touches.end(),
                   [&](const PendingTouch& a, const PendingTouch& b) { return (b.t - a.t) * direction > 0.0; });
  for (const PendingTouch& touch : touches) record_touch(touch);
}

void Simulator::Impl::record_touch(const PendingTouch& touch) {
  resize(x_then, x.size());
  resize(xp_then, x.size());
  stepper->dense().evaluate(touch.t, x_then);
  if (system->structure().explicit_ode) {
    system->rhs(touch.t, x_then, xp_then);
  } else {
    stepper->dense().derivative(touch.t, xp_then);
    instant.consistency().refine(*system, touch.t, x_then, xp_then);
  }
  values_before.resize(hybrid->observed().size());
  hybrid->observe(mode, touch.t, x_then, xp_then, values_before);
  constexpr int direction_of_touch = 0;
  constexpr double slope_of_touch = 0.0;
  record({.kind = EventKind::touch,
          .mode_before = &mode,
          .mode_after = &mode,
          .guards = std::span(&touch.guard, 1),
          .directions = std::span(&direction_of_touch, 1)},
         {.t = touch.t,
          .proved = proved,
          .slope_before = std::span(&slope_of_touch, 1),
          .slope_after = std::span(&slope_of_touch, 1),
          .before = values_before,
          .after = values_before});
}

void Simulator::Impl::find_weights() {
  weights.clear();
  if (mode.sliding.empty()) return;
  resize(g_then, static_cast<std::size_t>(system->structure().guards));
  system->guards(t, x, xp, g_then);
  hybrid->exit_guards(mode, exits);
  for (std::size_t k = 0; k < mode.sliding.size(); ++k) weights.push_back(g_then[static_cast<std::size_t>(exits[k])]);
}

EventTag Simulator::Impl::record(const EventShape& shape, const EventNumbers& numbers) {
  ++result.statistics_.events;
  if (options.keep_event_values) return result.events_->add(shape, numbers);
  EventNumbers without_values = numbers;
  without_values.before = without_values.after = {};
  return result.events_->add(shape, without_values);
}

}  // namespace saltus
