// Events that accumulate: a ball that bounces infinitely often in finite time goes on in contact.
#include "hybrid/simulator_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace saltus {

bool Simulator::Impl::larger_than_tolerance(std::span<const double> x_before) const {
  for (std::size_t j = 0; j < hybrid->variables().size(); ++j) {
    const double atol = options.atol_each.empty() ? options.atol : options.atol_each[j];
    if (std::abs(x[j] - x_before[j]) > atol + options.rtol * std::abs(x[j])) return true;
  }
  return false;
}

[[gnu::hot]] bool Simulator::Impl::come_to_rest(std::span<const double> x_before) {
  std::vector<int> rested;
  int stuck = -1;  // a guard whose intervals cannot be resolved, and that has no contact
  bool another_goes_on = false;
  for (const int guard : controller.fired()) {
    zeno.note(guard, t);
    if (!zeno.accumulates(guard)) continue;
    // a flight that is too short for the clock, or too low for the digits of the guard
    const double speed = std::abs(GuardSides::speed(*system, controller.consistency(), t, x, guard));
    const double noise = std::max(controller.sides().noise(guard), GuardSides::noise_of_constraints(*system, t, x, xp, guard));
    const bool unresolved = zeno.next_interval(guard) < unresolved_interval() || 0.25 * zeno.next_interval(guard) * speed < 16.0 * noise;
    if (!unresolved && larger_than_tolerance(x_before)) {
      another_goes_on = true;
      continue;
    }
    if (rested.empty()) {
      mode_before = mode;
      observe(values_before);
    }
    if (controller.rest_on(guard, t, x_before)) {
      system = &controller.system();
      rested.push_back(guard);
    } else if (unresolved) {
      stuck = guard;
    }
  }
  if (!rested.empty()) return begin_contact(rested);
  if (stuck < 0 || another_goes_on) return true;  // it may be the sign of a speed that the resets by the other one turn round
  end({StatusCode::zeno, fmt::format("resets accumulate at t = {:.12g}, and no contact mode goes on from there", zeno.limit(stuck)),
       {hybrid->guards()[stuck].name}});
  return false;
}

bool Simulator::Impl::begin_contact(std::span<const int> guards) {
  const Mode free = mode_before;
  keep_state();
  controller.begin_instant();
  controller.arrive(mode_before, t);
  if (!controller.settle({.t = t, .x_before = state_before, .xp_before = slope_before})) {
    restore_state();
    end(controller.failure());
    return false;
  }
  const Transition& transition = controller.transition;
  if (!transition.terminate && !enter_mode()) return false;
  observe(values_after);
  find_weights();
  for (const int guard : guards) {
    record({.kind = EventKind::contact,
            .mode_before = &free,
            .mode_after = &mode,
            .actions = transition.fired,
            .message = fmt::format("infinitely many resets accumulate at t = {:.12g}; the solution goes on in contact", zeno.limit(guard))},
           {.t = t, .before = values_before, .after = values_after, .weights = weights});
    zeno.forget(guard);
  }
  close_events = 0;
  if (!transition.terminate) return true;
  end({StatusCode::terminated, ended_by_model(), {}});
  return false;
}

[[gnu::hot]] bool Simulator::Impl::too_close() {
  const double interval = std::abs(t - last_event);
  close_events = interval < unresolved_interval() && interval <= last_interval ? close_events + 1 : 0;
  last_interval = interval;
  last_event = t;
  if (close_events < 10) return false;
  end({StatusCode::zeno, fmt::format("events accumulate at t = {:.12g}: the intervals between them shrink towards zero", t),
       controller.guard_names(controller.fired())});
  return true;
}

}  // namespace saltus
