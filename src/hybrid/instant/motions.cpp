// Which motion goes on from a point on surfaces, and whether it is the only one.
#include <fmt/format.h>

#include <algorithm>

#include "hybrid/instant/decision.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

/// Guards that were zero in one of the trials from this point and can be slid on (the equations jump there), and those
/// on which the mode slides, increasing.
std::vector<int> Decision::active_surfaces(double t, const Trial& trial) const {
  std::vector<int> surfaces = trial.point.mode.sliding;
  const bool implicit = trial.system && !trial.system->structure().explicit_ode;
  for (int k = 0; k < trials_.family_guards(); ++k) {
    const GuardInfo& guard = hybrid_.guards()[static_cast<std::size_t>(k)];
    if ((trial.view.multiplicity(k) == 0 && !zero_[static_cast<std::size_t>(k)]) ||
        hybrid_.side(trial.point.mode, k) == 0)
      continue;
    if (guard.rule == SurfaceRule::crossing || !guard.slides || guard.same_as >= 0 || guard.time_only) continue;
    if (implicit && trials_.continuous_across(trial.point.mode, k, t, trial.point.x, trial.point.xp)) continue;
    surfaces.push_back(k);
  }
  std::sort(surfaces.begin(), surfaces.end());
  surfaces.erase(std::unique(surfaces.begin(), surfaces.end()), surfaces.end());
  return surfaces;
}

bool Decision::choose_regime(const Point& from, double t, Trial& trial) {
  const std::vector<int> surfaces = active_surfaces(t, trial);
  std::vector<Regime> feasible = regimes_.feasible(from, t, trial.point.mode, surfaces);
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
  Regime& chosen = *std::min_element(feasible.begin(), feasible.end(), [&](const Regime& a, const Regime& b) {
    if (const int more = stays(a.point.mode) - stays(b.point.mode); more != 0) return more > 0;
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

/// On how many surfaces that are not left the mode slides.
int Decision::stays(const Mode& mode) const {
  return static_cast<int>(std::ranges::count_if(
      mode.sliding, [&](int k) { return hybrid_.guards()[static_cast<std::size_t>(k)].rule == SurfaceRule::stay; }));
}

/// Surfaces on which the solution cannot slide by themselves, but where they meet: x and v of x'' = -3 sign(x) -
/// sign(v).
std::optional<Regime> Decision::regime_where_surfaces_meet(const Point& from, double t, const Trial& seen) {
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
  return regimes_.one(from, t, seen.point.mode, meeting, std::vector<int>(meeting.size(), 0));
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
std::vector<Regime> Decision::all_motions(double t, bool transversal, const Trial& trial) {
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
  const std::vector<int> surfaces = active_surfaces(t, trial);
  if (surfaces.empty() || surfaces.size() > Resolution::few_surfaces) return {};
  return regimes_.all(trial.point, t, mode, surfaces);
}

/// A guard that rests here, within rounding errors: the mode that keeps it at zero has the same solution, and no
/// errors. (In modes that are not explicit it mixes the sides; where relations have a truth of their own at rest, that
/// counts.)
Regime* Decision::kept_at_rest(std::span<Regime> feasible, const Trial& trial) const {
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
  // the solution may also rest on the surface: one more motion, if it is not among those that were found
  const std::vector<int> surfaces = active_surfaces(t, trial);
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
  const auto most = std::ranges::max_element(feasible, {}, [&](const Regime& r) { return stays(r.point.mode); });
  Regime* const kept = stays(most->point.mode) > 0 ? &*most : kept_at_rest(feasible, trial);
  if (!kept) return count_motions(t, feasible, trial);
  trial.point.mode = std::move(kept->point.mode);
  return trials_.test(from, {.t = t}, trial) || fail(trial.failure.code, trial.failure.message, trial.failure.culprits);
}

/// A weight of the slide is 0 or 1, and the equations hold as they are written where the guard is zero: the solution
/// rests there. Returns whether the trial is at rest instead.
bool Decision::rests_instead(const Point& from, double t, Trial& trial) {
  const std::vector<int> sliding = trial.point.mode.sliding;
  for (std::size_t k = 0; k < sliding.size(); ++k) {
    if (!regimes_.weight_at_the_end(trial, k)) continue;
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

}  // namespace saltus
