// The derivative array of a system: the Taylor coefficients F_[0] … F_[k] of F along a curve as functions of those of
// the curve.
#pragma once

#include <saltus/dae/system.hpp>
#include <saltus/linalg/matrix.hpp>

#include <span>
#include <vector>

namespace saltus {

/// Level k has (k+1) m equations F_[0] … F_[k] = 0 for the (k+2) n unknowns X = (x_[0], …, x_[k+1]), where x_[i] is the
/// derivative of order i divided by i!. All numerics is done in these scaled coefficients: no factorials, and a change
/// of the time unit by h is a factor h^i.
///
/// The Jacobian has the blocks dF_[j]/dx_[i] = (F_x)_[j-i] + i (F_x')_[j-i+1] (zero for negative indices).
class DerivativeArray {
 public:
  /// Keeps a reference to the system.
  explicit DerivativeArray(System& system);

  System& system() { return *system_; }
  /// Another one of the same structure.
  void set_system(System& system) { system_ = &system; }
  int rows(int level) const { return (level + 1) * m_; }
  int columns(int level) const { return (level + 2) * n_; }
  /// The highest level that can be evaluated: 0 for systems without Taylor coefficients.
  int highest_level() const;

  /// f := F_[0] … F_[level], rows(level) values. Throws UsageError above the highest level.
  void evaluate(double t, int level, std::span<const double> X, std::span<double> f);
  /// The same and the Jacobian, rows(level) x columns(level).
  void evaluate(double t, int level, std::span<const double> X, std::span<double> f, Matrix& jacobian);

  /// Coefficients of F_x and F_x' of the last evaluation with Jacobian: level+1 times the non-zeros of the pattern.
  std::span<const double> state_coefficients() const { return Fx_; }
  std::span<const double> derivative_coefficients() const { return Fxp_; }

 private:
  void require_level(int level) const;
  void evaluate_coefficients(double t, int level, std::span<const double> X, std::span<double> f);

  System* system_;
  int m_, n_;
  std::vector<double> Fx_, Fxp_;
};

}  // namespace saltus
