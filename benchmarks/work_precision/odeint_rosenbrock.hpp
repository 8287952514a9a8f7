// Boost.odeint's Rosenbrock method of order 4, the only one it has for stiff equations, behind plain functions.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace saltus::bench {

struct OdeintProblem {
  std::size_t n;
  double t0, t1, rtol, atol;
  std::vector<double> x;  ///< in: at t0; out: at t1
  std::function<void(double t, const double* x, double* xp)> rhs;
  /// J by rows (zero before), and the derivative with respect to time.
  std::function<void(double t, const double* x, double* J, double* ft)> jacobian;
  long steps = 0, evaluations = 0;
};

/// What went wrong, or "".
std::string solve_with_odeint(OdeintProblem& p);

}  // namespace saltus::bench
