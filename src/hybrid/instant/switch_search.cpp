// Combinations of switches: the guards of networks with ideal switches and diodes depend on each other through the
// equations, and turning those that are wrong leads through combinations that short or cut the circuit. The nearest
// combination counts: all that differ from the present one in one guard are tried, then in two, and so on. Regular ones
// come first, whose values Newton's method finds: most of them turn out to be wrong by it. The others need an analysis
// each.
#include <algorithm>
#include <bit>
#include <numeric>

#include "hybrid/instant/decision.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

bool Decision::search_switches(const Point& from, const Circumstances& now, int most_flips, bool regular_only,
                               bool without_jump, Mode& mode) {
  const Mode start = mode;
  if (regular_only) {
    const Structure& s = hybrid_.system(start).structure();
    if (s.explicit_ode || TrialValues::too_large(s)) return false;
  }
  std::vector<int> switches;
  for (int k = 0; k < trials_.family_guards(); ++k)
    if (const GuardInfo& guard = hybrid_.guards()[static_cast<std::size_t>(k)];
        hybrid_.side(start, k) != 0 && !guard.time_only && guard.same_as < 0)
      switches.push_back(k);
  if (without_jump) {  // only guards that have no value before the mode is known
    attempt_.point.mode = start;
    if (!trials_.find_values(from, now, attempt_)) return false;
    switches = trials_.switches_at(attempt_, now.t);
  }
  if (switches.empty() || static_cast<int>(switches.size()) > Resolution::most_switches) return false;
  const bool by_conditions =
      now.cause == Cause::start && hybrid_.initial_conditions(start) != nullptr;  // they may move the state
  std::vector<unsigned> order(std::size_t{1} << switches.size()), others;
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [](unsigned a, unsigned b) { return std::popcount(a) < std::popcount(b); });
  for (const bool regular : {true, false}) {
    if (!regular && regular_only) break;
    for (const unsigned flips : regular ? order : others) {
      if (flips == 0 || std::popcount(flips) > most_flips) continue;
      Mode candidate = start;
      for (std::size_t i = 0; i < switches.size(); ++i)
        if ((flips >> i) & 1u) hybrid_.set_side(candidate, switches[i], -hybrid_.side(start, switches[i]));
      System& system = hybrid_.system(candidate);
      if (!trials_.consistency().possible(system)) continue;
      if (regular) {
        std::vector<double> x = from.x, xp = from.xp;
        trials_.fit(system, x);
        xp.resize(x.size(), 0.0);
        if (by_conditions || !trials_.newton().find(system, now.t, x, xp)) {
          others.push_back(flips);
          continue;
        }
        if (!may_fit(candidate, switches)) continue;
      }
      attempt_.point.mode = candidate;
      if (!combination_fits(from, now, switches, without_jump, attempt_)) continue;
      mode = std::move(candidate);
      selected_ = true;
      return true;
    }
  }
  return false;
}

/// Whether no switch is clearly on the wrong side at the values that Newton's method has found.
bool Decision::may_fit(const Mode& mode, std::span<const int> switches) const {
  return std::none_of(switches.begin(), switches.end(), [&](int k) {
    return hybrid_.side(mode, k) * trials_.newton().guard(k) < -1e3 * trials_.newton().noise(k);
  });
}

/// Whether the values of a combination lie on its sides.
bool Decision::combination_fits(const Point& from, const Circumstances& now, std::span<const int> switches,
                                bool without_jump, Trial& trial) {
  const Mode candidate = trial.point.mode;
  if (!trials_.find_values(from, now, trial) || (without_jump && trial.jumps)) return false;
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
  return std::all_of(switches.begin(), switches.end(), [&](int k) {
    if (trial.view.side(k) == 0 && trials_.has_second(k)) return false;  // rest is neither of its sides
    const int side = trial.view.side(k) != 0 ? trial.view.side(k) : trials_.side_at_zero(k);
    return side == hybrid_.side(candidate, k);
  });
}

}  // namespace saltus
