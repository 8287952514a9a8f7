// Taylor series of high order for smooth explicit modes: few long steps, and a dense output that is the solution
// itself.
#pragma once

#include <saltus/step/stepper.hpp>

#include <memory>

namespace saltus {

struct TaylorOptions {
  int order = 0;  ///< 2 … 60; 0: chosen from the tolerance, 1 - ln(tolerance)/2 (A. Jorba, M. Zou, Experiment. Math. 14
                  ///< (2005) 99-117)
};

/// For explicit ODEs whose system has Taylor coefficients (structure().taylor); `start` throws UsageError for others.
/// The step size comes from the last five coefficients, so that a series with vanishing ones does not deceive it, and
/// every step is verified: the slope of the series at its end against f there. An evaluation of the whole series counts
/// as one evaluation.
std::unique_ptr<Stepper> make_taylor(StepOptions options, TaylorOptions taylor = {});

}  // namespace saltus
