// Coefficients of the Radau IIA collocation methods with s = 3, 5 or 7 stages, computed once in extended precision.
#pragma once

#include <complex>
#include <vector>

namespace saltus {

/// Matrices are stored by rows.
struct Collocation {
  int stages = 0;
  std::vector<double> c;        ///< s nodes, the last is 1
  std::vector<double> inverse;  ///< s x s: A^{-1}, so that h x'(c_i) = sum_j inverse_ij Z_j with Z_j = x(c_j) - x_0
  std::vector<double>
      monomials;              ///< s x s: the collocation polynomial is x_0 + sum_k theta^(k+1) sum_j monomials_kj Z_j
  std::vector<double> error;  ///< s: of the estimate, see radau.cpp
  double gamma = 0.0;         ///< the real eigenvalue of A^{-1}
  std::vector<std::complex<double>> lambda;  ///< (s-1)/2 eigenvalues of A^{-1} with positive imaginary part
  // A^{-1} = T diag T^{-1}; columns of T (rows of T^{-1}) of the real eigenvalue, then of each of lambda; the
  // conjugates are left out
  std::vector<double> T_real, Tinv_real;           ///< s each
  std::vector<std::complex<double>> T_complex;     ///< T_complex[k*s + i]: component i of eigenvector k
  std::vector<std::complex<double>> Tinv_complex;  ///< Tinv_complex[k*s + i]

  int pairs() const { return (stages - 1) / 2; }
};

/// s = 3, 5 or 7. The objects live as long as the program.
const Collocation& radau_collocation(int stages);

}  // namespace saltus
