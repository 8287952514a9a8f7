// Tableau: an explicit Runge-Kutta pair as data. A new method is a new table, not a new class.
#pragma once

#include <string>
#include <vector>

namespace saltus {

/// An explicit method k_i = f(t + c_i h, x + h sum_{j<i} a_ij k_j), whose last stage is k at the end of the step: its
/// row of a is b, so that x_1 is the argument of the last stage and k of the next step's first stage is already there
/// ("first same as last").
struct Tableau {
  std::string name;
  int order = 0;                     ///< p: of the solution that is carried on
  int error_exponent = 0;            ///< the error estimate behaves like h^error_exponent
  int stages = 0;                    ///< s, the one at the end of the step included
  int extra_stages = 0;              ///< evaluated only when the dense output is asked for
  std::vector<double> c;             ///< s + extra
  std::vector<double> a;             ///< (s + extra) rows of s + extra; a[i*(s + extra) + j]
  std::vector<double> error;         ///< s: weights of the local error estimate h sum error_i k_i
  std::vector<double> second_error;  ///< empty, or s: a lower-order estimate that corrects the first (DOP853)
  int dense_degree = 0;
  std::vector<double>
      dense;  ///< (s + extra) rows of dense_degree: x(t + theta h) = x + h sum_i k_i sum_k dense_ik theta^(k+1)
  int stiffness_stage =
      -1;  ///< a stage other than the last with c = 1, for stiffness detection; must be the last but one; -1: none
  double stiffness_limit = 0;  ///< |h lambda| where the stability region ends on the negative real axis
  double beta = 0;             ///< weight of the previous error in the step-size controller (PI); 0: I only
  double shrink_limit = 0.2, growth_limit = 10;  ///< bounds of h_new/h

  int all_stages() const { return stages + extra_stages; }
};

/// Bogacki and Shampine 3(2), 1989: few evaluations per step, for loose tolerances and frequent events. Dense output of
/// order 3.
const Tableau& bogacki_shampine_3();
/// Dormand and Prince 5(4), 1980, with Shampine's continuous extension of order 4. The reference method for non-stiff
/// modes.
const Tableau& dormand_prince_5();
/// Tsitouras 5(4), 2011: smaller error constants than Dormand-Prince at equal cost. Dense output of order 4.
const Tableau& tsitouras_5();
/// Dormand and Prince 8(5,3) in Hairer's form, for tight tolerances. Dense output of order 7 for three more evaluations
/// per step.
const Tableau& dormand_prince_8();

}  // namespace saltus
