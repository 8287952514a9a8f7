// Regimes: a solution stands on surfaces and no side was consistent by itself. A regime leaves each of them to one of
// its sides, or slides on it. It is feasible if the guards then really move to their sides and the weights of the
// sliding surfaces stay between 0 and 1.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hybrid/instant/decision.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

namespace {
constexpr int rest = 2;  // beside -1 and +1, the sides, and 0, a slide
}  // namespace

/// Guards that were zero in one of the trials from this point and can be slid on, and those on which the mode slides,
/// increasing.
std::vector<int> Decision::active_surfaces(const Trial& trial) const {
  std::vector<int> surfaces = trial.point.mode.sliding;
  for (int k = 0; k < trials_.family_guards(); ++k) {
    const GuardInfo& guard = hybrid_.guards()[static_cast<std::size_t>(k)];
    if ((trial.view.multiplicity(k) == 0 && !zero_[static_cast<std::size_t>(k)]) ||
        hybrid_.side(trial.point.mode, k) == 0)
      continue;
    if (guard.rule == SurfaceRule::crossing || !guard.slides || guard.same_as >= 0 || guard.time_only) continue;
    surfaces.push_back(k);
  }
  std::sort(surfaces.begin(), surfaces.end());
  surfaces.erase(std::unique(surfaces.begin(), surfaces.end()), surfaces.end());
  return surfaces;
}

bool Decision::choose_regime(const Point& from, double t, Trial& trial) {
  const std::vector<int> surfaces = active_surfaces(trial);
  std::vector<Regime> feasible = feasible_regimes(from, t, trial.point.mode, surfaces);
  if (feasible.empty())
    if (auto meeting = regime_where_surfaces_meet(from, t, trial)) feasible.push_back(std::move(*meeting));
  if (!feasible.empty()) return take_regime(feasible, t, trial);
  std::vector<int> zero = surfaces;
  for (int k = 0; zero.empty() && k < trials_.family_guards(); ++k)
    if (trial.view.multiplicity(k) > 0 && hybrid_.side(trial.point.mode, k) != 0 &&
        !hybrid_.guards()[static_cast<std::size_t>(k)].time_only)
      zero.push_back(k);
  const auto names = trials_.names(zero);
  std::string text = fmt::format("at t = {:.12g} no side of ", t);
  for (std::size_t k = 0; k < names.size(); ++k) text += (k ? ", " : "") + ("'" + names[k] + "'");
  if (names.empty()) text += "any guard";
  text += surfaces.size() > Resolution::most_surfaces ? " could be chosen: too many surfaces meet in this point"
          : surfaces.empty()                          ? " continues the solution, and it may not slide there"
                                                      : " continues the solution, and no sliding motion on it does";
  return fail(StatusCode::no_forward_solution, text, names);
}

/// Of several ways to go on one that does not rest, with fewest sliding surfaces: where a solution can leave, it does.
/// False: the run is to end.
bool Decision::take_regime(std::span<Regime> feasible, double t, Trial& trial) {
  Regime& chosen = *std::min_element(feasible.begin(), feasible.end(), [](const Regime& a, const Regime& b) {
    return a.rests != b.rests ? b.rests : a.point.mode.sliding.size() < b.point.mode.sliding.size();
  });
  if (feasible.size() > 1 && !note_alternatives(t, feasible.size(), chosen.point.mode)) return false;
  for (const int k : chosen.point.mode.sliding) {
    if (hybrid_.guards()[static_cast<std::size_t>(k)].rule != SurfaceRule::stop) continue;
    stop_message = "sliding would begin on the surface of '" + hybrid_.guards()[static_cast<std::size_t>(k)].name +
                   "', where the model wants to stop";
    return true;
  }
  trial.point.mode = std::move(chosen.point.mode);
  return true;
}

/// Surfaces on which the solution cannot slide by themselves, but where they meet: x and v of x'' = -3 sign(x) -
/// sign(v).
std::optional<Decision::Regime> Decision::regime_where_surfaces_meet(const Point& from, double t, const Trial& seen) {
  std::vector<int> meeting;
  for (int k = 0; k < trials_.family_guards(); ++k) {
    const GuardInfo& guard = hybrid_.guards()[static_cast<std::size_t>(k)];
    const bool kept = contains(seen.point.mode.sliding, k);
    if (!kept && ((seen.view.multiplicity(k) == 0 && !zero_[static_cast<std::size_t>(k)]) ||
                  hybrid_.side(seen.point.mode, k) == 0 || guard.time_only || guard.same_as >= 0 ||
                  guard.rule == SurfaceRule::crossing))
      continue;
    meeting.push_back(k);
  }
  if (meeting.size() < 2 || meeting.size() > Resolution::most_surfaces) return std::nullopt;
  return try_regime(from, t, seen.point.mode, meeting, std::vector<int>(meeting.size(), 0));
}

/// Several motions continue the solution. False: the run is to end.
bool Decision::note_alternatives(double t, std::size_t count, const Mode& taken) {
  if (stop_if_non_unique)
    return fail(
        StatusCode::non_unique,
        fmt::format("the solution is not unique at t = {:.12g}: {} continuations are possible, for example '{}'", t,
                    count, hybrid_.describe(taken)));
  note = fmt::format("the solution is not unique here: {} continuations are possible, '{}' was taken", count,
                     hybrid_.describe(taken));
  return true;
}

/// All motions from a point, or none where the one that was found is the only one without a search.
std::vector<Decision::Regime> Decision::all_motions(double t, bool transversal, const Trial& trial) {
  const Mode& mode = trial.point.mode;
  if (selected_ || !mode.sliding.empty() || !note.empty()) return {};
  int on_surface = 0, last = -1;
  for (const int k : trial.view.zeros()) {
    if (k >= trials_.family_guards() || trial.view.multiplicity(k) == 0 || hybrid_.side(mode, k) == 0) continue;
    ++on_surface;
    last = k;
    transversal = transversal && trial.view.multiplicity(k) == 1;
  }
  if (on_surface == 0 || (on_surface == 1 && (transversal || !hybrid_.guards()[static_cast<std::size_t>(last)].slides)))
    return {};
  const std::vector<int> surfaces = active_surfaces(trial);
  if (surfaces.empty() || surfaces.size() > Resolution::few_surfaces) return {};
  return all_regimes(trial.point, t, mode, surfaces);
}

/// A guard that rests here, within rounding errors: the mode that keeps it at zero has the same solution, and no
/// errors. (In modes that are not explicit it mixes the sides; where relations have a truth of their own at rest, that
/// counts.)
Decision::Regime* Decision::kept_at_rest(std::span<Regime> feasible, const Trial& trial) const {
  for (Regime& regime : feasible) {
    const std::vector<int>& kept = regime.point.mode.sliding;
    if (kept.empty()) continue;
    const bool mixes = !hybrid_.system(regime.point.mode).structure().explicit_ode;
    const auto at_rest = [&](int k) {
      return trial.view.side(k) == 0 && !((mixes || trials_.has_second(k)) && hybrid_.rests(trial.point.mode, k));
    };
    if (std::all_of(kept.begin(), kept.end(), at_rest)) return &regime;
  }
  return nullptr;
}

bool Decision::count_motions(double t, std::span<const Regime> feasible, const Trial& trial) {
  // a state of its own, at rest, is none of the regimes beside the surface
  const std::vector<int> surfaces = active_surfaces(trial);
  const bool at_rest = std::any_of(surfaces.begin(), surfaces.end(), [&](int k) {
    return trial.view.side(k) == 0 && hybrid_.rests(trial.point.mode, k);
  });
  const bool among_them = std::any_of(feasible.begin(), feasible.end(), [](const Regime& r) { return r.rests; });
  const std::size_t count = feasible.size() + (at_rest && !among_them ? 1 : 0);
  return count <= 1 || note_alternatives(t, count, trial.point.mode);
}

bool Decision::note_other_motions(double t, bool transversal, const Trial& trial) {
  std::vector<Regime> feasible = all_motions(t, transversal, trial);
  return feasible.empty() || kept_at_rest(feasible, trial) || count_motions(t, feasible, trial);
}

bool Decision::check_uniqueness(const Point& from, double t, bool transversal, Trial& trial) {
  std::vector<Regime> feasible = all_motions(t, transversal, trial);
  if (feasible.empty()) return true;
  Regime* const kept = kept_at_rest(feasible, trial);
  if (!kept) return count_motions(t, feasible, trial);
  trial.point.mode = std::move(kept->point.mode);
  return trials_.test(from, {.t = t}, trial) || fail(trial.failure.code, trial.failure.message, trial.failure.culprits);
}

std::vector<Decision::Regime> Decision::feasible_regimes(const Point& from, double t, const Mode& mode,
                                                         std::span<const int> surfaces) {
  std::vector<Regime> feasible;
  if (surfaces.size() == 1 && hybrid_.side(mode, surfaces.front()) != 0) {  // neither side goes on by itself
    constexpr int slide = 0;
    auto found = try_regime(from, t, mode, surfaces, std::span(&slide, 1));
    if (found && !found->at_the_end) feasible.push_back(std::move(*found));
  } else if (surfaces.size() > Resolution::few_surfaces) {
    if (auto found = pivot(from, t, mode, surfaces)) feasible.push_back(std::move(*found));
  }
  if (feasible.empty() && surfaces.size() <= Resolution::most_surfaces) feasible = all_regimes(from, t, mode, surfaces);
  return feasible;
}

/// All combinations that are feasible, 3^p of them, and more where rest is a position of its own.
std::vector<Decision::Regime> Decision::all_regimes(const Point& from, double t, const Mode& mode,
                                                    std::span<const int> surfaces) {
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
    auto regime = try_regime(from, t, mode, surfaces, wanted);
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
std::optional<Decision::Regime> Decision::pivot(const Point& from, double t, const Mode& mode,
                                                std::span<const int> surfaces) {
  std::vector<int> wanted(surfaces.size(), 0);
  std::vector<std::vector<int>> seen;
  for (std::size_t round = 0; round < 4 * surfaces.size(); ++round) {
    if (std::find(seen.begin(), seen.end(), wanted) != seen.end()) return std::nullopt;
    seen.push_back(wanted);
    GuardSides view;
    if (auto regime = try_regime(from, t, mode, surfaces, wanted, &view)) return regime;
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

std::optional<Decision::Regime> Decision::try_regime(const Point& from, double t, const Mode& mode,
                                                     std::span<const int> surfaces, std::span<const int> wanted,
                                                     GuardSides* view) {
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
bool Decision::others_follow(const Trial& trial, std::span<const int> surfaces, Mode& mode) const {
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
Decision::Next Decision::try_once(const Point& from, double t, std::span<const int> surfaces,
                                  std::span<const int> wanted, Trial& trial, Regime& regime) {
  const Mode& mode = regime.point.mode;
  if (mode.on_surfaces() && !hybrid_.can_stay_on_surfaces(mode)) return Next::failed;
  const std::size_t family = hybrid_.variables().size();
  const std::size_t unknown_weights =
      mode.on_surfaces() ? static_cast<std::size_t>(hybrid_.system(mode).structure().variables) - family
                         : std::size_t{0};
  // weights that are unknowns may have several solutions: the first that is feasible counts
  const std::size_t starts = unknown_weights == 0 || unknown_weights > 3 ? 1 : 1 + (std::size_t{1} << unknown_weights);
  for (std::size_t start = 0; start < starts; ++start) {
    Point guess = from;
    guess.x.resize(family);
    for (std::size_t k = 0; k < unknown_weights; ++k)
      guess.x.push_back(start == 0 ? 0.5 : ((start - 1) >> k) & 1 ? 0.9 : 0.1);
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
bool Decision::on_its_surfaces(const Trial& trial, double t) const {
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

bool Decision::weight_at_the_end(const Trial& trial, std::size_t slide) const {
  const int weight = trial.exits[slide];
  return trial.view.side(weight) == 0 || trial.view.side(weight + 1) == 0;
}

/// A weight of the slide is 0 or 1, and the equations hold as they are written where the guard is zero: the solution
/// rests there. Returns whether the trial is at rest instead.
bool Decision::rests_instead(const Point& from, double t, Trial& trial) {
  const std::vector<int> sliding = trial.point.mode.sliding;
  for (std::size_t k = 0; k < sliding.size(); ++k) {
    if (!weight_at_the_end(trial, k)) continue;
    const int surface = sliding[k];
    attempt_.point.mode = trial.point.mode;
    std::erase(attempt_.point.mode.sliding, surface);
    hybrid_.rest(attempt_.point.mode, surface);
    if (!trials_.test(from, {.t = t}, attempt_) || attempt_.jumps || attempt_.view.side(surface) != 0 ||
        !trials_.fits(attempt_) || !trials_.surfaces_hold(attempt_))
      continue;
    std::swap(trial, attempt_);
    return true;
  }
  return false;
}

bool Decision::sides_fit(const Trial& trial, std::span<const int> surfaces, std::span<const int> wanted) const {
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
