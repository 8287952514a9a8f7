#include "dae/shifted_system.hpp"

namespace saltus {

ShiftedSystem::ShiftedSystem(System& system, std::vector<double> offset)
    : system_(system), offset_(std::move(offset)), structure_(system.structure()) {
  structure_.guards = 0;
  structure_.guard_variables.clear();
  structure_.explicit_ode = false;
  structure_.differentiable = false;
}

void ShiftedSystem::shift(std::span<double> F) const {
  for (std::size_t i = 0; i < offset_.size(); ++i) F[i] -= share_ * offset_[i];
}

void ShiftedSystem::residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) {
  system_.residual(t, x, xp, F);
  shift(F);
}

void ShiftedSystem::jacobian(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Fx,
                             std::span<double> Fxp) {
  system_.jacobian(t, x, xp, Fx, Fxp);
}

void ShiftedSystem::time_derivative(double t, std::span<const double> x, std::span<const double> xp,
                                    std::span<double> Ft) {
  system_.time_derivative(t, x, xp, Ft);
}

// a constant changes the coefficient of order 0 alone
void ShiftedSystem::taylor(double t, int level, std::span<const double> X, std::span<double> F) {
  system_.taylor(t, level, X, F);
  shift(F);
}

void ShiftedSystem::taylor_jacobian(double t, int level, std::span<const double> X, std::span<double> F,
                                    std::span<double> Fx, std::span<double> Fxp) {
  system_.taylor_jacobian(t, level, X, F, Fx, Fxp);
  shift(F);
}

}  // namespace saltus
