// The part of the mode controller that undoes what was done for sides that were only tried.
//
// On a surface sides are tried one after the other, each with what clauses make of it. Where a side turns out to be wrong, the solution has never
// been there, and nothing has happened for it. So each round is kept as it was before its sides were changed (seen_, entered_), and when a side is
// taken back, a regime is looked for in these states, beginning with the first: the solution goes on from the first one that has a regime other
// than the side that was tried next. Where none has, what happened has led from each of them to the next, as when a clause turns the field round.
#include <algorithm>
#include <utility>

#include "hybrid/mode_controller.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

/// The number of rounds up to that in which the present mode was tried last, from the same point if the model has acted since; 0: there is none.
std::size_t ModeController::rounds_until_tried(const Rounds& rounds) const {
  std::size_t last = rounds.seen;
  while (last > 0 && !(same(seen_[last - 1].mode, transition.mode) && (last > rounds.before_action || same(seen_[last - 1].x, x_before_values_)))) --last;
  return last;
}

void ModeController::note_round(Rounds& rounds) {
  if (rounds.seen == seen_.size()) seen_.emplace_back();
  Seen& now = seen_[rounds.seen++];
  copy(transition.mode, now.mode);
  copy(x_before_values_, now.x);
  copy(transition.reset, now.reset);
  now.actions = transition.fired.size();
  now.contradictions = contradiction.size();
  now.firings = fired_.size();
  now.recorded = transition.recorded;
}

/// Sides lead back to sides that have been tried since the model acted: takes the mode as it was, where the edges of conditions have been seen.
bool ModeController::returns(const Rounds& rounds) {
  for (std::size_t k = rounds.before_action; k < rounds.seen; ++k)
    if (same_but_conditions(seen_[k].mode, transition.mode)) {
      copy(seen_[k].mode, transition.mode);
      return true;
    }
  return false;
}

/// Guards are about to fire: their new sides are tried from here.
void ModeController::keep_entry() {
  copy(transition.mode, entered_.mode);
  trying_ = true;
}

/// The discrete state and the values. What was noted about the event is not touched: whoever goes on from there shortens it.
void ModeController::go_back_to(const Seen& kept) {
  transition.mode = kept.mode;
  transition.x = kept.x;
  transition.reset = kept.reset;
  transition.reset.resize(transition.x.size(), 0);
  reset_ = transition.any_reset();
}

/// Whether a side is taken back at zero, on a surface on which the solution might slide instead, and the model has seen it; after adjust_sides().
bool ModeController::takes_back(const Rounds& rounds, double t) {
  if (turned_.empty()) return false;
  const Mode& first = first_tried(rounds).mode;
  if (!rounds.undoable && same(first.conditions, transition.mode.conditions)) return false;
  return std::any_of(turned_.begin(), turned_.end(), [&](int k) {
    return hybrid_.side(first, k) == hybrid_.side(transition.mode, k) && hybrid_.guards()[static_cast<std::size_t>(k)].rule != SurfaceRule::crossing &&
           may_slide(k, t);
  });
}

/// Whether the solution could slide on a surface by itself, and its sides differ there.
bool ModeController::may_slide(int guard, double t) {
  if (!slides_alone(guard)) return false;
  System& system = hybrid_.system(alone_[static_cast<std::size_t>(guard)].mode);
  std::vector<double> x = transition.x, derivatives = xp;
  fit(system, x);
  derivatives.resize(x.size(), 0.0);
  return weights_matter(system, t, x, derivatives);
}

/// The model has acted for sides that may be wrong. Again: it has not, and goes on otherwise. Done: it really has; nothing has changed.
ModeController::Next ModeController::take_back(const EventInput& input, Rounds& rounds) {
  constexpr int few = 4;
  rounds.taken_back = true;
  if (rounds.regimes >= few) return Next::done;
  Seen now;
  now.mode = transition.mode;
  now.x = transition.x;
  now.reset = transition.reset;
  const std::vector<double> derivatives = xp;
  const GuardSides sides = sides_;
  const bool view_current = view_current_;
  if (rounds.from_entry) copy(input.x_before, entered_.x);
  bool failed = false;
  for (std::size_t k = rounds.first; k < rounds.seen + (rounds.from_entry ? 1 : 0); ++k) {
    // the states are entered_, if sides are tried from there, and those of seen_; the next one is the one that was tried
    const std::size_t next = rounds.from_entry ? k : k + 1;
    const Seen& kept = rounds.from_entry && k == rounds.first ? entered_ : seen_[rounds.from_entry ? k - 1 : k];
    if (go_on_from(kept, next < rounds.seen ? seen_[next].mode : now.mode, input, failed)) {
      rounds.forget();
      ++rounds.regimes;
      return Next::again;
    }
    if (failed) return Next::failed;
  }
  failure_ = {};
  go_back_to(now);
  xp = derivatives;
  sides_ = sides;
  system_ = &hybrid_.system(transition.mode);
  view_current_ = view_current;
  if (rounds.seen > 0) {
    rounds.try_from(rounds.seen - 1);
    rounds.trying = true;
  }
  return Next::done;
}

/// Goes on from a state in which sides were tried, in a regime other than `tried`, if there is one.
bool ModeController::go_on_from(const Seen& kept, const Mode& tried, const EventInput& input, bool& failed) {
  go_back_to(kept);
  system_ = &hybrid_.system(transition.mode);
  if (!(reset_ && jump_beside_resets(input.t)) && !find_values_of_system(input.t, reset_ ? Cause::reset : Cause::mode_change)) return false;
  look(input.t);
  if (!reset_) transition.x = kept.x;  // otherwise what the reset has moved stays so
  std::vector<Regime> feasible = feasible_regimes(input, active_surfaces());
  if (feasible.empty())
    if (auto meeting = regime_where_surfaces_meet(input)) feasible.push_back(std::move(*meeting));
  std::erase_if(feasible, [&](const Regime& regime) { return regime.mode.sliding.empty() && same(regime.mode.locks, tried.locks); });
  if (feasible.empty()) return false;
  transition.fired.resize(kept.actions);
  contradiction.resize(kept.contradictions);
  transition.recorded = kept.recorded;
  transition.terminate = transition.failed = false;
  transition.message.clear();
  fired_.resize(kept.firings);
  fired_direction_.resize(kept.firings);
  failed = !take_regime(feasible, input.t);
  if (failed) return false;
  for (int k = 0; k < family_guards(); ++k) {
    const int before = hybrid_.side(kept.mode, k), after = hybrid_.side(transition.mode, k);
    if (before != 0 && before != after && contains(surfaces_, k)) note_firing(k, -before);
  }
  return true;
}

/// A regime has been chosen, and the model has not acted since this mode: its conditions have not been seen otherwise, and where the solution slides
/// relations keep their truth.
void ModeController::keep_truth(const Mode& before) {
  copy(before.conditions, transition.mode.conditions);
  for (const int k : transition.mode.sliding) {
    if (hybrid_.rests(before, k))
      hybrid_.rest(transition.mode, k);
    else if (const int side = hybrid_.side(before, k); side != 0)
      hybrid_.set_side(transition.mode, k, side);
  }
}

}  // namespace saltus
