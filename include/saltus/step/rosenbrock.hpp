// Rosenbrock methods: linearly implicit, no Newton iteration, for stiff ODEs and for DAEs of index 1 whose mass matrix
// is constant.
#pragma once

#include <saltus/step/stepper.hpp>

#include <memory>
#include <string>
#include <vector>

namespace saltus {

/// A Rosenbrock method for M x' = f(t, x) in the form that needs no product with the Jacobian J (Hairer, Wanner II,
/// IV.7):
///   (M/(h gamma) - J) u_i = f(t + c_i h, x + sum_j a_ij u_j) + M sum_j C_ij/h u_j + h d_i f_t,   x_1 = x + sum_j b_j
///   u_j.
/// The methods here are stiffly accurate: b is the last row of a with a 1 behind it, and the last u is the error
/// estimate.
struct RosenbrockTableau {
  std::string name;
  int order = 0;
  int error_exponent = 0;  ///< the error estimate behaves like h^error_exponent
  int stages = 0;          ///< s
  double gamma = 0.0;
  std::vector<double> c, d;  ///< s each
  std::vector<double> a, C;  ///< s rows of s, strictly lower triangular
  int dense_degree = 0;
  /// dense_degree-1 rows of s: x(t + theta h) = (1-theta) x_0 + theta x_1 + theta (1-theta) sum_k theta^k sum_j
  /// dense_kj u_j.
  std::vector<double> dense;
};

/// Hairer and Wanner's method of order 4(3), 6 stages, L-stable. Dense output of order 3.
const RosenbrockTableau& rodas_4();
/// Steinebach's method of order 5(4), 8 stages, L-stable, without order reduction on linear parabolic problems. Dense
/// output of order 4.
const RosenbrockTableau& rodas_5p();

/// A stepper with the method of the table, which must outlive it.
///
/// Uses the exact Jacobian and time derivative of the system in every step. Error test: the largest |err_j| / (atol_j +
/// rtol |x_j|) over all variables. `xp` is exact for explicit ODEs; for DAEs it is the slope of the dense output at the
/// end of the step.
///
/// Dense output has the order of the table for differentiated variables of nonstiff equations. Where guards read them
/// (StepOptions::control_dense) or steps are kept (keep_dense) it is corrected to the same order for algebraic and fast
/// ones, for one evaluation per step where it is good already, dense_degree otherwise.
///
/// `start` throws UsageError unless structure().constant_mass or explicit_ode; a DAE must be of index 1 with consistent
/// x and xp given. Costs one evaluation.
std::unique_ptr<Stepper> make_rosenbrock(const RosenbrockTableau& tableau, StepOptions options);

}  // namespace saltus
