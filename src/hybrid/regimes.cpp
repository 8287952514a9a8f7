// The part of the mode controller that chooses between several ways to go on: combinations of switches, and regimes on surfaces.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "hybrid/mode_controller.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

namespace {
// Up to so many surfaces all combinations are tried (27), which finds every continuation; beyond, pivoting comes first; in the end up to
// so many (729).
constexpr std::size_t few_surfaces = 3, most_surfaces = 6;
// Combinations of up to so many switches are searched.
constexpr int most_switches = 12;
}  // namespace

/// Finds the sides of all guards together: those on which the values of the mode that they make lie. The guards of networks with ideal
/// switches and diodes depend on each other through the equations, and flipping those that are wrong leads through combinations that
/// short or cut the circuit. The nearest combination counts: all that differ from the present one in one guard are tried, then in two, ….
/// Regular ones come first, whose values Newton's method finds: most of them turn out to be wrong by it. The others need an analysis each.
bool ModeController::select_sides(double t, Cause cause) { return search_sides(t, cause, most_switches, false); }

/// The same among regular combinations that differ in few switches: what is worth a try before anything else.
bool ModeController::select_regular_sides(double t, Cause cause, int most_flips) {
  const Structure& s = hybrid_.system(transition.mode).structure();
  return !s.explicit_ode && !TrialValues::too_large(s) && search_sides(t, cause, most_flips, true);
}

bool ModeController::search_sides(double t, Cause cause, int most_flips, bool regular_only) {
  std::vector<int> switches;
  for (int k = 0; k < family_guards(); ++k)
    if (hybrid_.side(transition.mode, k) != 0 && !hybrid_.guards()[k].time_only) switches.push_back(k);
  const Failure reason = failure_;
  if (static_cast<int>(switches.size()) > most_switches) return false;
  const Mode start = transition.mode;
  const std::vector<double> before = transition.x;
  const bool by_conditions = cause == Cause::start && hybrid_.initial_conditions(start) != nullptr;  // they may move the state
  std::vector<unsigned> order(std::size_t{1} << switches.size()), others;
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [](unsigned a, unsigned b) { return std::popcount(a) < std::popcount(b); });
  for (const bool regular : {true, false}) {
    if (!regular && regular_only) break;
    for (const unsigned flips : regular ? order : others) {
      if (flips == 0 || std::popcount(flips) > most_flips) continue;
      transition.mode = start;
      transition.x = before;
      for (std::size_t i = 0; i < switches.size(); ++i)
        if ((flips >> i) & 1u) hybrid_.set_side(transition.mode, switches[i], -hybrid_.side(start, switches[i]));
      System& system = hybrid_.system(transition.mode);
      if (!consistency_.possible(system)) continue;
      if (regular) {
        fit(system, transition.x);
        if (by_conditions || !trial_values_.find(system, t, transition.x, xp)) {
          others.push_back(flips);
          continue;
        }
        if (!may_fit(switches)) continue;
      }
      if (!combination_fits(t, cause, switches)) continue;
      for (std::size_t i = 0; i < switches.size(); ++i)
        if ((flips >> i) & 1u) note_firing(switches[i], -hybrid_.side(start, switches[i]));
      transition.x = before;
      failure_ = {};
      selected_ = regular;
      return true;
    }
  }
  transition.mode = start;
  transition.x = before;
  failure_ = reason;
  return false;
}

/// Whether transition.mode is singular, by its structure or, where that promises a mode without hidden constraints, by its values: switches that
/// short or cut a circuit. Such a mode may have solutions, but seldom those that are meant, and its analysis takes long.
bool ModeController::leads_nowhere(System& system, double t) {
  const Structure& s = system.structure();
  if (s.explicit_ode || s.variables != s.equations || TrialValues::too_large(s) || transition.mode.on_surfaces()) return false;
  if (const CharacteristicValues* known = consistency_.values(system)) return (*known)->u > 0;
  if (!consistency_.possible(system)) return true;
  return consistency_.plain(system) && !trial_values_.find(system, t, transition.x, xp) && trial_values_.singular();
}

/// Whether no switch is clearly on the wrong side at the trial values of transition.mode.
bool ModeController::may_fit(std::span<const int> switches) const {
  return std::none_of(switches.begin(), switches.end(), [&](int k) {
    return hybrid_.side(transition.mode, k) * trial_values_.guard(k) < -1e3 * trial_values_.noise(k);
  });
}

/// Whether the values of transition.mode lie on its sides.
bool ModeController::combination_fits(double t, Cause cause, std::span<const int> switches) {
  const Mode candidate = transition.mode;
  if (!find_values(t, cause)) return false;
  // the values of a network have the rounding errors of all of it
  if (trial_values_.find(*system_, t, transition.x, xp)) {
    bracket_noise.resize(hybrid_.guards().size(), 0.0);
    for (const int k : switches) bracket_noise[k] = std::max(bracket_noise[k], trial_values_.noise(k));
  }
  look(t);
  return std::all_of(switches.begin(), switches.end(), [&](int k) {
    const int side = sides_.side(k) != 0 ? sides_.side(k) : hybrid_.resting_side(candidate, k);
    return side == hybrid_.side(candidate, k);  // relations of both kinds take their own values there later
  });
}

/// The solution stands on surfaces and no side was consistent by itself: a regime is chosen that leaves each of them to one of its sides or
/// slides on it. It is feasible if the guards then really move to their sides and the weights of the sliding surfaces stay between 0 and 1.
bool ModeController::choose_regime(const EventInput& input) {
  const std::span<const int> surfaces = active_surfaces();
  std::vector<Regime> feasible = feasible_regimes(input, surfaces);
  if (feasible.empty() && !transition.mode.conditions.empty() && surfaces.size() <= few_surfaces)  // clauses may turn it round at once
    feasible = all_regimes(input, surfaces, true);
  if (feasible.empty())
    if (auto meeting = regime_where_surfaces_meet(input)) feasible.push_back(std::move(*meeting));
  if (feasible.empty()) {
    const auto names = guard_names(surfaces.empty() ? std::span<const int>(fired_) : surfaces);
    std::string text = fmt::format("at t = {:.12g} no side of ", input.t);
    for (std::size_t k = 0; k < names.size(); ++k) text += (k ? ", " : "") + ("'" + names[k] + "'");
    text += surfaces.size() > most_surfaces ? " could be chosen: too many surfaces meet in this point"
            : surfaces.empty()              ? " continues the solution, and it may not slide there"
                                            : " continues the solution, and no sliding motion on it does";
    return fail(StatusCode::no_forward_solution, text, names);
  }
  if (feasible.size() > 1 && !transition.mode.conditions.empty() && surfaces.size() <= few_surfaces) {  // rather one that needs no help of clauses
    const std::vector<Regime> by_itself = all_regimes(input, surfaces, true);
    std::stable_partition(feasible.begin(), feasible.end(), [&](const Regime& regime) {
      return std::any_of(by_itself.begin(), by_itself.end(), [&](const Regime& other) { return other.mode == regime.mode; });
    });
  }
  return take_regime(feasible, input.t);
}

/// Of several ways to go on the one with fewest sliding surfaces: where a solution can leave, it does. Returns whether the run goes on.
bool ModeController::take_regime(std::span<Regime> feasible, double t) {
  Regime& chosen = *std::min_element(feasible.begin(), feasible.end(), [](const Regime& a, const Regime& b) {
    return a.mode.sliding.size() < b.mode.sliding.size();
  });
  if (feasible.size() > 1 && !note_alternatives(t, feasible.size(), chosen.mode)) return false;
  for (const int k : chosen.mode.sliding) {
    if (hybrid_.guards()[k].rule != SurfaceRule::stop) continue;
    transition.terminate = true;
    transition.message = "sliding would begin on the surface of '" + hybrid_.guards()[k].name + "', where the model wants to stop";
    return true;
  }
  transition.mode = std::move(chosen.mode);
  transition.x = std::move(chosen.x);
  return true;
}

/// Surfaces on which the solution cannot slide by themselves, but where they meet: x and v of x'' = -3 sign(x) - sign(v).
std::optional<ModeController::Regime> ModeController::regime_where_surfaces_meet(const EventInput& input) {
  std::vector<int> meeting;
  for (int k = 0; k < family_guards(); ++k) {
    const bool kept = contains(transition.mode.sliding, k);
    const GuardInfo& guard = hybrid_.guards()[static_cast<std::size_t>(k)];
    if (!kept && (sides_.multiplicity(k) == 0 || hybrid_.side(transition.mode, k) == 0 || guard.time_only || guard.rule == SurfaceRule::crossing)) continue;
    meeting.push_back(k);
  }
  if (meeting.size() < 2 || meeting.size() > most_surfaces) return std::nullopt;
  return try_regime(input, meeting, std::vector<int>(meeting.size(), 0));
}

/// Several regimes continue the solution. Returns whether the run goes on.
bool ModeController::note_alternatives(double t, std::size_t count, const Mode& taken) {
  if (stop_if_non_unique)
    return fail(StatusCode::non_unique,
                fmt::format("the solution is not unique at t = {:.12g}: {} continuations are possible, for example '{}'", t, count,
                            hybrid_.describe(taken)),
                guard_names(fired_));
  transition.message = fmt::format("the solution is not unique here: {} continuations are possible, '{}' was taken", count,
                                   hybrid_.describe(taken));
  return true;
}

/// A regime was found without looking at others. Where it began on surfaces without a transversal arrival others may be possible too.
bool ModeController::check_uniqueness(const EventInput& input, bool moved) {
  if (left_by_weight_ || selected_ || !transition.mode.sliding.empty()) return true;
  int on_surface = 0, last = -1;
  bool transversal = !input.initial && !moved;
  for (int k = 0; k < family_guards(); ++k) {
    if (sides_.multiplicity(k) == 0 || hybrid_.side(transition.mode, k) == 0) continue;
    ++on_surface;
    last = k;
    transversal = transversal && sides_.multiplicity(k) == 1;
  }
  if (on_surface == 0 || (on_surface == 1 && (transversal || !slides_alone(last)))) return true;
  const std::span<const int> surfaces = active_surfaces();
  if (surfaces.empty() || surfaces.size() > few_surfaces) return true;
  std::vector<Regime> feasible = all_regimes(input, surfaces);
  // a guard that rests here, within rounding errors: the mode that keeps it at zero has the same solution, and no errors. (In modes that are not explicit
  // it mixes the sides; where relations have a truth of their own at rest, that counts.)
  for (Regime& regime : feasible) {
    const std::vector<int>& kept = regime.mode.sliding;
    if (kept.empty()) continue;
    const bool mixes = !hybrid_.system(regime.mode).structure().explicit_ode;
    if (!std::all_of(kept.begin(), kept.end(), [&](int k) { return sides_.side(k) == 0 && !(mixes && hybrid_.rests(transition.mode, k)); })) continue;
    transition.mode = std::move(regime.mode);
    transition.x = std::move(regime.x);
    return find_values(input.t, Cause::mode_change);
  }
  // a state of its own, at rest, is none of the regimes beside the surface
  const bool at_rest = std::any_of(surfaces.begin(), surfaces.end(), [&](int k) { return sides_.side(k) == 0 && hybrid_.rests(transition.mode, k); });
  const bool among_them = std::any_of(feasible.begin(), feasible.end(), [](const Regime& r) { return r.rests; });
  const std::size_t count = feasible.size() + (at_rest && !among_them ? 1 : 0);
  system_ = &hybrid_.system(transition.mode);  // the others have had their locks set
  if (!system_->structure().explicit_ode && !find_values(input.t, Cause::reset)) return false;
  return count <= 1 || note_alternatives(input.t, count, transition.mode);
}

std::vector<ModeController::Regime> ModeController::feasible_regimes(const EventInput& input, std::span<const int> surfaces) {
  std::vector<Regime> feasible;
  if (surfaces.size() == 1 && hybrid_.side(transition.mode, surfaces.front()) != 0) {  // neither side goes on by itself
    constexpr int slide = 0;
    if (auto found = try_regime(input, surfaces, std::span(&slide, 1))) feasible.push_back(std::move(*found));
  } else if (surfaces.size() > few_surfaces) {
    if (auto found = pivot(input, surfaces)) feasible.push_back(std::move(*found));
  }
  if (feasible.empty() && surfaces.size() <= most_surfaces) feasible = all_regimes(input, surfaces);
  return feasible;
}

/// All combinations, 3^p of them, that are feasible; `before_actions`: as the mode is now, without what the model makes of the sides.
std::vector<ModeController::Regime> ModeController::all_regimes(const EventInput& input, std::span<const int> surfaces, bool before_actions) {
  std::vector<Regime> feasible;
  if (surfaces.empty()) return feasible;
  std::size_t combinations = 1;
  for (std::size_t k = 0; k < surfaces.size(); ++k) combinations *= 3;
  std::vector<int> wanted(surfaces.size());
  for (std::size_t c = 0; c < combinations; ++c) {
    std::size_t code = c;
    for (int& q : wanted) {
      q = static_cast<int>(code % 3) - 1;  // -1, 0 (slide), +1
      code /= 3;
    }
    auto regime = try_regime(input, surfaces, wanted, nullptr, before_actions);
    const auto known = [&](const Regime& other) { return other.mode == regime->mode; };  // both sides may lead to rest
    if (regime && std::none_of(feasible.begin(), feasible.end(), known)) feasible.push_back(std::move(*regime));
  }
  return feasible;
}

/// Many surfaces: slides on all of them first, leaves those whose weights are outside, comes back to those that push towards themselves.
/// Where one switch does not undo what others do (additive fields, nodal surfaces) this ends after few rounds.
std::optional<ModeController::Regime> ModeController::pivot(const EventInput& input, std::span<const int> surfaces) {
  std::vector<int> wanted(surfaces.size(), 0);
  std::vector<std::vector<int>> seen;
  for (std::size_t round = 0; round < 4 * surfaces.size(); ++round) {
    if (std::find(seen.begin(), seen.end(), wanted) != seen.end()) return std::nullopt;
    seen.push_back(wanted);
    GuardSides view;
    if (auto regime = try_regime(input, surfaces, wanted, &view)) return regime;
    if (view.empty()) return std::nullopt;
    int place = family_guards();
    const std::vector<int> tried = wanted;
    for (std::size_t k = 0; k < surfaces.size(); ++k) {
      if (tried[k] != 0) {
        if (view.side(surfaces[k]) == -tried[k]) wanted[k] = 0;
        continue;
      }
      if (view.side(place) <= 0) wanted[k] = -1;
      if (view.side(place + 1) <= 0) wanted[k] = +1;
      place += 2;
    }
  }
  return std::nullopt;
}

/// The regime that leaves each surface to the wanted side, or slides on it (0), if it is feasible. `view` receives what its guards do.
std::optional<ModeController::Regime> ModeController::try_regime(const EventInput& input, std::span<const int> surfaces,
                                                                 std::span<const int> wanted, GuardSides* view, bool before_actions) {
  Regime regime{transition.mode, transition.x, false};
  regime.mode.sliding.clear();
  for (std::size_t k = 0; k < surfaces.size(); ++k) {
    if (wanted[k] == 0)
      regime.mode.sliding.push_back(surfaces[k]);
    else
      hybrid_.set_side(regime.mode, surfaces[k], wanted[k]);
  }
  constexpr int few = 3;
  GuardSides& sides = view ? *view : trial_sides_;
  for (int round = 0; round < few; ++round) {
    const Next next = try_once(regime, input, surfaces, wanted, sides, before_actions);
    if (next == Next::done) return regime;
    if (next == Next::failed) return std::nullopt;
  }
  return std::nullopt;  // it leads round
}

/// Guards that are zero, too, but on whose surfaces nothing can slide, take the sides to which they go. Returns whether one has changed.
bool ModeController::others_follow(Mode& mode, std::span<const int> surfaces, const GuardSides& sides) const {
  bool changed = false;
  for (int k = 0; k < family_guards(); ++k) {
    const int now = hybrid_.side(mode, k);
    if (now == 0 || sides.multiplicity(k) == 0 || sides.side(k) != -now || std::find(surfaces.begin(), surfaces.end(), k) != surfaces.end()) continue;
    hybrid_.set_side(mode, k, -now);
    changed = true;
  }
  return changed;
}

/// Done: the solution can go on in a regime, with what the model makes of its sides; it has got its values. Again: other guards have changed their sides.
ModeController::Next ModeController::try_once(Regime& regime, const EventInput& input, std::span<const int> surfaces, std::span<const int> wanted,
                                              GuardSides& sides, bool before_actions) {
  Mode mode = regime.mode;
  if (mode.sliding.empty()) {  // transitions between explicit modes follow the sides
    Transition probe;
    probe.mode = mode;
    probe.x = transition.x;
    hybrid_.transition(input, probe);
    if (probe.failed) return Next::failed;
    if (!before_actions && !probe.any_reset()) mode = probe.mode;  // before a reset it must go to that side by itself
  }
  if (mode.on_surfaces() && !hybrid_.can_stay_on_surfaces(mode)) return Next::failed;
  const std::size_t family = hybrid_.variables().size();
  const std::size_t unknown_weights = static_cast<std::size_t>(hybrid_.system(mode).structure().variables) - family;
  // weights that are unknowns may have several solutions: the first that is feasible counts
  const std::size_t starts = unknown_weights == 0 || unknown_weights > 3 ? 1 : 1 + (std::size_t{1} << unknown_weights);
  for (std::size_t start = 0; start < starts; ++start) {
    regime.x = transition.x;
    regime.x.resize(family);
    for (std::size_t k = 0; k < unknown_weights; ++k)
      regime.x.push_back(start == 0 ? 0.5 : ((start - 1) >> k) & 1 ? 0.9 : 0.1);
    if (!goes_on(input.t, mode, regime.x, sides) || !surfaces_hold(mode, sides)) continue;
    if (others_follow(regime.mode, surfaces, sides)) return Next::again;
    if (!sides_fit(mode, surfaces, wanted, sides)) continue;
    for (std::size_t k = 0; k < surfaces.size(); ++k)
      if (wanted[k] != 0 && sides.side(surfaces[k]) == 0) {
        hybrid_.rest(regime.mode, surfaces[k]);
        regime.rests = true;
      }
    return Next::done;
  }
  return Next::failed;
}

/// Whether the solution can go on from here in this mode, without a jump; x gets the weights. `sides`: where its guards go.
bool ModeController::goes_on(double t, const Mode& mode, std::vector<double>& x, GuardSides& sides) {
  System& system = hybrid_.system(mode);
  std::vector<double> derivative = xp;
  derivative.resize(x.size(), 0.0);
  if (!consistency_.possible(system) || !weights_matter(system, t, x, derivative)) return false;
  if (consistency_.find(system, t, Cause::mode_change, {}, nullptr, x, derivative)) return false;
  const CharacteristicValues* values = consistency_.values(system);
  if (values && ((*values)->u > 0 || (*values)->v > 0)) return false;
  const std::size_t family = hybrid_.variables().size();
  for (std::size_t j = 0; j < family; ++j)
    if (system.structure().differentiated(static_cast<int>(j)) && !near(std::span(x).subspan(j, 1), std::span(transition.x).subspan(j, 1)))
      return false;
  look_at(sides, system, mode, t, x, derivative);
  return true;
}

/// Whether each weight that is an unknown changes the equations: where both sides of a surface agree there is nothing to slide with.
bool ModeController::weights_matter(System& system, double t, std::span<const double> x, std::span<const double> derivative) const {
  const Structure& s = system.structure();
  const std::size_t family = hybrid_.variables().size();
  if (static_cast<std::size_t>(s.variables) == family) return true;
  std::vector<double> Fx(s.state_pattern.row.size()), Fxp(s.derivative_pattern.row.size());
  std::vector<double> size(static_cast<std::size_t>(s.equations), 0.0), above(size.size()), below(size.size());
  system.jacobian(t, x, derivative, Fx, Fxp);
  for (int j = 0; j < s.variables; ++j) {
    for (int k = s.state_pattern.start[j]; k < s.state_pattern.start[j + 1]; ++k) size[s.state_pattern.row[k]] += std::abs(Fx[k] * x[j]);
    for (int k = s.derivative_pattern.start[j]; k < s.derivative_pattern.start[j + 1]; ++k)
      size[s.derivative_pattern.row[k]] += std::abs(Fxp[k] * derivative[j]);
  }
  std::vector<double> moved(x.begin(), x.end());
  for (std::size_t j = family; j < x.size(); ++j) {
    moved[j] = 1.0;
    system.residual(t, moved, derivative, above);
    moved[j] = 0.0;
    system.residual(t, moved, derivative, below);
    moved[j] = x[j];
    bool differ = false;
    for (std::size_t i = 0; i < size.size(); ++i) differ = differ || std::abs(above[i] - below[i]) > 1e-8 * size[i];
    if (!differ) return false;
  }
  return true;
}

bool ModeController::sides_fit(const Mode& mode, std::span<const int> surfaces, std::span<const int> wanted, const GuardSides& sides) const {
  for (std::size_t k = 0; k < surfaces.size(); ++k) {
    if (wanted[k] == 0) continue;
    const int side = sides.side(surfaces[k]);
    if (sides.undefined(surfaces[k])) return false;
    if (side == 0 && !has_second_.empty() && has_second_[static_cast<std::size_t>(surfaces[k])]) continue;  // it may rest, whatever the side
    if ((side == 0 ? hybrid_.resting_side(mode, surfaces[k]) : side) != wanted[k]) return false;
  }
  return true;
}

/// Guards that are zero here and can be slid on, and those on which the mode slides now.
std::span<const int> ModeController::active_surfaces() {
  surfaces_.clear();
  for (const int k : transition.mode.sliding) surfaces_.push_back(k);
  for (int k = 0; k < family_guards(); ++k) {
    if (sides_.multiplicity(k) == 0 || hybrid_.side(transition.mode, k) == 0) continue;
    if (hybrid_.guards()[k].rule == SurfaceRule::crossing) continue;
    if (slides_alone(k)) surfaces_.push_back(k);
  }
  if (surfaces_.size() > 1) std::sort(surfaces_.begin(), surfaces_.end());
  return surfaces_;
}

bool ModeController::slides_alone(int guard) {
  const Mode& mode = transition.mode;
  resize(alone_, static_cast<std::size_t>(family_guards()));
  Alone& last = alone_[static_cast<std::size_t>(guard)];
  // the answer is that of the last event, as a rule
  if (!last.known || last.mode.automaton != mode.automaton || !same(last.mode.discrete, mode.discrete) ||
      !same(last.mode.locks, mode.locks) || !same(last.mode.contacts, mode.contacts) ||
      !same(last.mode.contact_sides, mode.contact_sides)) {
    copy(mode, last.mode);
    last.mode.sliding.assign(1, guard);
    last.possible = hybrid_.can_stay_on_surfaces(last.mode);
    last.known = true;
  }
  return last.possible;
}

}  // namespace saltus
