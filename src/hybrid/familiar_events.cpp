// Most events of a run are like one before: the same guard leaves the same mode, or one that differs in numbers only, and the same happens. If the
// model acts by its mode alone, there is nothing to be found out anew then: the actions give the values behind the event, and a look at the guards
// there shows that the sides that were settled before are the right ones again. Where it does not, the event is settled as any other.
//
// Exactly as settle() would end: it looks at the guards in the mode that the actions lead to, and is content (round 0), or takes back the side
// of the guard that fired, and then finds the same equations, the same view and no further actions (round 1). Only such events are learned.
#include <algorithm>

#include "hybrid/mode_controller.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

namespace {
constexpr int often_enough = 16;  // events that were learned in vain: modes with numbers that change at every event
}

/// For modes of one explicit mode, away from surfaces. In memory that is there already.
void ModeController::find_changes(const Mode& from, const Mode& to, std::vector<Change>& found) {
  found.clear();
  for (const auto list : {&Mode::discrete, &Mode::locks, &Mode::conditions})
    for (std::size_t k = 0; k < (from.*list).size(); ++k)
      if ((from.*list)[k] != (to.*list)[k]) found.push_back({list, k, (to.*list)[k]});
}

/// Keeps the instant that has just been settled, if it was of that kind.
void ModeController::learn() {
  const int guard = lone_guard_;
  const bool ordinary = !fired_.empty() && !selected_ && transition.message.empty() && contradiction.empty() && twin.empty() && slope_error.empty() && begun_ != &refreshed_ &&
                        !begun_->on_surfaces() && !transition.mode.on_surfaces() && hybrid_.dormant(*begun_).empty() &&
                        system_->structure().explicit_ode && system_->structure().taylor && !all_linear(*system_).empty();
  if (!ordinary || acted_.automaton != transition.mode.automaton) return;
  if (!same(acted_, transition.mode) && !hybrid_.same_equations(acted_, transition.mode)) return;
  for (int k = 0; k < family_guards(); ++k)
    if (sides_.multiplicity(k) > (named(k) == guard ? 1 : 0)) return;
  familiar_.resize(2 * static_cast<std::size_t>(family_guards()));
  Familiar& event = familiar_[place_of(guard, hybrid_.side(*begun_, guard))];
  if (event.learned_in_vain > often_enough) return;
  ++event.learned_in_vain;
  event.known = false;
  for (Familiar& other : familiar_) other.follower = nullptr;
  copy(*begun_, event.before);
  copy(acted_, event.acted);
  find_changes(acted_, transition.mode, event.settling);
  for (const Change& change : event.settling) {  // a rounding would change by another number the next time
    copy(acted_, flipped_);
    apply(std::span(&change, 1), flipped_);
    if (hybrid_.acts_alike(acted_, flipped_)) return;
  }
  event.sides.resize(static_cast<std::size_t>(family_guards()));
  for (int k = 0; k < family_guards(); ++k) event.sides[static_cast<std::size_t>(k)] = static_cast<signed char>(hybrid_.side(transition.mode, k));
  copy(fired_, event.fired);
  copy(fired_direction_, event.directions);
  event.side = hybrid_.side(*begun_, guard);
  event.leaves = reset_ && slides_alone(guard);
  event.tag = {};
  event.known = true;
}

[[gnu::hot]] bool ModeController::remembers(int guard, int side) {
  if (familiar_.empty() || guard >= family_guards() || !twin.empty() || !slope_error.empty()) return false;
  const Mode& mode = transition.mode;
  remembered_ = &familiar_[place_of(guard, side)];
  if (!remembered_->known) return false;
  // the mode is that which the last event has led to: where that was exactly one before, so is this if it was then
  Familiar* const last = exact_ ? led_here_ : nullptr;
  exact_ = (last && last->follower == remembered_) || same(remembered_->before, mode);
  if (exact_ && last) last->follower = remembered_;
  return exact_ || hybrid_.acts_alike(remembered_->before, mode);
}

[[gnu::hot]] bool ModeController::repeat(const Mode& from, int guard, const EventInput& input) {
  Familiar& event = *remembered_;
  if (goes_as(event, guard, input)) {
    for (const int k : event.fired) fired_.push_back(k);
    for (const int side : event.directions) fired_direction_.push_back(side);
    event.learned_in_vain = 0;
    led_here_ = &event;
    return true;
  }
  copy(from, transition.mode);
  copy(input.x_before, transition.x);
  copy(input.xp_before, xp);
  system_ = &hybrid_.system(transition.mode);
  view_current_ = false;
  return false;
}

/// Goes the way of the event as far as it is the same. Returns whether it is to the end.
[[gnu::hot]] bool ModeController::goes_as(const Familiar& event, int guard, const EventInput& input) {
  forget_actions();
  hybrid_.set_side(transition.mode, guard, -event.side);
  transition.unfinished = false;
  hybrid_.transition(input, transition);
  reset_ = transition.any_reset();
  if (transition.failed || transition.terminate || transition.unfinished || !transition.message.empty() || !transition.contradictions.empty())
    return false;
  // without discrete variables the same mode and guard lead to the same mode
  if (!(exact_ && transition.mode.discrete.empty()) && !same(transition.mode, event.acted)) {
    exact_ = false;
    if (!hybrid_.acts_alike(transition.mode, event.acted)) return false;
  }
  apply(event.settling, transition.mode);
  system_ = &hybrid_.system(transition.mode);
  if (!consistency_.evaluate(*system_, input.t, transition.x, xp)) return false;
  const auto linear = system_->linear_guards();
  view_current_ = true;
  sides_.ignore({}, {});
  return linear.size() == event.sides.size() && sides_.look_along(linear, *system_, input.t, transition.x, xp, direction_, {.noise = bracket_noise}) &&
         looks_like(event, guard);
}

/// Whether the guards are as they were when the event was learned; after look().
[[gnu::hot]] bool ModeController::looks_like(const Familiar& event, int guard) {
  for (std::size_t k = 0; k < event.sides.size(); ++k) {
    const int multiplicity = sides_.multiplicity(static_cast<int>(k));
    if (multiplicity > 0 && (multiplicity > 1 || named(static_cast<int>(k)) != guard)) return false;
    if (event.sides[k] != 0 && event.sides[k] != sides_.side(static_cast<int>(k))) return false;
  }
  if (sides_.multiplicity(guard) == 0) return true;
  return exact_ ? !event.leaves : !(reset_ && slides_alone(guard));
}

}  // namespace saltus
