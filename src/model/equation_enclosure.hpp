// Enclosures of the equations of a mode, and of their derivatives, over a piece of a curve.
#pragma once

#include <saltus/program/taylor_enclosure.hpp>

#include <span>

namespace saltus {

class EquationEnclosure {
 public:
  struct Values {
    std::span<const double> data, locks;
  };

  /// `residual`: of (time, x, x', data, locks); `jacobian`: the same, and the entries of F_x and of F_x'.
  EquationEnclosure(const TaylorProgram& residual, const TaylorProgram& jacobian)
      : residual_(residual), jacobian_(jacobian) {}

  /// See System::enclose_residual; of `equations` equations in `variables` variables.
  void residual(Interval t, int order, std::span<const Interval> X, std::size_t variables, const Values& values,
                std::span<const int> which, std::size_t equations, std::span<Interval> F);
  /// See System::enclose_jacobian; all entries that there are for some locks.
  void jacobian(Interval t, std::span<const Interval> X, std::size_t variables, const Values& values,
                std::span<Interval> Fx, std::span<Interval> Fxp);

 private:
  static void begin(TaylorEnclosure& work, Interval t, int order, const Values& values);

  TaylorEnclosure residual_, jacobian_;
};

}  // namespace saltus
