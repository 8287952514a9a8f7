// One step of an explicit Runge-Kutta method, or of the Taylor series of the solution, as one tape: stages or
// coefficients, error norm, dense output and bounds of guards. A tape runs one member or several in lanes, with the
// same bits.
//
// The operations are those of the stepper (src/step/explicit_runge_kutta_stepper.hpp, src/step/taylor.cpp) in its
// order: right-hand sides and series fused as a program of their own would be, sums not fused. So a step has the
// stepper's bits. The choice of the next step size and all decisions are the caller's.
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
  int series = 0;  ///< the order of a Taylor series; then nothing else counts
};

/// x' = f(t, x, data), and guards g(t, x, data). Data are symbols and locks that are constant during a step.
struct StepEquations {
  Expr time;
  std::vector<Expr> variables, data, f, guards;
  std::vector<Expr> checked = {};  ///< functions of the same that must be finite at the end of a step
  /// Of modes with constraints: x moved onto them, which happens at the end of a step; empty: there are none.
  std::vector<Expr> projected = {};
  Expr orientation = 1.0;  ///< must not change its sign in a step
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
    slopes,  ///< of all stages but the first, which is an input; the last one, of a series the only one, is f at the
             ///< end
    error,   ///< in units of the tolerance: the step is accurate up to 1; also inside (base/dense_defect.hpp)
    dense,  ///< coefficient k of variable j at (k-1)*n + j, for k = 1 … dense_degree; coefficient 0 is x at the start
    guards,     ///< values at the end
    lower,      ///< the smallest Bernstein coefficient of each guard that is affine; 0 of others
    upper,      ///< the largest one
    bernstein,  ///< all of them, guard by guard: see StepTape::first
    scale,      ///< of each guard: the size of the terms that it adds, for its rounding errors
    finite,     ///< 0 if all slopes, values and what is checked are finite, otherwise NaN
    count
  };
};

struct StepTape {
  Tape tape;
  std::vector<int> first;    ///< by guard: where its Bernstein coefficients begin; behind the last one: their number
  std::vector<bool> affine;  ///< by guard; others have no coefficients
};

/// Makes the tape. A guard that is affine in t and x, with coefficients that may depend on the data, is a polynomial of
/// the degree of the dense output along a step, and bounded by its Bernstein coefficients up to rounding errors. Any
/// other has bounds elsewhere (flight/guard_bounds.hpp). Throws UsageError if f or a guard depends on something else.
StepTape make_step_tape(const StepMethod& method, const StepEquations& equations);

}  // namespace saltus
