// Contact: resets that have become zero keep the solution on their surface.
#include <algorithm>
#include <cmath>
#include <utility>

#include "hybrid/instant/instant.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

/// A reset has acted, and the solution still goes to the side that has caused it, without a speed: the reset changes
/// nothing any more, as of a ball that lies on the floor. Goes on in contact, if there is such a mode and it holds.
bool Instant::begin_contact_at_rest() {
  for (int k = 0; k < family_guards; ++k) {
    const GuardInfo& guard = hybrid_.guards()[static_cast<std::size_t>(k)];
    const int side = hybrid_.side(now.mode, k);
    if (guard.time_only || guard.same_as >= 0 || side == 0 || trial_.view.multiplicity(k) < 2 ||
        trial_.view.side(k) != side)
      continue;
    if (now.mode.sees[static_cast<std::size_t>(k)] != side) continue;
    Point contact = now;
    hybrid_.begin_contact(contact.mode, k, -side);
    try_force_beside(contact, k, -side, t_);
    if (!stay_on_surfaces(contact, t_)) continue;
    see_zero(k, t_);
    transition.notes.push_back("the reset has become zero; the solution goes on in contact");
    return true;
  }
  return false;
}

/// Whether the solution can stay on the surfaces of a mode from a point, which is moved onto them; the trial has the
/// values then.
bool Instant::surfaces_hold(const Point& candidate, double t, Trial& trial) {
  if (!hybrid_.can_stay_on_surfaces(candidate.mode)) return false;
  Point from = candidate;
  hybrid_.system(from.mode).project(t, from.x);
  copy(from.mode, trial.point.mode);
  if (!trials_.find_values(from, {.t = t}, trial)) return false;
  copy(doubt().alternative_state, trial.alternative);
  trials_.look(t, trial);
  return trials_.surfaces_hold(trial);
}

/// The same, and goes on there if it can.
bool Instant::stay_on_surfaces(const Point& candidate, double t) {
  if (!surfaces_hold(candidate, t, contact_trial_)) return false;
  std::swap(trial_, contact_trial_);
  now = trial_.point;
  view_current_ = true;
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

Instant::Rest Instant::rest_on(int guard, int side, const Arrival& arrival) {
  const double t = arrival.t;
  Point contact = now;
  forget_actions();
  bool holds = true;
  const bool slides = std::erase(contact.mode.sliding, guard) > 0;  // where both sides push back; a contact tells more
  if (slides) contact.x.resize(hybrid_.variables().size());
  if (side != 0 && hybrid_.side(contact.mode, guard) != side) {
    // the flight was lost in noise: the clause must see that it took place
    hybrid_.set_side(contact.mode, guard, side);
    contact.mode.sees[static_cast<std::size_t>(guard)] = static_cast<signed char>(side);
    before_round_.x = contact.x;
    holds = !act(arrival, false, contact) || (!transition.failed && !transition.terminate && !transition.any_reset());
  }
  const int from = side != 0 ? side : hybrid_.side(now.mode, guard);
  // Between the states before and after the last reset lies the one that the speed vanishes at: where all the resets
  // that are left lead, and what they conserve is conserved.
  const double before = slides ? 0.0 : GuardSides::speed(*trial_.system, trials_.consistency(), t, arrival.x, guard),
               after = slides ? 0.0 : GuardSides::speed(*trial_.system, trials_.consistency(), t, now.x, guard);
  if (before * after < 0.0)
    for (std::size_t j = 0; j < now.x.size(); ++j)
      contact.x[j] = arrival.x[j] + (now.x[j] - arrival.x[j]) * (before / (before - after));
  hybrid_.begin_contact(contact.mode, guard, from);
  const bool holds_beside = holds && try_force_beside(contact, guard, from, t);
  if (holds && stay_on_surfaces(contact, t)) {
    see_zero(guard, t);
    return Rest::begun;
  }
  forget_actions();
  return holds_beside ? Rest::denied : Rest::none;
}

/// The resets that are left and the contact are one instant: conditions have seen the guard at zero already, and do not
/// act for it once more.
void Instant::see_zero(int guard, double t) {
  now.mode.sees[static_cast<std::size_t>(guard)] = 0;
  exchange(now.mode, transition.mode);
  now.x.swap(transition.x);
  hybrid_.transition({.t = t, .x_before = transition.x, .xp_before = now.xp, .quiet = true}, transition);
  exchange(now.mode, transition.mode);
  now.x.swap(transition.x);
}

}  // namespace saltus
