// What a run writes down about its events.
#include "hybrid/simulator_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "hybrid/run_access.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

const EventLog& RunAccess::events(const Trajectory& trajectory) {
  return Simulator::Impl::log_of(trajectory);
}

[[gnu::hot]] EventNumbers Simulator::Impl::EventRecord::settled_numbers() {
  const std::vector<int>& fired = run.instant.fired();
  run.observation.observe(run.values_after);
  double jump = 0.0;
  for (std::size_t k = 0; k < run.values_after.size(); ++k)
    jump = std::max(jump, std::abs(run.values_after[k] - run.values_before[k]));
  const GuardSides& seen = run.instant.sides();
  const std::size_t count = fired.size();
  resize(run.slopes_before, count);
  resize(run.slopes_after, run.instant.transition.terminate ? 0 : count);
  bool all_seen = true;  // the slopes behind the event
  for (std::size_t i = 0; i < count; ++i) {
    run.slopes_before[i] = run.guard_slopes[static_cast<std::size_t>(fired[i])];
    if (run.slopes_after.empty()) continue;
    run.slopes_after[i] = seen.slope(fired[i]);
    all_seen = all_seen && seen.multiplicity(fired[i]) == 1;
  }
  if (!all_seen) {
    run.approach.find_slopes();
    for (std::size_t i = 0; i < count; ++i)
      if (seen.multiplicity(fired[i]) != 1) run.slopes_after[i] = run.guard_slopes[static_cast<std::size_t>(fired[i])];
  }
  return {
      .t = run.t,
      .cause = jump == 0.0           ? JumpCause::none
               : run.instant.reset() ? JumpCause::reset
                                     : JumpCause::consistency,
      .jump = jump,
      .proved = run.proved,
      .slope_before = run.slopes_before,
      .slope_after = run.slopes_after,
      .before = run.options.keep_event_values ? std::span<const double>(run.values_before) : std::span<const double>{},
      .after = run.options.keep_event_values ? std::span<const double>(run.values_after) : std::span<const double>{}};
}

[[gnu::hot]] void Simulator::Impl::EventRecord::record_settled(bool by_time) {
  const Transition& transition = run.instant.transition;
  const std::vector<int>& fired = run.instant.fired();
  if (!run.pending_touches.empty())
    std::erase_if(run.pending_touches, [&](const PendingTouch& touch) { return contains(fired, touch.guard); });
  EventNumbers numbers = settled_numbers();
  EventTag* const on_edge = run.event_sink ? nullptr : run.edges.tag();
  if (on_edge && on_edge->known()) {
    ++run.result.statistics_.events;
    return run.result.events_->add(*on_edge, numbers);
  }
  find_weights();
  numbers.weights = run.weights;
  const EventTag tag = record({.kind = kind_of_settled(by_time),
                               .mode_before = run.mode_left,
                               .mode_after = &run.mode,
                               .guards = fired,
                               .directions = run.instant.fired_direction(),
                               .actions = transition.fired,
                               .message = message_of_settled(),
                               .causes = settled_causes()},
                              numbers);
  if (on_edge) *on_edge = tag;
}

std::span<const int> Simulator::Impl::EventRecord::settled_causes() {
  for (const int k : run.also_zero)
    if (contains(run.instant.fired(), k)) run.causes.push_back(k);
  run.also_zero.clear();
  return run.causes;
}

std::string Simulator::Impl::EventRecord::message_of_settled() {
  std::string text = run.instant.transition.message;
  for (const std::string& note : run.instant.transition.notes) text += (text.empty() ? "" : "; ") + note;
  return text;
}

EventKind Simulator::Impl::EventRecord::kind_of_settled(bool by_time) const {
  const Transition& transition = run.instant.transition;
  const auto more = [](const std::vector<int>& list, const std::vector<int>& than) {
    return std::any_of(list.begin(), list.end(), [&](int k) { return !contains(than, k); });
  };
  if (transition.terminate) return EventKind::terminal;
  if (run.mode.automaton != run.mode_left->automaton) return EventKind::transition;
  if (more(run.mode.contacts, run.mode_left->contacts)) return EventKind::contact;
  if (run.instant.reset()) return EventKind::reset;
  if (run.mode.on_surfaces() || run.mode_left->on_surfaces()) {
    if (more(run.mode.sliding, run.mode_left->sliding)) return EventKind::slide_enter;
    if (more(run.mode_left->sliding, run.mode.sliding)) return EventKind::slide_exit;
    if (more(run.mode_left->contacts, run.mode.contacts)) return EventKind::release;
  }
  return transition.recorded ? EventKind::record : by_time ? EventKind::time : EventKind::crossing;
}

void Simulator::Impl::EventRecord::record_touches(bool found) {
  const auto wanted = [&](int k) { return k < run.instant.family_guards && run.hybrid->guards()[k].record_touch; };
  const auto crosses_at = [&](const PendingTouch& touch) {
    return found && contains(run.located.guards, touch.guard) &&
           std::abs(run.located.t_after - touch.t) <= 1e-6 * std::abs(run.stepper->t() - run.t);
  };
  std::vector<PendingTouch> touches;
  for (const PendingTouch& touch : run.pending_touches)
    if (!crosses_at(touch)) touches.push_back(touch);
  run.pending_touches.clear();
  for (const GuardTouch& touch : run.locator.touches()) {
    if (!wanted(touch.guard)) continue;
    const auto of_guard = [&](const PendingTouch& one) { return one.guard == touch.guard; };
    if (touch.t_low == run.t && std::any_of(touches.begin(), touches.end(), of_guard))
      continue;  // the one at the end of the last step goes on
    if (touch.kind == RootKind::zero_at_end)
      run.pending_touches.push_back({touch.guard, touch.t_high});
    else if (touch.kind == RootKind::even)
      touches.push_back({touch.guard, 0.5 * (touch.t_low + touch.t_high)});
  }
  std::stable_sort(touches.begin(), touches.end(),
                   [&](const PendingTouch& a, const PendingTouch& b) { return (b.t - a.t) * run.direction > 0.0; });
  for (const PendingTouch& touch : touches) record_touch(touch);
}

void Simulator::Impl::EventRecord::record_touch(const PendingTouch& touch) {
  resize(run.x_then, run.x.size());
  resize(run.xp_then, run.x.size());
  run.stepper->dense().evaluate(touch.t, run.x_then);
  if (run.system->structure().explicit_ode) {
    run.system->rhs(touch.t, run.x_then, run.xp_then);
  } else {
    run.stepper->dense().derivative(touch.t, run.xp_then);
    run.instant.consistency().refine(*run.system, touch.t, run.x_then, run.xp_then);
  }
  run.values_before.resize(run.hybrid->observed().size());
  run.hybrid->observe(run.mode, touch.t, run.x_then, run.xp_then, run.values_before);
  constexpr int direction_of_touch = 0;
  constexpr double slope_of_touch = 0.0;
  record({.kind = EventKind::touch,
          .mode_before = &run.mode,
          .mode_after = &run.mode,
          .guards = std::span(&touch.guard, 1),
          .directions = std::span(&direction_of_touch, 1)},
         {.t = touch.t,
          .proved = run.proved,
          .slope_before = std::span(&slope_of_touch, 1),
          .slope_after = std::span(&slope_of_touch, 1),
          .before = run.values_before,
          .after = run.values_before});
}

void Simulator::Impl::EventRecord::find_weights() {
  run.weights.clear();
  if (run.mode.sliding.empty()) return;
  resize(run.g_then, static_cast<std::size_t>(run.system->structure().guards));
  run.system->guards(run.t, run.x, run.xp, run.g_then);
  run.hybrid->exit_guards(run.mode, run.exits);
  for (std::size_t k = 0; k < run.mode.sliding.size(); ++k)
    run.weights.push_back(run.g_then[static_cast<std::size_t>(run.exits[k])]);
}

EventTag Simulator::Impl::EventRecord::record(const EventShape& shape, const EventNumbers& numbers) {
  ++run.result.statistics_.events;
  if (run.event_sink) {
    run.event_sink(shape, numbers);
    return {};
  }
  if (run.options.keep_event_values) return run.result.events_->add(shape, numbers);
  EventNumbers without_values = numbers;
  without_values.before = without_values.after = {};
  return run.result.events_->add(shape, without_values);
}

}  // namespace saltus
