// The transposed of a step of the Rosenbrock method for linear equations (linear_rosenbrock.hpp): a linear function of
// changes behind the step becomes one of the changes before it and of the data, with the transposed factors of the
// step. The cost does not depend on how many data there are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sens/linear_rosenbrock.hpp"

namespace saltus {

class LinearAdjoint {
 public:
  /// Keeps references.
  LinearAdjoint(LinearEquations& equations, const RosenbrockTableau& tableau);

  /// Of changes y of the equations, and of data.
  struct Function {
    std::vector<double> y, data;
  };
  /// From `behind` a step from t to t + h to `before` it. `error` is the function of the error of the step. False: the
  /// equations cannot be evaluated, or are singular.
  bool pull(double t, double h, SolutionPath& path, const TangentValues& values, std::span<const double> behind,
            Function& before, Function& error);
  int error_exponent() const { return tableau_.error_exponent; }

 private:
  void sweep(double h, std::span<const double> behind, bool error, Function& out);
  void add_transposed(const LinearEquations::Values& at, std::span<const double> w, double* y, double* data) const;

  LinearEquations& equations_;
  const RosenbrockTableau& tableau_;
  LinearNodes nodes_;
  std::vector<double> u_;  // the functions of the stages
  std::vector<double> w_, slope_w_, v_;
};

}  // namespace saltus
