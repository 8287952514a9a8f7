// Most events of a run are like one before: the same guard leaves the same mode, or one that differs in numbers that
// decide nothing, and the same happens. Where the model acts by its mode alone, such an event follows a known edge: one
// round gives the values behind the event, and one look at the guards shows that the positions that were decided before
// are the right ones again. Where they are not, the instant is settled as any other.
//
// Exactly as settle() would end. Learned are instants in which one guard fires, at most one round acts, and what is
// decided after it has the same equations as the mode to which the round led.
#include <algorithm>

#include "hybrid/instant/instant.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

namespace {
constexpr int often_enough =
    16;  // events that were learned and never followed: modes with numbers that change at every event
}

/// The numbers in which two modes of one explicit mode differ, away from surfaces.
void Instant::find_changes(const Mode& from, const Mode& to, std::vector<Change>& found) {
  found.clear();
  for (const auto list : {&Mode::discrete, &Mode::locks, &Mode::conditions})
    for (std::size_t k = 0; k < (from.*list).size(); ++k)
      if ((from.*list)[k] != (to.*list)[k]) found.push_back({list, k, (to.*list)[k]});
}

/// Keeps the instant that has just been settled, if it was of that kind.
void Instant::learn() {
  const int guard = lone_guard_;
  const bool ordinary = guard >= 0 && acting_rounds_ <= 1 && !fired_.empty() && transition.message.empty() &&
                        transition.notes.empty() && doubt().alternative_state.empty() && doubt().slope_error.empty() &&
                        begun_ != &refreshed_ && !begun_->on_surfaces() && !now.mode.on_surfaces() && view_current_ &&
                        approach_.opened.empty() && hybrid_.dormant(*begun_).empty() && !hybrid_.takes_paired_sides() &&
                        trial_.system->structure().explicit_ode && trial_.system->structure().taylor &&
                        !all_linear(*trial_.system).empty();
  if (!ordinary) return;
  if (acting_rounds_ == 0) {
    copy(now.mode, acted_);
    acting_see_ = now.mode.sees[static_cast<std::size_t>(trials_.named(guard))];
  }
  if (acted_.automaton != now.mode.automaton || (!same(acted_, now.mode) && !hybrid_.same_equations(acted_, now.mode)))
    return;
  for (int k = 0; k < family_guards_; ++k)
    if (trial_.view.multiplicity(k) > (trials_.named(k) == guard ? 1 : 0)) return;
  known_.resize(2 * static_cast<std::size_t>(family_guards_));
  const int side = hybrid_.side(*begun_, guard);
  Edge& edge = known_[place_of(guard, side)];
  if (edge.learned_in_vain > often_enough) return;
  ++edge.learned_in_vain;
  edge.known = false;
  for (Edge& other : known_) other.follower = nullptr;
  copy(*begun_, edge.before);
  copy(acted_, edge.acted);
  find_changes(acted_, now.mode, edge.settling);
  for (const Change& change : edge.settling) {  // a rounding would change by another number the next time
    copy(acted_, flipped_);
    (flipped_.*change.list)[change.place] = change.value;
    if (change.list == &Mode::locks && hybrid_.acts_alike(acted_, flipped_)) return;
  }
  edge.sees = now.mode.sees;
  edge.acting_see = acting_see_;
  edge.sides.resize(static_cast<std::size_t>(family_guards_));
  for (int k = 0; k < family_guards_; ++k)
    edge.sides[static_cast<std::size_t>(k)] = static_cast<signed char>(hybrid_.side(now.mode, k));
  copy(fired_, edge.fired);
  copy(fired_direction_, edge.directions);
  edge.side = side;
  edge.leaves = reset_ && hybrid_.guards()[static_cast<std::size_t>(guard)].slides;
  edge.tag = {};
  edge.known = true;
}

[[gnu::hot]] bool Instant::knows(int guard, int side) {
  if (known_.empty() || guard >= family_guards_ || !doubt().alternative_state.empty() || !doubt().slope_error.empty())
    return false;
  edge_ = &known_[place_of(guard, side)];
  if (!edge_->known) return false;
  // the mode is that to which the last edge has led: where that was exactly one before, so is this if it was then
  Edge* const last = exact_ ? followed_ : nullptr;
  exact_ = (last && last->follower == edge_) || same(edge_->before, now.mode);
  if (exact_ && last) last->follower = edge_;
  return exact_ || hybrid_.acts_alike(edge_->before, now.mode);
}

[[gnu::hot]] bool Instant::follow_edge(int guard, const Arrival& arrival) {
  if (follows(*edge_, guard, arrival)) {
    for (const int k : edge_->fired) fired_.push_back(k);
    for (const int side : edge_->directions) fired_direction_.push_back(side);
    edge_->learned_in_vain = 0;
    followed_ = edge_;
    return true;
  }
  copy(*arrival.mode, now.mode);
  copy(arrival.x, now.x);
  copy(arrival.xp, now.xp);
  trial_.system = &hybrid_.system(now.mode);
  view_current_ = false;
  if (failure_) failure_ = {};
  return false;
}

/// Follows the edge as far as everything is the same. Returns whether that is so to the end.
[[gnu::hot]] bool Instant::follows(const Edge& edge, int guard, const Arrival& arrival) {
  forget_actions();
  t_ = arrival.t;
  hybrid_.set_side(now.mode, guard, -edge.side);
  now.mode.sees[static_cast<std::size_t>(trials_.named(guard))] = edge.acting_see;
  copy(arrival.x, before_round_.x);
  act(arrival, false);
  if (failure_ || transition.failed || transition.terminate || !transition.message.empty() ||
      !transition.notes.empty() || !transition.contradictions.empty())
    return false;
  // without discrete variables the same mode and guard lead to the same mode
  if (!(exact_ && now.mode.discrete.empty()) && !same(now.mode, edge.acted)) {
    exact_ = false;
    if (!hybrid_.acts_alike(now.mode, edge.acted)) return false;
  }
  for (const Change& change : edge.settling) (now.mode.*change.list)[change.place] = change.value;
  copy(edge.sees, now.mode.sees);
  trial_.system = &hybrid_.system(now.mode);
  if (!trials_.consistency().evaluate(*trial_.system, arrival.t, now.x, now.xp)) return false;
  const auto linear = trial_.system->linear_guards();
  view_current_ = true;
  trial_.view.ignore({}, {});
  if (linear.size() != edge.sides.size() || !trial_.view.look_along(linear, *trial_.system, arrival.t, now.x, now.xp,
                                                                    trials_.direction(), {.noise = doubt().noise}))
    return false;
  return looks_like(edge, guard);
}

/// Whether the guards are as they were when the edge was learned.
[[gnu::hot]] bool Instant::looks_like(const Edge& edge, int guard) const {
  const GuardSides& view = trial_.view;
  for (std::size_t k = 0; k < edge.sides.size(); ++k) {
    const int multiplicity = view.multiplicity(static_cast<int>(k));
    if (multiplicity > 0 && (multiplicity > 1 || trials_.named(static_cast<int>(k)) != guard)) return false;
    if (edge.sides[k] != 0 && edge.sides[k] != view.side(static_cast<int>(k))) return false;
  }
  if (view.multiplicity(guard) == 0) return true;
  return exact_ ? !edge.leaves : !(reset_ && hybrid_.guards()[static_cast<std::size_t>(guard)].slides);
}

}  // namespace saltus
