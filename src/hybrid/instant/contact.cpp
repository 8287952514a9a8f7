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
    const Point free = now;
    hybrid_.begin_contact(now.mode, k, -side);
    try_force_beside(k, -side, t_);
    if (stays_on_surfaces(t_)) {
      see_zero(k, t_);
      transition.notes.push_back("the reset has become zero; the solution goes on in contact");
      return true;
    }
    now = free;
    failure_ = {};
    trial_.point = now;
    trial_.system = &hybrid_.system(now.mode);
    trials_.look(t_, trial_);
    view_current_ = true;
  }
  return false;
}

/// Whether now.mode has surfaces on which the solution can stay from now.x, which is moved onto them.
bool Instant::stays_on_surfaces(double t) {
  if (!hybrid_.can_stay_on_surfaces(now.mode)) return false;
  hybrid_.system(now.mode).project(t, now.x);
  if (!find_values(t)) return false;
  look(t);
  return trials_.surfaces_hold(trial_);
}

bool Instant::slide_on(std::span<const int> guards, double t) {
  const Point free = now;
  std::vector<int>& sliding = now.mode.sliding;
  for (const int k : guards)
    if (!contains(sliding, k)) sliding.insert(std::upper_bound(sliding.begin(), sliding.end(), k), k);
  if (stays_on_surfaces(t)) return true;
  now = free;
  failure_ = {};
  trial_.system = &hybrid_.system(now.mode);
  view_current_ = false;
  return false;
}

/// How the contact in now.mode would be if the relations on its surface were as on this side: whether it would hold,
/// and its force. What is left of a force of this size on the surface, where they may be others, is a rounding error.
bool Instant::try_force_beside(int guard, int side, double t) {
  bool holds_beside = false;
  double& noise = doubt().force_noise[static_cast<std::size_t>(guard)];
  noise = 0.0;
  if (!hybrid_.can_stay_on_surfaces(now.mode)) return false;
  const Point on_surface = now;
  hybrid_.set_side(now.mode, guard, side);
  if (!same(on_surface.mode.locks, now.mode.locks)) {
    holds_beside = stays_on_surfaces(t);
    const auto& contacts = now.mode.contacts;
    const auto place = std::find(contacts.begin(), contacts.end(), guard) - contacts.begin();
    if (holds_beside)
      noise = Resolution::iteration *
              std::abs(trial_.view.value(trial_.exits[now.mode.sliding.size() + static_cast<std::size_t>(place)]));
  }
  now = on_surface;
  failure_ = {};
  view_current_ = false;
  return holds_beside;
}

Instant::Rest Instant::rest_on(int guard, int side, const Arrival& arrival) {
  const double t = arrival.t;
  const Point free = now;
  forget_actions();
  bool holds = true, holds_beside = false;
  const bool slides = std::erase(now.mode.sliding, guard) > 0;  // where both sides push back; a contact tells more
  if (slides) now.x.resize(hybrid_.variables().size());
  if (side != 0 &&
      hybrid_.side(now.mode, guard) != side) {  // the flight was lost in noise: the clause must see that it took place
    hybrid_.set_side(now.mode, guard, side);
    now.mode.sees[static_cast<std::size_t>(guard)] = static_cast<signed char>(side);
    before_round_.x = now.x;
    holds = !act(arrival, false) || (!transition.failed && !transition.terminate && !transition.any_reset());
  }
  const int from = side != 0 ? side : hybrid_.side(free.mode, guard);
  // Between the states before and after the last reset lies the one that the speed vanishes at: where all the resets
  // that are left lead, and what they conserve is conserved.
  const double before = slides ? 0.0 : GuardSides::speed(*trial_.system, trials_.consistency(), t, arrival.x, guard),
               after = slides ? 0.0 : GuardSides::speed(*trial_.system, trials_.consistency(), t, free.x, guard);
  if (before * after < 0.0)
    for (std::size_t j = 0; j < free.x.size(); ++j)
      now.x[j] = arrival.x[j] + (free.x[j] - arrival.x[j]) * (before / (before - after));
  hybrid_.begin_contact(now.mode, guard, from);
  if (holds) holds_beside = try_force_beside(guard, from, t);
  if (holds && stays_on_surfaces(t)) {
    see_zero(guard, t);
    return Rest::begun;
  }
  now = free;
  failure_ = {};
  trial_.system = &hybrid_.system(now.mode);
  view_current_ = false;
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
