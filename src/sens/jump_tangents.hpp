// The derivative of jumps to consistent values, by impulses or behind resets.
#pragma once

#include <saltus/model/recorded_system.hpp>

#include <span>
#include <string>
#include <vector>

#include "sens/mode_tangents.hpp"

namespace saltus {

/// Changes along one direction, at an instant that moves.
struct JumpChange {
  std::vector<double> state, data;
  double time = 0.0;
};

/// Takes changes through the jump from `x_before` to the values `x` of a mode, and replaces their states. `code` is
/// that of the mode, with as many directions as there are changes. Returns "", or why the jump cannot be
/// differentiated.
///
/// Values that violate the constraints of the mode move along the directions of its impulses, which depend on the
/// values behind the jump. What becomes of their changes is the same rule for the equations with their derivatives:
/// their impulses are those of the mode and the changes of these. Time moves with the instant.
std::string jump_tangents(RecordedSystem& system, const ModeTangents& code, double t, std::span<const double> x_before,
                          std::span<const double> x, double rtol, std::span<JumpChange> changes);

/// Whether the values x behind resets are those in which the held variables stay as they were set, in `x_reset`, and
/// all others follow from the constraints: "", or why that is not so.
std::string follows_reset(RecordedSystem& system, double t, std::span<const double> x_reset, std::span<const double> x,
                          const std::vector<int>& held, double rtol);

}  // namespace saltus
