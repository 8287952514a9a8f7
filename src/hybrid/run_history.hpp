// From where a run can be repeated: an earlier point of it, and what has been done to it since.
//
// The last steps before the stop time are shorter than they would be without it, and implicit methods keep more than a
// state can hold. A saved state therefore names an earlier point as well, from which the same steps follow.
#pragma once

#include <saltus/base/state_archive.hpp>
#include <saltus/hybrid/simulator_state.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace saltus {

struct RunHistory {
  /// A run is repeated over at most this many steps.
  static constexpr std::int64_t most_steps = 10'000;

  std::optional<SimulatorState> begin;  ///< the earlier point; nothing: the start of the run
  std::vector<double> pauses;           ///< of advance_to, since then
  std::int64_t steps_before = 0;        ///< that were made before it
  bool repeatable = true;               ///< nothing but pauses has come from outside since
  /// The time up to which no step has depended on the stop time; nothing: none has so far.
  std::optional<double> free_until;
  std::int64_t next_look = 256;  ///< the step after which a later point may take the place of this one
  double wanted = 1000.0;        ///< it does where fewer steps than this are left

  /// The run is asked to stop at a time, or at an event before it.
  void note_pause(double t, bool or_event) {
    if (or_event || pauses.size() >= most_steps) repeatable = false;  // a pause ends a step
    if (repeatable)
      pauses.push_back(t);
    else
      pauses.clear();
  }
  /// A step of at most this size was tried at t, where `left` was left until the stop time.
  void note_attempt(double t, double left, double size) {
    constexpr double halved = 2.1;  // a step that would end near the stop is lengthened, or halved
    if (!free_until && left <= halved * size) free_until = t;
  }
};

/// What a state says about it.
struct SavedHistory {
  std::uint64_t options = 0;  ///< that must be the same
  double point = 0.0;         ///< where the repeated run passes without a pause: the state itself, or before it
  std::vector<double> pauses;
  std::optional<SimulatorState> begin;
};

}  // namespace saltus
