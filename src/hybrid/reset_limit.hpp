// Where infinitely many resets lead that act at one point.
//
// Impacts that accumulate end without a speed, and there a reset of the speed changes nothing. Resets may change other
// variables as well: a spin that loses a part at each impact has lost all of it after infinitely many. The flights in
// between take no time in the end, so the reset is repeated at the point, x, R(x), R(R(x)), …, and each variable has
// the limit of its sequence (event/sequence_limit.hpp).
#pragma once

#include <saltus/dae/hybrid_system.hpp>

#include <span>
#include <vector>

namespace saltus {

struct ResetLimit {
  std::vector<double> x;  ///< the point itself where one more reset changes nothing
  int unknown = -1;       ///< a variable without a limit that is known within its tolerance; -1: all have one
};

/// The resets by a guard that arrives from a side, at a point of its surface, in a mode without contact. `tolerance`:
/// by variable.
ResetLimit limit_of_resets(HybridSystem& hybrid, const Mode& mode, int guard, int side, double t,
                           std::span<const double> x, std::span<const double> xp, std::span<const double> tolerance);

/// The state after the resets of a guard that arrives from a side, in a mode without contact; empty if nothing is
/// reset.
std::vector<double> reset_from(HybridSystem& hybrid, const Mode& mode, int guard, int side, double t,
                               std::span<const double> x, std::span<const double> xp);

}  // namespace saltus
