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

/// The nodes of the polynomial inside a step. For s = 3 the three eigenvalues determine them; for s = 5 and 7 the best
/// conditioned of those found by a search (Lebesgue constants of the nodes and both ends: 2.4, 2.6, 4.2; the
/// eigenvalues that the method does not have are 1.7 +- 13.2i, and 3.0 +- 25.7i, 4.3 +- 20.7i).
Vector inner_nodes(int s) {
  static const std::vector<Real> three = {0.080503261844860868L, 0.38527650966789989L, 0.78176661902244216L};
  static const std::vector<Real> five = {0.024322107511122727L, 0.12430566147078444L, 0.28840172569661165L,
                                         0.48769135069929787L,  0.66756708650028407L, 0.80013548294793435L,
                                         0.93925705295482398L};
  static const std::vector<Real> seven = {0.011288826086880513L, 0.058251480293788974L, 0.13704565636908825L,
                                          0.2339353395593681L,   0.33024596119353705L,  0.44356578402056374L,
                                          0.58334050284728722L,  0.72905870588273436L,  0.85220647751803635L,
                                          0.90031744165148475L,  0.97123614298231919L};
  const std::vector<Real>& m = s == 3 ? three : s == 5 ? five : seven;
  return Eigen::Map<const Vector>(m.data(), static_cast<Eigen::Index>(m.size()));
}

/// The system for polynomials that have the columns of `basis` as coefficients of theta, theta^2, ...; eigenvalues in
/// the order of `first`, then others.
StageSystem stage_system(const Vector& c, const Dense& basis, const std::vector<std::complex<double>>& first) {
  const int r = static_cast<int>(c.size());
  const auto degree = basis.rows();
  Dense powers(r, degree), derivatives(r, degree);
  for (int i = 0; i < r; ++i)
    for (int k = 0; k < degree; ++k) {
      powers(i, k) = std::pow(c(i), Real(k + 1));
      derivatives(i, k) = (k + 1) * std::pow(c(i), Real(k));
    }
  const Dense from_values = basis * (powers * basis).inverse();
  const Dense slopes = derivatives * from_values;
  const Eigen::EigenSolver<Dense> eigen(slopes);
  const auto values = eigen.eigenvalues();
  const auto vectors = eigen.eigenvectors();
  const auto inverse_vectors = vectors.inverse().eval();
  const auto narrow = [](const std::complex<Real>& z) {
    return std::complex<double>(static_cast<double>(z.real()), static_cast<double>(z.imag()));
  };

  StageSystem result;
  result.stages = r;
  for (int i = 0; i < r; ++i) {
    result.c.push_back(static_cast<double>(c(i)));
    for (int j = 0; j < r; ++j) result.slopes.push_back(static_cast<double>(slopes(i, j)));
  }
  for (int k = 0; k < degree; ++k)
    for (int j = 0; j < r; ++j) result.monomials.push_back(static_cast<double>(from_values(k, j)));
  std::vector<int> order;
  for (int k = 0; k < r; ++k) {
    if (std::abs(values(k).imag()) < Real(1e-10)) {
      result.gamma = static_cast<double>(values(k).real());
      for (int i = 0; i < r; ++i) {
        result.T_real.push_back(static_cast<double>(vectors(i, k).real()));
        result.Tinv_real.push_back(static_cast<double>(inverse_vectors(k, i).real()));
      }
    } else if (values(k).imag() > 0) {
      order.push_back(k);
    }
  }
  const auto place = [&](int k) {
    const auto same = [&](const std::complex<double>& z) { return std::abs(z - narrow(values(k))) < 1e-6; };
    return std::ranges::find_if(first, same) - first.begin();
  };
  std::ranges::stable_sort(order, {}, place);
  for (const int k : order) {
    result.lambda.push_back(narrow(values(k)));
    for (int i = 0; i < r; ++i) {
      result.T_complex.push_back(narrow(vectors(i, k)));
      result.Tinv_complex.push_back(narrow(inverse_vectors(k, i)));
    }
  }
  return result;
}

Collocation compute(int s) {
  const Vector c = nodes(s), m = inner_nodes(s);
  Collocation result;
  result.method = stage_system(c, Dense::Identity(s, s), {});
  // theta^(k+1) (1 - theta)
  Dense vanishing = Dense::Zero(2 * s - 2, 2 * s - 3);
  for (int k = 0; k < 2 * s - 3; ++k) {
    vanishing(k, k) = 1;
    vanishing(k + 1, k) = -1;
  }
  result.inside = stage_system(m, vanishing, result.method.lambda);

  std::vector<std::pair<Real, double>> farthest;  // from the nodes inside and both ends, and where
  Real before = 0, distance = 0;
  for (int i = 1; i <= 1000; ++i) {
    const Real theta = Real(i) / 1000;
    Real bound = theta, next = theta * (1 - theta);
    for (int k = 0; k < s; ++k) bound *= 1 - theta / c(k);
    result.slope_bound = std::max(result.slope_bound, static_cast<double>(std::abs(bound)));
    for (Eigen::Index k = 0; k < m.size(); ++k) next *= std::abs(theta - m(k));
    if (distance > before && distance >= next) farthest.emplace_back(-distance, (i - 1) / 1000.0);
    before = distance;
    distance = next;
  }
  std::ranges::sort(farthest);
  result.looks = {farthest[0].second, farthest[1].second};

  // the embedded method: weight 1/gamma at theta = 0, exact for polynomials of degree s-1 (Hairer, Wanner II, (8.18));
  // in terms of Z, times gamma. Integrals of the Lagrange basis give A.
  Dense lower(s, s), integrals(s, s);
  Vector moments(s);
  for (int k = 0; k < s; ++k) {
    moments(k) = Real(1) / (k + 1);
    for (int i = 0; i < s; ++i) {
      lower(i, k) = std::pow(c(i), Real(k));
      integrals(i, k) = std::pow(c(i), Real(k + 1)) / (k + 1);
    }
  }
  const Dense A = integrals * lower.inverse();
  const Real gamma = result.method.gamma;
  moments(0) -= 1 / gamma;
  const Vector b_hat = lower.transpose().inverse() * moments;
  const Vector difference = b_hat - A.row(s - 1).transpose();
  const Vector error = gamma * (A.inverse().transpose() * difference);
  for (int i = 0; i < s; ++i) result.error.push_back(static_cast<double>(error(i)));
  return result;
}

}  // namespace

const Collocation& radau_collocation(int stages) {
  static const Collocation three = compute(3), five = compute(5), seven = compute(7);
  return stages == 3 ? three : stages == 5 ? five : seven;
}

}  // namespace saltus
