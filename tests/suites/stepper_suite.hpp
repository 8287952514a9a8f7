// What every stepper must do, as one parametrised suite. A new method adds one StepperCase to
// tests/step/conformance_test.cpp.
#pragma once

#include <gtest/gtest.h>
#include <saltus/step/stepper.hpp>

#include <functional>
#include <memory>
#include <string>

#include "problems/ode_problems.hpp"

namespace saltus::suite {

struct StepperCase {
  std::string name;
  std::function<std::unique_ptr<Stepper>(StepOptions)> make;
  double order = 0;         ///< to be measured with fixed steps
  double dense_order = 0;   ///< q: the polynomial's error within one step behaves like h^(q+1)
  double fewest_steps = 6;  ///< to begin the measurement with
  int restart_steps = 2;    ///< that a restart may add: the one that it cuts, and one that an error history would spare
  bool smooth_dense = true;          ///< the polynomial has the slopes of the solution at both ends
  bool tests_all_variables = false;  ///< the error test looks at algebraic variables, too
  /// For implicit methods: the same method with Newton iterations to the last digit, so that fixed steps show the
  /// order.
  std::function<std::unique_ptr<Stepper>(StepOptions)> make_for_order = {};

  std::unique_ptr<Stepper> exact(StepOptions options) const {
    return make_for_order ? make_for_order(options) : make(options);
  }
};

inline void PrintTo(const StepperCase& c, std::ostream* out) {
  *out << c.name;
}

class StepperSuite : public ::testing::TestWithParam<StepperCase> {};

/// Options that make every step of size h: the error is never too large.
StepOptions fixed_steps(double h);

/// Largest error over the variables at the end of the problem.
double error_at_end(Stepper& stepper, problem::Problem& problem);

/// The slope of the largest error over the run against the (fixed) step size: from `fewest` more steps by a factor
/// sqrt(2) until the error comes below `floor`, then the slope over the last factor of two. 0 if the error is that
/// small from the beginning.
double measured_order(const std::function<std::unique_ptr<Stepper>(StepOptions)>& make, problem::Problem& problem,
                      double expected, double floor, double fewest = 6.0);

/// A solution that is known everywhere, and the system at a point of it (reduced systems begin anew there).
struct KnownSolution {
  double t0 = 0.0, t1 = 1.0;
  std::function<std::vector<double>(double)> exact;
  std::function<System&(double t, std::span<const double> x, std::span<const double> xp)> system_at;
};
KnownSolution known_solution(problem::Problem& problem);

/// The same for the dense output: the largest error inside one step of size h <= longest from exact values at a dozen
/// places of the run, which behaves like h^(q+1) for a polynomial of order q. Slopes to start with are difference
/// quotients.
double measured_dense_order(const std::function<std::unique_ptr<Stepper>(StepOptions)>& make,
                            const KnownSolution& known, double floor, double longest = 1.0);

}  // namespace saltus::suite
