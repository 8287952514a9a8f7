// Notices variables that leave the bounds which the model gives them (min, max).
#pragma once

#include <saltus/dae/hybrid_system.hpp>

#include <span>
#include <string>
#include <vector>

namespace saltus {

/// Each variable is told once, at the first point that is beyond a bound by more than its tolerance.
class BoundsWatch {
 public:
  /// `variables`: those that a run shows.
  BoundsWatch(std::span<const VariableInfo> variables, double rtol, double atol);

  /// True if there is a bound that has not been violated so far.
  bool watches() const { return !bounded_.empty(); }
  /// Looks at the values of all variables at a point of the solution.
  void check(std::span<const VariableInfo> variables, double t, std::span<const double> values);
  /// What was found, in words; "" if nothing.
  std::string describe() const;

 private:
  double rtol_, atol_;
  std::vector<int> bounded_;
  std::vector<std::string> found_;
};

}  // namespace saltus
