// The values that a mode would have, found by Newton's method alone: enough to see that a combination of switches is the wrong one.
#pragma once

#include <saltus/dae/system.hpp>
#include <saltus/linalg/lu.hpp>

#include <span>
#include <vector>

namespace saltus {

class TrialValues {
 public:
  /// For dense matrices.
  static bool too_large(const Structure& structure);
  /// Solves the equations for the derivatives of the differentiated variables and for all others, from these guesses. The
  /// differentiated variables stay. False: the mode is not regular in this sense (it has hidden constraints, or is singular), too large for
  /// dense matrices, or the iteration does not converge.
  bool find(System& system, double t, std::span<const double> x, std::span<const double> xp);

  /// After find() failed: because the matrix is singular.
  bool singular() const { return singular_; }
  /// The guards there, and how much of them the rounding errors of the equations explain.
  double guard(int k) const { return g_[static_cast<std::size_t>(k)]; }
  double noise(int k) const { return noise_[static_cast<std::size_t>(k)]; }

 private:
  double step(System& system, double t);
  void estimate_noise(System& system, double t);

  DenseLu lu_;
  bool singular_ = false;
  std::vector<double> x_, xp_, F_, Fx_, Fxp_, J_, sizes_, correction_, moved_, g_, shifted_, noise_;
};

}  // namespace saltus
