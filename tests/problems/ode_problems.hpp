// Explicit ODEs with exact solutions or reference values, for the tests of steppers and of what stands on them.
#pragma once

#include <saltus/model/recorded_system.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace saltus::problem {

struct Problem {
  std::string name;
  std::unique_ptr<RecordedSystem> system;
  double t0 = 0.0, t1 = 1.0;
  std::function<std::vector<double>(double)> exact;  ///< empty if only the end is known
  std::vector<double> x0;
  std::vector<double> xp0;  ///< consistent with x0; may be empty for explicit ODEs
  std::vector<double> x1;   ///< at t1

  std::vector<double> at(double t) const { return exact(t); }
};

/// x'' = -x: two full swings and a bit. Linear.
Problem harmonic_oscillator();
/// x' = w cos(w t) x, x = exp(sin(w t)). Scalar, depends on time.
Problem exponential_of_sine(double w = 1.0);
/// x' = x (1 - x) from 0.1. Scalar, autonomous, nonlinear.
Problem logistic();
/// Two bodies, one and a half turns. The exact place solves Kepler's equation.
Problem kepler(double eccentricity = 0.3);
/// Restricted three-body problem, one period of the Arenstorf orbit (Hairer, Norsett, Wanner I, (0.1)); known at the
/// end only.
Problem arenstorf();
/// x' = -lambda (x - sin t) + cos t with the smooth solution sin t (Prothero and Robinson).
Problem prothero_robinson(double lambda);

}  // namespace saltus::problem
