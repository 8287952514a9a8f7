// Radau IIA: collocation at the zeros of P_s - P_{s-1} (Legendre polynomials, moved to [0, 1]). Hairer, Wanner II,
// sections IV.5 and IV.8.
#include "step/collocation.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <complex>
#include <iterator>
#include <utility>

#include "step/small_matrix.hpp"

namespace saltus {
namespace {

using Real = long double;
using Dense = SmallMatrix<Real>;
using Vector = std::vector<Real>;

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
  Vector c(static_cast<std::size_t>(s));
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
    c[static_cast<std::size_t>(found++)] = (1 + (a + b) / 2) / 2;
  }
  assert(found == s - 1);
  c.back() = 1;
  return c;
}

/// The nodes of the polynomial inside a step. For s = 3 the three eigenvalues determine them; for s = 5 and 7 the best
/// conditioned of those found by a search (Lebesgue constants of the nodes and both ends: 2.4, 2.6, 4.2; the
/// eigenvalues that the method does not have are 1.7 +- 13.2i, and 3.0 +- 25.7i, 4.3 +- 20.7i).
Vector inner_nodes(int s) {
  static const Vector three = {0.080503261844860868L, 0.38527650966789989L, 0.78176661902244216L};
  static const Vector five = {0.024322107511122727L, 0.12430566147078444L, 0.28840172569661165L, 0.48769135069929787L,
                              0.66756708650028407L,  0.80013548294793435L, 0.93925705295482398L};
  static const Vector seven = {0.011288826086880513L, 0.058251480293788974L, 0.13704565636908825L, 0.2339353395593681L,
                               0.33024596119353705L,  0.44356578402056374L,  0.58334050284728722L, 0.72905870588273436L,
                               0.85220647751803635L,  0.90031744165148475L,  0.97123614298231919L};
  return s == 3 ? three : s == 5 ? five : seven;
}

std::complex<double> narrow(const std::complex<Real>& z) {
  return {static_cast<double>(z.real()), static_cast<double>(z.imag())};
}

void append(std::vector<double>& list, const std::vector<Real>& values) {
  for (const Real value : values) list.push_back(static_cast<double>(value));
}

/// The system for polynomials that have the columns of `basis` as coefficients of theta, theta^2, ...; eigenvalues in
/// the order of `first`, then others.
StageSystem stage_system(const Vector& c, const Dense& basis, const std::vector<std::complex<double>>& first) {
  const std::size_t r = c.size(), degree = basis.rows;
  Dense powers(r, degree), derivatives(r, degree);
  for (std::size_t i = 0; i < r; ++i)
    for (std::size_t k = 0; k < degree; ++k) {
      powers(i, k) = std::pow(c[i], Real(k + 1));
      derivatives(i, k) = static_cast<Real>(k + 1) * std::pow(c[i], Real(k));
    }
  const Dense from_values = basis * solve(powers * basis, Dense::identity(r));
  const Dense slopes = derivatives * from_values;

  StageSystem result;
  result.stages = static_cast<int>(r);
  append(result.c, c);
  append(result.slopes, slopes.entries);
  append(result.monomials, from_values.entries);
  std::vector<EigenTriple> pairs;
  for (EigenTriple& one : eigenvalues(slopes)) {
    if (std::abs(one.value.imag()) < Real(1e-10)) {
      result.gamma = static_cast<double>(one.value.real());
      const std::complex<Real> turn = one.right.back() / std::abs(one.right.back());  // a real vector
      for (std::size_t i = 0; i < r; ++i) {
        result.T_real.push_back(static_cast<double>((one.right[i] / turn).real()));
        result.Tinv_real.push_back(static_cast<double>((one.left[i] * turn).real()));
      }
    } else if (one.value.imag() > 0) {
      pairs.push_back(std::move(one));
    }
  }
  const auto place = [&](const EigenTriple& one) {
    const auto same = [&](const std::complex<double>& z) { return std::abs(z - narrow(one.value)) < 1e-6; };
    return std::pair(std::ranges::find_if(first, same) - first.begin(), one.value.real());
  };
  std::ranges::sort(pairs, {}, place);
  for (const EigenTriple& one : pairs) {
    result.lambda.push_back(narrow(one.value));
    std::ranges::transform(one.right, std::back_inserter(result.T_complex), narrow);
    std::ranges::transform(one.left, std::back_inserter(result.Tinv_complex), narrow);
  }
  return result;
}

Collocation compute(int stages) {
  const auto s = static_cast<std::size_t>(stages);
  const Vector c = nodes(stages), m = inner_nodes(stages);
  Collocation result;
  result.method = stage_system(c, Dense::identity(s), {});
  // theta^(k+1) (1 - theta)
  Dense vanishing(2 * s - 2, 2 * s - 3);
  for (std::size_t k = 0; k < vanishing.columns; ++k) {
    vanishing(k, k) = 1;
    vanishing(k + 1, k) = -1;
  }
  result.inside = stage_system(m, vanishing, result.method.lambda);

  std::vector<std::pair<Real, double>> farthest;  // from the nodes inside and both ends, and where
  Real before = 0, distance = 0;
  for (int i = 1; i <= 1000; ++i) {
    const Real theta = Real(i) / 1000;
    Real bound = theta, next = theta * (1 - theta);
    for (const Real node : c) bound *= 1 - theta / node;
    result.slope_bound = std::max(result.slope_bound, static_cast<double>(std::abs(bound)));
    for (const Real node : m) next *= std::abs(theta - node);
    if (distance > before && distance >= next) farthest.emplace_back(-distance, (i - 1) / 1000.0);
    before = distance;
    distance = next;
  }
  std::ranges::sort(farthest);
  result.looks = {farthest[0].second, farthest[1].second};

  // the embedded method: weight 1/gamma at theta = 0, exact for polynomials of degree s-1 (Hairer, Wanner II, (8.18));
  // in terms of Z, times gamma. Integrals of the Lagrange basis give A.
  Dense lower(s, s), integrals(s, s), moments(s, 1);
  for (std::size_t k = 0; k < s; ++k) {
    moments(k, 0) = Real(1) / static_cast<Real>(k + 1);
    for (std::size_t i = 0; i < s; ++i) {
      lower(i, k) = std::pow(c[i], Real(k));
      integrals(i, k) = std::pow(c[i], Real(k + 1)) / static_cast<Real>(k + 1);
    }
  }
  const Dense A = integrals * solve(lower, Dense::identity(s));
  const Real gamma = result.method.gamma;
  moments(0, 0) -= 1 / gamma;
  Dense difference = solve(lower.transposed(), moments);  // of the weights
  for (std::size_t i = 0; i < s; ++i) difference(i, 0) -= A(s - 1, i);
  Dense error = solve(A.transposed(), difference);
  for (Real& one : error.entries) one *= gamma;
  append(result.error, error.entries);
  return result;
}

}  // namespace

const Collocation& radau_collocation(int stages) {
  static const Collocation three = compute(3), five = compute(5), seven = compute(7);
  return stages == 3 ? three : stages == 5 ? five : seven;
}

}  // namespace saltus
