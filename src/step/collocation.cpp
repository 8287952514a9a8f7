// Radau IIA: collocation at the zeros of P_s - P_{s-1} (Legendre polynomials, moved to [0, 1]). Hairer, Wanner II,
// sections IV.5 and IV.8.
#include "step/collocation.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include <Eigen/Dense>
#include <Eigen/Eigenvalues>

namespace saltus {
namespace {

using Real = long double;
using Dense = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>;
using Vector = Eigen::Matrix<Real, Eigen::Dynamic, 1>;

/// P_s(x) - P_{s-1}(x) by the three-term recurrence.
Real radau_polynomial(int s, Real x) {
  Real previous = 1, current = x;
  for (int k = 1; k < s; ++k) {
    const Real next = ((2 * k + 1) * x * current - k * previous) / (k + 1);
    previous = current;
    current = next;
  }
  return current - previous;
}

/// The zeros in (-1, 1), by bisection between sign changes on a grid that is finer than their distance, and 1; moved to
/// [0, 1].
Vector nodes(int s) {
  Vector c(s);
  int found = 0;
  const int cells = 400;
  for (int i = 0; i < cells && found < s - 1; ++i) {
    Real a = -1 + Real(2) * i / cells, b = -1 + Real(2) * (i + 1) / cells;
    if (i == cells - 1) break;  // the zero at 1 itself
    const bool rising = radau_polynomial(s, a) < 0;
    if (rising == (radau_polynomial(s, b) < 0)) continue;
    for (int bisection = 0; bisection < 80; ++bisection) {
      const Real middle = (a + b) / 2;
      ((radau_polynomial(s, middle) < 0) == rising ? a : b) = middle;
    }
    c(found++) = (1 + (a + b) / 2) / 2;
  }
  assert(found == s - 1);
  c(s - 1) = 1;
  return c;
}

Collocation compute(int s) {
  const Vector c = nodes(s);
  // powers_ik = c_i^(k+1); integrals of the Lagrange basis give A
  Dense powers(s, s), lower(s, s);
  for (int i = 0; i < s; ++i)
    for (int k = 0; k < s; ++k) {
      powers(i, k) = std::pow(c(i), Real(k + 1));
      lower(i, k) = std::pow(c(i), Real(k));
    }
  Dense scaled = powers;
  for (int k = 0; k < s; ++k) scaled.col(k) /= Real(k + 1);
  const Dense A = scaled * lower.inverse();
  const Dense inverse = A.inverse();
  const Dense monomials = powers.inverse();

  const Eigen::EigenSolver<Dense> eigen(inverse);
  const auto values = eigen.eigenvalues();
  const auto vectors = eigen.eigenvectors();
  const auto inverse_vectors = vectors.inverse().eval();

  Collocation result;
  result.stages = s;
  for (int i = 0; i < s; ++i) {
    result.c.push_back(static_cast<double>(c(i)));
    for (int j = 0; j < s; ++j) {
      result.inverse.push_back(static_cast<double>(inverse(i, j)));
      result.monomials.push_back(static_cast<double>(monomials(i, j)));
    }
  }
  const auto narrow = [](const std::complex<Real>& z) {
    return std::complex<double>(static_cast<double>(z.real()), static_cast<double>(z.imag()));
  };
  Real gamma = 0;
  for (int k = 0; k < s; ++k) {
    if (std::abs(values(k).imag()) < Real(1e-10)) {
      gamma = values(k).real();
      for (int i = 0; i < s; ++i) {
        result.T_real.push_back(static_cast<double>(vectors(i, k).real()));
        result.Tinv_real.push_back(static_cast<double>(inverse_vectors(k, i).real()));
      }
    } else if (values(k).imag() > 0) {
      result.lambda.push_back(narrow(values(k)));
      for (int i = 0; i < s; ++i) {
        result.T_complex.push_back(narrow(vectors(i, k)));
        result.Tinv_complex.push_back(narrow(inverse_vectors(k, i)));
      }
    }
  }
  result.gamma = static_cast<double>(gamma);

  // the embedded method: weight 1/gamma at theta = 0, exact for polynomials of degree s-1 (Hairer, Wanner II, (8.18));
  // in terms of Z, times gamma
  Vector moments(s);
  for (int k = 0; k < s; ++k) moments(k) = Real(1) / (k + 1);
  moments(0) -= 1 / gamma;
  const Vector b_hat = lower.transpose().inverse() * moments;
  const Vector difference = b_hat - A.row(s - 1).transpose();
  const Vector error = gamma * (inverse.transpose() * difference);
  for (int i = 0; i < s; ++i) result.error.push_back(static_cast<double>(error(i)));
  return result;
}

}  // namespace

const Collocation& radau_collocation(int stages) {
  static const Collocation three = compute(3), five = compute(5), seven = compute(7);
  return stages == 3 ? three : stages == 5 ? five : seven;
}

}  // namespace saltus
