// The equations of a constrained mode with one more, q' = L, for what is integrated along the solution.
#pragma once

#include "sens/constrained_equations.hpp"
#include "sens/gradient.hpp"

namespace saltus {

class IntegralEquations final : public LinearEquations {
 public:
  /// Keeps references. `integrand`: of the linearisation of the mode.
  IntegralEquations(ConstrainedEquations& equations, Gradient& integrand);
  /// The equations hold other variables now.
  void update();

  bool evaluate(double t, SolutionPath& path, const TangentValues& values, Values& out) override;
  bool factorise(double shift, const Values& at) override;
  void solve(double* r, int width) override;
  void solve_transposed(std::span<double> r) override;

 private:
  ConstrainedEquations& equations_;
  Gradient& integrand_;
  std::size_t n_ = 0;
  double shift_ = 0.0;
  std::vector<double> row_;  // of the integrand, at the factors
};

}  // namespace saltus
