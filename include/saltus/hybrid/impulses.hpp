// Impulses: what forces, torques, currents and the like give in the instant in which values jump.
#pragma once

#include <saltus/hybrid/trajectory.hpp>

#include <string>
#include <vector>

namespace saltus {

/// The integral of a variable over an instant in which it is infinite: momentum of a force, charge of a current.
struct Impulse {
  std::string variable;
  double value = 0.0;
  std::string unit;  ///< that of the variable times that of time: "N.s"
};

/// Impulses at an event of a run, at which constraints appear or values are reset. The equations of the mode after it,
/// integrated over the instant, give them: F_x' Δx + F_a P = 0, with the jumps Δx and the impulses P of algebraic
/// variables. Equations of variables that a reset has set may break there, and are left out. Empty: nothing jumps, the
/// equations leave the impulses open, or the values of the event were not kept. `system` is evaluated.
std::vector<Impulse> impulses_of(HybridSystem& system, const Trajectory& run, const Event& event);

/// "impulse of T: 3.25 N.s" for each, the largest first, at most `most`.
std::vector<std::string> impulse_texts(const std::vector<Impulse>& impulses, std::size_t most);

}  // namespace saltus
