// What is looked at along a branch of cycles: functions whose zeros are bifurcations.
#pragma once

#include <saltus/sens/continuation.hpp>

#include <optional>
#include <string>

#include "sens/period_map.hpp"

namespace saltus {

/// A corrected point of a branch.
struct BranchState {
  PeriodMap::Point map;
  std::vector<double> tangent;  ///< of the branch there, in units of the scale
  BranchPoint shown;
};

/// Kinds, guards and directions of the events of a period. Cycles that begin elsewhere have the same.
std::string event_sequence(const Trajectory& run);

/// The test function of a kind; nothing where it has no meaning.
///   fold            component of the tangent along the parameter
///   flip            product of 1 + multiplier
///   torus           largest size of a pair of complex multipliers, less 1
///   sliding_onset   least slope behind crossings, in their direction, beside the slope before
///   grazing         least square of the slope at events: it is smooth in the parameter, the slope is not
std::optional<double> test_function(BifurcationKind kind, const BranchState& state);

/// What a change of the sequence of events is, and whether the first of the two states has the test function.
struct SequenceChange {
  BifurcationKind kind;
  bool first_has_function;
};
SequenceChange classify_change(const BranchState& first, const BranchState& second);

}  // namespace saltus
