// Events of a run in flight: which edge holds, and what is behind it.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/finite.hpp"
#include "flight/pilot.hpp"

namespace saltus {

namespace {

/// As std::ranges::equal, without a call for lists that have one entry most often.
bool equal(std::span<const int> a, std::span<const int> b) {
  if (a.size() != b.size()) return false;
  for (std::size_t k = 0; k < a.size(); ++k)
    if (a[k] != b[k]) return false;
  return true;
}

/// Lists that an event fills have the right size nearly always.
void resize(std::vector<double>& list, std::size_t size) {
  if (list.size() != size) list.resize(size);
}

}  // namespace

/// The event in the step that was made: a crossing, or a time event at its end. False: it is not known.
bool Pilot::make_event(const flight::Crossing& crossing) {
  const Seat& s = seat();
  if (crossing.guard < 0) {
    for (std::size_t j = 0; j < x_event_.size(); ++j) x_event_[j] = s.x_end[j];
    return follow(end_.t, due_, 0.0);
  }
  const FlightTape& of = tape();
  const auto guard = static_cast<std::size_t>(crossing.guard);
  const int fired = departure(of.guards[guard], mode().sides[guard]);
  const int first = of.first[guard], degree = of.first[guard + 1] - first - 1;
  const double t = std::min(t_ + crossing.u * end_.h, end_.t);
  double slope = evaluate_bernstein(s.course.bernstein + first, degree, crossing.u).slope / end_.h;
  dense_at(crossing.u, x_event_);
  if (!of.affine[guard]) {
    entry_->evaluate(mode(), numbers_, t, x_event_.data());
    slope = entry_->guard_slopes()[guard];
  }
  return follow(t, std::span(&fired, 1), slope);
}

/// An event at x_event_. `slope`: of the guard that crosses. False: no edge holds, the run is where it was and lands.
bool Pilot::follow(double t, std::span<const int> departures, double slope) {
  if (t >= rules_.stop) return false;
  const std::vector<FlightEdge>& edges = mode().edges;
  std::vector<ReadyEdge>& ready = ready_[static_cast<std::size_t>(mode_)].edges;
  for (std::size_t k = 0; k < edges.size(); ++k) {
    if (!ready[k].usable || !equal(edges[k].departures, departures)) continue;
    if (!ready[k].leaves_surface) {
      if (!try_edge(t, edges[k], ready[k], slope)) continue;
      leaves_surface_ = false;
      return true;
    }
    // At the end of a slide a guard and its slope are zero. The loop could not begin there, so the step behind it has
    // to be one that can be flown.
    const auto before = std::tuple(t_, mode_, base_, motion_);
    if (!try_edge(t, edges[k], ready[k], slope)) continue;
    leaves_surface_ = true;
    if (leads_away()) return true;
    std::tie(t_, mode_, base_, motion_) = before;
    undo();
    return false;
  }
  return false;
}

/// Goes along an edge, if it holds: its actions lead to a point of its target. Otherwise nothing has changed.
bool Pilot::try_edge(double t, const FlightEdge& edge, ReadyEdge& ready, double slope) {
  constexpr double most_lost = 0.3;       // of the speed, in a reset: less is left of flights that end in rest
  constexpr double most_intervals = 2.0;  // from one event to the next, in one step: its zero would be hard to find
  const FlightMode &from = mode(), &to = code_->modes[edge.target];
  const ReadyMode& behind = ready_[edge.target];
  find_slopes_before(t, ready, slope);
  observe(from, seat(), t, x_event_.data(), event_.before);
  if (!act(t, edge, ready) || !entry_->look(to, numbers_, t, motion_.h, x_next_.data(), edge.at_zero)) {
    undo();
    return false;
  }
  event_.reset = !edge.variables.empty();
  find_slopes_after(ready);
  const bool nearly_stops = event_.reset && !event_.slopes_before.empty() &&
                            std::abs(event_.slopes_after.front()) <= most_lost * std::abs(event_.slopes_before.front());
  if (nearly_stops) {
    undo();
    return false;
  }
  event_.edge = {from.number, edge.edge};
  event_.t = t;
  event_.numbers_kept = edge.discretes.empty() && edge.roundings.empty();
  event_.weights.clear();
  for (const std::size_t guard : behind.weights) event_.weights.push_back(entry_->guards()[guard]);
  mode_ = static_cast<int>(edge.target);
  base_ =
      &atlas_.modes()[static_cast<std::size_t>(from.number)].edges[static_cast<std::size_t>(edge.edge)].example.after;
  t_ = t;
  motion_.last_error = flight::smallest_error;  // as a stepper that is started anew
  motion_.h = std::min(motion_.h, most_intervals * (t - motion_.last_event));
  motion_.last_event = t;
  behind_event_ = true;
  enter(to, x_next_.data());
  observe(to, *behind.seat, t, x_next_.data(), event_.after);
  event_.jump = 0.0;
  for (std::size_t k = 0; k < event_.after.size(); ++k)
    event_.jump = std::max(event_.jump, std::abs(event_.after[k] - event_.before[k]));
  return true;
}

/// Values behind the actions of an edge, in x_next_ and numbers_. False: they are not those of its target.
bool Pilot::act(double t, const FlightEdge& edge, ReadyEdge& ready) {
  change_count_ = 0;
  for (std::size_t j = 0; j < x_next_.size(); ++j) x_next_[j] = x_event_[j];
  if (!edge.variables.empty() || !edge.discretes.empty()) {
    const double* const in[] = {&t, x_event_.data(), numbers_.parameters.data(), numbers_.discretes.data()};
    double* const out[] = {set_.data()};
    edge.act(in, out, ready.work);
    if (!all_finite(std::span(set_).first(edge.variables.size() + edge.discretes.size()))) return false;
    for (const auto& [place, value] : ready.wanted)
      if (set_[place] != value) return false;
    for (std::size_t k = 0; k < edge.variables.size(); ++k)
      x_next_[static_cast<std::size_t>(edge.variables[k])] = set_[k];
    for (std::size_t k = 0; k < edge.discretes.size(); ++k)
      set(numbers_.discretes[static_cast<std::size_t>(edge.discretes[k])], set_[edge.variables.size() + k]);
  }
  for (const auto& [k, value] : ready.discretes) set(numbers_.discretes[static_cast<std::size_t>(k)], value);
  for (const auto& [k, value] : ready.locks) set(numbers_.locks[static_cast<std::size_t>(k)], value);
  for (const auto& [k, change] : edge.roundings) {
    double& lock = numbers_.locks[static_cast<std::size_t>(k)];
    set(lock, lock + change);
  }
  return true;
}

/// Takes the changes of the last event back.
void Pilot::undo() {
  for (std::size_t k = change_count_; k-- > 0;) *changes_[k].number = changes_[k].before;
  change_count_ = 0;
}

/// `slope`: of the guard that crosses.
void Pilot::find_slopes_before(double t, const ReadyEdge& edge, double slope) {
  using Source = NamedGuard::Source;
  resize(event_.slopes_before, edge.named.size());
  bool evaluated = false;
  for (std::size_t i = 0; i < edge.named.size(); ++i) {
    const NamedGuard& guard = edge.named[i];
    double& found = event_.slopes_before[i];
    if (guard.before == Source::crossing) {
      found = slope;
    } else if (guard.before == Source::clock) {
      found = clock_slopes_[guard.place_before];
    } else if (guard.before == Source::guard) {
      if (!evaluated) entry_->evaluate(mode(), numbers_, t, x_event_.data());
      evaluated = true;
      found = entry_->guard_slopes()[guard.place_before];
    } else {
      found = 0.0;
    }
  }
}

void Pilot::find_slopes_after(const ReadyEdge& edge) {
  using Source = NamedGuard::Source;
  resize(event_.slopes_after, edge.named.size());
  for (std::size_t i = 0; i < edge.named.size(); ++i) {
    const NamedGuard& guard = edge.named[i];
    event_.slopes_after[i] = guard.after == Source::clock   ? entry_->clock_slopes()[guard.place_after]
                             : guard.after == Source::guard ? entry_->guard_slopes()[guard.place_after]
                                                            : 0.0;
  }
}

void Pilot::write_values(std::vector<double>& values) {
  values.resize(places_.size());
  observe(mode(), seat(), t_, seat().x, values);
}

/// Observed variables at a point of a mode whose data are in the seat.
void Pilot::observe(const FlightMode& mode, const Seat& seat, double t, const double* x, std::vector<double>& values) {
  if (!eliminated_.empty()) {
    const double* const in[] = {&t, x, seat.data};
    double* const out[] = {observed_.data()};
    code_->tapes[mode.tape].observe(in, out, seats_[mode.tape]->observe);
  }
  const double* const from[] = {x, numbers_.discretes.data(), observed_.data()};  // in the order of ObservedPlace::Kind
  for (std::size_t k = 0; k < values.size(); ++k)
    values[k] = from[static_cast<std::size_t>(places_[k].kind)][places_[k].place];
}

}  // namespace saltus
