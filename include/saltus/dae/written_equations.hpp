// The equations of a mode as the user wrote them, before anything was eliminated or reduced: to check results with.
#pragma once

#include <span>
#include <string>

namespace saltus {

struct Mode;

/// One equation at a point.
struct WrittenResidual {
  double value = 0.0;  ///< left side minus right side
  double terms = 0.0;  ///< the sum of the sizes of its terms: rounding errors are proportional to it
};

/// `values`: of the observed variables (HybridSystem::observe); `xp`: derivatives of the variables of the system.
class WrittenEquations {
 public:
  virtual ~WrittenEquations() = default;

  virtual int count() const = 0;
  /// The text of an equation and its place in the source.
  virtual std::string name(int i) const = 0;
  /// Value and terms of all equations, in the mode for which they were asked for. One that cannot be compared in this
  /// mode (on a surface the solution moves by a mean of two fields) has the value 0.
  virtual void residuals(const Mode& mode, double t, std::span<const double> values, std::span<const double> xp,
                         std::span<WrittenResidual> residuals) = 0;
};

}  // namespace saltus
