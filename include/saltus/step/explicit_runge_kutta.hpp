// Explicit Runge-Kutta methods for non-stiff modes with a right-hand side x' = f(t, x).
#pragma once

#include <saltus/step/stepper.hpp>
#include <saltus/step/tableau.hpp>

#include <memory>

namespace saltus {

/// A stepper with the method of the table, which must outlive it (those of tableau.hpp do).
///
/// Error test: max_j |err_j| / (atol_j + rtol max(|x_j| at both ends)) <= 1; the maximum, so that a variable that moves
/// alone is not averaged away by those at rest. Steps are differences of two representable times, so t gathers no
/// rounding errors.
///
/// `start` throws UsageError if the system has no right-hand side, and costs one evaluation (two if no step size is
/// known).
std::unique_ptr<Stepper> make_explicit_runge_kutta(const Tableau& tableau, StepOptions options);

}  // namespace saltus
