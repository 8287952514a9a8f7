// Contact: resets that have become zero keep the solution on their surface.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "hybrid/instant/instant.hpp"
#include "hybrid/reset_limit.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

/// Compared with the speed before a reset that stops the solution.
constexpr double no_speed = 1e3 * std::numeric_limits<double>::epsilon();

/// Nothing acts any more. A guard that has fired and whose solution goes to the side that fired it, from the surface,
/// would fire again if conditions saw it on the other side once more: the reset has been undone by another one, or it
/// has taken the whole speed away. What would turn the solution round may not be passed: where the reset still changes
/// something it acts again, otherwise the solution stays in contact, and where it cannot the run ends.
///
/// `converge`: the resets of the rounds of this instant have become smaller than the tolerance. What is left of the
/// speeds of the guards that have fired means nothing then, whatever their signs.
Instant::Returning Instant::hold_returning(const Arrival& arrival, bool converge) {
  contacts_.clear();
  int undone = -1, passed = -1;
  double largest = 1.0;
  for (const int k : trial_.view.zeros()) {
    if (k >= family_guards || hybrid_.guards()[static_cast<std::size_t>(k)].time_only ||
        hybrid_.guards()[static_cast<std::size_t>(k)].same_as >= 0)
      continue;
    const int side = hybrid_.side(now.mode, k);
    if (side == 0 || trial_.view.multiplicity(k) == 0 || contains(now.mode.contacts, k)) continue;
    // by a clause of the side to which the guard has crossed; that of the other side may reset something else
    if (!converge && approach_.left && approach_.guard == k && side == hybrid_.side(*approach_.left, k)) continue;
    int from = 0;
    if (trial_.view.side(k) == side && now.mode.sees[static_cast<std::size_t>(k)] == side) {
      const std::vector<double> after = reset_from(hybrid_, now.mode, k, -side, t_, now.x, now.xp);
      if (!after.empty() && (turns_round(k, side, after) || takes_speed(arrival, k, side) || brings_back(k, side))) {
        from = -side;
        const double change = trial_.view.multiplicity(k) == 1 ? trials_.distance(after, now.x) : 0.0;
        if (change > largest) {
          largest = change;
          undone = k;
        }
      }
    }
    if (from != 0 && passed < 0 && leaves_noticeably(k)) passed = k;
    if (from == 0 && converge && fired_.has_fired(k))
      for (const int other : {+1, -1})
        if (from == 0 && !reset_from(hybrid_, now.mode, k, other, t_, now.x, now.xp).empty()) from = other;
    if (from == 0) continue;
    Mode alone = now.mode;
    hybrid_.begin_contact(alone, k, from);
    if (hybrid_.can_stay_on_surfaces(alone)) contacts_.push_back({k, from});
  }
  if (undone >= 0) {
    see_at(undone, -now.mode.sees[static_cast<std::size_t>(undone)], t_);
    return Returning::fires_again;
  }
  if (contacts_.empty() && passed < 0) return Returning::none;
  Point contact = now;
  contact.x.resize(hybrid_.variables().size());
  for (const Contact& one : contacts_) hybrid_.begin_contact(contact.mode, one.guard, one.side);
  if (contacts_.size() == 1) try_force_beside(contact, contacts_.front().guard, contacts_.front().side, t_);
  if (!contacts_.empty() && stay_in_contact(contact, t_)) {
    note_contacts(t_);
    transition.notes.push_back("the reset has become zero; the solution goes on in contact");
    circumstances_.cause = Cause::mode_change;
    return Returning::held;
  }
  if (passed < 0) return Returning::none;
  const std::string& name = hybrid_.guards()[static_cast<std::size_t>(passed)].name;
  fail(StatusCode::zeno,
       fmt::format("at t = {:.12g} the reset by '{}' returns the solution to its surface without a speed away from it, "
                   "and no contact holds it there; let the reset turn the speed round, or switch to a mode that holds "
                   "the solution",
                   t_, name),
       {name});
  return Returning::denied;
}

/// What a variable of the systems may be wrong by, by guard.
std::vector<double> Instant::tolerance_of_guards() {
  std::vector<double> absolute = doubt().sizes;
  if (absolute.empty()) absolute.push_back(1.0);
  for (double& size : absolute) size *= doubt().relative;
  return GuardSides::uncertainty(*trial_.system, t_, now.x, now.xp, std::span(&doubt().relative, 1), absolute);
}

/// Whether a guard that is zero leaves zero by more than the errors of a step, over a time in which the solution
/// changes noticeably: where a slide keeps it, its derivatives are rounding errors.
bool Instant::leaves_noticeably(int guard) {
  const double span = doubt().time_scale;
  const double moved =
      trial_.view.multiplicity(guard) == 1
          ? trial_.view.slope(guard) * span
          : 0.5 * span * span * GuardSides::bend(*trial_.system, trials_.consistency(), t_, now.x, guard);
  return std::abs(moved) > tolerance_of_guards()[static_cast<std::size_t>(guard)];
}

/// A guard that has fired and whose clause has turned the solution round is zero in this instant, although what is left
/// of its value is more than its rounding errors: what an earlier projection or a rebound too low to be located left. A
/// rebound may be lower than that, and the solution would stay beyond the surface. Returns whether there is one.
bool Instant::place_turned_guards() {
  bool any = false;
  std::vector<double> tolerance;
  for (std::size_t i = 0; i < fired_.guards.size(); ++i) {
    const int k = fired_.guards[i], side = fired_.directions[i];
    const auto place = static_cast<std::size_t>(k);
    if (k >= family_guards || trial_.view.multiplicity(k) != 0 || trial_.view.side(k) != side ||
        hybrid_.side(now.mode, k) != side || hybrid_.guards()[place].time_only || hybrid_.guards()[place].same_as >= 0)
      continue;
    if (tolerance.empty()) tolerance = tolerance_of_guards();
    const double size = std::abs(trial_.view.value(k));
    if (!(size <= Resolution::same_point * tolerance[place])) continue;
    const std::vector<double> after = reset_from(hybrid_, now.mode, k, -side, t_, now.x, now.xp);
    if (after.empty() || !(turns_round(k, side, now.x) || brings_back(k, side))) continue;
    resize(doubt().noise, static_cast<std::size_t>(family_guards));
    doubt().noise[place] = 4.0 * size;
    any = true;
  }
  return any;
}

/// Whether a reset leaves the solution without a speed to a side of a guard, up to the rounding errors of its values.
bool Instant::turns_round(int guard, int side, std::span<const double> after) {
  const auto speed = [&](std::span<const double> x) {
    return side * trials_.direction() * GuardSides::speed(*trial_.system, trials_.consistency(), t_, x, guard);
  };
  std::vector<double> full = now.x;
  std::ranges::copy(after.first(std::min(after.size(), full.size())), full.begin());
  return speed(full) <= no_speed * std::abs(speed(now.x));
}

/// Whether a clause takes the speed with which the solution came here, and what is left of it is a rounding error,
/// which has no side: the reset of a body that a moving floor takes along.
bool Instant::takes_speed(const Arrival& arrival, int guard, int side) {
  if (arrival.x.size() < hybrid_.variables().size()) return false;
  const auto speed = [&](std::span<const double> x) {
    return side * trials_.direction() * GuardSides::speed(*trial_.system, trials_.consistency(), t_, x, guard);
  };
  std::vector<double>& x = arrival_state_;
  copy(now.x, x);
  std::copy_n(arrival.x.begin(), hybrid_.variables().size(), x.begin());
  const double before = speed(x);
  if (!(before > 0.0) || !(std::abs(speed(now.x)) <= no_speed * before)) return false;
  const std::vector<double> after = reset_from(hybrid_, now.mode, guard, -side, t_, x, arrival.xp);
  std::ranges::copy(std::span(after).first(std::min(after.size(), x.size())), x.begin());
  return !after.empty() && speed(x) <= no_speed * before;
}

/// Whether the clause of a guard that is zero takes a solution that stands beyond the surface back to it, or across: as
/// the solution goes there from the surface, the clause acts without end. "Beyond" is by the errors of a step, in the
/// direction of the solution.
bool Instant::brings_back(int guard, int side) {
  const auto place = static_cast<std::size_t>(guard);
  const double speed = side * GuardSides::speed(*trial_.system, trials_.consistency(), t_, now.x, guard);
  if (!(speed * trials_.direction() > 0.0)) return false;
  const double here = std::max(std::abs(trial_.view.value(guard)), trial_.view.noise(guard));  // rounding errors
  const double distance = std::max(tolerance_of_guards()[place], 4.0 * here);
  std::vector<double> beyond = now.x, g(static_cast<std::size_t>(trial_.system->structure().guards));
  const double time = distance / speed;
  for (std::size_t j = 0; j < beyond.size(); ++j) beyond[j] += time * now.xp[j];
  trial_.system->guards(t_ + time, beyond, now.xp, g);
  if (!(side * g[place] > here)) return false;  // its value does not show that
  const std::vector<double> after = reset_from(hybrid_, now.mode, guard, -side, t_ + time, beyond, now.xp);
  std::ranges::copy(std::span(after).first(std::min(after.size(), beyond.size())), beyond.begin());
  trial_.system->guards(t_ + time, beyond, now.xp, g);
  return side * g[place] <= 4.0 * here;
}

/// The values of a mode on surfaces from a point, which is moved onto them, and where its guards go. False: there are
/// none.
bool Instant::look_on_surfaces(const Point& candidate, double t, Trial& trial) {
  if (!hybrid_.can_stay_on_surfaces(candidate.mode)) return false;
  Point from = candidate;
  hybrid_.system(from.mode).project(t, from.x);
  copy(from.mode, trial.point.mode);
  if (!trials_.find_values(from, {.t = t}, trial)) return false;
  // the point before it was moved is as good as the one after: what differs between them means nothing
  trial.alternative.assign(candidate.x.begin(),
                           candidate.x.begin() + static_cast<std::ptrdiff_t>(hybrid_.variables().size()));
  trials_.look(t, trial);
  return true;
}

/// Whether the solution can stay on the surfaces of a mode; the trial has the values then.
bool Instant::surfaces_hold(const Point& candidate, double t, Trial& trial) {
  return look_on_surfaces(candidate, t, trial) && trials_.surfaces_hold(trial);
}

/// Goes on in a mode with several contacts. Those whose force would have to pull open again; the others must hold, and
/// what has opened must leave its surface. False: nothing has changed.
bool Instant::stay_in_contact(Point& candidate, double t) {
  std::vector<Contact> opened;
  const auto leaves = [&](const Contact& one) { return contact_trial_.view.side(one.guard) == one.side; };
  while (!candidate.mode.contacts.empty() && look_on_surfaces(candidate, t, contact_trial_)) {
    if (trials_.surfaces_hold(contact_trial_)) {
      if (!std::ranges::all_of(opened, leaves)) return false;
      take(contact_trial_);
      return true;
    }
    const std::vector<int> contacts = candidate.mode.contacts, sides = candidate.mode.contact_sides;
    const std::size_t count = opened.size();
    for (std::size_t c = 0; c < contacts.size(); ++c) {
      if (contact_trial_.view.side(contact_trial_.exits[candidate.mode.sliding.size() + c]) >= 0) continue;
      opened.push_back({contacts[c], sides[c]});
    }
    if (opened.size() == count) return false;
    for (std::size_t k = count; k < opened.size(); ++k) hybrid_.end_contact(candidate.mode, opened[k].guard);
  }
  return false;
}

/// The solution goes on at the point of a trial, which gets the last one in exchange.
void Instant::take(Trial& trial) {
  std::swap(trial_, trial);
  now = trial_.point;
  copy(trial_.alternative, doubt().alternative_state);
  raise_noise_of_projection(t_);
  view_current_ = true;
}

/// A state that is moved onto surfaces has rounding errors of the size of all variables in them, which values near zero
/// do not show. What is left of the guards of these surfaces is an error, too.
void Instant::raise_noise_of_projection(double t) {
  constexpr double rounding = 4.0 * std::numeric_limits<double>::epsilon();
  std::vector<double> absolute = doubt().sizes;
  if (absolute.empty()) absolute.push_back(1.0);
  for (double& size : absolute) size *= rounding;
  const std::size_t family = hybrid_.variables().size();
  const auto x = std::span<const double>(now.x).first(family), xp = std::span<const double>(now.xp).first(family);
  System& free = hybrid_.system(without_surfaces(now.mode));  // on a surface its own guard has no value
  std::vector<double> g(static_cast<std::size_t>(free.structure().guards));
  free.guards(t, x, xp, g);
  std::vector<double>& noise = doubt().noise;
  noise.resize(hybrid_.guards().size(), 0.0);
  if (!now.mode.contacts.empty()) {
    const std::vector<double> error = GuardSides::uncertainty(free, t, x, xp, std::span(&rounding, 1), absolute);
    for (std::size_t k = 0; k < noise.size(); ++k) noise[k] = std::max(noise[k], error[k]);
  }
  for (const auto* surfaces : {&now.mode.sliding, &now.mode.contacts})
    for (const int k : *surfaces) {
      const auto place = static_cast<std::size_t>(k);
      noise[place] = std::max(noise[place], 4.0 * std::abs(g[place]));
    }
}

/// The same, and goes on there if it can.
bool Instant::stay_on_surfaces(const Point& candidate, double t) {
  if (!surfaces_hold(candidate, t, contact_trial_)) return false;
  take(contact_trial_);
  return true;
}

bool Instant::slide_on(std::span<const int> guards, double t) {
  Point slide = now;
  std::vector<int>& sliding = slide.mode.sliding;
  for (const int k : guards)
    if (!contains(sliding, k)) sliding.insert(std::upper_bound(sliding.begin(), sliding.end(), k), k);
  return stay_on_surfaces(slide, t);
}

/// How a contact would be if the relations on its surface were as on this side: whether it would hold, and its force.
/// What is left of a force of this size on the surface, where they may be others, is a rounding error.
bool Instant::try_force_beside(const Point& contact, int guard, int side, double t) {
  double& noise = doubt().force_noise[static_cast<std::size_t>(guard)];
  noise = 0.0;
  Point beside = contact;
  hybrid_.set_side(beside.mode, guard, side);
  if (same(contact.mode.locks, beside.mode.locks) || !surfaces_hold(beside, t, contact_trial_)) return false;
  const auto& contacts = beside.mode.contacts;
  const auto place = std::find(contacts.begin(), contacts.end(), guard) - contacts.begin();
  const int force = contact_trial_.exits[beside.mode.sliding.size() + static_cast<std::size_t>(place)];
  noise = Resolution::iteration * std::abs(contact_trial_.view.value(force));
  return true;
}

Instant::Rest Instant::rest_on(std::span<const Contact> contacts, const Arrival& arrival) {
  const double t = arrival.t;
  Point contact = now;
  forget_actions();
  bool slides = false, seen = true;
  for (const Contact& one : contacts) {
    // where both sides push back; a contact tells more
    slides = std::erase(contact.mode.sliding, one.guard) > 0 || slides;
    if (hybrid_.side(contact.mode, one.guard) == one.side) continue;
    hybrid_.set_side(contact.mode, one.guard, one.side);
    contact.mode.sees[static_cast<std::size_t>(one.guard)] = static_cast<signed char>(one.side);
    seen = false;
  }
  if (slides) contact.x.resize(hybrid_.variables().size());
  bool holds = true;
  if (!seen) {  // a flight was lost in noise: the clause must see that it took place
    before_round_.x = contact.x;
    holds = !act(arrival, false, contact) || (!transition.failed && !transition.terminate && !transition.any_reset());
  }
  if (contacts.size() == 1 && !slides) {
    // Between the states before and after the last reset lies the one that the speed vanishes at: where all the resets
    // that are left lead, and what they conserve is conserved.
    const int guard = contacts.front().guard;
    const double before = GuardSides::speed(*trial_.system, trials_.consistency(), t, arrival.x, guard),
                 after = GuardSides::speed(*trial_.system, trials_.consistency(), t, now.x, guard);
    if (before * after < 0.0)
      for (std::size_t j = 0; j < now.x.size(); ++j)
        contact.x[j] = arrival.x[j] + (now.x[j] - arrival.x[j]) * (before / (before - after));
  }
  for (const Contact& one : contacts) hybrid_.begin_contact(contact.mode, one.guard, one.side);
  const bool holds_beside =
      contacts.size() == 1 && holds && try_force_beside(contact, contacts.front().guard, contacts.front().side, t);
  if (holds && stay_in_contact(contact, t)) {
    note_contacts(t);
    return Rest::begun;
  }
  forget_actions();
  return holds_beside ? Rest::denied : Rest::none;
}

/// Contacts have begun: conditions see their guards at zero. The speed without them vanishes where resets turn it
/// round; resets that move the guard itself leave one.
void Instant::note_contacts(double t) {
  System& free = hybrid_.system(without_surfaces(now.mode));
  const auto x = std::span<const double>(now.x).first(hybrid_.variables().size());
  for (const int k : now.mode.contacts) {
    see_at(k, 0, t);
    began_.push_back({k, GuardSides::speed(free, trials_.consistency(), t, x, k)});
  }
}

/// Conditions see a guard at zero or on a side without acting for it: a contact and the resets that are left before it
/// are one instant, and what has been seen there does not act once more.
void Instant::see_at(int guard, int side, double t) {
  now.mode.sees[static_cast<std::size_t>(guard)] = static_cast<signed char>(side);
  exchange(now.mode, transition.mode);
  now.x.swap(transition.x);
  hybrid_.transition({.t = t, .x_before = transition.x, .xp_before = now.xp, .quiet = true}, transition);
  exchange(now.mode, transition.mode);
  now.x.swap(transition.x);
}

}  // namespace saltus
