// The part of the mode controller that brings the state onto surfaces and off them: contacts, and what resets do to them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "hybrid/mode_controller.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

/// The mode may be one that cannot be evaluated beyond a surface on which the state lies up to errors, of which the sign is the wrong one. Gives
/// them the other sign, for linear guards, and a small part of their size at least: at the edge itself derivatives may be infinite. Returns whether
/// there are such; after look() in the mode before.
bool ModeController::move_across_surfaces() {
  constexpr double small_part = 1e-5;
  bool any = false;
  for (const LinearGuard& guard : system_->linear_guards()) {
    const int k = guard.guard;
    if (k >= family_guards() || k >= sides_.count() || sides_.multiplicity(k) == 0) continue;
    const double value = sides_.value(k);
    const int side = hybrid_.side(transition.mode, k);
    if (!(side * value < 0.0)) continue;
    const double change = side * std::max(std::abs(value), small_part * sides_.noise(k)) - value;
    double square = 0.0;
    for (const double c : guard.coefficients) square += c * c;
    for (std::size_t i = 0; i < guard.variables.size(); ++i)
      transition.x[static_cast<std::size_t>(guard.variables[i])] += change * guard.coefficients[i] / square;
    any = any || square > 0.0;
  }
  return any;
}

/// Whether the weights of transition.mode mean nothing, or its equations contradict each other; after find_values().
bool ModeController::slides_no_more(double t) {
  const CharacteristicValues* values = consistency_.values(*system_);
  return (values && ((*values)->u > 0 || (*values)->v > 0)) || !weights_matter(*system_, t, transition.x, xp);
}

/// The mode has changed while the solution slid, so that it does not any more: both sides agree, as after a relay has been switched off. The
/// sides are to be found, beginning with those from which it came. Returns whether it slid.
bool ModeController::stop_sliding() {
  Mode& mode = transition.mode;
  if (mode.sliding.empty()) return false;
  for (const int k : std::exchange(mode.sliding, {}))
    if (hybrid_.rests(mode, k)) hybrid_.set_side(mode, k, hybrid_.resting_side(mode, k));  // where it began: a side to begin with, not rest
  transition.x.resize(hybrid_.variables().size());  // without weights
  return true;
}

/// What is not certain about a function is so for both guards that have it.
void ModeController::share_doubts() {
  const std::vector<GuardInfo>& guards = hybrid_.guards();
  for (std::size_t k = 0; k < guards.size(); ++k) {
    if (guards[k].same_as < 0) continue;
    const auto first = static_cast<std::size_t>(guards[k].same_as);
    if (k < bracket_noise.size()) bracket_noise[k] = bracket_noise[first] = std::max(bracket_noise[k], bracket_noise[first]);
    if (k < slope_error.size()) slope_error[k] = slope_error[first] = slope_error[k] != 0.0 ? slope_error[k] : slope_error[first];
  }
}

/// Guards with relations that differ at zero have changed their side, and the solution may stay there. Clauses must not see the other side then:
/// whether it does is found out before they act, in the mode that discrete equations would make of it.
void ModeController::stay_at_zero(const EventInput& input, std::span<const int> guards) {
  for (const int k : guards) {
    if (!has_second_[static_cast<std::size_t>(k)] || hybrid_.side(transition.mode, k) == 0) continue;
    copy(transition.mode, trial_.mode);
    copy(transition.x, trial_.x);
    trial_.reset.assign(trial_.x.size(), 0);
    trial_.failed = trial_.terminate = trial_.unfinished = false;
    trial_.fired.clear();
    hybrid_.transition(input, trial_);
    trial_.contradictions.clear();
    if (trial_.failed || trial_.any_reset()) {
      copy(transition.mode, trial_.mode);
      copy(transition.x, trial_.x);
    }
    if (trial_.mode.on_surfaces() && !hybrid_.can_stay_on_surfaces(trial_.mode)) continue;
    System& system = hybrid_.system(trial_.mode);
    fit(system, trial_.x);
    copy(xp, trial_xp_);
    trial_xp_.resize(trial_.x.size(), 0.0);
    if (!consistency_.evaluate(system, input.t, trial_.x, trial_xp_) &&
        (!consistency_.possible(system) || consistency_.find(system, input.t, Cause::mode_change, {}, nullptr, trial_.x, trial_xp_)))
      continue;
    trial_sides_.ignore(trial_.mode.sliding, trial_.mode.contacts);
    trial_sides_.look(system, consistency_, input.t, trial_.x, trial_xp_, direction_, time_scale, doubt_at(trial_.x));
    if (trial_sides_.side(k) == 0) hybrid_.rest(transition.mode, k);
  }
}

/// A contact opens because of its force.
void ModeController::release(int surface) {
  hybrid_.end_contact(transition.mode, surface);
  opened_.push_back({surface, hybrid_.side(transition.mode, surface)});
}

/// Contacts open by the equations on their surfaces. Those beside them may be others, by a relation on the surface, and press the solution back: it can
/// neither stay nor leave. After look(). False: see failure().
bool ModeController::stay_open(double t) {
  constexpr int most = 3;  // derivatives: of what moves g, its speed, or its force
  for (const Opened& contact : opened_) {
    const int k = contact.guard;
    if (sides_.multiplicity(k) == 0 || hybrid_.side(transition.mode, k) != contact.side) continue;
    Mode on_surface = transition.mode;
    hybrid_.rest(on_surface, k);
    if (hybrid_.same_equations(transition.mode, on_surface)) continue;
    const std::vector<double> c = GuardSides::coefficients(most + 1, *system_, consistency_, t, transition.x, k);
    // what is left of g, its speed and its force are errors, which are over at once
    const auto lasts = [&](int i) {
      double time = std::numeric_limits<double>::infinity();
      for (int j = i + 1; j <= most + 1; ++j) time = std::min(time, std::pow(std::abs(c[i] / c[j]), 1.0 / (j - i)));
      return c[i] != 0.0 && time > negligible_part * time_scale;
    };
    int i = 1;
    while (i <= most && !lasts(i)) ++i;
    if (i > most || !(c[i] * (direction_ < 0 && i % 2 == 1 ? -1 : 1) * contact.side < 0.0)) continue;
    const std::string& name = hybrid_.guards()[static_cast<std::size_t>(k)].name;
    return fail(StatusCode::no_forward_solution,
                fmt::format("at t = {:.12g} the contact on the surface of '{}' opens by the equations that hold there, but those beside it push the solution "
                            "back: a relation on the surface stands in them", t, name),
                {name});
  }
  return true;
}

/// Contacts whose force would have to pull open; after look().
bool ModeController::release_contacts() {
  const std::vector<int> contacts = transition.mode.contacts;
  const int first = family_guards() + 2 * static_cast<int>(transition.mode.sliding.size());
  for (std::size_t c = 0; c < contacts.size(); ++c)
    if (sides_.side(first + static_cast<int>(c)) < 0) release(contacts[c]);
  return transition.mode.contacts.size() < contacts.size();
}

/// The model has acted on a mode that stays on surfaces. Those from which a reset has taken the state are left, and contacts that it has given a
/// speed; in another explicit mode there are none. Returns whether guards have got sides, which clauses are to see.
bool ModeController::leave_surfaces(const EventInput& input) {
  Mode& mode = transition.mode;
  if (mode.automaton != begun_->automaton || !hybrid_.can_stay_on_surfaces(mode)) {
    mode.sliding.clear();
    while (!mode.contacts.empty()) hybrid_.end_contact(mode, mode.contacts.back());
    return false;
  }
  if (!reset_) return false;
  Mode beside = mode;
  beside.sliding.clear();
  beside.contacts.clear();
  beside.contact_sides.clear();
  System& system = hybrid_.system(beside);
  const std::size_t family = hybrid_.variables().size();
  const auto guards_at = [&](std::span<const double> x) {
    std::vector<double> g(static_cast<std::size_t>(system.structure().guards));
    system.guards(input.t, x, input.xp_before.first(family), g);
    return g;
  };
  constexpr double rounding = 4.0 * std::numeric_limits<double>::epsilon(), nothing = 0.0;
  const auto x = std::span<const double>(transition.x).first(family);
  const std::vector<double> before = guards_at(input.x_before.first(family)), after = guards_at(x),
                            noise = GuardSides::uncertainty(system, input.t, x, input.xp_before.first(family), rounding, std::span(&nothing, 1));
  const auto moved = [&](int k) { return std::abs(after[k]) > 4.0 * (std::abs(before[k]) + noise[k]); };
  const std::vector<int> sliding = mode.sliding;
  bool left = false;
  for (const int k : sliding) {
    if (!moved(k)) continue;
    left = true;
    const int side = after[k] > 0.0 ? +1 : -1;
    std::erase(mode.sliding, k);
    hybrid_.set_side(mode, k, side);
    note_firing(k, side);
  }
  const std::vector<int> contacts = mode.contacts;
  for (const int k : contacts) {
    const double speed_before = GuardSides::speed(system, consistency_, input.t, input.x_before.first(family), k),
                 speed_after = GuardSides::speed(system, consistency_, input.t, x, k);
    if (moved(k) || std::abs(speed_after) > (1.0 + 1e-9) * std::abs(speed_before)) hybrid_.end_contact(mode, k);
  }
  return left;
}

/// Whether transition.mode has surfaces on which the solution can stay from transition.x, which is moved onto them.
bool ModeController::stays_on_surfaces(double t) {
  if (!hybrid_.can_stay_on_surfaces(transition.mode)) return false;
  System& system = hybrid_.system(transition.mode);
  system.project(t, transition.x);
  if (!find_values(t, Cause::mode_change)) return false;
  look(t);
  return surfaces_hold(transition.mode, sides_);
}

/// Whether all weights of a mode lie between 0 and 1, or are about to, and no contact pulls. Its force may vanish identically: the equations themselves may
/// keep the solution at rest, as long as it is on the surface.
bool ModeController::surfaces_hold(const Mode& mode, const GuardSides& sides) const {
  const int forces = family_guards() + 2 * static_cast<int>(mode.sliding.size());
  for (int k = family_guards(); k < sides.count(); ++k)
    if (sides.side(k) < (k < forces ? 1 : 0)) return false;
  return true;
}

bool ModeController::slide_on(std::span<const int> guards, double t) {
  led_here_ = nullptr;
  const Mode mode = transition.mode;
  const std::vector<double> x = transition.x, derivatives = xp;
  std::vector<int>& sliding = transition.mode.sliding;
  for (const int k : guards)
    if (!contains(sliding, k)) sliding.insert(std::upper_bound(sliding.begin(), sliding.end(), k), k);
  if (stays_on_surfaces(t)) return true;
  go_back(mode, x, derivatives);
  return false;
}

void ModeController::go_back(const Mode& mode, const std::vector<double>& x, const std::vector<double>& derivatives) {
  failure_ = {};
  transition.mode = mode;
  transition.x = x;
  xp = derivatives;
  system_ = &hybrid_.system(mode);
  view_current_ = false;
}

/// How the contact in transition.mode would be if the relations on its surface were as on this side: whether it would hold, and its force. What is left of
/// a force of this size on the surface, where they may be others, is a rounding error.
void ModeController::try_force_beside(int guard, int side, double t) {
  constexpr double rounding = 1e-9;  // of iterations
  force_noise_[static_cast<std::size_t>(guard)] = 0.0;
  if (!hybrid_.can_stay_on_surfaces(transition.mode)) return;
  const Mode on_surface = transition.mode;
  hybrid_.set_side(transition.mode, guard, side);
  if (same(on_surface.locks, transition.mode.locks)) return;
  const std::vector<double> x = transition.x, derivatives = xp;
  rest_denied_ = stays_on_surfaces(t);
  const auto& contacts = transition.mode.contacts;
  const auto place = std::find(contacts.begin(), contacts.end(), guard) - contacts.begin();
  if (rest_denied_)
    force_noise_[static_cast<std::size_t>(guard)] =
        rounding * std::abs(sides_.value(family_guards() + 2 * static_cast<int>(transition.mode.sliding.size()) + static_cast<int>(place)));
  go_back(on_surface, x, derivatives);
}

/// bracket_noise, and what the weights and the forces of contacts are not certain by.
std::span<const double> ModeController::noise_on_surfaces(const System& system, const Mode& mode) {
  constexpr double error_of_iteration = 1e-12;  // that finds weights
  const double error_of_weights = mode.sliding.empty() || system.structure().explicit_ode ? 0.0 : error_of_iteration;
  const auto is_noisy = [&](int k) { return force_noise_[static_cast<std::size_t>(k)] > 0.0; };
  if (error_of_weights == 0.0 && std::none_of(mode.contacts.begin(), mode.contacts.end(), is_noisy)) return bracket_noise;
  const auto family = static_cast<std::size_t>(family_guards());
  copy(bracket_noise, noise_on_surfaces_);
  noise_on_surfaces_.resize(family, 0.0);
  noise_on_surfaces_.resize(family + 2 * mode.sliding.size(), error_of_weights);
  for (const int k : mode.contacts) noise_on_surfaces_.push_back(force_noise_[static_cast<std::size_t>(k)]);
  return noise_on_surfaces_;
}

bool ModeController::rest_on(int guard, int side, const EventInput& input) {
  const double t = input.t;
  const std::span<const double> x_before = input.x_before;
  led_here_ = nullptr;
  const Mode mode = transition.mode;
  const std::vector<double> x = transition.x, derivatives = xp;
  forget_actions();
  rest_denied_ = false;
  bool holds = true;
  const bool slides = std::erase(transition.mode.sliding, guard) > 0;  // where both sides push back; a contact tells more
  if (slides) transition.x.resize(hybrid_.variables().size());
  if (side != 0 && hybrid_.side(transition.mode, guard) != side) {  // the flight was lost in noise: the clause must see that it took place
    hybrid_.set_side(transition.mode, guard, side);
    transition.unfinished = false;
    hybrid_.transition(input, transition);
    holds = !transition.failed && !transition.terminate && !transition.unfinished && !transition.any_reset();
  }
  const int from = side != 0 ? side : hybrid_.side(mode, guard);
  // Between the states before and after the last reset lies the one that the speed vanishes at: where all the resets that are left
  // lead, and what they conserve is conserved.
  const double before = slides ? 0.0 : GuardSides::speed(*system_, consistency_, t, x_before, guard),
               after = slides ? 0.0 : GuardSides::speed(*system_, consistency_, t, x, guard);
  if (before * after < 0.0)
    for (std::size_t j = 0; j < x.size(); ++j)
      transition.x[j] = x_before[j] + (x[j] - x_before[j]) * (before / (before - after));
  hybrid_.begin_contact(transition.mode, guard, from);
  if (holds) try_force_beside(guard, from, t);
  if (holds && stays_on_surfaces(t)) {
    rest_denied_ = false;
    return true;
  }
  go_back(mode, x, derivatives);
  forget_actions();
  return false;
}

}  // namespace saltus
