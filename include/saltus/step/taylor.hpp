// Taylor series of high order for smooth modes, explicit or differential-algebraic of any index: few long steps, and a
// dense output that is the solution itself.
#pragma once

#include <saltus/step/stepper.hpp>

#include <memory>

namespace saltus {

struct TaylorOptions {
  int order = 0;  ///< 2 … 60; 0: chosen from the tolerance, 1 - ln(tolerance)/2 (A. Jorba, M. Zou, Experiment. Math. 14
                  ///< (2005) 99-117), and 6 more for differential-algebraic equations
};

/// For systems with Taylor coefficients (structure().taylor) that are explicit, or regular by their structure (StagedSeries): as they
/// are written, with their hidden constraints, which hold to rounding after every step. `start` throws UsageError for others.
/// The step size comes from the last five coefficients, so that a series with vanishing ones does not deceive it, and
/// every step is verified: the slope of the series at its end against that of the equations there. An evaluation of the
/// whole series counts as one evaluation.
std::unique_ptr<Stepper> make_taylor(StepOptions options, TaylorOptions taylor = {});
/// The order of the series that a step of this stepper is, if the system with which it was started is explicit;
/// otherwise, and for all other methods, 0.
int order_of_series(const Stepper& stepper);

}  // namespace saltus
