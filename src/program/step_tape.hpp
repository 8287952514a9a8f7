// One step of an explicit Runge-Kutta method as one tape: stages, error norm, dense output and bounds of guards. A tape
// runs one member or several in lanes, with the same bits.
//
// The operations are those of the stepper (src/step/explicit_runge_kutta_stepper.hpp) in its order: right-hand sides
// fused as a program of their own would be, sums not fused. So a step has the stepper's bits. The choice of the next
// step size and all decisions are the caller's.
#pragma once

#include <saltus/program/tape.hpp>

#include <span>
#include <vector>

namespace saltus {

/// Coefficients, in the form of Tableau (<saltus/step/tableau.hpp>). Rows of `a` have stages + extra_stages entries.
struct StepMethod {
  int stages = 0, extra_stages = 0;
  std::span<const double> a, c, error, second_error;
  int dense_degree = 0;
  std::span<const double> dense;
};

/// x' = f(t, x, data), and guards g(t, x, data). Data are symbols and locks that are constant during a step.
struct StepEquations {
  Expr time;
  std::vector<Expr> variables, data, f, guards;
};

/// The groups of a step tape's inputs and outputs.
struct StepInput {
  enum : int {
    t,
    h,
    end,
    x,
    slope,
    data,
    rtol,
    atol,
    count
  };  ///< end: t + h as rounded; slope: f(t, x); atol: one each
};
struct StepOutput {
  enum : int {
    x,       ///< at the end of the step
    slopes,  ///< of all stages but the first, which is an input; the last one is f at the end
    error,   ///< in units of the tolerance: the step is accurate up to 1
    dense,  ///< coefficient k of variable j at (k-1)*n + j, for k = 1 … dense_degree; coefficient 0 is x at the start
    guards,  ///< values at the end
    lower,   ///< of each guard: no value inside the step is below, up to rounding errors; -inf for guards that are not
             ///< affine
    upper,   ///< likewise
    count
  };
};

/// Makes the tape. Bounds come from Bernstein coefficients of guards that are affine in t and x; their coefficients may
/// depend on the data. Throws UsageError if f or a guard depends on something else.
Tape make_step_tape(const StepMethod& method, const StepEquations& equations);

}  // namespace saltus
