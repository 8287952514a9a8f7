// Coefficients of the Radau IIA collocation methods with s = 3, 5 or 7 stages, and of the polynomials inside their
// steps, computed once in extended precision.
#pragma once

#include <array>
#include <complex>
#include <vector>

namespace saltus {

/// Unknown values W_i at the nodes c_i whose slopes are h w'(c_i) = sum_j slopes_ij W_j. With slopes = T diag T^{-1}
/// a Newton step falls apart into one real system with shift gamma/h and one complex system for each of lambda.
/// Matrices are stored by rows.
struct StageSystem {
  int stages = 0;
  std::vector<double> c;                     ///< the nodes
  std::vector<double> slopes;                ///< stages x stages
  double gamma = 0.0;                        ///< the real eigenvalue of slopes
  std::vector<std::complex<double>> lambda;  ///< those with positive imaginary part
  // columns of T (rows of T^{-1}) of the real eigenvalue, then of each of lambda; the conjugates are left out
  std::vector<double> T_real, Tinv_real;           ///< one for each stage
  std::vector<std::complex<double>> T_complex;     ///< T_complex[k*stages + i]: component i of eigenvector k
  std::vector<std::complex<double>> Tinv_complex;  ///< Tinv_complex[k*stages + i]
  /// The polynomial through the values is the sum over k of theta^(k+1) sum_j monomials_kj W_j; rows as many as its
  /// degree.
  std::vector<double> monomials;

  int pairs() const { return (stages - 1) / 2; }
};

struct Collocation {
  /// The method: W_i = x(c_i) - x_0, polynomials of degree s that vanish at 0; slopes = A^{-1}; the last node is 1.
  StageSystem method;
  /// What follows when both ends of the step are known: W is what must be added to the method's polynomial, a
  /// polynomial of degree 2s-2 that vanishes at 0 and 1, for the equations to hold at 2s-3 nodes inside. These are
  /// chosen such that gamma and the first (s-1)/2 of lambda are those of the method, whose factorised matrices
  /// therefore serve here, too.
  StageSystem inside;
  double slope_bound = 0.0;   ///< max over [0, 1] of |theta prod (1 - theta/c_i)|: what a wrong slope at 0 does to the
                              ///< method's polynomial
  std::array<double, 2> looks = {};  ///< where the polynomial inside is farthest from its nodes: places to test it
  std::vector<double> error;  ///< s: of the estimate, see radau.cpp
};

/// s = 3, 5 or 7. The objects live as long as the program.
const Collocation& radau_collocation(int stages);

}  // namespace saltus
