// Combinations of switches: the guards of networks with ideal switches and diodes depend on each other through the
// equations, and turning those that are wrong leads through combinations that short or cut the circuit. The nearest
// combination counts: all that differ from the present one in one guard are tried, then in two, and so on. Regular ones
// come first, whose values Newton's method finds: most of them turn out to be wrong by it. The others need an analysis
// each.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <numeric>

#include "hybrid/instant/decision.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

bool Decision::search_switches(const Point& from, const Circumstances& now, const SwitchSearch& search, Mode& mode) {
  const Mode start = mode;
  if (search.regular_only) {
    const Structure& s = hybrid_.system(start).structure();
    if (s.explicit_ode || TrialValues::too_large(s)) return false;
  }
  std::vector<int> switches;
  for (int k = 0; k < trials_.family_guards(); ++k)
    if (const GuardInfo& guard = hybrid_.guards()[static_cast<std::size_t>(k)];
        hybrid_.side(start, k) != 0 && !guard.time_only && guard.same_as < 0)
      switches.push_back(k);
  if (search.without_jump) {  // only guards that have no value before the mode is known
    attempt_.point.mode = start;
    if (!trials_.find_values(from, now, attempt_)) return false;
    switches = trials_.switches_at(attempt_, now.t);
  }
  if (switches.empty()) return false;
  if (pivot_switches(from, now, switches, search, mode)) return true;
  if (search.may_rest || static_cast<int>(switches.size()) > Resolution::most_switches) return false;
  const bool by_conditions =
      now.cause == Cause::start && hybrid_.initial_conditions(start) != nullptr;  // they may move the state
  std::vector<unsigned> order(std::size_t{1} << switches.size()), others;
  std::vector<Mode> followed;
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [](unsigned a, unsigned b) { return std::popcount(a) < std::popcount(b); });
  for (const bool regular : {true, false}) {
    if (!regular && search.regular_only) break;
    for (const unsigned flips : regular ? order : others) {
      if (flips == 0 || std::popcount(flips) > search.most_flips) continue;
      if (search_work_ > Resolution::most_work) return give_up(switches);
      Mode candidate = start;
      for (std::size_t i = 0; i < switches.size(); ++i)
        if ((flips >> i) & 1u) hybrid_.set_side(candidate, switches[i], -hybrid_.side(start, switches[i]));
      System& system = hybrid_.system(candidate);
      if (!trials_.consistency().possible(system)) continue;
      const double cube = std::pow(system.structure().variables, 3);
      search_work_ += cube * Resolution::newton_part;
      if (regular) {
        std::vector<double> x = from.x, xp = from.xp;
        trials_.fit(system, x);
        xp.resize(x.size(), 0.0);
        if (by_conditions || !trials_.newton().find(system, now.t, x, xp)) {
          others.push_back(flips);
          continue;
        }
        if (!may_fit(candidate, switches)) {
          followed.push_back(with_sides_of_values(candidate, switches));
          continue;
        }
      }
      attempt_.point.mode = candidate;
      const bool fits = combination_fits(from, now, switches, search, attempt_);
      const CharacteristicValues* analysis = trials_.consistency().values(system);
      if (!regular && !(analysis && analysis->certificate.valid)) search_work_ += cube;
      if (!fits) continue;
      mode = std::move(candidate);
      selected_ = true;
      return true;
    }
    if (regular && fits_by_values(from, now, switches, search, followed, mode)) return true;
  }
  return false;
}

/// The mode with the sides of the values that Newton's method has found in it, where these are clear.
Mode Decision::with_sides_of_values(Mode mode, std::span<const int> switches) const {
  for (const int k : switches) {
    const int side = hybrid_.side(mode, k);
    if (side * trials_.newton().guard(k) < -1e3 * trials_.newton().noise(k)) hybrid_.set_side(mode, k, -side);
  }
  return mode;
}

/// Combinations to which the values of others lead: a switch that turns may turn more of them. Returns whether one
/// fits.
bool Decision::fits_by_values(const Point& from, const Circumstances& now, std::span<const int> switches,
                              const SwitchSearch& search, const std::vector<Mode>& candidates, Mode& mode) {
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto known = [&](const Mode& other) { return same(other.locks, candidates[i].locks); };
    if (known(mode) || std::any_of(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(i), known))
      continue;
    if (search_work_ > Resolution::most_work) return give_up(switches);
    System& system = hybrid_.system(candidates[i]);
    if (!trials_.consistency().possible(system)) continue;
    search_work_ += std::pow(system.structure().variables, 3) * Resolution::newton_part;
    std::vector<double> x = from.x, xp = from.xp;
    trials_.fit(system, x);
    xp.resize(x.size(), 0.0);
    if (!trials_.newton().find(system, now.t, x, xp) || !may_fit(candidates[i], switches)) continue;
    attempt_.point.mode = candidates[i];
    if (!combination_fits(from, now, switches, search, attempt_)) continue;
    mode = candidates[i];
    selected_ = true;
    return true;
  }
  return false;
}

/// The search takes too long. What is found without it counts; if nothing is, the message says so.
bool Decision::give_up(std::span<const int> switches) {
  constexpr std::size_t most = 4;
  std::string names;
  for (std::size_t k = 0; k < std::min(switches.size(), most); ++k)
    names += (k > 0 ? ", '" : "'") + hybrid_.guards()[static_cast<std::size_t>(switches[k])].name + "'";
  if (switches.size() > most) names += ", …";
  unfinished_ = fmt::format(
      "; the search over combinations of {} switches ({}) was given up, since each of them takes long: give start "
      "values "
      "that are nearer to a solution, or let fewer of them switch at one instant",
      switches.size(), names);
  return false;
}

/// Sides by pivoting, in steps of some lengths: what comes to rest in a long one may still move in a short one, in
/// which what moves slowly is lost in rounding errors. Returns whether one of them fits.
bool Decision::pivot_switches(const Point& from, const Circumstances& now, std::span<const int> switches,
                              const SwitchSearch& search, Mode& mode) {
  Mode last = mode;
  const double scale = trials_.doubt.time_scale, past = std::abs(now.t);  // the last step may have been tiny
  for (const double h : {1e-5 * scale, 1e-8 * scale, 1e-7 * past, 1e-10 * past}) {
    if (h == 0.0) continue;
    Mode candidate = mode;
    std::vector<double> x = from.x;
    trials_.fit(hybrid_.system(mode), x);
    if (!pivoting_.propose(now.t, trials_.direction() * h, x, switches, candidate)) continue;
    if (same(candidate.locks, last.locks)) continue;
    last = candidate;
    if (search.regular_only && trials_.is_singular(from, candidate, now.t)) continue;
    attempt_.point.mode = candidate;
    if (!combination_fits(from, now, switches, search, attempt_)) continue;
    mode = std::move(candidate);
    selected_ = true;
    return true;
  }
  return false;
}

/// Whether no switch is clearly on the wrong side at the values that Newton's method has found.
bool Decision::may_fit(const Mode& mode, std::span<const int> switches) const {
  return std::none_of(switches.begin(), switches.end(), [&](int k) {
    return hybrid_.side(mode, k) * trials_.newton().guard(k) < -1e3 * trials_.newton().noise(k);
  });
}

bool Decision::on_wrong_side(const Trial& trial, int guard) const {
  if (trial.view.side(guard) == 0 && trials_.has_second(guard)) return true;  // rest is neither of its sides
  const int side = trial.view.side(guard) != 0 ? trial.view.side(guard) : trials_.side_at_zero(guard);
  return side != hybrid_.side(trial.point.mode, guard);
}

/// Whether the values of a combination lie on its sides.
bool Decision::combination_fits(const Point& from, const Circumstances& now, std::span<const int> switches,
                                const SwitchSearch& search, Trial& trial) {
  if (!trials_.find_values(from, now, trial) || (search.without_jump && trial.jumps)) return false;
  const Impulses impulses =
      trial.jumps && now.cause == Cause::mode_change ? trials_.impulses(from, now.t, trial) : Impulses();
  if (impulses.forbidden >= 0) return false;
  // the values of a network have the rounding errors of all of it
  std::vector<double>& noise = trials_.doubt.noise;
  if (trials_.newton().find(*trial.system, now.t, trial.point.x, trial.point.xp)) {
    noise.resize(hybrid_.guards().size(), 0.0);
    for (const int k : switches)
      noise[static_cast<std::size_t>(k)] = std::max(noise[static_cast<std::size_t>(k)], trials_.newton().noise(k));
  }
  trials_.look(now.t, trial);
  if (pushed_away(trial, impulses)) return true;
  std::vector<int> wrong;
  std::ranges::copy_if(switches, std::back_inserter(wrong), [&](int k) { return on_wrong_side(trial, k); });
  return wrong.empty() || (search.may_rest && rest_beside(from, now, switches, wrong, trial));
}

/// Whether switches that are on the wrong side of a combination are also on the wrong side of the other one. They are
/// zero, and both sides have the same equations there: what leads away are rounding errors.
bool Decision::rest_beside(const Point& from, const Circumstances& now, std::span<const int> switches,
                           const std::vector<int>& wrong, const Trial& trial) {
  beside_.point.mode = trial.point.mode;
  for (const int k : wrong) {
    if (trial.view.multiplicity(k) == 0 ||
        !trials_.continuous_across(trial.point.mode, k, now.t, trial.point.x, trial.point.xp))
      return false;
    hybrid_.set_side(beside_.point.mode, k, -hybrid_.side(trial.point.mode, k));
  }
  if (!trials_.find_values(from, now, beside_) || beside_.jumps != trial.jumps) return false;
  trials_.look(now.t, beside_);
  return std::ranges::all_of(switches, [&](int k) { return on_wrong_side(beside_, k) == contains(wrong, k); });
}

}  // namespace saltus
