// Radau IIA: the all-round implicit method, for stiff ODEs and for F(t, x, x') = 0 of index 1, fully implicit or not.
#pragma once

#include <saltus/step/stepper.hpp>

#include <memory>

namespace saltus {

struct RadauOptions {
  int order = 5;  ///< 5, 9 or 13 (3, 5 or 7 stages); 0: variable, by the tolerance and the convergence of the iteration
  int fixed_iterations =
      0;  ///< exactly so many Newton iterations per step, for measurements; 0: as many as the tolerance needs
};

/// A stepper for square systems of index 1 (every reduced mode is one). One-step, L-stable, full order from the first
/// step on.
///
/// Error test: the largest |err_j| / (atol_j + rtol |x_j|) over the variables whose derivatives occur; the others
/// follow from them by equations that hold to the tolerance at the end of every step. Since the estimate is of lower
/// order than the method, the tolerance is rescaled inside so that the error of the result is proportional to what was
/// asked for.
///
/// Dense output: the polynomial of degree 2s-2 (s stages) through both ends of the step that satisfies the equations at
/// 2s-3 points inside, of order 4, 8 or 12 for all variables; of explicit ODEs it has the slopes at both ends, too. It
/// costs 2s-3 evaluations once or twice when it is first asked for after a step. Where the collocation polynomial, of
/// order s, differs by less than a thousandth of the tolerance or the iteration does not converge, it is that one.
/// Where guards read variables (StepOptions::control_dense) one or two evaluations more show whether these are within the
/// tolerance inside the step, and the step is repeated if they are not.
///
/// `start` throws UsageError if the system is not square, or a DAE without xp.
std::unique_ptr<Stepper> make_radau(StepOptions options, RadauOptions radau = {});

}  // namespace saltus
