#include "hybrid/instant/known_edges.hpp"

#include <algorithm>

#include "hybrid/instant/learned_edge.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

namespace {
std::size_t numbers_of(const Mode& mode) {
  return mode.discrete.size() + mode.locks.size() + mode.conditions.size();
}
}  // namespace

KnownEdges::KnownEdges(HybridSystem& hybrid, Instant& instant) : hybrid_(hybrid), instant_(instant) {
  const Mode mode = hybrid.initial_mode();
  learns_ = numbers_of(mode) <= most_numbers && hybrid.acts_alike(mode, mode);
}

/// The numbers in which two modes of one explicit mode differ, away from surfaces.
void KnownEdges::find_changes(const Mode& from, const Mode& to, std::vector<Change>& found) {
  found.clear();
  for (const auto list : {&Mode::discrete, &Mode::locks, &Mode::conditions})
    for (std::size_t k = 0; k < (from.*list).size(); ++k)
      if ((from.*list)[k] != (to.*list)[k]) found.push_back({list, k, (to.*list)[k]});
}

/// Whether the instant that has just been settled can be learned: nothing about it was special.
bool KnownEdges::ordinary() const {
  const Instant& i = instant_;
  const Uncertainty& doubt = instant_.doubt();
  return i.course_.acting_rounds <= 1 && !i.fired_.guards.empty() && i.transition.message.empty() &&
         i.transition.notes.empty() && !i.transition.terminate && doubt.alternative_state.empty() &&
         doubt.slope_error.empty() && i.begun_ != &i.refreshed_ && !i.begun_->on_surfaces() &&
         !i.now.mode.on_surfaces() && i.view_current_ && i.approach_.opened.empty() &&
         hybrid_.dormant(*i.begun_).empty() && !i.trials_.takes_paired_sides() &&
         i.trial_.system->structure().explicit_ode && i.trial_.system->structure().taylor &&
         !all_linear(*i.trial_.system).empty();
}

void KnownEdges::learn() {
  Instant::Course& course = instant_.course_;
  const int guard = course.guard;
  if (guard < 0 || guard >= instant_.family_guards || !ordinary()) return;
  const Mode& now = instant_.now.mode;
  Mode& acted = course.acted;
  const int side = hybrid_.side(*instant_.begun_, guard);
  if (course.acting_rounds == 0) {  // values stay as they are, whatever becomes of the equations
    copy(*instant_.begun_, acted);
    hybrid_.set_side(acted, guard, -side);
    course.see = now.sees[static_cast<std::size_t>(instant_.trials_.named(guard))];
  } else if (!same(acted, now) && !hybrid_.same_equations(acted, now)) {
    return;
  }
  if (acted.automaton != now.automaton) return;
  const int family_guards = instant_.family_guards;
  for (const int k : instant_.trial_.view.zeros())
    if (k < family_guards && instant_.trial_.view.multiplicity(k) > (may_be_zero(k, guard) ? 1 : 0)) return;
  known_.resize(2 * static_cast<std::size_t>(family_guards));
  Edge& edge = known_[place_of(guard, side)];
  if (edge.learned_in_vain > often_enough) return;
  ++edge.learned_in_vain;
  edge.known = false;
  for (Edge& other : known_) other.follower = nullptr;
  copy(*instant_.begun_, edge.before);
  copy(acted, edge.acted);
  find_changes(acted, now, edge.settling);
  for (const Change& change : edge.settling) {  // a rounding would change by another number the next time
    copy(acted, changed_);
    (changed_.*change.list)[change.place] = change.value;
    if (change.list == &Mode::locks && hybrid_.acts_alike(acted, changed_)) return;
  }
  edge.sees = now.sees;
  edge.acting_see = course.see;
  edge.sides.clear();
  hybrid_.positions(now, instant_.positions_);
  for (const Position position : instant_.positions_) edge.sides.push_back(static_cast<signed char>(side_of(position)));
  copy(instant_.fired_.guards, edge.fired);
  copy(instant_.fired_.directions, edge.directions);
  edge.side = side;
  edge.leaves = instant_.reset_ && hybrid_.guards()[static_cast<std::size_t>(guard)].slides;
  edge.tag = {};
  edge.known = true;
}

[[gnu::hot]] bool KnownEdges::knows(int guard, int side) {
  const Uncertainty& doubt = instant_.doubt();
  if (known_.empty() || guard >= instant_.family_guards || !doubt.alternative_state.empty() ||
      !doubt.slope_error.empty())
    return false;
  edge_ = &known_[place_of(guard, side)];
  if (!edge_->known) return false;
  // the mode is that to which the last edge has led: where that was exactly one before, so is this if it was then
  Edge* const last = exact_ ? followed_ : nullptr;
  exact_ = (last && last->follower == edge_) || same(edge_->before, instant_.now.mode);
  if (exact_ && last) last->follower = edge_;
  return exact_ || hybrid_.acts_alike(edge_->before, instant_.now.mode);
}

[[gnu::hot]] bool KnownEdges::follow(int guard, const Arrival& arrival) {
  Instant& i = instant_;
  followed_ = nullptr;
  if (follows(*edge_, guard, arrival)) {
    for (const int k : edge_->fired) i.fired_.guards.push_back(k);
    for (const int side : edge_->directions) i.fired_.directions.push_back(side);
    edge_->learned_in_vain = 0;
    followed_ = edge_;
    return true;
  }
  copy(*arrival.mode, i.now.mode);
  copy(arrival.x, i.now.x);
  copy(arrival.xp, i.now.xp);
  i.trial_.system = &hybrid_.system(i.now.mode);
  i.view_current_ = false;
  if (i.failure_) i.failure_ = {};
  return false;
}

/// Follows the edge as far as everything is the same. Returns whether that is so to the end.
[[gnu::hot]] bool KnownEdges::follows(const Edge& edge, int guard, const Arrival& arrival) {
  Instant& i = instant_;
  Mode& mode = i.now.mode;
  i.forget_actions();
  i.t_ = arrival.t;
  hybrid_.set_side(mode, guard, -edge.side);
  mode.sees[static_cast<std::size_t>(i.trials_.named(guard))] = edge.acting_see;
  copy(arrival.x, i.before_round_.x);
  i.act(arrival, false, i.now);
  if (i.failure_ || i.transition.failed || i.transition.terminate || !i.transition.message.empty() ||
      !i.transition.notes.empty() || !i.transition.contradictions.empty())
    return false;
  // without discrete variables the same mode and guard lead to the same mode
  if (!(exact_ && mode.discrete.empty()) && !same(mode, edge.acted)) {
    exact_ = false;
    if (!hybrid_.acts_alike(mode, edge.acted)) return false;
  }
  for (const Change& change : edge.settling) (mode.*change.list)[change.place] = change.value;
  copy(edge.sees, mode.sees);
  Trial& trial = i.trial_;
  trial.system = &hybrid_.system(mode);
  if (!i.trials_.consistency().evaluate(*trial.system, arrival.t, i.now.x, i.now.xp)) return false;
  const auto linear = trial.system->linear_guards();
  i.view_current_ = true;
  trial.view.ignore({}, {});
  if (linear.size() != edge.sides.size() || !trial.view.look_along(linear, *trial.system, arrival.t, i.now.x, i.now.xp,
                                                                   i.trials_.direction(), {.noise = i.doubt().noise}))
    return false;
  return looks_like(edge, guard);
}

/// Of the guards that are zero behind the event: the one that fired, and those that time alone brings there, such as
/// the lower end of the step of floor(t) that has just been entered.
bool KnownEdges::may_be_zero(int k, int guard) const {
  return instant_.trials_.named(k) == guard || hybrid_.guards()[static_cast<std::size_t>(k)].time_only;
}

/// Whether the guards are as they were when the edge was learned.
[[gnu::hot]] bool KnownEdges::looks_like(const Edge& edge, int guard) const {
  const GuardSides& view = instant_.trial_.view;
  for (std::size_t k = 0; k < edge.sides.size(); ++k) {
    const int multiplicity = view.multiplicity(static_cast<int>(k));
    if (multiplicity > (may_be_zero(static_cast<int>(k), guard) ? 1 : 0)) return false;
    if (edge.sides[k] != 0 && edge.sides[k] != view.side(static_cast<int>(k))) return false;
  }
  if (view.multiplicity(guard) == 0) return true;
  return exact_ ? !edge.leaves : !(instant_.reset_ && hybrid_.guards()[static_cast<std::size_t>(guard)].slides);
}

}  // namespace saltus
