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
/// Dense output: for order 5 a quartic with the exact slopes at both ends and one more collocation point (one
/// evaluation and one solution with the factors that are there), of order 4 for differentiated variables; for orders 9
/// and 13 the collocation polynomial, of order 5 and 7.
///
/// `start` throws UsageError if the system is not square, or a DAE without xp.
std::unique_ptr<Stepper> make_radau(StepOptions options, RadauOptions radau = {});

}  // namespace saltus
