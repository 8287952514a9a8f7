#include "hybrid/instant/regimes.hpp"

#include <algorithm>
#include <cmath>

#include "hybrid/short_lists.hpp"

namespace saltus {

namespace {
constexpr int rest = 2;  // beside -1 and +1, the sides, and 0, a slide
}  // namespace

std::vector<Regime> Regimes::feasible(const Point& from, double t, const Mode& mode, std::span<const int> surfaces) {
  std::vector<Regime> feasible;
  if (surfaces.size() == 1 && hybrid_.side(mode, surfaces.front()) != 0) {  // neither side goes on by itself
    constexpr int slide = 0;
    auto found = one(from, t, mode, surfaces, std::span(&slide, 1));
    if (found && !found->at_the_end) feasible.push_back(std::move(*found));
  } else if (surfaces.size() > Resolution::few_surfaces) {
    if (auto found = pivot(from, t, mode, surfaces)) feasible.push_back(std::move(*found));
  }
  if (feasible.empty() && surfaces.size() <= Resolution::most_surfaces) feasible = all(from, t, mode, surfaces);
  return feasible;
}

/// All combinations that are feasible, 3^p of them, and more where rest is a position of its own.
std::vector<Regime> Regimes::all(const Point& from, double t, const Mode& mode, std::span<const int> surfaces) {
  std::vector<Regime> feasible;
  if (surfaces.empty()) return feasible;
  std::size_t combinations = 1;
  const auto choices = [&](std::size_t k) { return trials_.has_second(surfaces[k]) ? std::size_t{4} : std::size_t{3}; };
  for (std::size_t k = 0; k < surfaces.size(); ++k) combinations *= choices(k);
  std::vector<int> wanted(surfaces.size());
  for (std::size_t c = 0; c < combinations; ++c) {
    std::size_t code = c;
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      wanted[k] = static_cast<int>(code % choices(k)) - 1;  // -1, 0 (slide), +1, 2 (rest)
      code /= choices(k);
    }
    auto regime = one(from, t, mode, surfaces, wanted);
    const auto known = [&](const Regime& other) {
      return other.point.mode == regime->point.mode;
    };  // both sides may lead to rest
    if (regime && std::none_of(feasible.begin(), feasible.end(), known)) feasible.push_back(std::move(*regime));
  }
  // where the equations hold literally at rest, a slide with one side alone is the same motion in other words
  if (std::any_of(feasible.begin(), feasible.end(), [](const Regime& r) { return r.rests; }))
    std::erase_if(feasible, [](const Regime& r) { return r.at_the_end; });
  return feasible;
}

/// Many surfaces: slides on all of them first, leaves those whose weights are outside, comes back to those that push
/// towards themselves. Where one switch does not undo what others do (additive fields, nodal surfaces) this ends after
/// few rounds.
std::optional<Regime> Regimes::pivot(const Point& from, double t, const Mode& mode, std::span<const int> surfaces) {
  std::vector<int> wanted(surfaces.size(), 0);
  std::vector<std::vector<int>> seen;
  for (std::size_t round = 0; round < 4 * surfaces.size(); ++round) {
    if (std::find(seen.begin(), seen.end(), wanted) != seen.end()) return std::nullopt;
    seen.push_back(wanted);
    GuardSides view;
    if (auto regime = one(from, t, mode, surfaces, wanted, &view)) return regime;
    if (view.empty()) return std::nullopt;
    const std::vector<int> tried = wanted;
    std::size_t slide = 0;
    for (std::size_t k = 0; k < surfaces.size(); ++k) {
      if (tried[k] != 0) {
        if (view.side(surfaces[k]) == -tried[k]) wanted[k] = 0;
        continue;
      }
      const int weight = attempt_.exits[slide++];
      if (view.side(weight) <= 0) wanted[k] = -1;
      if (view.side(weight + 1) <= 0) wanted[k] = +1;
    }
  }
  return std::nullopt;
}

std::optional<Regime> Regimes::one(const Point& from, double t, const Mode& mode, std::span<const int> surfaces,
                                   std::span<const int> wanted, GuardSides* view) {
  constexpr int few = 3;
  Regime regime{{mode, from.x, from.xp}, false};
  regime.point.mode.sliding.clear();
  for (std::size_t k = 0; k < surfaces.size(); ++k) {
    if (wanted[k] == 0)
      regime.point.mode.sliding.push_back(surfaces[k]);
    else if (wanted[k] == rest)
      hybrid_.rest(regime.point.mode, surfaces[k]);
    else
      hybrid_.set_side(regime.point.mode, surfaces[k], wanted[k]);
  }
  for (int round = 0; round < few; ++round) {
    const Next next = try_once(from, t, surfaces, wanted, attempt_, regime);
    if (view && !attempt_.view.empty()) *view = attempt_.view;
    if (next == Next::done) return regime;
    if (next == Next::failed) return std::nullopt;
  }
  return std::nullopt;  // it leads round
}

/// Guards that are zero, too, but on whose surfaces nothing can slide, take the sides to which they go. Returns whether
/// one has changed.
bool Regimes::others_follow(const Trial& trial, std::span<const int> surfaces, Mode& mode) const {
  bool changed = false;
  for (const int k : trial.view.zeros()) {
    if (k >= trials_.family_guards()) continue;
    const int side = hybrid_.side(mode, k);
    if (side == 0 || trial.view.multiplicity(k) == 0 || trial.view.side(k) != -side) continue;
    if (std::find(surfaces.begin(), surfaces.end(), trials_.named(k)) != surfaces.end()) continue;  // or its duplicate
    hybrid_.set_side(mode, k, -side);
    changed = true;
  }
  return changed;
}

/// Done: the solution can go on in the regime, without a jump, and its point has got its values. Again: other guards
/// have changed their sides.
Regimes::Next Regimes::try_once(const Point& from, double t, std::span<const int> surfaces, std::span<const int> wanted,
                                Trial& trial, Regime& regime) {
  const Mode& mode = regime.point.mode;
  if (mode.on_surfaces() && !hybrid_.can_stay_on_surfaces(mode)) return Next::failed;
  const std::size_t family = hybrid_.variables().size();
  Point guess = from;
  guess.x.resize(family);
  std::size_t unknown_weights = 0, starts = 1;
  if (mode.on_surfaces()) {
    System& system = hybrid_.system(mode);
    unknown_weights = static_cast<std::size_t>(system.structure().variables) - family;
    guess.x.resize(family + unknown_weights, 0.5);
    if (unknown_weights > 0 &&
        !(trials_.can_determine_weights(system) && trials_.weights_appear(system, t, guess.x, guess.xp)))
      return Next::failed;
    // weights that are unknowns may have several solutions: the first that is feasible counts
    if (unknown_weights > 0 && unknown_weights <= 3 && !trials_.weights_are_added(system, t, guess.x, guess.xp))
      starts = 1 + (std::size_t{1} << unknown_weights);
  }
  for (std::size_t start = 0; start < starts; ++start) {
    for (std::size_t k = 0; k < unknown_weights; ++k)
      guess.x[family + k] = start == 0 ? 0.5 : ((start - 1) >> k) & 1 ? 0.9 : 0.1;
    trial.point.mode = mode;
    if (!trials_.find_values(guess, {.t = t}, trial) || trial.jumps || !trials_.is_regular(trial, t)) continue;
    trials_.look(t, trial);
    if (!trials_.surfaces_hold(trial) || !on_its_surfaces(trial, t)) continue;
    if (others_follow(trial, surfaces, regime.point.mode)) return Next::again;
    if (!sides_fit(trial, surfaces, wanted)) continue;
    for (std::size_t k = 0; k < surfaces.size(); ++k)
      regime.rests = regime.rests || (wanted[k] != 0 && trial.view.side(surfaces[k]) == 0);
    for (std::size_t k = 0; k < mode.sliding.size(); ++k)
      regime.at_the_end = regime.at_the_end || weight_at_the_end(trial, k);
    regime.point.x = trial.point.x;
    regime.point.xp = trial.point.xp;
    return Next::done;
  }
  return Next::failed;
}

/// Explicit modes keep the distance from a surface that they slide along: it must be zero when the slide begins. (Other
/// modes have the surfaces as equations.)
bool Regimes::on_its_surfaces(const Trial& trial, double t) const {
  if (!trial.system->structure().explicit_ode) return true;
  const std::vector<int>& sliding = trial.point.mode.sliding;
  const auto is_zero = [&](int k) { return std::abs(trial.view.value(k)) <= trial.view.noise(k); };
  if (std::all_of(sliding.begin(), sliding.end(), is_zero)) return true;
  // within the errors of integration, which are larger than the noise of rounding errors
  const double tolerance = Resolution::same_point * trials_.doubt.tolerance;
  std::vector<double> absolute = trials_.doubt.sizes;
  if (absolute.empty()) absolute.push_back(1.0);
  for (double& size : absolute) size *= tolerance;
  const std::vector<double> error =
      GuardSides::uncertainty(*trial.system, t, trial.point.x, trial.point.xp, std::span(&tolerance, 1), absolute);
  return std::all_of(sliding.begin(), sliding.end(), [&](int k) {
    return is_zero(k) || std::abs(trial.view.value(k)) <= error[static_cast<std::size_t>(k)];
  });
}

bool Regimes::weight_at_the_end(const Trial& trial, std::size_t slide) const {
  const int weight = trial.exits[slide];
  return trial.view.side(weight) == 0 || trial.view.side(weight + 1) == 0;
}

bool Regimes::sides_fit(const Trial& trial, std::span<const int> surfaces, std::span<const int> wanted) const {
  for (std::size_t k = 0; k < surfaces.size(); ++k) {
    if (wanted[k] == 0) continue;
    const int side = trial.view.side(surfaces[k]);
    if (trial.view.undefined(surfaces[k])) return false;
    if (wanted[k] == rest) {
      if (side != 0) return false;
      continue;
    }
    // at rest a guard is on the side that its relations have there; where that is neither, rest is a position of its
    // own
    const int at_rest = trials_.has_second(surfaces[k]) ? 0 : trials_.side_at_zero(surfaces[k]);
    // a rounding that has gone to the next integer is inside its interval again
    const int locked = hybrid_.side(trial.point.mode, surfaces[k]), position = locked != 0 ? locked : wanted[k];
    if ((side == 0 ? at_rest : side) != position) return false;
  }
  return true;
}

}  // namespace saltus
