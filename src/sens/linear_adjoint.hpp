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
  void sweep(double h, std::span<const double> behind);
  void add_stage(double a, double c, double* u) const;
  void filter_error(double h);
  void add_transposed(const LinearEquations::Values& at, std::span<const double> w, std::span<double> y);

  LinearEquations& equations_;
  const RosenbrockTableau& tableau_;
  LinearNodes nodes_;
  // The function and that of the error side by side: value k of them at 2k and 2k + 1.
  std::vector<double> y_, data_;
  std::vector<double> u_;  // of the stages
  std::vector<double> w_, slope_w_, v_;
};

}  // namespace saltus
