// BDF: backward differentiation formulas of variable order, for long smooth stretches of stiff modes and of
// F(t, x, x') = 0 of index 1.
#pragma once

#include <saltus/step/stepper.hpp>

#include <memory>

namespace saltus {

struct BdfOptions {
  int max_order = 5;  ///< 1 … 5
  bool fixed_order = false;  ///< keep max_order (after the start), for measurements
  int fixed_iterations =
      0;  ///< exactly so many Newton iterations per step, for measurements; 0: as many as the tolerance needs
};

/// A stepper for square systems of index 1 (every reduced mode is one), with fixed leading coefficient and variable
/// order and step size. A start or restart makes one step of the Radau IIA method of order 5, whose dense output is the
/// history for order 4 at once: there is no crawl from order 1 with tiny steps.
///
/// Error test: the largest |err_j| / (atol_j + rtol |x_j|) over the variables whose derivatives occur, and those that
/// guards read (StepOptions::control_dense). One Newton
/// iteration or two per step, with Jacobian and factors kept over many steps (modes that fix their equations with the
/// Jacobian get a new one at the predicted point of every step). Dense output: the polynomial of the formula, of its
/// order.
///
/// `start` throws UsageError if the system is not square, or a DAE without xp.
std::unique_ptr<Stepper> make_bdf(StepOptions options, BdfOptions bdf = {});

}  // namespace saltus
