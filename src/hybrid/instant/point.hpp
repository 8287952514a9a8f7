// A point of a run, and what is not certain about it.
#pragma once

#include <saltus/dae/hybrid_system.hpp>

#include <vector>

namespace saltus {

/// A discrete state with consistent values.
struct Point {
  Mode mode;
  std::vector<double> x, xp;
};

/// The same mode beside its surfaces.
inline Mode without_surfaces(Mode mode) {
  mode.sliding.clear();
  mode.contacts.clear();
  mode.contact_sides.clear();
  return mode;
}

/// What an arrival does not know exactly.
struct Uncertainty {
  std::vector<double> noise;              ///< by guard: how much it changes over the bracket of the event
  std::vector<double> slope_error;        ///< by guard: what the slopes that the equations give lack; empty: nothing
  std::vector<double> alternative_state;  ///< another point that is as good, within the tolerance; empty: none
  double tolerance = 1e-6;                ///< relative accuracy of values
  std::vector<double> sizes;        ///< by variable, or one for all: what counts as 1 for the tolerance, atol/rtol
  double relative = 1e-6;           ///< of a step: variable j may be wrong by relative * (sizes_j + |x_j|)
  double time_scale = 1.0;          ///< a time over which the solution changes noticeably
  double tangential = 0.0;          ///< > 0: a slide ends here; what lasts for less than this time is an error
  std::vector<double> force_noise;  ///< by guard: of the forces of contacts, kept from instant to instant
};

/// The numbers that decide what is the same, and where they come from.
struct Resolution {
  /// Values that differ by less than so many tolerances are the same point: errors of a few steps, which add up.
  static constexpr double same_point = 100.0;
  /// Of a step: what happens within it is far below the tolerance.
  static constexpr double negligible_part = 1e-6;
  /// Relative errors of an iteration that finds consistent values or weights.
  static constexpr double iteration = 1e-9;
  /// Of a value that a reset has set: where the equations move it by more, they contradict the reset.
  static constexpr double lost_reset = 1e-6;
  /// Combinations of switches that differ in so many are looked for before anything else: one takes over from another.
  static constexpr int few_flips = 2;
  /// Combinations of up to so many switches are searched at all: 4096 trials.
  static constexpr int most_switches = 12;
  /// The search for them ends after so much work, some seconds: the sum of n^3 over modes of n variables that are not
  /// regular by their structure, so that their values need dense matrices. Others count a part of that.
  static constexpr double most_work = 5e6, newton_part = 1.0 / 300.0;
  /// Up to so many surfaces all combinations of sides and slides are tried (27), which finds every motion; beyond,
  /// pivoting comes first.
  static constexpr std::size_t few_surfaces = 3;
  /// The most for which all combinations are tried in the end (729).
  static constexpr std::size_t most_surfaces = 6;
};

}  // namespace saltus
