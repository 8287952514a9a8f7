#include "hybrid/mode_controller.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "hybrid/short_lists.hpp"

namespace saltus {

namespace {
// Values that differ by less than so many tolerances are the same point.
constexpr double largest_shift = 100.0;
// Combinations of switches that differ in so many are looked for at first.
constexpr int few_flips = 2;
}  // namespace

ModeController::ModeController(HybridSystem& hybrid, int direction, int max_mode_changes)
    : hybrid_(hybrid),
      direction_(direction),
      max_mode_changes_(max_mode_changes),
      family_guards_(static_cast<int>(hybrid.guards().size())),
      learns_(hybrid.acts_alike(hybrid.initial_mode(), hybrid.initial_mode())) {
  const auto& variables = hybrid.variables();
  for (std::size_t j = 0; j < variables.size(); ++j)
    if (variables[j].fixed) fixed_.push_back(static_cast<int>(j));
  force_noise_.resize(hybrid.guards().size(), 0.0);
  for (const GuardInfo& guard : hybrid.guards()) {
    if (guard.same_as < 0) continue;
    has_second_.resize(hybrid.guards().size(), 0);
    has_second_[static_cast<std::size_t>(guard.same_as)] = 1;
  }
}

void ModeController::note_contradictions() {
  for (const Contradiction& c : transition.contradictions) {
    const double size = std::max({std::abs(c.first_value), std::abs(c.second_value), std::abs(c.value_before)});
    const double error = c.discrete ? 0.0 : largest_shift * tolerance * size;
    if (std::abs(c.first_value - c.second_value) <= error) continue;
    if (!contradiction.empty()) contradiction += "; ";
    contradiction += fmt::format("{} sets '{}' to {:.9g}, {} sets it to {:.9g} at the same instant, and the last one counts; write one clause for both conditions",
                                 c.first, c.variable, c.first_value, c.second, c.second_value);
  }
  transition.contradictions.clear();
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

/// Whether a guard meant something when the instant began. Others take their sides silently when they get a meaning.
bool ModeController::took_part(int guard) const {
  const auto on = [guard](const std::vector<int>& surfaces) { return std::binary_search(surfaces.begin(), surfaces.end(), guard); };
  return hybrid_.side(*begun_, guard) != 0 || on(begun_->sliding) || on(begun_->contacts);
}

/// Whether it makes a difference that this guard alone has changed its side. It does not if nobody asks for it on the other side: `a and b`
/// asks for a while a is false, although nothing happens when it becomes true as long as b is not.
bool ModeController::matters(int guard, int to_side) {
  if (hybrid_.side(transition.mode, guard) != 0) return true;
  copy(*begun_, flipped_);
  hybrid_.set_side(flipped_, guard, to_side);
  return hybrid_.side(flipped_, guard) != 0;
}

void ModeController::note_firing(int guard, int to_side) {
  if (took_part(guard)) add_firing(guard, to_side);
}

void ModeController::add_firing(int guard, int to_side) {
  guard = named(guard);
  if (std::find(fired_.begin(), fired_.end(), guard) != fired_.end()) return;
  fired_.push_back(guard);
  fired_direction_.push_back(to_side);
}

void ModeController::fire(int guard) {
  if (guard >= family_guards()) {
    Mode& mode = transition.mode;
    const int place = guard - family_guards(), weights = 2 * static_cast<int>(mode.sliding.size());
    if (place >= weights) {  // the force of a contact vanishes: it opens
      release(mode.contacts[place - weights]);
      return note_firing(opened_.back().guard, opened_.back().side);
    }
    const int surface = mode.sliding[place / 2];  // a weight reaches 0 or 1: the surface is left towards that side
    const int side = place % 2 == 0 ? -1 : +1;
    left_by_weight_ = true;
    std::erase(transition.mode.sliding, surface);
    hybrid_.set_side(transition.mode, surface, side);
    note_firing(surface, side);
    return;
  }
  const int to_side = -hybrid_.side(*begun_, guard);
  if (to_side == 0) return;
  const bool by_time = hybrid_.guards()[static_cast<std::size_t>(guard)].time_only;
  if (!by_time && !trying_) keep_entry();
  if (by_time && trying_) hybrid_.set_side(entered_.mode, guard, to_side);
  hybrid_.set_side(transition.mode, guard, to_side);
  if (matters(named(guard), to_side)) add_firing(guard, to_side);
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
  return find_values_of_system(t, cause);
}

bool ModeController::find_values_of_system(double t, Cause cause) {
  fit(*system_, transition.x);
  view_current_ = false;
  // what a clause has set at the start counts more than the initial equations
  if (failure_) failure_ = {};
  ExtraConditions* conditions =
      cause == Cause::start && !transition.any_reset() ? hybrid_.initial_conditions(transition.mode) : nullptr;
  if (!conditions && consistency_.evaluate(*system_, t, transition.x, xp)) return true;
  std::vector<int> set;
  for (std::size_t j = 0; cause == Cause::reset && j < transition.reset.size(); ++j)
    if (transition.reset[j]) set.push_back(static_cast<int>(j));
  Failure failure = consistency_.find(*system_, t, cause, cause == Cause::reset ? set : fixed_, conditions, transition.x, xp);
  if (!failure) return true;
  failure_ = std::move(failure);
  return false;
}

/// A reset in the instant in which the mode changes: what it leaves alone moves as without it, so that what an impulse conserves is conserved. False:
/// it would move what has been reset, or there is no such point; nothing has changed.
bool ModeController::jump_beside_resets(double t) {
  constexpr double rounding = 1e-9;  // of the iteration
  if (system_->structure().explicit_ode || hybrid_.same_equations(*begun_, transition.mode)) return false;
  const std::vector<double> x = transition.x, derivatives = xp;
  view_current_ = false;
  fit(*system_, transition.x);
  bool kept = !consistency_.find(*system_, t, Cause::mode_change, fixed_, nullptr, transition.x, xp);
  for (std::size_t j = 0; kept && j < transition.reset.size(); ++j)
    kept = !transition.reset[j] || std::abs(transition.x[j] - x[j]) <= rounding * (1.0 + std::abs(x[j]));
  if (kept) return true;
  transition.x = x;
  xp = derivatives;
  return false;
}

void ModeController::look_again(double t) {
  view_current_ = true;
  look_at(sides_, *system_, transition.mode, t, transition.x, xp);
}

/// Looks at the guards of a mode at a point of it.
void ModeController::look_at(GuardSides& sides, System& system, const Mode& mode, double t, std::span<const double> x, std::span<const double> derivative) {
  sides.ignore(mode.sliding, mode.contacts);
  if (!has_second_.empty() && mode.on_surfaces())
    for (int k = 0; k < family_guards(); ++k)
      if (const int first = named(k); first != k && (contains(mode.sliding, first) || contains(mode.contacts, first))) sides.ignore_too(k);
  GuardSides::Doubt doubt = doubt_at(x);
  if (mode.on_surfaces()) doubt.noise = noise_on_surfaces(system, mode);
  sides.look(system, consistency_, t, x, derivative, direction_, time_scale, doubt);
  if (!mode.contacts.empty() && !sizes.empty()) sides.rest_on_invariants(system, t, x, derivative, sizes);
}

/// Locks the dormant guards of transition.mode where they were seen. Returns whether one of them moved.
bool ModeController::follow_dormant(const GuardSides& seen) {
  bool moved = false;
  for (const int k : hybrid_.dormant(transition.mode)) moved = hybrid_.follow(transition.mode, k, seen.value(k), seen.side(k)) || moved;
  return moved;
}

void ModeController::arrive(const Mode& from, double t) {
  begun_ = &from;
  const std::vector<int> dormant = hybrid_.dormant(transition.mode);
  if (dormant.empty()) return;
  watched_.clear();
  for (int k = 0; k < system_->structure().guards; ++k)
    if (!std::binary_search(dormant.begin(), dormant.end(), k)) watched_.push_back(k);
  trial_sides_.ignore(watched_, {});
  trial_sides_.look(*system_, consistency_, t, transition.x, xp, direction_, time_scale, doubt_at(transition.x));
  if (!follow_dormant(trial_sides_)) return;
  copy(transition.mode, refreshed_);
  begun_ = &refreshed_;
}

bool ModeController::pass(double t) {
  forget_actions();
  view_current_ = false;
  const Structure* before = &system_->structure();
  system_ = &hybrid_.system(transition.mode);
  return &system_->structure() == before || find_values(t, Cause::mode_change);
}

/// Whether a guard is locked where it was seen; `now`: on which side it is.
bool ModeController::side_fits(int guard, int now) const {
  const int seen = sides_.side(guard);
  // a contact whose force vanishes opens: what is left of force and speed are errors, unless a reset has set them
  if (!opened_.empty() && !reset_ && has_opened(guard)) return true;
  return now == 0 || seen == now || (seen == 0 && (rest_later_ || hybrid_.rests(transition.mode, guard)));
}

/// Whether every guard is locked on the side to which the solution goes; after look().
bool ModeController::sides_fit() const {
  for (int k = 0; k < family_guards(); ++k)
    if (!side_fits(k, hybrid_.side(transition.mode, k))) return false;
  return true;
}

/// Whether a guard is clearly not where it is locked, and another one is zero, whose side may depend on that; after look().
bool ModeController::zeros_wait() const {
  bool zero = !transition.mode.sliding.empty(), clear = false;
  for (int k = 0; k < family_guards(); ++k) {
    const int now = hybrid_.side(transition.mode, k);
    if (sides_.multiplicity(k) > 0)
      zero = zero || (now != 0 && !hybrid_.guards()[static_cast<std::size_t>(k)].time_only);
    else
      clear = clear || !side_fits(k, now);
  }
  return zero && clear;
}

/// Locks every guard on the side to which the solution goes. Returns whether a side changed; changes are noted as firings.
bool ModeController::adjust_sides(double t) {
  look(t);
  bool changed = false;
  turned_.clear();
  // where a reset has led beyond a surface, the equations there say what becomes of guards that are zero
  zeros_wait_ = reset_ && !transition.mode.conditions.empty() && zeros_wait();
  for (int k = 0; k < family_guards(); ++k) {
    const int now = hybrid_.side(transition.mode, k), seen = sides_.side(k);
    if (side_fits(k, now) || (zeros_wait_ && sides_.multiplicity(k) > 0)) continue;
    if (!changed) follow_dormant(sides_);  // before they are awake
    if (seen != 0)
      hybrid_.set_side(transition.mode, k, seen);
    else
      hybrid_.rest(transition.mode, k);
    note_firing(k, -now);
    changed = true;
    if (seen != 0 && sides_.multiplicity(k) > 0) turned_.push_back(k);
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

/// Whether two points are the same within the tolerance.
bool ModeController::near(std::span<const double> a, std::span<const double> b) const {
  for (std::size_t j = 0; j < std::min(a.size(), b.size()); ++j)
    if (!(std::abs(a[j] - b[j]) <= largest_shift * tolerance * (1.0 + std::abs(b[j])))) return false;
  return true;
}

/// Finding consistent values moves them a little; guards must not take that for a motion.
void ModeController::keep_twin(std::span<const double> before) {
  const auto family = before.first(hybrid_.variables().size());
  if (std::equal(family.begin(), family.end(), transition.x.begin()) || !near(transition.x, family)) return;
  twin = transition.x;  // weights, if any, are those found now
  std::copy(family.begin(), family.end(), twin.begin());
}

/// The twin as a point of the system in which x lies; empty if it has none there (algebraic variables have jumped).
std::span<const double> ModeController::twin_of(std::span<const double> x) const {
  if (twin.empty()) return {};
  const std::size_t family = hybrid_.variables().size();
  if (!near(std::span(twin).first(family), x.first(family))) return {};
  twin_here_.assign(x.begin(), x.end());
  std::copy_n(twin.begin(), family, twin_here_.begin());
  return twin_here_;
}

void ModeController::leave(const Mode& from, int guard, double slope) {
  left_ = &from;
  left_guard_ = guard;
  left_slope_ = slope;
}

/// The guard that fired is wanted back on its side at once, in a mode that it has just left transversally: going round once more would
/// tell nothing new.
bool ModeController::pushed_back() const {
  return left_guard_ >= 0 && sides_.multiplicity(left_guard_) == 1 &&
         std::abs(left_slope_) > 1e-6 * std::abs(sides_.slope(left_guard_)) && same_but_conditions(transition.mode, *left_);
}

/// Runs the discrete part. Again: what it did was for sides that are taken back. Failed: it says that the run cannot go on.
ModeController::Next ModeController::let_model_act(const EventInput& input, bool first_round, Rounds& rounds, bool& acted) {
  EventInput now = input;
  now.initial = input.initial && first_round;
  acted = hybrid_.transition(now, transition);
  if (acted) {
    rounds.before_action = rounds.seen;
    if (rounds.trying)
      rounds.undoable = true;
    else
      rounds.try_from(rounds.seen);
  }
  if (!transition.contradictions.empty()) note_contradictions();
  if ((transition.failed || transition.terminate) && rounds.undoable)
    if (const Next next = take_back(input, rounds); next != Next::done) return next;
  if (!transition.failed) return Next::done;
  const bool assertion = transition.message.starts_with("assertion");
  fail(assertion ? StatusCode::assertion_failed : StatusCode::too_many_mode_changes, transition.message,
       {transition.fired.begin(), transition.fired.end()});
  return Next::failed;
}

/// Values of transition.mode, which are kept in x_before_values_ as they were; `seen_here`: the guards have been seen at this point. Done: they are
/// found. Again: another mode has been chosen, for which to look.
ModeController::Next ModeController::find_point(const EventInput& input, Cause cause, bool seen_here) {
  const double t = input.t;
  if (!(cause == Cause::reset && jump_beside_resets(t)) && !find_values_of_system(t, cause) &&
      !(failure_.code == StatusCode::not_finite && seen_here && move_across_surfaces() && find_values_of_system(t, cause))) {
    // a combination of switches without a solution, on the way to one that has one
    transition.x = x_before_values_;
    return stop_sliding() || select_sides(t, cause) ? Next::again : Next::failed;
  }
  if (!transition.mode.sliding.empty() && slides_no_more(t)) {
    transition.x = x_before_values_;
    stop_sliding();
    return Next::again;
  }
  if (input.initial || !system_->structure().explicit_ode) keep_twin(x_before_values_);  // otherwise they stay as they are
  return Next::done;
}

bool ModeController::fail_in_circle(double t) {
  std::string text = fmt::format("at t = {:.12g} resets and guards go round in a cycle:", t);
  const std::size_t first = transition.fired.size() > 6 ? transition.fired.size() - 6 : 0;
  for (std::size_t k = first; k < transition.fired.size(); ++k) text.append(k > first ? ", '" : " '").append(transition.fired[k]).append("'");
  return fail(StatusCode::too_many_mode_changes, text, {transition.fired.begin(), transition.fired.end()});
}

/// Sides go round in a circle, or weights are impossible: chooses another way to go on. Done: the model ends the run there.
ModeController::Next ModeController::choose_anew(const EventInput& input, Cause cause, Rounds& rounds) {
  constexpr int few = 4, most = 6;
  const double t = input.t;
  if (rounds.undoable)
    if (const Next next = take_back(input, rounds); next != Next::done) return next;
  transition.x = x_before_values_;
  if (++rounds.regimes > few) {
    auto meeting = rounds.regimes < most ? regime_where_surfaces_meet(input) : std::nullopt;
    if (!meeting || !take_regime(std::span(&*meeting, 1), t)) {
      fail(StatusCode::no_forward_solution, fmt::format("at t = {:.12g} no regime goes on: each of those that were chosen leads to another one", t),
           guard_names(fired_));
      return Next::failed;
    }
    rounds.forget();
    return transition.terminate ? Next::done : Next::again;
  }
  const Mode tried = transition.mode;
  // one switch that takes over from another need not slide on the way
  const bool selected = !reset_ && transition.mode.sliding.empty() && select_regular_sides(t, cause, few_flips);
  if (!selected && !choose_regime(input)) {
    if (failure_.code != StatusCode::no_forward_solution) return Next::failed;
    const Failure reason = failure_;
    transition.mode = tried;
    transition.x = x_before_values_;
    if (!select_sides(t, cause)) {
      failure_ = reason;
      return Next::failed;
    }
  }
  if (!selected && transition.terminate) return Next::done;
  if (!rounds.undoable && rounds.first < rounds.seen) keep_truth(first_tried(rounds).mode);
  rounds.forget();
  return Next::again;
}

bool ModeController::settle(const EventInput& input) {
  forget_actions();
  if (input.initial) transition.message = std::exchange(start_note_, {});
  if (!has_second_.empty()) {
    share_doubts();
    stay_at_zero(input, fired_);
  }
  Rounds rounds;
  if (trying_) {
    rounds.from_entry = rounds.trying = true;
    entered_.firings = fired_.size();
  }
  bool same_point = false;   // as in the last round, whose mode was seen last
  bool sides_first = false;  // in the next round
  const double t = input.t;
  const bool learns = learns_ && lone_guard_ >= 0;
  for (int round = 0; round < max_mode_changes_; ++round) {
    const bool stayed = std::exchange(same_point, false);
    bool waits = std::exchange(sides_first, false);  // the model, until sides are known
    transition.unfinished = false;
    const int automaton = transition.mode.automaton;
    bool acted = false;
    if (!waits) {
      const Next next = let_model_act(input, round == 0, rounds, acted);
      if (next == Next::again) continue;
      if (next == Next::failed) return false;
    }
    const bool reset = reset_ = transition.any_reset();
    if (transition.terminate) return true;
    if (learns && round == 0) copy(transition.mode, acted_);
    const auto settled = [&] {
      if (!opened_.empty() && !stay_open(t)) return false;
      if (!check_uniqueness(input, reset)) return false;
      if (learns && !rounds.taken_back && (round == 0 || (round == 1 && stayed && !acted))) learn();
      return true;
    };
    if (reset) slope_error.clear();  // the state is another one, and exact
    if (acted && transition.mode.on_surfaces()) waits = leave_surfaces(input);
    copy(transition.x, x_before_values_);
    const Cause cause = input.initial ? Cause::start : reset ? Cause::reset : Cause::mode_change;
    system_ = &hybrid_.system(transition.mode);
    if (!reset && leads_nowhere(*system_, t)) {
      if (select_regular_sides(t, cause, few_flips)) continue;
      system_ = &hybrid_.system(transition.mode);
    }
    // The last round may have changed nothing but sides that neither equations nor guards contain: what was found in it still holds.
    if (acted || !stayed || !view_current_ || !hybrid_.same_equations(seen_[rounds.seen - 1].mode, transition.mode)) {
      const bool slid = !transition.mode.sliding.empty();
      const Next next = find_point(input, cause, round > 0 && !acted);
      sides_first = slid && next == Next::again;
      if (next == Next::again) continue;
      if (next == Next::failed) return false;
    }
    look(t);
    const bool admissible = weights_admissible();
    if (admissible && !transition.unfinished && transition.mode.contacts.empty() && sides_fit()) {
      if (!waits) return settled();
      continue;
    }
    const std::size_t tried = rounds_until_tried(rounds);
    note_round(rounds);
    bool changed = adjust_sides(t) || transition.unfinished;
    // through an explicit mode: its values count, for transitions that lead on
    const bool passes = automaton != transition.mode.automaton && hybrid_.same_equations(seen_[rounds.seen - 1].mode, transition.mode);
    if (!turned_.empty() && !has_second_.empty()) stay_at_zero(input, turned_);
    changed = release_contacts() || changed;
    if (!changed && admissible) {
      if (!waits) return settled();
      --rounds.seen;
      continue;
    }
    const bool back = round == 0 && !reset && pushed_back();
    if (rounds.trying && (rounds.undoable || !back) && takes_back(rounds, t)) {
      const Next next = take_back(input, rounds);
      if (next == Next::again) continue;
      if (next == Next::failed) return false;
    }
    if (acted && zeros_wait_) {
      rounds.try_from(rounds.seen);
      sides_first = true;
    } else if (!turned_.empty()) {
      rounds.trying = true;
    }
    const bool edges = reset || !transition.mode.conditions.empty();
    const bool returned = edges && !acted && returns(rounds);
    if (reset && tried > 0 && tried <= rounds.before_action) return fail_in_circle(t);
    // where a slide ends, the regime says what becomes of the other surfaces, before clauses act
    const bool ends = !admissible && (!changed || (edges && !turned_.empty() && !zeros_wait_ && !transition.unfinished));
    if (tried > 0 || returned || back || ends) {
      const Next next = choose_anew(input, cause, rounds);
      if (next == Next::again) continue;
      return next == Next::done;
    }
    same_point = reset || same(transition.x, x_before_values_);
    if (!reset && !passes) copy(x_before_values_, transition.x);  // values of a mode that was not the right one
  }
  return fail(StatusCode::too_many_mode_changes,
              fmt::format("more than {} mode changes at t = {:.12g}; raise max_mode_changes if this is meant",
                          max_mode_changes_, t),
              guard_names(fired_));
}

}  // namespace saltus
