// ExtraConditions: what must hold at one instant beside the equations of a mode (initial equations).
#pragma once

#include <saltus/linalg/sparse.hpp>

#include <span>
#include <string>

namespace saltus {

/// Conditions h(t, x, x') = 0. Evaluations are not const: an implementation keeps its workspace.
class ExtraConditions {
 public:
  virtual ~ExtraConditions() = default;

  /// How many there are.
  virtual int count() const = 0;
  virtual std::string name(int i) const { return "initial equation " + std::to_string(i + 1); }
  /// Where the derivatives of h with respect to x and x' may be non-zero, count() x n each.
  virtual const SparsePattern& state_pattern() const = 0;
  virtual const SparsePattern& derivative_pattern() const = 0;
  /// h(t, x, xp), count() values.
  virtual void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> h) = 0;
  /// The derivatives of h with respect to x and x' at the places of the patterns.
  virtual void jacobian(double t, std::span<const double> x, std::span<const double> xp, std::span<double> hx,
                        std::span<double> hxp) = 0;
};

}  // namespace saltus
