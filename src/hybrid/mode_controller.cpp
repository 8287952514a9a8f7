#include "hybrid/mode_controller.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace saltus {

namespace {
// Values that differ by less than so many tolerances are the same point.
constexpr double largest_shift = 100.0;
}  // namespace

ModeController::ModeController(HybridSystem& hybrid, int direction, int max_mode_changes)
    : hybrid_(hybrid), direction_(direction), max_mode_changes_(max_mode_changes) {
  const auto& variables = hybrid.variables();
  for (std::size_t j = 0; j < variables.size(); ++j)
    if (variables[j].fixed) fixed_.push_back(static_cast<int>(j));
}

void ModeController::begin_instant() {
  fired_.clear();
  fired_direction_.clear();
  failure_ = {};
}

bool ModeController::fail(StatusCode code, std::string message, std::vector<std::string> culprits) {
  failure_ = {code, std::move(message), std::move(culprits)};
  return false;
}

std::vector<std::string> ModeController::guard_names(std::span<const int> guards) const {
  std::vector<std::string> names;
  for (const int k : guards) names.push_back(hybrid_.guards()[k].name);
  return names;
}

void ModeController::note_firing(int guard, int to_side) {
  if (std::find(fired_.begin(), fired_.end(), guard) != fired_.end()) return;
  fired_.push_back(guard);
  fired_direction_.push_back(to_side);
}

void ModeController::fire(int guard) {
  if (guard >= family_guards()) {
    Mode& mode = transition.mode;
    const int place = guard - family_guards(), weights = 2 * static_cast<int>(mode.sliding.size());
    if (place >= weights) {  // the force of a contact vanishes: it opens
      const int surface = mode.contacts[place - weights];
      std::erase(mode.contacts, surface);
      return note_firing(surface, hybrid_.side(mode, surface));
    }
    const int surface = mode.sliding[place / 2];  // a weight reaches 0 or 1: the surface is left towards that side
    const int side = place % 2 == 0 ? -1 : +1;
    std::erase(transition.mode.sliding, surface);
    hybrid_.set_side(transition.mode, surface, side);
    note_firing(surface, side);
    return;
  }
  const int to_side = -hybrid_.side(transition.mode, guard);
  if (to_side == 0) return;
  hybrid_.set_side(transition.mode, guard, to_side);
  note_firing(guard, to_side);
}

/// Weights that are unknowns follow the variables of the family; they start in the middle.
void ModeController::fit(const System& system, std::vector<double>& x) const {
  const auto wanted = static_cast<std::size_t>(system.structure().variables);
  if (x.size() == wanted) return;
  x.resize(hybrid_.variables().size());
  x.resize(wanted, 0.5);
}

bool ModeController::find_values(double t, Cause cause) {
  system_ = &hybrid_.system(transition.mode);
  fit(*system_, transition.x);
  // what a clause has set at the start counts more than the initial equations
  const bool reset = std::any_of(transition.reset.begin(), transition.reset.end(), [](char c) { return c != 0; });
  ExtraConditions* conditions = cause == Cause::start && !reset ? hybrid_.initial_conditions(transition.mode) : nullptr;
  failure_ = consistency_.find(*system_, t, cause, fixed_, conditions, transition.x, xp);
  return !failure_;
}

void ModeController::look(double t) {
  if (!twin.empty()) fit(*system_, twin);
  sides_.look(*system_, consistency_, t, transition.x, xp, direction_, time_scale, bracket_noise, twin);
}

bool ModeController::prepare(double t) {
  for (int round = 0; round < max_mode_changes_; ++round) {
    if (!find_values(t, Cause::start)) return false;
    if (!adjust_sides(t)) break;  // a cycle is found and named by settle()
  }
  begin_instant();
  return true;
}

/// Locks every guard on the side to which the solution goes. Returns whether a side changed; changes are noted as firings.
bool ModeController::adjust_sides(double t) {
  look(t);
  bool changed = false;
  for (int k = 0; k < family_guards(); ++k) {
    const int now = hybrid_.side(transition.mode, k);
    if (now == 0) continue;
    const int wanted = sides_.side(k) != 0 ? sides_.side(k) : hybrid_.resting_side(transition.mode, k);
    if (wanted == now) continue;
    hybrid_.set_side(transition.mode, k, wanted);
    note_firing(k, wanted);
    changed = true;
  }
  return changed;
}

/// Whether the weights of the surfaces on which the mode slides lie between 0 and 1, or are about to; after look().
bool ModeController::weights_admissible() const {
  const int weights = 2 * static_cast<int>(transition.mode.sliding.size());
  for (int k = family_guards(); k < family_guards() + weights; ++k)
    if (sides_.side(k) <= 0) return false;
  return true;
}

/// Contacts whose force would have to pull open; after look(). A reset may have moved the state: it opens all of them.
bool ModeController::release_contacts(bool all) {
  std::vector<int>& contacts = transition.mode.contacts;
  const int first = family_guards() + 2 * static_cast<int>(transition.mode.sliding.size());
  std::vector<int> kept;
  for (std::size_t c = 0; c < contacts.size(); ++c)
    if (!all && sides_.side(first + static_cast<int>(c)) >= 0) kept.push_back(contacts[c]);
  if (kept.size() == contacts.size()) return false;
  contacts = std::move(kept);
  return true;
}

bool ModeController::rest_on(int guard, double t, std::span<const double> x_before) {
  const Mode mode = transition.mode;
  const std::vector<double> x = transition.x, derivatives = xp;
  // Between the states before and after the last reset lies the one that the speed vanishes at: where all the resets that are left
  // lead, and what they conserve is conserved.
  const double before = GuardSides::speed(*system_, t, x_before, guard), after = GuardSides::speed(*system_, t, x, guard);
  if (before * after < 0.0)
    for (std::size_t j = 0; j < x.size(); ++j)
      transition.x[j] = x_before[j] + (x[j] - x_before[j]) * (before / (before - after));
  std::vector<int>& contacts = transition.mode.contacts;
  contacts.insert(std::upper_bound(contacts.begin(), contacts.end(), guard), guard);
  bool holds = hybrid_.can_stay_on_surfaces(transition.mode);
  if (holds) {
    System& system = hybrid_.system(transition.mode);
    system.project(t, transition.x);
    holds = find_values(t, Cause::mode_change);
    if (holds) {
      look(t);
      for (int k = family_guards(); k < system.structure().guards; ++k) holds = holds && sides_.side(k) > 0;
    }
  }
  if (holds) return true;
  failure_ = {};
  transition.mode = mode;
  transition.x = x;
  xp = derivatives;
  system_ = &hybrid_.system(mode);
  return false;
}

/// Finding consistent values moves them a little; guards must not take that for a motion.
void ModeController::keep_twin(std::span<const double> before) {
  bool moved = false, near = true;
  for (std::size_t j = 0; j < hybrid_.variables().size(); ++j) {
    const double change = std::abs(transition.x[j] - before[j]);
    moved = moved || change > 0.0;
    near = near && change <= largest_shift * tolerance * (1.0 + std::abs(before[j]));
  }
  if (!moved || !near) return;
  twin = transition.x;  // weights, if any, are those found now
  std::copy_n(before.begin(), hybrid_.variables().size(), twin.begin());
}

bool ModeController::settle(const EventInput& input) {
  transition.reset.assign(transition.x.size(), 0);
  transition.terminate = transition.failed = transition.recorded = false;
  transition.message.clear();
  transition.fired.clear();
  std::vector<Mode> seen;
  int regimes_chosen = 0;
  const double t = input.t;
  for (int round = 0; round < max_mode_changes_; ++round) {
    EventInput now = input;
    now.initial = input.initial && round == 0;
    hybrid_.transition(now, transition);
    if (transition.failed) {
      const bool assertion = transition.message.starts_with("assertion");
      return fail(assertion ? StatusCode::assertion_failed : StatusCode::too_many_mode_changes, transition.message,
                  transition.fired);
    }
    if (transition.terminate) return true;
    const bool reset = std::any_of(transition.reset.begin(), transition.reset.end(), [](char c) { return c != 0; });
    if (reset && !transition.mode.contacts.empty()) release_contacts(true);
    const std::vector<double> before = transition.x;
    if (!find_values(t, input.initial ? Cause::start : reset ? Cause::reset : Cause::mode_change)) return false;
    keep_twin(before);
    bool changed = adjust_sides(t);
    changed = release_contacts(false) || changed;
    const bool admissible = weights_admissible();
    if (!changed && admissible) return true;
    const bool cycle = std::find(seen.begin(), seen.end(), transition.mode) != seen.end();
    if (cycle && reset) {
      std::string text = fmt::format("at t = {:.12g} resets and guards go round in a cycle:", t);
      const std::size_t first = transition.fired.size() > 6 ? transition.fired.size() - 6 : 0;
      for (std::size_t k = first; k < transition.fired.size(); ++k) text += (k > first ? ", '" : " '") + transition.fired[k] + "'";
      return fail(StatusCode::too_many_mode_changes, text, transition.fired);
    }
    if (cycle || (!changed && !admissible)) {
      if (regimes_chosen++ > 3 || !choose_regime(input)) return false;
      seen.clear();
      continue;
    }
    seen.push_back(transition.mode);
  }
  return fail(StatusCode::too_many_mode_changes,
              fmt::format("more than {} mode changes at t = {:.12g}; raise max_mode_changes if this is meant",
                          max_mode_changes_, t),
              guard_names(fired_));
}

/// The solution stands on surfaces and no side was consistent by itself. Tries all combinations of leaving each surface to one of its
/// sides or sliding on it; a regime is feasible if the guards then really move to their sides and the weights of the sliding
/// surfaces stay between 0 and 1.
bool ModeController::choose_regime(const EventInput& input) {
  const double t = input.t;
  const std::vector<int> surfaces = active_surfaces();
  constexpr std::size_t most_surfaces = 6;  // 3^6 combinations
  std::vector<Mode> feasible;
  if (!surfaces.empty() && surfaces.size() <= most_surfaces) {
    std::size_t combinations = 1;
    for (std::size_t k = 0; k < surfaces.size(); ++k) combinations *= 3;
    const Mode start = transition.mode;
    for (std::size_t c = 0; c < combinations; ++c) {
      Mode candidate = start;
      candidate.sliding.clear();
      std::vector<int> wanted;
      std::size_t code = c;
      for (const int k : surfaces) {
        const int q = static_cast<int>(code % 3) - 1;  // -1, 0 (slide), +1
        code /= 3;
        wanted.push_back(q);
        if (q == 0)
          candidate.sliding.push_back(k);
        else
          hybrid_.set_side(candidate, k, q);
      }
      if (is_feasible(input, candidate, surfaces, wanted)) feasible.push_back(std::move(candidate));
    }
  }
  if (feasible.empty()) {
    const auto names = guard_names(surfaces.empty() ? fired_ : surfaces);
    std::string text = fmt::format("at t = {:.12g} no side of ", t);
    for (std::size_t k = 0; k < names.size(); ++k) text += (k ? ", " : "") + ("'" + names[k] + "'");
    text += surfaces.size() > most_surfaces ? " could be chosen: too many surfaces meet in this point"
                                            : " continues the solution, and no sliding motion on it does";
    return fail(StatusCode::no_forward_solution, text, names);
  }
  // fewest sliding surfaces first: where a solution can leave, it does
  std::stable_sort(feasible.begin(), feasible.end(),
                   [](const Mode& a, const Mode& b) { return a.sliding.size() < b.sliding.size(); });
  if (feasible.size() > 1)
    transition.message = fmt::format("the solution is not unique here: {} continuations are possible, '{}' was taken",
                                     feasible.size(), hybrid_.describe(feasible.front()));
  transition.mode = feasible.front();
  return true;
}

/// Guards that are zero here and can be slid on, and those on which the mode slides now.
std::vector<int> ModeController::active_surfaces() {
  std::vector<int> surfaces = transition.mode.sliding;
  for (int k = 0; k < family_guards(); ++k) {
    if (hybrid_.side(transition.mode, k) == 0 || sides_.multiplicity(k) == 0) continue;
    if (hybrid_.guards()[k].rule == SurfaceRule::crossing) continue;
    Mode alone = transition.mode;
    alone.sliding = {k};
    if (hybrid_.can_stay_on_surfaces(alone)) surfaces.push_back(k);
  }
  std::sort(surfaces.begin(), surfaces.end());
  return surfaces;
}

bool ModeController::is_feasible(const EventInput& input, Mode candidate, std::span<const int> surfaces,
                                 std::span<const int> wanted) {
  const double t = input.t;
  if (candidate.sliding.empty()) {  // transitions between explicit modes follow the sides
    Transition probe;
    probe.mode = candidate;
    probe.x = transition.x;
    hybrid_.transition(input, probe);
    if (probe.failed || std::any_of(probe.reset.begin(), probe.reset.end(), [](char c) { return c != 0; })) return false;
    candidate = probe.mode;
  }
  if (candidate.on_surfaces() && !hybrid_.can_stay_on_surfaces(candidate)) return false;
  System& s = hybrid_.system(candidate);
  std::vector<double> x = transition.x, derivative, other = twin;
  fit(s, x);
  if (consistency_.find(s, t, Cause::mode_change, {}, nullptr, x, derivative)) return false;
  for (std::size_t j = 0; j < hybrid_.variables().size(); ++j)  // a regime goes on from here, without a jump
    if (s.structure().differentiated(static_cast<int>(j)) &&
        !(std::abs(x[j] - transition.x[j]) <= largest_shift * tolerance * (1.0 + std::abs(x[j]))))
      return false;
  if (!other.empty()) {
    other.resize(hybrid_.variables().size());
    other.insert(other.end(), x.begin() + static_cast<std::ptrdiff_t>(other.size()), x.end());
  }
  GuardSides view;
  view.look(s, consistency_, t, x, derivative, direction_, time_scale, bracket_noise, other);
  for (std::size_t k = 0; k < surfaces.size(); ++k) {
    if (wanted[k] == 0) continue;
    const int side = view.side(surfaces[k]);
    if ((side == 0 ? hybrid_.resting_side(candidate, surfaces[k]) : side) != wanted[k]) return false;
  }
  for (int k = family_guards(); k < s.structure().guards; ++k)
    if (view.side(k) <= 0) return false;
  return true;
}

}  // namespace saltus
