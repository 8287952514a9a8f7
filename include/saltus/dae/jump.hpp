// The jump of the state when a mode with constraints is entered and the old state violates them.
#pragma once

#include <saltus/dae/initialisation.hpp>

#include <span>
#include <string>
#include <vector>

namespace saltus {

enum class JumpRule {
  /// Along the directions in which an impulse of the new mode can move the state: what a physical impulse conserves is
  /// conserved (momentum
  /// when a clutch engages, charge when capacitors are connected). For regular modes.
  impulsive,
  /// To the nearest consistent point (weighted least squares).
  least_squares,
};

struct Jump {
  InitialisationStatus status = InitialisationStatus::no_solution;
  JumpRule rule = JumpRule::impulsive;  ///< the rule that was used: modes that are not regular get least squares
  std::vector<double> x, xp;            ///< after the jump
  std::vector<double> X;                ///< Taylor coefficients as in Initialisation
  bool all_slopes = false;              ///< as in Initialisation
  double size =
      0.0;  ///< largest change of a differentiated variable, relative to its scale; 0 if only algebraic ones changed
  bool positions_moved =
      false;  ///< variables of higher differentiation order (positions) had to jump too: usually a modelling error
  std::string message;  ///< why it failed, or a warning; "" if all is well

  bool ok() const { return status == InitialisationStatus::converged; }
  /// Whether all differentiated variables kept their values.
  bool identity() const { return size == 0.0; }
};

/// x⁺ = x⁻ + w such that x⁺ satisfies all constraints of the new mode, hidden ones included, with w in the limit W* of
/// the Wong sequence W_0 = {0}, W_{i+1} = E^{-1}(A W_i) of its linearisation E x' = A x.
Jump jump(System& system, double t, std::span<const double> x_before, const CharacteristicValues& values,
          JumpRule rule = JumpRule::impulsive);
Jump jump(System& system, double t, std::span<const double> x_before, JumpRule rule = JumpRule::impulsive);

}  // namespace saltus
