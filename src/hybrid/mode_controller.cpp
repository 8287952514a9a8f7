#include "hybrid/mode_controller.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace saltus {

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
  if (guard >= family_guards()) {  // a weight reaches 0 or 1: the surface is left towards that side
    const int surface = transition.mode.sliding[(guard - family_guards()) / 2];
    const int side = (guard - family_guards()) % 2 == 0 ? -1 : +1;
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

bool ModeController::find_values(double t, Cause cause) {
  system_ = &hybrid_.system(transition.mode);
  // what a clause has set at the start counts more than the initial equations
  const bool reset = std::any_of(transition.reset.begin(), transition.reset.end(), [](char c) { return c != 0; });
  ExtraConditions* conditions = cause == Cause::start && !reset ? hybrid_.initial_conditions(transition.mode) : nullptr;
  failure_ = consistency_.find(*system_, t, cause, fixed_, conditions, transition.x, xp);
  return !failure_;
}

void ModeController::look(double t) {
  sides_.look(*system_, t, transition.x, xp, direction_, time_scale, bracket_noise, twin);
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
  for (int k = family_guards(); k < system_->structure().guards; ++k)
    if (sides_.side(k) <= 0) return false;
  return true;
}

/// Finding consistent values moves them a little; guards must not take that for a motion.
void ModeController::keep_twin(std::span<const double> before) {
  bool moved = false, near = true;
  for (std::size_t j = 0; j < before.size(); ++j) {
    const double change = std::abs(transition.x[j] - before[j]);
    moved = moved || change > 0.0;
    near = near && change <= 100.0 * tolerance * (1.0 + std::abs(before[j]));
  }
  if (moved && near) twin.assign(before.begin(), before.end());
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
    const std::vector<double> before = transition.x;
    if (!find_values(t, input.initial ? Cause::start : reset ? Cause::reset : Cause::mode_change)) return false;
    keep_twin(before);
    const bool changed = adjust_sides(t);
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
      if (regimes_chosen++ > 3 || !choose_regime(t)) return false;
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
bool ModeController::choose_regime(double t) {
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
      if (is_feasible(t, candidate, surfaces, wanted)) feasible.push_back(std::move(candidate));
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
    Mode alone = transition.mode;
    alone.sliding = {k};
    if (hybrid_.can_slide(alone)) surfaces.push_back(k);
  }
  std::sort(surfaces.begin(), surfaces.end());
  return surfaces;
}

bool ModeController::is_feasible(double t, const Mode& candidate, std::span<const int> surfaces, std::span<const int> wanted) {
  if (!candidate.sliding.empty() && !hybrid_.can_slide(candidate)) return false;
  System& s = hybrid_.system(candidate);
  if (!s.structure().explicit_ode) return false;
  std::vector<double> derivative(transition.x.size());
  s.rhs(t, transition.x, derivative);
  if (!std::all_of(derivative.begin(), derivative.end(), [](double v) { return std::isfinite(v); })) return false;
  GuardSides view;
  view.look(s, t, transition.x, derivative, direction_, time_scale, bracket_noise, twin);
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
