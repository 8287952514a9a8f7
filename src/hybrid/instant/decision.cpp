#include "hybrid/instant/decision.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "hybrid/short_lists.hpp"

namespace saltus {

bool Decision::fail(StatusCode code, std::string message, std::vector<std::string> culprits) {
  failed({code, std::move(message), std::move(culprits)});
  return false;
}

/// Start values choose the sides of guards: w(start = 5) means w > 0 in abs(w) = 2. Where these sides lead to no
/// solution, the search begins from the sides as they are.
[[gnu::hot]] bool Decision::decide(const Point& from, const Circumstances& now, Approach& approach, Trial& trial) {
  if (now.cause == Cause::start) {
    Mode by_guess = trial.point.mode;
    if (take_sides_of_guess(from, now.t, by_guess)) {
      std::swap(by_guess, trial.point.mode);
      if (decide_from_sides(from, now, approach, trial)) return true;
      if (failure_.code == StatusCode::non_unique) return false;
      forget();
      std::swap(by_guess, trial.point.mode);
    }
  }
  return decide_from_sides(from, now, approach, trial);
}

/// Places guards where they are at the point, without derivatives, which nothing has given. Returns whether one has
/// moved.
bool Decision::take_sides_of_guess(const Point& from, double t, Mode& mode) const {
  constexpr int most = 8;  // passes: the function of a guard may contain the relation of another one
  const auto guards_at = [&](double slope) {
    System& system = hybrid_.system(mode);
    std::vector<double> g(static_cast<std::size_t>(system.structure().guards));
    system.guards(t, from.x, std::vector<double>(from.x.size(), slope), g);
    return g;
  };
  bool moved = false;
  for (int pass = 0; pass < most; ++pass) {
    const Structure& s = hybrid_.system(mode).structure();
    if (s.explicit_ode || static_cast<int>(from.x.size()) != s.variables) return false;
    const std::vector<double> g = guards_at(0.0), moving = s.guards_read_xp ? guards_at(1.0) : g;
    bool again = false;
    for (int k = 0; k < trials_.family_guards(); ++k) {
      const auto place = static_cast<std::size_t>(k);
      const int side = hybrid_.side(mode, k);
      if (!(side * g[place] < 0.0) || g[place] != moving[place] || hybrid_.guards()[place].time_only) continue;
      hybrid_.set_side(mode, k, -side);
      again = moved = true;
    }
    if (!again) break;
  }
  return moved;
}

bool Decision::decide_from_sides(const Point& from, const Circumstances& now, Approach& approach, Trial& trial) {
  constexpr int most = 8;
  Next next = search(from, now, approach, trial);
  if (next != Next::again) return next == Next::done;
  for (int impulses = 1; impulses < most && next == Next::again; ++impulses) {
    Point after = trial.point;
    after.x.resize(hybrid_.variables().size());
    after.xp.resize(after.x.size());
    next = search(after, now, approach, trial);
  }
  trial.jumps = true;
  return next == Next::done ||
         (next == Next::again &&
          fail(StatusCode::no_forward_solution,
               fmt::format("at t = {:.12g} more than {} impulses follow each other", now.t, most)));
}

/// Done: the trial is the mode in which the solution goes on. Again: an impulse has moved the state to the point of the
/// trial, in whose mode the solution cannot stay; the search goes on from there.
[[gnu::hot]] Decision::Next Decision::search(const Point& from, const Circumstances& now, Approach& approach,
                                             Trial& trial) {
  constexpr int most = 64, most_choices = 6;
  tried_count_ = 0;
  on_surface_.x.clear();
  zero_.assign(static_cast<std::size_t>(trials_.family_guards()), 0);
  clear_value_.assign(zero_.size(), 0.0);
  int choices = 0;
  bool seen_here = false, jump_accepted = false;
  if (now.cause == Cause::start) mark_zeros(from, now.t, trial.point.mode);
  clear_side_.assign(zero_.size(), 0);
  if (approach.left && approach.slope != 0.0)
    clear_side_[static_cast<std::size_t>(approach.guard)] = -hybrid_.side(*approach.left, approach.guard);
  Point moved;  // `from` beyond a surface, where the equations can be evaluated
  const Point* start = &from;
  for (int count = 0; count < most; ++count) {
    if (now.cause != Cause::reset && trials_.is_singular(*start, trial.point.mode, now.t) &&
        search_switches(
            *start, now,
            {.most_flips = (now.cause == Cause::start ? 2 : 1) * Resolution::few_flips, .regular_only = true},
            trial.point.mode))
      continue;
    if (!trials_.find_values(*start, now, trial)) {
      if (trial.failure.code == StatusCode::not_finite && seen_here && start == &from) {
        moved = from;
        if (move_across_surfaces(trial, moved)) {
          start = &moved;
          continue;
        }
      }
      const Next next = without_values(*start, now, seen_here, trial);
      if (next == Next::failed) return Next::failed;
      continue;
    }
    if (!trial.point.mode.sliding.empty() && !trials_.is_regular(trial, now.t)) {
      stop_sliding(trial.point.mode);
      continue;
    }
    if (trial.jumps && !jump_accepted) {  // a mode that needs no impulse comes before one that does
      jump_accepted = true;
      if (search_switches(*start, now, {.without_jump = true}, trial.point.mode)) continue;
      if (!trials_.find_values(*start, now, trial)) return failed(trial.failure);
    }
    const Impulses impulses =
        trial.jumps && now.cause == Cause::mode_change ? trials_.impulses(*start, now.t, trial) : Impulses();
    if (!impulses.overloaded.empty()) {
      leave_surfaces(impulses.overloaded, trial.point.mode);
      continue;
    }
    if (impulses.forbidden >= 0) {
      if (search_switches(*start, now, {}, trial.point.mode)) continue;
      return failed({StatusCode::no_forward_solution,
                     fmt::format("at t = {:.12g} the only modes that are left need an impulse that '{}' forbids", now.t,
                                 hybrid_.guards()[static_cast<std::size_t>(impulses.forbidden)].name),
                     {hybrid_.guards()[static_cast<std::size_t>(impulses.forbidden)].name}});
    }
    if (now.cause == Cause::mode_change)
      raise_noise(trial.jumps ? impulses.sizes : trials_.inner_impulses(*start, now.t, trial));
    raise_noise(now.t, trial);
    trials_.look(now.t, trial);
    follow_clear_slopes(now.t, trial);
    if (pushed_away(trial, impulses)) return Next::again;
    seen_here = true;
    if (widen_noise(trial)) tried_count_ = 0;
    if (now.cause == Cause::start && on_surface(trial)) on_surface_ = trial.point;
    const bool admissible = trials_.weights_admissible(trial);
    if (admissible && !trial.point.mode.sliding.empty() && rests_instead(*start, now.t, trial)) return Next::done;
    if (admissible && trial.point.mode.contacts.empty() && approach.opened.empty() && trials_.fits(trial)) {
      if (!place_dormant(trial) || now.cause != Cause::start) return Next::done;
      continue;  // initial equations may read them
    }
    place_dormant(trial);
    Mode& next = next_;
    copy(trial.point.mode, next);
    const bool changed = place(trial, now, approach, next);
    open_contacts(trial, next, approach);
    const bool released = next.contacts.size() != trial.point.mode.contacts.size();
    if (!changed && !released && admissible)
      return approach.opened.empty() || stays_open(trial, now, approach) ? Next::done : Next::failed;
    remember(trial.point.mode);
    const auto known = [&](const Mode& mode) { return same_but_conditions(mode, next); };
    // the guard that fired is wanted back on its side, in the mode that it has just left transversally
    const bool back = approach.left && trial.view.multiplicity(approach.guard) == 1 &&
                      std::abs(approach.slope) > 1e-6 * std::abs(trial.view.slope(approach.guard)) &&
                      same_but_conditions(next, *approach.left);
    const bool lead_back = back || (tried_count_ >= 2 && same_but_conditions(tried_[tried_count_ - 2], next));
    if (lead_back && choices == 0 && by_clear_slopes(next, trial) &&
        search_switches(*start, now, {.most_flips = Resolution::few_flips, .regular_only = true}, trial.point.mode)) {
      ++choices;
      tried_count_ = 0;
      continue;
    }
    if (lead_back && rests_between(next, now.t, trial)) return Next::done;
    if (back || (!changed && !released) ||
        std::any_of(tried_.begin(), tried_.begin() + static_cast<std::ptrdiff_t>(tried_count_), known) ||
        (!admissible && !released)) {
      if (++choices > most_choices)
        return failed(
            {StatusCode::no_forward_solution,
             fmt::format("at t = {:.12g} no consistent mode was found: every candidate leads to another candidate",
                         now.t),
             {}});
      if (!choose_otherwise(*start, now, trial)) return Next::failed;
      if (!stop_message.empty()) return Next::done;
      tried_count_ = 0;
      continue;
    }
    const bool same_view = !released && !trials_.takes_paired_sides() && !next.on_surfaces() &&
                           !trial.point.mode.on_surfaces() && hybrid_.same_equations(trial.point.mode, next) &&
                           hybrid_.same_time_guards(trial.point.mode, next);
    copy(next, trial.point.mode);
    // positions that only conditions read: values and guards stay as they are
    if (same_view && approach.opened.empty() && trials_.fits(trial) &&
        (!place_dormant(trial) || now.cause != Cause::start))
      return Next::done;
  }
  return failed({StatusCode::no_forward_solution,
                 fmt::format("at t = {:.12g} no consistent mode was found within {} candidates", now.t, most),
                 {}});
}

/// Marks the guards that are zero in a trial. The noise of a guard depends on its slope, and so on the mode: a guard
/// that is zero in one trial is zero in all trials from the point where it has this value. Returns whether an earlier
/// trial took one of them for clearly not zero.
bool Decision::widen_noise(const Trial& trial) {
  bool wider = false;
  for (int k = 0; k < trials_.family_guards(); ++k)
    if (trial.view.multiplicity(k) == 0) clear_value_[static_cast<std::size_t>(k)] = trial.view.value(k);
  for (const int k : trial.view.zeros()) {
    if (k >= trials_.family_guards() || trial.view.multiplicity(k) == 0) continue;
    const auto place = static_cast<std::size_t>(k);
    const double value = trial.view.value(k), noise = trial.view.noise(k);
    zero_[place] = 1;
    if (clear_value_[place] == 0.0 || !(std::abs(value - clear_value_[place]) <= noise)) continue;
    std::vector<double>& least = trials_.doubt.noise;
    if (least.size() <= place) least.resize(hybrid_.guards().size(), 0.0);
    least[place] = std::max(least[place], noise);
    clear_value_[place] = 0.0;
    wider = true;
  }
  return wider;
}

/// The values of a network have the rounding errors of all of it, which guards that are nearly zero do not show.
void Decision::raise_noise(double t, Trial& trial) {
  constexpr double small = 1e-10;
  System& system = *trial.system;
  const Structure& s = system.structure();
  if (s.explicit_ode || trial.point.mode.on_surfaces() || TrialValues::too_large(s)) return;
  double size = 0.0;
  for (const double value : trial.point.x) size = std::max(size, std::abs(value));
  std::vector<double> g(static_cast<std::size_t>(s.guards));
  system.guards(t, trial.point.x, trial.point.xp, g);
  const auto nearly_zero = [&](int k) {
    const double value = std::abs(g[static_cast<std::size_t>(k)]);
    return value > 0.0 && value <= small * size && hybrid_.side(trial.point.mode, k) != 0 &&
           !hybrid_.guards()[static_cast<std::size_t>(k)].time_only;
  };
  std::vector<int> small_ones;
  for (int k = 0; k < trials_.family_guards(); ++k)
    if (nearly_zero(k)) small_ones.push_back(k);
  if (small_ones.empty() || !trials_.newton().find(system, t, trial.point.x, trial.point.xp)) return;
  std::vector<double>& noise = trials_.doubt.noise;
  noise.resize(hybrid_.guards().size(), 0.0);
  for (const int k : small_ones)
    noise[static_cast<std::size_t>(k)] = std::max(noise[static_cast<std::size_t>(k)], trials_.newton().noise(k));
}

/// Beside an impulse a force has the errors of the velocities that the impulse has moved: such a force moves them by no
/// more than these errors, in the time over which the solution changes. A rope that becomes taut without load has the
/// force zero, whatever sign rounding errors give it.
void Decision::raise_noise(std::span<const double> impulses) {
  constexpr double accuracy = 1e-11;  // relative, of values that come from an iteration
  std::vector<double>& noise = trials_.doubt.noise;
  if (!impulses.empty()) noise.resize(hybrid_.guards().size(), 0.0);
  for (std::size_t k = 0; k < impulses.size(); ++k)
    noise[k] = std::max(noise[k], accuracy * impulses[k] / trials_.doubt.time_scale);
}

/// A guard that is zero may have a clear slope on one of its sides only, because its unit changes there: a diode has a
/// current where it conducts, and a tiny voltage where it blocks. Where the equations do not jump, the clear slope
/// counts on both sides.
void Decision::follow_clear_slopes(double t, Trial& trial) {
  for (const int k : trial.view.zeros()) {
    if (k >= trials_.family_guards()) continue;
    int& clear = clear_side_[static_cast<std::size_t>(k)];
    const int lock = hybrid_.side(trial.point.mode, k);
    if (trial.view.multiplicity(k) == 1)
      clear = trial.view.side(k);
    else if (clear == lock && trial.view.multiplicity(k) > 1 && trial.view.side(k) != lock && lock != 0 &&
             trials_.continuous_across(trial.point.mode, k, t, trial.point.x, trial.point.xp))
      trial.view.set_side(k, lock);
  }
}

/// Whether a mode and that of the trial, which lead to each other, differ in guards that are zero and across which the
/// equations do not jump. Their solutions agree as long as these are zero; what seems to lead away are rounding errors.
bool Decision::rests_between(const Mode& other, double t, Trial& trial) {
  if (trial.system->structure().explicit_ode) return false;
  std::vector<int> resting;
  for (int k = 0; k < trials_.family_guards(); ++k) {
    if (hybrid_.side(other, k) == hybrid_.side(trial.point.mode, k)) continue;
    if (trial.view.multiplicity(k) == 0 ||
        !trials_.continuous_across(trial.point.mode, k, t, trial.point.x, trial.point.xp))
      return false;
    resting.push_back(k);
  }
  for (const int k : resting) trial.view.set_side(k, 0);
  return !resting.empty();
}

/// Whether a guard in which two modes differ has a clear slope. If they lead to each other by it the curve may fold
/// there, and another combination of switches goes on.
bool Decision::by_clear_slopes(const Mode& other, const Trial& trial) const {
  if (trial.system->structure().explicit_ode) return false;  // there is no curve
  for (int k = 0; k < trials_.family_guards(); ++k)
    if (hybrid_.side(other, k) != hybrid_.side(trial.point.mode, k) && trial.view.multiplicity(k) == 1) return true;
  return false;
}

/// Guards that are zero at the values with which a run starts. Where no side has consistent values, the solution may
/// begin on their surfaces.
void Decision::mark_zeros(const Point& from, double t, const Mode& mode) {
  System& system = hybrid_.system(mode);
  if (system.structure().explicit_ode || static_cast<int>(from.x.size()) != system.structure().variables) return;
  std::vector<double> g(static_cast<std::size_t>(system.structure().guards));
  const std::vector<double> at_rest(from.x.size(), 0.0);
  system.guards(t, from.x, at_rest, g);
  for (int k = 0; k < trials_.family_guards(); ++k)
    if (g[static_cast<std::size_t>(k)] == 0.0) zero_[static_cast<std::size_t>(k)] = 1;
}

/// An impulse that has the signs of the positions has moved the state, and the mode in which it did so is over: a diode
/// that carries the impulse blocks right after it. Other guards must be where their positions say.
bool Decision::pushed_away(const Trial& trial, const Impulses& impulses) const {
  if (impulses.allowed.empty() || trials_.fits(trial)) return false;
  for (int k = 0; k < trials_.family_guards(); ++k)
    if (!contains(impulses.allowed, k) && !trials_.fits(trial, k, hybrid_.side(trial.point.mode, k))) return false;
  return true;
}

bool Decision::on_surface(const Trial& trial) const {
  return std::ranges::any_of(trial.view.zeros(), [&](int k) {
    return k < trials_.family_guards() && trial.view.multiplicity(k) > 0 && hybrid_.side(trial.point.mode, k) != 0;
  });
}

void Decision::remember(const Mode& mode) {
  if (tried_count_ == tried_.size()) tried_.emplace_back();
  copy(mode, tried_[tried_count_++]);
}

/// Sides lead in a circle, or weights are impossible: a combination of switches, or a regime on surfaces.
bool Decision::choose_otherwise(const Point& from, const Circumstances& now, Trial& trial) {
  const Mode tried = trial.point.mode;
  // one switch that takes over from another need not slide on the way
  if (now.cause != Cause::reset && tried.sliding.empty() &&
      search_switches(from, now, {.most_flips = Resolution::few_flips, .regular_only = true}, trial.point.mode))
    return true;
  Point reached = on_surface_.x.empty() ? trial.point : on_surface_;
  const auto was_tried = [&](const Mode& mode) { return same_but_conditions(mode, trial.point.mode); };
  const auto end = tried_.begin() + static_cast<std::ptrdiff_t>(tried_count_);
  const bool at_start = now.cause == Cause::start;
  if (choose_regime(from, now.t, trial) && !(at_start && std::any_of(tried_.begin(), end, was_tried))) return true;
  if (at_start && (!failure_ || failure_.code == StatusCode::no_forward_solution)) {
    // start values are guesses: the consistent point that they led to may lie on a surface
    failure_ = {};
    trial.point.mode = tried;
    reached.x.resize(from.x.size());
    reached.xp.resize(from.x.size());
    if (choose_regime(reached, now.t, trial)) return true;
  }
  if (failure_.code != StatusCode::no_forward_solution) return false;
  const Failure reason = std::exchange(failure_, {});
  trial.point.mode = tried;
  for (const bool may_rest : {false, true})
    if (search_switches(from, now, {.may_rest = may_rest}, trial.point.mode)) return true;
  failed(reason);
  return false;
}

/// The mode has no values: it slid and does so no more, or it is the wrong combination of switches.
Decision::Next Decision::without_values(const Point& from, const Circumstances& now, bool seen_here, Trial& trial) {
  const Failure reason = trial.failure;
  if (stop_sliding(trial.point.mode)) return Next::again;
  if (now.cause == Cause::start && !seen_here &&
      tried_count_ == 0) {  // the values of the guards may say which mode is meant
    System& system = hybrid_.system(trial.point.mode);
    std::vector<double> g(static_cast<std::size_t>(system.structure().guards)),
        at_rest(static_cast<std::size_t>(system.structure().variables), 0.0);
    system.guards(now.t, from.x, at_rest, g);
    Mode next = trial.point.mode;
    for (int k = 0; k < trials_.family_guards(); ++k) {
      const int side = hybrid_.side(next, k);
      if (side * g[static_cast<std::size_t>(k)] < 0.0) hybrid_.set_side(next, k, -side);
    }
    remember(trial.point.mode);
    if (!same(next.locks, trial.point.mode.locks)) {
      trial.point.mode = std::move(next);
      return Next::again;
    }
  }
  if (search_switches(from, now, {}, trial.point.mode)) return Next::again;
  return failed(reason);
}

/// Guards without a meaning lie where the solution is, for the time when they get one. Returns whether one has moved.
bool Decision::place_dormant(Trial& trial) const {
  const std::vector<int> dormant = hybrid_.dormant(trial.point.mode);
  if (dormant.empty()) return false;
  bool moved = false;
  for (const int k : dormant)
    moved = hybrid_.follow(trial.point.mode, k, trial.view.value(k), trial.view.side(k)) || moved;
  return moved;
}

/// Moves guards to where the solution goes: those that are clearly not zero by their values; if these fit, those that
/// are zero by their derivatives; if these fit, those that vanish to rest. Returns whether one has moved.
bool Decision::place(const Trial& trial, const Circumstances& now, const Approach& approach, Mode& next) {
  const GuardSides& view = trial.view;
  const auto has_opened = [&](int k) {
    return std::any_of(approach.opened.begin(), approach.opened.end(),
                       [k](const auto& contact) { return contact.guard == k; });
  };
  hybrid_.positions(trial.point.mode, positions_);
  std::vector<int> misplaced[3];  // by what decides: values, derivatives, rest
  for (int k = 0; k < trials_.family_guards(); ++k) {
    if (trials_.fits(trial, k, side_of(positions_[static_cast<std::size_t>(k)])) || (now.set.empty() && has_opened(k)))
      continue;
    misplaced[view.multiplicity(k) == 0 ? 0 : view.side(k) != 0 ? 1 : 2].push_back(k);
  }
  const auto first = std::ranges::find_if(misplaced, [](const auto& guards) { return !guards.empty(); });
  if (first == std::end(misplaced)) return false;
  for (const int k : *first) {
    if (view.side(k) != 0)
      hybrid_.set_side(next, k, view.side(k));
    else
      hybrid_.rest(next, k);
  }
  return true;
}

/// The mode may be one that cannot be evaluated beyond a surface on which the state lies up to errors, of which the
/// sign is the wrong one. Gives them the other sign, for linear guards, and a small part of their size at least: at the
/// edge itself derivatives may be infinite. Returns whether there are such guards.
bool Decision::move_across_surfaces(Trial& seen, Point& from) const {
  constexpr double small_part = 1e-5;
  bool any = false;
  for (const LinearGuard& guard : seen.system->linear_guards()) {
    const int k = guard.guard;
    if (k >= trials_.family_guards() || k >= seen.view.count() || seen.view.multiplicity(k) == 0) continue;
    const double value = seen.view.value(k);
    const int side = hybrid_.side(seen.point.mode, k);
    if (!(side * value < 0.0)) continue;
    const double change = side * std::max(std::abs(value), small_part * seen.view.noise(k)) - value;
    double square = 0.0;
    for (const double c : guard.coefficients) square += c * c;
    for (std::size_t i = 0; i < guard.variables.size(); ++i)
      from.x[static_cast<std::size_t>(guard.variables[i])] += change * guard.coefficients[i] / square;
    any = any || square > 0.0;
  }
  return any;
}

/// Both sides of a surface agree, as after a relay has been switched off: the sides are to be found. Returns whether
/// the mode slid.
bool Decision::stop_sliding(Mode& mode) const {
  if (mode.sliding.empty()) return false;
  leave_surfaces(std::vector<int>(mode.sliding), mode);
  return true;
}

/// The solution leaves these surfaces. The sides that it goes to are to be found.
void Decision::leave_surfaces(std::span<const int> guards, Mode& mode) const {
  for (const int k : guards) {
    if (contains(mode.contacts, k))
      hybrid_.end_contact(mode, k);
    else if (std::erase(mode.sliding, k) > 0 && hybrid_.rests(mode, k))
      hybrid_.set_side(mode, k, trials_.side_at_zero(k));
  }
}

/// Contacts whose force would have to pull open.
void Decision::open_contacts(const Trial& trial, Mode& next, Approach& approach) const {
  const std::vector<int> contacts = trial.point.mode.contacts;
  for (std::size_t c = 0; c < contacts.size(); ++c)
    if (trial.view.side(trial.exits[trial.point.mode.sliding.size() + c]) < 0) {
      hybrid_.end_contact(next, contacts[c]);
      approach.opened.push_back({contacts[c], hybrid_.side(next, contacts[c])});
    }
}

/// Contacts open by the equations on their surfaces. Those beside them may be others, by a relation on the surface, and
/// press the solution back: it can neither stay nor leave. False: see failure().
bool Decision::stays_open(const Trial& trial, const Circumstances& now, const Approach& approach) {
  constexpr int most = 3;  // derivatives: of what moves g, its speed, or its force
  for (const Approach::Opened& contact : approach.opened) {
    const int k = contact.guard;
    if (trial.view.multiplicity(k) == 0 || hybrid_.side(trial.point.mode, k) != contact.side) continue;
    Mode on_surface = trial.point.mode;
    hybrid_.rest(on_surface, k);
    if (hybrid_.same_equations(trial.point.mode, on_surface)) continue;
    const std::vector<double> c =
        GuardSides::coefficients(most + 1, *trial.system, trials_.consistency(), now.t, trial.point.x, k);
    // what is left of g, its speed and its force are errors, which are over at once
    const auto lasts = [&](int i) {
      double time = std::numeric_limits<double>::infinity();
      for (int j = i + 1; j <= most + 1; ++j) time = std::min(time, std::pow(std::abs(c[i] / c[j]), 1.0 / (j - i)));
      return c[i] != 0.0 && time > Resolution::negligible_part * trials_.doubt.time_scale;
    };
    int i = 1;
    while (i <= most && !lasts(i)) ++i;
    if (i > most || !(c[i] * (trials_.direction() < 0 && i % 2 == 1 ? -1 : 1) * contact.side < 0.0)) continue;
    const std::string& name = hybrid_.guards()[static_cast<std::size_t>(k)].name;
    return fail(StatusCode::no_forward_solution,
                fmt::format("at t = {:.12g} the contact on the surface of '{}' opens by the equations that hold there, "
                            "but those beside it push the "
                            "solution back: a relation on the surface stands in them",
                            now.t, name),
                {name});
  }
  return true;
}

}  // namespace saltus
