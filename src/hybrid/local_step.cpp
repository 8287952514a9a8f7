// Runs of parts within a step, and what the change of one part means for others.
#include "hybrid/local_step.hpp"

namespace saltus {

namespace {

/// Changes of the solution of a reader below this part of the tolerance do not matter.
constexpr double negligible_change = 0.02;

/// A polynomial of the step as coefficients of powers of (time - since), at their places among discrete variables.
void write_polynomial(const DensePolynomial& p, int j, int degree, double* out) {
  double scale = 1.0;
  for (int k = 0; k <= degree; ++k) {
    out[k] = k <= p.degree ? scale * p.c[static_cast<std::size_t>(k * p.variables + j)] : 0.0;
    scale /= p.h == 0.0 ? 1.0 : p.h;
  }
  out[degree + 1] = p.t0;
}

}  // namespace

Simulator::Impl::LocalEvents::Work::Work(Impl& of, std::shared_ptr<const FamilyParts> found, const Tableau& by,
                                         Method with)
    : run(of), parts(std::move(found)), tableau(by), degree(by.dense_degree), method(with) {
  const std::size_t count = parts->size();
  part_of_variable.resize(run.hybrid->variables().size());
  place_of_variable.resize(part_of_variable.size());
  part_of_guard.resize(run.hybrid->guards().size());
  track_of.assign(count, -1);
  pending.assign(count, never);
  for (std::size_t c = 0; c < count; ++c) {
    const FamilyPart part = parts->part(c);
    for (std::size_t i = 0; i < part.variables.size(); ++i) {
      part_of_variable[static_cast<std::size_t>(part.variables[i])] = static_cast<int>(c);
      place_of_variable[static_cast<std::size_t>(part.variables[i])] = static_cast<int>(i);
    }
    for (const int g : part.guards) {
      part_of_guard[static_cast<std::size_t>(g)] = static_cast<int>(c);
      if (run.hybrid->guards()[static_cast<std::size_t>(g)].time_only &&
          (timed.empty() || timed.back() != static_cast<int>(c)))
        timed.push_back(static_cast<int>(c));
    }
  }
  find_readers();
}

void Simulator::Impl::LocalEvents::Work::find_readers() {
  const std::size_t count = parts->size();
  std::vector<std::pair<int, int>> pairs;  // (read, reader)
  for (std::size_t c = 0; c < count; ++c)
    for (const int j : parts->part(c).foreign)
      pairs.emplace_back(part_of_variable[static_cast<std::size_t>(j)], static_cast<int>(c));
  std::ranges::sort(pairs);
  const auto last = std::ranges::unique(pairs);
  pairs.erase(last.begin(), last.end());
  first_reader.assign(count + 1, 0);
  for (const auto& [read, reader] : pairs) {
    ++first_reader[static_cast<std::size_t>(read) + 1];
    readers.push_back(reader);
  }
  for (std::size_t c = 0; c < count; ++c) first_reader[c + 1] += first_reader[c];
}

double Simulator::Impl::LocalEvents::Work::write_foreign(const FamilyPart& part, const PartShape& shape, double t,
                                                         Mode& mode) const {
  double until = t1;
  for (std::size_t k = 0; k < part.foreign.size(); ++k) {
    const auto j = static_cast<std::size_t>(part.foreign[k]);
    const int track = track_of[static_cast<std::size_t>(part_of_variable[j])];
    double* const out = mode.discrete.data() + shape.polynomial(part, k);
    if (track < 0) {
      write_polynomial(*all, static_cast<int>(j), shape.degree, out);
      continue;
    }
    const PartTrack::Piece& piece = tracks[static_cast<std::size_t>(track)].at(t + sliver);
    write_polynomial(piece.polynomial, place_of_variable[j], shape.degree, out);
    if (piece.t_end > t + sliver) until = std::min(until, piece.t_end);
  }
  return t1 - until > sliver ? until : t1;
}

bool Simulator::Impl::LocalEvents::Work::foreign_jumps(const FamilyPart& part, double t) const {
  for (const int j : part.foreign) {
    const auto variable = static_cast<std::size_t>(j);
    const int track = track_of[static_cast<std::size_t>(part_of_variable[variable])];
    if (track < 0) continue;
    const PartTrack& of = tracks[static_cast<std::size_t>(track)];
    const int place = place_of_variable[variable];
    const PartTrack::Piece &before_it = of.at(t - 2.0 * sliver), &behind_it = of.at(t + sliver);
    if (&before_it == &behind_it && before_it.begin() < t - 2.0 * sliver) continue;
    const double after = behind_it.polynomial.evaluate(t, place);
    const bool first = before_it.begin() > t - 2.0 * sliver;
    const double before = first ? all->evaluate(t, j) : before_it.polynomial.evaluate(t, place);
    if (std::abs(after - before) > tolerance(j, before)) return true;
  }
  return false;
}

double Simulator::Impl::LocalEvents::Work::foreign_changed(const FamilyPart& part) const {
  double from = never;
  for (const int j : part.foreign)
    if (const int track = track_of[static_cast<std::size_t>(part_of_variable[static_cast<std::size_t>(j)])]; track >= 0)
      from = std::min(from, tracks[static_cast<std::size_t>(track)].changed_from);
  return from;
}

Simulator::Impl* Simulator::Impl::LocalEvents::Work::runner_of(int number, const PartShape& shape) {
  if (runners.size() <= static_cast<std::size_t>(number)) runners.resize(static_cast<std::size_t>(number) + 1);
  auto& runner = runners[static_cast<std::size_t>(number)];
  if (runner) return runner.get();
  SimulateOptions o;
  o.start = run.options.start;
  o.stop = run.options.stop + std::abs(run.options.stop - run.options.start);  // no part comes to its end
  o.rtol = run.options.rtol;
  o.atol = run.options.atol;
  o.method = method;
  o.max_step = run.options.max_step;
  o.max_mode_changes = run.options.max_mode_changes;
  o.flights_after = o.local_events_from = -1;
  o.keep_event_values = false;
  runner = std::make_unique<Impl>(std::const_pointer_cast<HybridSystem>(shape.family), o);
  return runner.get();
}

double Simulator::Impl::LocalEvents::Work::before_events_at(const PartTrack& track, double t) const {
  for (const PartEvent& event : track.events)
    if (event.t > t - sliver && event.t <= t + sliver)
      return std::max(event.t - 2.0 * sliver, track.pieces.front().begin());
  return t;
}

bool Simulator::Impl::LocalEvents::Work::run_part(int number, double from) {
  const FamilyPart part = parts->part(static_cast<std::size_t>(number));
  const PartShape* const shape = parts->shape(part.shape);
  if (!shape || pieces_made > pieces_allowed) return false;
  ++runs;
  Impl& runner = *runner_of(part.shape, *shape);
  PartTrack fresh, before;
  int& track = track_of[static_cast<std::size_t>(number)];
  x_then.resize(part.variables.size());
  const bool again = track >= 0;
  if (again) {
    before = std::move(tracks[static_cast<std::size_t>(track)]);
    from = before_events_at(before, from);
    before.at(from).polynomial.evaluate(from, x_then);
    fresh = before.until(from);
    copy(fresh.states.back().mode, mode_then);
    complete_mode(part, *shape, parts->parameters(), mode_then);
  } else {
    for (std::size_t i = 0; i < x_then.size(); ++i) x_then[i] = all->evaluate(from, part.variables[i]);
    take_mode(part, *shape, parts->parameters(), run.mode, mode_then);
  }
  double until = write_foreign(part, *shape, from, mode_then);
  const auto note_state = [&](double t, const Mode& mode) {
    fresh.states.push_back({t, {}});
    keep_mode(part, mode, fresh.states.back().mode);
  };
  if (!again) note_state(from, mode_then);
  const std::size_t pieces_before = fresh.pieces.size();
  if ((again || from > t0) && run_smoothly(part, *shape, runner, from, fresh))
    return keep(number, part, std::move(fresh), from, again ? &before : nullptr);
  fresh.pieces.resize(pieces_before, {});
  runner.event_sink = [&](const EventShape& e, const EventNumbers& numbers) {
    fresh.events.push_back(event_of(part, *shape, e, numbers, fresh.states.size()));
  };
  bool fine = runner.go_to(from, mode_then, x_then, std::max(t1 - from, 0.0));
  if (fine && !again && from == t0) fine = agrees_with_all(part, runner.xp);
  const auto settle_jump = [&] {
    fine = runner.settle_outside_change(t1 - runner.t);
    note_state(runner.t, runner.mode);
  };
  if (fine && from > t0 && foreign_jumps(part, from)) settle_jump();
  while (fine && runner.t < t1) {
    runner.pause = until;
    while (!runner.over && runner.t < until) {
      const std::size_t segments = runner.result.segments_.size();
      runner.step();
      if (runner.result.segments_.size() != segments) note_state(runner.t, runner.mode);
    }
    fine = !runner.over && runner.system->structure().explicit_ode && runner.chatter.episodes().empty();
    if (!fine || runner.t >= t1) break;
    until = write_foreign(part, *shape, runner.t, runner.mode);
    // where an event of its own has just happened, a guard is at zero: a look from here might see it cross once more
    const bool at_event = !fresh.events.empty() && runner.t - fresh.events.back().t <= sliver;
    if (at_event && (!runner.bands.empty() || foreign_jumps(part, runner.t))) {
      fine = false;
    } else if (foreign_jumps(part, runner.t)) {
      settle_jump();
    } else {
      std::vector<GuardWatch> known;
      if (at_event) known.assign(runner.watch.begin(), runner.watch.begin() + runner.instant.family_guards);
      fine = runner.go_on_in_mode(t1 - runner.t, known);
      note_state(runner.t, runner.mode);
    }
  }
  runner.event_sink = nullptr;
  if (!fine) return false;
  for (auto& segment : runner.result.segments_)
    for (auto& step : segment.steps) {
      if (step.polynomial.degree > degree) return false;
      const auto begins = [&](const PartEvent& e) { return std::abs(e.t - step.polynomial.t0) <= sliver; };
      const bool smooth = std::ranges::none_of(fresh.events, begins);
      fresh.pieces.push_back({std::move(step.polynomial), step.t_end, smooth});
    }
  if (fresh.empty()) return false;
  fresh.x_end = runner.x;
  if (runner.bands.empty()) note_sides(*shape, runner.watch, fresh);
  // Relations may change without an event: `time > 1` in `time > 1 and x > y` while x is below y.
  Mode last;
  keep_mode(part, runner.mode, last);
  if (last != fresh.states.back().mode) note_state(runner.t, runner.mode);
  for (PartEvent& event : fresh.events) event.state = std::min(event.state, fresh.states.size() - 1);
  double changed_from = from;
  if (!again && from == t0) {  // up to its first event, or a change elsewhere, the step of all holds
    const auto other = std::ranges::find_if(
        fresh.states, [&](const PartTrack::State& state) { return state.mode != fresh.states.front().mode; });
    changed_from = std::min({fresh.events.empty() ? never : fresh.events.front().t,
                             other == fresh.states.end() ? never : other->t, foreign_changed(part)});
    if (changed_from == never) return true;
  }
  return keep(number, part, std::move(fresh), changed_from, again ? &before : nullptr);
}

bool Simulator::Impl::LocalEvents::Work::keep(int number, const FamilyPart& part, PartTrack fresh, double changed_from,
                                              const PartTrack* before) {
  int& track = track_of[static_cast<std::size_t>(number)];
  pieces_made += static_cast<std::int64_t>(fresh.pieces.size());
  fresh.changed_from = changed_from;
  if (track < 0) {
    track = static_cast<int>(tracks.size());
    track_part.push_back(number);
    tracks.emplace_back();
  }
  tracks[static_cast<std::size_t>(track)] = std::move(fresh);
  return look_at_readers(number, part, before);
}

bool Simulator::Impl::LocalEvents::Work::run_smoothly(const FamilyPart& part, const PartShape& shape, Impl& runner,
                                                      double from, PartTrack& track) {
  constexpr int most_steps = 16;
  if (mode_then.on_surfaces()) return false;
  if (runner.has_time_guards) {
    due.clear();
    if (runner.hybrid->next_time_event(mode_then, from, +1, due) <= t1) return false;
  }
  smooth_mode = mode_then;
  runner.hybrid->positions(smooth_mode, runner.positions);
  sides.assign(runner.positions.size(), {});
  for (std::size_t k = 0; k < sides.size(); ++k)
    if (!runner.hybrid->guards()[k].time_only) sides[k].side = static_cast<signed char>(side_of(runner.positions[k]));
  smooth_x = x_then;
  scale.resize(smooth_x.size());
  const auto rhs = [&](double t, std::span<const double> x, std::span<double> slope) {
    write_foreign_values(part, shape, t, smooth_mode);
    System& system = runner.hybrid->system(smooth_mode);
    if (!system.structure().explicit_ode) return false;
    system.rhs(t, x, slope);
    return true;
  };
  double until = next_foreign_event(part, from), h = until - from;
  int steps = 0;
  for (double t = from; t1 - t > sliver;) {
    if (++steps > most_steps) return false;
    for (std::size_t j = 0; j < scale.size(); ++j) scale[j] = tolerance(part.variables[j], smooth_x[j]);
    const double error = stage_step.make(t, h, smooth_x, scale, rhs);
    if (!(error <= 1.0)) {
      h *= 0.5;
      continue;
    }
    const double end = until - (t + h) <= sliver ? until : t + h;
    if (!sides.empty()) {
      write_foreign(part, shape, t, smooth_mode);
      System& system = runner.hybrid->system(smooth_mode);
      if (static_cast<std::size_t>(system.structure().guards) != sides.size()) return false;
      doubtful.clear();
      runner.locator.find_uncertain(system, stage_step.polynomial(), sides, system.linear_guards(), doubtful);
      if (!doubtful.empty()) return false;
    }
    track.pieces.push_back({stage_step.polynomial(), end, true});
    smooth_x = stage_step.end();
    t = end;
    if (t == until && t1 - t > sliver) until = next_foreign_event(part, t);
    h = until - t;
  }
  if (--runner.steps_until_forgetting < 0) runner.forget_systems();
  track.x_end = smooth_x;
  note_sides(shape, sides, track);
  return true;
}

double Simulator::Impl::LocalEvents::Work::next_foreign_event(const FamilyPart& part, double t) const {
  double next = t1;
  int last = -1;
  for (const int j : part.foreign) {
    const int track = track_of[static_cast<std::size_t>(part_of_variable[static_cast<std::size_t>(j)])];
    if (track < 0 || track == last) continue;
    last = track;
    for (const PartTrack::Piece& piece : tracks[static_cast<std::size_t>(track)].pieces)
      if (!piece.smooth && piece.begin() > t + sliver) next = std::min(next, piece.begin());
  }
  return t1 - next > sliver ? next : t1;
}

void Simulator::Impl::LocalEvents::Work::write_foreign_values(const FamilyPart& part, const PartShape& shape, double t,
                                                              Mode& mode) const {
  for (std::size_t k = 0; k < part.foreign.size(); ++k) {
    const auto j = static_cast<std::size_t>(part.foreign[k]);
    const int track = track_of[static_cast<std::size_t>(part_of_variable[j])];
    double* const out = mode.discrete.data() + shape.polynomial(part, k);
    std::fill(out + 1, out + shape.degree + 2, 0.0);
    out[0] = track < 0 ? all->evaluate(t, static_cast<int>(j))
                       : tracks[static_cast<std::size_t>(track)].at(t).polynomial.evaluate(t, place_of_variable[j]);
  }
}

PartEvent Simulator::Impl::LocalEvents::Work::event_of(const FamilyPart& part, const PartShape& shape,
                                                       const EventShape& e, const EventNumbers& numbers,
                                                       std::size_t state) const {
  PartEvent event;
  event.t = numbers.t;
  event.kind = e.kind;
  event.cause = numbers.cause;
  event.jump = numbers.jump;
  event.proved = numbers.proved;
  for (const int own : e.guards) {
    const auto place = std::ranges::find(shape.guards, own);
    if (place != shape.guards.end())
      event.guards.push_back(part.guards[static_cast<std::size_t>(place - shape.guards.begin())]);
  }
  event.directions.assign(e.directions.begin(), e.directions.end());
  event.directions.resize(event.guards.size(), 0);
  event.actions.assign(e.actions.begin(), e.actions.end());
  event.message = e.message;
  event.slope_before.assign(numbers.slope_before.begin(), numbers.slope_before.end());
  event.slope_after.assign(numbers.slope_after.begin(), numbers.slope_after.end());
  event.state = state;
  return event;
}

bool Simulator::Impl::LocalEvents::Work::agrees_with_all(const FamilyPart& part,
                                                         const std::vector<double>& slopes) const {
  constexpr double rounding = 1e-7;         // of expressions that are written in another way
  if (run.mode.on_surfaces()) return true;  // projected onto surfaces, the state may differ by the tolerance
  for (std::size_t i = 0; i < part.variables.size(); ++i) {
    const double expected = run.xp[static_cast<std::size_t>(part.variables[i])];
    if (!(std::abs(slopes[i] - expected) <= rounding * (std::abs(expected) + std::abs(slopes[i])) + 1e-300 +
                                                run.options.atol / std::max(t1 - t0, 1e-300)))
      return false;
  }
  return true;
}

double Simulator::Impl::LocalEvents::Work::tolerance(int variable, double value) const {
  const auto j = static_cast<std::size_t>(variable);
  const double atol = run.options.atol_each.empty() ? run.options.atol : run.options.atol_each[j];
  return atol + run.options.rtol * std::abs(value);
}

void Simulator::Impl::LocalEvents::Work::values_at(const FamilyPart& part, const PartTrack* track, double t,
                                                   std::vector<double>& values) const {
  values.resize(part.variables.size());
  if (track && !track->empty()) return track->at(t).polynomial.evaluate(t, values);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = all->evaluate(t, part.variables[i]);
}

bool Simulator::Impl::LocalEvents::Work::look_at_readers(int number, const FamilyPart& part, const PartTrack* before) {
  const auto c = static_cast<std::size_t>(number);
  const PartTrack& now = tracks[static_cast<std::size_t>(track_of[c])];
  if (first_reader[c] == first_reader[c + 1]) return true;
  // where the change is the largest, of some places
  double place = t1, largest = 0.0;
  for (const double share : {1.0, 0.5, 0.125}) {
    const double t = now.changed_from + share * (t1 - now.changed_from);
    values_at(part, before, t, old_values);
    values_at(part, &now, t, new_values);
    double change = 0.0;
    for (std::size_t i = 0; i < old_values.size(); ++i)
      change = std::max(change, std::abs(new_values[i] - old_values[i]) / tolerance(part.variables[i], new_values[i]));
    if (!(change <= largest)) largest = change, place = t;
  }
  if (!(largest > 0.05 * negligible_change)) return true;
  values_at(part, before, place, old_values);
  values_at(part, &now, place, new_values);
  const double from = now.changed_from;
  for (std::size_t k = first_reader[c]; k < first_reader[c + 1]; ++k) {
    const int reader = readers[k];
    if (pending[static_cast<std::size_t>(reader)] <= from) continue;
    bool matters = false;
    if (!changes_slope(number, reader, place, largest, t1 - from, matters)) return false;
    if (matters) ask_for(reader, from);
  }
  return true;
}

bool Simulator::Impl::LocalEvents::Work::changes_slope(int changed, int reader, double t, double largest, double rest,
                                                       bool& matters) {
  const FamilyPart part = parts->part(static_cast<std::size_t>(reader));
  const PartShape* const shape = parts->shape(part.shape);
  if (!shape) return false;
  Impl& runner = *runner_of(part.shape, *shape);
  const int track = track_of[static_cast<std::size_t>(reader)];
  values_at(part, track < 0 ? nullptr : &tracks[static_cast<std::size_t>(track)], t, x_then);
  if (track < 0) {
    take_mode(part, *shape, parts->parameters(), run.mode, mode_then);
  } else {
    const auto& states = tracks[static_cast<std::size_t>(track)].states;
    const auto later = std::ranges::upper_bound(states, t, {}, &PartTrack::State::t);
    copy((later == states.begin() ? later : std::prev(later))->mode, mode_then);
    complete_mode(part, *shape, parts->parameters(), mode_then);
  }
  // weights of slides and forces of contacts follow the variables of others at once
  matters = (shape->watches_foreign || mode_then.on_surfaces()) && largest > negligible_change;
  if (matters) return true;
  slope_old.resize(x_then.size());
  slope_new.resize(x_then.size());
  write_foreign(part, *shape, t, mode_then);
  const auto slope = [&](const std::vector<double>& values, std::vector<double>& out) {
    for (std::size_t k = 0; k < part.foreign.size(); ++k) {
      const auto j = static_cast<std::size_t>(part.foreign[k]);
      if (part_of_variable[j] != changed) continue;
      double* const p = mode_then.discrete.data() + shape->polynomial(part, k);
      std::fill(p, p + shape->degree + 1, 0.0);
      p[0] = values[static_cast<std::size_t>(place_of_variable[j])];
      p[shape->degree + 1] = t;
    }
    System& system = runner.hybrid->system(mode_then);
    if (!system.structure().explicit_ode) return false;
    system.rhs(t, x_then, out);
    return true;
  };
  if (!slope(old_values, slope_old) || !slope(new_values, slope_new)) return false;
  if (--runner.steps_until_forgetting < 0) runner.forget_systems();
  for (std::size_t i = 0; i < x_then.size(); ++i) {
    const double effect = 0.5 * rest * std::abs(slope_new[i] - slope_old[i]);
    if (!(effect <= negligible_change * tolerance(part.variables[i], x_then[i]))) matters = true;
  }
  return true;
}

void Simulator::Impl::LocalEvents::Work::ask_for(int part, double from) {
  double& when = pending[static_cast<std::size_t>(part)];
  if (!(from < when)) return;
  when = from;
  queue.emplace(from, part);
}

void Simulator::Impl::LocalEvents::Work::begin_step() {
  t0 = run.t;
  t1 = run.stepper->t();
  all = &run.current();
  sliver = std::max(1e-9 * (t1 - t0), 64.0 * std::numeric_limits<double>::epsilon() * std::abs(t1));
  for (const int part : track_part) track_of[static_cast<std::size_t>(part)] = -1;
  tracks.clear();
  track_part.clear();
  while (!queue.empty()) queue.pop();
  std::ranges::fill(pending, never);
  runs = pieces_made = 0;
}

void Simulator::Impl::LocalEvents::Work::find_touched() {
  uncertain.clear();
  if (run.watching) run.locator.find_uncertain(*run.system, *all, run.watch, run.system->linear_guards(), uncertain);
  const auto family = static_cast<int>(part_of_guard.size());
  std::vector<std::pair<int, int>> exits;  // (guard of the system, surface)
  for (const int g : uncertain)
    if (g >= family && exits.empty()) {
      for (std::size_t k = 0; k < run.mode.sliding.size(); ++k) {
        exits.emplace_back(run.exits[k], run.mode.sliding[k]);
        exits.emplace_back(run.exits[k] + 1, run.mode.sliding[k]);
      }
      for (std::size_t k = 0; k < run.mode.contacts.size(); ++k)
        exits.emplace_back(run.exits[run.mode.sliding.size() + k], run.mode.contacts[k]);
      std::ranges::sort(exits);
    }
  for (const int g : uncertain) {
    int guard = g;
    if (g >= family) guard = std::ranges::lower_bound(exits, g, {}, &std::pair<int, int>::first)->second;
    ask_for(part_of_guard[static_cast<std::size_t>(guard)], t0);
  }
  for (const int c : timed) {
    const FamilyPart part = parts->part(static_cast<std::size_t>(c));
    const PartShape* const shape = parts->shape(part.shape);
    if (!shape) {
      ask_for(c, t0);
      continue;
    }
    take_mode(part, *shape, parts->parameters(), run.mode, mode_then);
    due.clear();
    if (runner_of(part.shape, *shape)->hybrid->next_time_event(mode_then, t0, +1, due) <= t1) ask_for(c, t0);
  }
}

bool Simulator::Impl::LocalEvents::Work::settle_parts() {
  constexpr double at_most = 4.0;
  pieces_allowed = static_cast<std::int64_t>(at_most * worthwhile_pieces(queue.size()));
  while (!queue.empty()) {
    const auto [from, part] = queue.top();
    queue.pop();
    if (pending[static_cast<std::size_t>(part)] != from) continue;
    pending[static_cast<std::size_t>(part)] = never;
    if (from >= t1) continue;
    if (!run_part(part, from)) return false;
  }
  return true;
}

double Simulator::Impl::LocalEvents::Work::worthwhile_pieces(std::size_t events) const {
  constexpr double variables_per_piece = 16.0;  // a step of so many variables takes as long as one piece of a part
  constexpr double usual_pieces = 4.0;          // of an event, with those of its neighbours
  return std::max(static_cast<double>(part_of_variable.size()) / variables_per_piece,
                  usual_pieces * static_cast<double>(events));
}

double Simulator::Impl::LocalEvents::Work::longest_next_step() const {
  std::size_t events = 0;
  for (const PartTrack& track : tracks) events += track.events.size();
  const auto pieces = static_cast<double>(std::max<std::int64_t>(pieces_made, 1));
  return (t1 - t0) * std::clamp(std::sqrt(worthwhile_pieces(events) / pieces), shortening, 2.0);
}

}  // namespace saltus
