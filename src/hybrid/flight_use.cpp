// When a run flies: once it is long, code for the events that it has met makes its steps (flight/pilot.hpp). What is
// not known is left to the loop of the simulator, from which it is learned.
//
// What is done depends on the run alone, not on what others have compiled, so that a run always has the same bits.
#include <saltus/step/taylor.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include "hybrid/short_lists.hpp"
#include "hybrid/simulate_options.hpp"
#include "hybrid/simulator_impl.hpp"

namespace saltus {

bool Simulator::Impl::FlightUse::possible() const {
  constexpr std::size_t most_variables = 32, most_numbers = 200;  // of modes
  const SimulateOptions& o = run.options;
  const std::size_t numbers = run.mode.discrete.size() + run.mode.locks.size() + run.mode.conditions.size();
  return o.flights_after >= 0 && run.hybrid->variables().size() <= most_variables && numbers <= most_numbers &&
         run.alone && run.direction > 0 && !run.touches_wanted && run.inputs.empty() && !run.methods.per_mode() &&
         o.rtol_each.empty() && !stops_at_events(o);
}

void Simulator::Impl::FlightUse::make_pilot() {
  PilotRules rules{.rtol = run.options.rtol,
                   .max_step = run.options.max_step,
                   .stop = run.options.stop,
                   .lands_if_stiff = run.options.method == Method::automatic};
  rules.atol = run.options.atol_each;
  rules.atol.resize(run.hybrid->variables().size(), run.options.atol);
  pilot_ = Pilot::make(*run.hybrid, std::move(rules));
}

/// That of the present stepper. Automatic runs take the series of modes with constraints because the loop has no other
/// explicit method for them: in flight they have that of explicit modes.
FlightMethod Simulator::Impl::FlightUse::method_in_flight() const {
  const bool constrained = !run.system->structure().explicit_ode;
  if (!constrained) return {run.stepper->tableau(), order_of_series(*run.stepper)};
  if (run.options.method != Method::automatic || run.steppers.method() != Method::taylor) return {};
  return {run.methods.explicit_tableau()};
}

void Simulator::Impl::FlightUse::consider() {
  if (given_up_ || run.over || run.steps_made < next_try_) return;
  if (!pilot_) {
    if (possible()) make_pilot();
    given_up_ = !pilot_;
    if (given_up_) return;
    pilot_->begin_learning(run.mode);
    next_try_ = run.options.flights_after;
    if (run.steps_made < next_try_) return;
  }
  const FlightMethod method = method_in_flight();
  if (!method.possible() || run.in_rest || run.helped || !run.bands.empty() || !run.pending_touches.empty()) return;
  if (!pilot_->take_off(method, run.t, run.mode, run.x, run.stepper->next_step())) return stay();
  flying_ = true;
  took_off_ = run.steps_made;
  ++version_;
  mode_ = run.mode;
  now_ = &mode_;
  number_ = -1;
}

/// Waits before the next try, longer each time; in the end none is made.
void Simulator::Impl::FlightUse::stay() {
  constexpr std::int64_t longest = 1 << 16;
  pause_ *= 2;
  next_try_ = run.steps_made + pause_;
  if (pause_ < longest) return;
  given_up_ = true;
  pilot_.reset();
}

void Simulator::Impl::FlightUse::begin_event(bool by_guard, bool by_time) {
  if (!pilot_ || !pilot_->learning()) return;
  pilot_->begin_event();
  departures_.clear();
  if (by_guard == by_time) return;
  for (const int k : by_time ? run.time_guards : run.located.guards) {
    const bool of_family = k < run.instant.family_guards;
    if (of_family && run.hybrid->guards()[static_cast<std::size_t>(k)].same_as >= 0) continue;
    const int side = by_time ? run.hybrid->side(run.mode, k) : run.watch[static_cast<std::size_t>(k)].side;
    departures_.push_back(departure(k, side));
  }
  if (by_guard && departures_.size() != 1) departures_.clear();
  std::ranges::sort(departures_);
}

void Simulator::Impl::FlightUse::end_event(bool by_time) {
  if (!pilot_ || !pilot_->learning() || departures_.empty()) return;
  const Transition& transition = run.instant.transition;
  if (transition.terminate || transition.recorded || !transition.message.empty() || !transition.notes.empty()) return;
  const EventKind kind = run.recorder.kind_of_settled(by_time);
  if (kind == EventKind::contact || kind == EventKind::release || run.instant.fired().empty()) return;
  const AtlasPlace edge =
      pilot_->learn(run.t, *run.mode_left, run.mode, std::move(departures_), run.state_before, run.x);
  departures_.clear();
  if (!edge.known()) return;
  const auto mode = static_cast<std::size_t>(edge.mode), place = static_cast<std::size_t>(edge.edge);
  if (shapes_.size() <= mode) shapes_.resize(mode + 1);
  if (shapes_[mode].size() <= place) shapes_[mode].resize(place + 1);
  Shape& shape = shapes_[mode][place];
  if (!shape.guards.empty()) return;
  shape.kind = kind;
  shape.by_time = by_time;
  shape.guards = run.instant.fired();
  shape.directions = run.instant.fired_direction();
  shape.actions.assign(transition.fired.begin(), transition.fired.end());
  pilot_->describe(edge, shape.guards);
}

bool Simulator::Impl::FlightUse::step() {
  const double begin = pilot_->t(), wanted = pilot_->next_step();
  const Pilot::Outcome outcome = run.steps_made < run.options.max_steps
                                     ? pilot_->advance(std::min(run.options.stop, run.pause))
                                     : Pilot::Outcome::land;
  // at the end of a slide the next step is tried, too, up to the stop time; it may be ten times longer
  constexpr double longest_trial = 12.0;
  run.saved.history.note_attempt(begin, run.options.stop - begin,
                                 longest_trial * std::max(wanted, pilot_->next_step()));
  if (outcome == Pilot::Outcome::land) {
    land();
    return run.over;
  }
  ++run.steps_made;
  run.t = pilot_->t();
  run.result.t_end_ = run.t;
  run.result.final_values_.clear();
  shown_ = false;
  if (!now_->sliding.empty()) ++run.result.statistics_.sliding_steps;
  if (run.options.keep_steps) {
    Trajectory::Step& step = run.result.segments_.back().steps.emplace_back();
    pilot_->write_dense(step.polynomial);
    step.t_end = run.t;
    step.method = run.steppers.method();
  }
  if (run.equations.step_is_due(true) && !equations_hold(begin)) return true;
  if (outcome == Pilot::Outcome::event) {
    ++run.result.statistics_.restarts;
    record();
    lands_ = is_special() || lands_;
  } else {
    if (run.bounds.watches()) {
      pilot_->write_values(run.values_after);
      run.bounds.check(run.hybrid->observed(), run.t, run.values_after);
    }
  }
  if (lands_ && !pilot_->leaves_surface()) land();
  if (run.options.progress && !run.over) {
    show();
    run.report_progress();
  }
  return true;
}

/// Compares a point inside the last step with the equations as they were written.
bool Simulator::Impl::FlightUse::equations_hold(double begin) {
  const double when = begin + run.equations.place() * (run.t - begin);
  pilot_->write_dense(dense_);
  resize(run.x_then, run.hybrid->variables().size());
  resize(run.xp_then, run.hybrid->variables().size());
  resize(run.values_after, run.observed);
  dense_.evaluate(when, run.x_then);
  if (System& system = run.hybrid->system(*now_); system.structure().explicit_ode) {
    system.rhs(when, run.x_then, run.xp_then);
  } else {
    dense_.derivative(when, run.xp_then);
    run.instant.consistency().refine(system, when, run.x_then, run.xp_then);
  }
  run.hybrid->observe(*now_, when, run.x_then, run.xp_then, run.values_after);
  Failure failure =
      run.equations.check(*run.hybrid, *now_, when, run.values_after, run.x_then, run.xp_then, run.t - begin);
  if (!failure)
    failure = run.equations.check_relations(*run.hybrid, *now_, when, run.values_after, run.x_then, run.xp_then,
                                            run.t - begin);
  if (!failure) return true;
  show();
  run.ending.end(std::move(failure));
  return false;
}

/// Notes the event that was flown through. The modes before and after it are known if their numbers are those of the
/// last event on this edge.
void Simulator::Impl::FlightUse::record() {
  const FlownEvent& event = pilot_->event();
  Shape& shape = shapes_[static_cast<std::size_t>(event.edge.mode)][static_cast<std::size_t>(event.edge.edge)];
  const bool keep = run.options.keep_event_values;
  const std::span<const double> none;
  const EventNumbers numbers{.t = event.t,
                             .cause = event.jump == 0.0 ? JumpCause::none
                                      : event.reset     ? JumpCause::reset
                                                        : JumpCause::consistency,
                             .jump = event.jump,
                             .slope_before = event.slopes_before,
                             .slope_after = event.slopes_after,
                             .before = keep ? std::span<const double>(event.before) : none,
                             .after = keep ? std::span<const double>(event.after) : none,
                             .weights = event.weights};
  if (!event.numbers_kept) ++version_;
  ++run.result.statistics_.events;
  EventLog& log = *run.result.events_;
  if (shape.version == version_) {
    log.add(shape.tag, numbers);
  } else {
    shape.latest = shape.latest == 0 ? 1 : 0;  // an edge may begin in the mode to which it led last
    Mode& after = shape.modes[shape.latest];
    pilot_->write_mode(after, shape.written[shape.latest]);
    shape.written[shape.latest] = true;
    if (shape.tag.known() && number_ >= 0) {
      shape.tag = log.add(shape.tag, number_, after, numbers);
    } else {
      actions_.assign(shape.actions.begin(), shape.actions.end());
      std::vector<int> causes;
      for (const int departure : pilot_->departures(event.edge)) causes.push_back(guard_of(departure));
      shape.tag = log.add({.kind = shape.kind,
                           .mode_before = now_,
                           .mode_after = &after,
                           .guards = shape.guards,
                           .directions = shape.directions,
                           .actions = actions_,
                           .causes = causes},
                          numbers);
    }
    shape.version = version_;
  }
  number_ = log.mode_after(shape.tag);
  now_ = &shape.modes[shape.latest];
  last_ = &shape;
  if (run.options.keep_steps) {
    auto& segments = run.result.segments_;
    segments.push_back({number_, !now_->sliding.empty(), !now_->contacts.empty(), {}});
    if (!keep) run.result.final_values_ = event.after;
  }
}

/// Whether the loop of the simulator has to look at what follows the event: resets that come to rest, surfaces that
/// meet, chattering, events without time in between.
bool Simulator::Impl::FlightUse::is_special() {
  constexpr double soon = 20.0;  // intervals
  const FlownEvent& event = pilot_->event();
  const double interval = run.t - run.last_event;
  run.last_interval = interval;
  run.last_event = run.t;
  run.close_events = 0;
  bool special = interval < 1e3 * run.unresolved_interval();
  for (std::size_t i = 0; i < last_->guards.size(); ++i) {
    const int k = last_->guards[i];
    if (event.reset) {
      run.zeno.note(k, run.t);
      special = special || run.zeno.accumulates(k);
    } else if (!last_->by_time) {
      if (last_->directions[i] < 0) run.switchings.note(k, run.t);
      special = special ||
                (run.switchings.accumulates(k) && run.switchings.limit(k) - run.t < soon * run.switchings.interval(k));
    }
  }
  if (!last_->by_time && run.chatter.note(run.t, last_->guards)) {
    show();
    run.slopes_before = event.slopes_before;
    run.slopes_after = event.slopes_after;
    if (!run.dismiss_chattering(last_->guards) && run.steppers.suspect_stiffness(*run.system)) {
      run.chatter.postpone();
      special = true;
    }
  }
  return special;
}

void Simulator::Impl::FlightUse::show() {
  if (!flying_ || shown_) return;
  shown_ = true;
  run.mode = *now_;
  run.x.assign(pilot_->x().begin(), pilot_->x().end());
  run.xp.assign(pilot_->slopes().begin(), pilot_->slopes().end());
  run.system = &run.hybrid->system(run.mode);
}

void Simulator::Impl::FlightUse::land() {
  constexpr std::int64_t long_flight = 64, soon = 16;
  show();
  flying_ = lands_ = false;
  if (run.steps_made - took_off_ >= long_flight) {
    pause_ = long_flight;
    next_try_ = run.steps_made + soon;
  } else {
    stay();
  }
  const double step = pilot_ ? pilot_->next_step() : run.stepper->next_step();
  run.keep_state();
  run.instant.begin(run.mode_before);
  run.edges.forget();
  if (!run.instant.find_values(run.t)) return run.ending.end(run.instant.failure());
  if (!run.enter_mode()) return;
  run.instant.end();
  run.in_rest = false;
  run.steppers.start_stepper(step);
  run.first_step = true;
  run.rejected_before = run.stepper->statistics().rejected;
  run.regularity.stop();
  run.redundancy.stop();
}

void Simulator::Impl::FlightUse::persist(StateArchive& archive) {
  bool exists = pilot_ != nullptr, flying = flying_;
  archive(exists, given_up_, flying, lands_, next_try_, pause_, took_off_, shapes_);
  if (!exists) return;
  if (!archive.writes()) make_pilot();
  const FlightMethod method = method_in_flight();
  if (!pilot_ || !method.possible()) throw UsageError("the saved state is damaged: it was not saved in flight");
  pilot_->persist(archive, flying, method, run.t, run.mode, run.x);
  if (archive.writes() || !flying) return;
  flying_ = shown_ = true;
  ++version_;
  mode_ = run.mode;
  now_ = &mode_;
  number_ = -1;
}

}  // namespace saltus
