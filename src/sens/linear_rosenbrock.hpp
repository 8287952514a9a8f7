// A Rosenbrock method for linear equations along a recorded solution: derivatives in stiff and in constrained modes.
// With the notation of rosenbrock.hpp a stage is
//
//   (M/(h gamma) - A(t)) u_i = A(t_i) Y_i + B(t_i) dd + M sum_j C_ij/h u_j + h d_i (A'(t) y + B'(t) dd),
//   Y_i = y + sum_j a_ij u_j,
//
// one factorisation per step for all directions. A' and B' are those of the polynomials through the values at the times
// of the stages, which have more than the order of the method.
#pragma once

#include <saltus/step/rosenbrock.hpp>

#include <cstdint>
#include <span>
#include <vector>

#include "sens/linear_equations.hpp"
#include "sens/tangent_stepper.hpp"

namespace saltus {

/// The equations at the times of the stages of a step, and their slopes at its beginning.
class LinearNodes {
 public:
  LinearNodes(LinearEquations& equations, const RosenbrockTableau& tableau);

  /// For a step from t to t + h. False: the equations cannot be evaluated.
  bool find(double t, double h, SolutionPath& path, const TangentValues& values);
  const LinearEquations::Values& first() const { return at_.front(); }
  const LinearEquations::Values& of_stage(std::size_t i) const { return at_[node_of_stage_[i]]; }
  /// A and B do not change in the step.
  bool constant() const { return constant_; }
  const LinearEquations::Values& slope() const { return slope_; }

 private:
  void find_slope(double h);

  LinearEquations& equations_;
  std::vector<double> nodes_;  // the distinct times of the stages, in their order
  std::vector<std::size_t> node_of_stage_;
  std::vector<double> slope_weights_;        // of the values at the nodes in the slope at the first
  std::vector<LinearEquations::Values> at_;  // by node
  LinearEquations::Values slope_;
  bool constant_ = false;
  // the values at both ends are those of the steps that come before and behind
  std::uint64_t known_ = 0;  // number of the solution to which they belong; 0: there are none
  int version_ = 0;
  double known_begin_ = 0.0, known_end_ = 0.0;
};

class LinearRosenbrock final : public TangentStepper {
 public:
  /// Keeps references. `lanes`: of y, as it is given.
  LinearRosenbrock(LinearEquations& equations, const RosenbrockTableau& tableau, const Lanes& lanes);

  int error_exponent() const override { return tableau_.error_exponent; }
  bool step(double t, double h, SolutionPath& path, const TangentValues& values, std::span<const double> s,
            std::span<double> s1, std::span<double> error) override;
  /// (M - h gamma A)^{-1} M error, as in Hairer, Wanner II, (IV.8.19).
  void filter(std::span<double> error) override;

 private:
  void take(std::size_t first, double h, const TangentValues& values, const double* y, double* y1, double* error);
  void begin_stage(std::size_t i, double h, const double* y);
  std::size_t slot(std::size_t stage) const { return (stage + 1) * size_; }

  LinearEquations& equations_;
  const RosenbrockTableau& tableau_;
  Lanes outer_, inner_;
  const LaneKernels& kernels_;
  LinearNodes nodes_;
  double shift_ = 0.0;  // of the factors
  std::size_t size_;    // of a block
  std::vector<double> y_, y1_, error_, argument_, sum_;
  std::vector<double> u_;  // A' y + B' dd, then the stages
};

}  // namespace saltus
