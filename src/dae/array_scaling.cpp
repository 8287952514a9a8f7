// A. R. Curtis, J. K. Reid, On the automatic scaling of matrices for Gaussian elimination, IMA J. Appl. Math. 10
// (1972), with the unit of time as one more unknown:
//   min  sum over F_x (log|a_ij| + rho_i + gamma_j)^2 + sum over F_x' (log|e_ij| + rho_i + gamma_j - eta)^2
//        + 1e-4 (sum over coefficients (gamma_j - q eta - log|x_[q]_j|)^2 + sum over F(t, x, 0) (log|F_i| + rho_i)^2)
//        + 1e-6 sum over F_xx (log|h_ijk| + rho_i + gamma_j + gamma_k)^2
//        + 1e-10 (|rho|^2 + |gamma|^2 + eta^2)
// Other units add constants to rho, gamma and eta in all lines but the last, so the scaled matrix does not depend on units.
// The first line leaves the factors free where any choice gives the same matrix (all variables of a connected part in
// another unit, or a variable whose entries vanish at the point). There the sizes of values and forces decide, then second
// derivatives; otherwise 1e-4 (|rho|^2 + |gamma - log nominal|^2 + eta^2) does. Which entries are ignored must not depend on
// units either, where nothing shall.
#include "dae/array_scaling.hpp"

#include <saltus/linalg/lu.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace saltus {
namespace {

double power_of_two(double exponent) {
  return std::exp2(std::round(std::clamp(exponent, -500.0, 500.0)));
}

PointEntries entries_at(System& system, double t, std::span<const double> X) {
  const Structure& s = system.structure();
  PointEntries e{std::vector<double>(s.state_pattern.row.size()), std::vector<double>(s.derivative_pattern.row.size()),
            std::vector<double>(static_cast<std::size_t>(s.equations))};
  const auto n = static_cast<std::size_t>(s.variables);
  system.jacobian(t, X.first(n), X.subspan(n, n), e.Fx, e.Fxp);
  system.residual(t, X.first(n), std::vector<double>(n, 0.0), e.forces);
  return e;
}

PointEntries entries_beside(System& system, double t, std::span<const double> X) {
  return entries_at(system, t, some_ulps_beside(X.first(2 * static_cast<std::size_t>(system.structure().variables))));
}

template <class Visit>
void for_each(const SparsePattern& p, std::span<const double> values, Visit visit) {
  for (int j = 0; j < p.columns; ++j)
    for (int k = p.start[j]; k < p.start[j + 1]; ++k) visit(p.row[k], j, values[k]);
}

// From Taylor coefficients of F_x along x + s step e_k. The step is so small that what is linear in it is at least 2^-600
// and what is quadratic (F_x' depends on x, and x' = step e_k) below that, for derivatives between 2^-200 and 2^200. Where
// F_x depends on t nothing is seen of it.
std::vector<SecondDerivative> second_derivatives(System& system, double t, std::span<const double> x) {
  std::vector<SecondDerivative> found;
  const Structure& s = system.structure();
  if (s.linear || !s.taylor) return found;
  constexpr double step = 0x1p-400, smallest = 0x1p-600;
  const auto n = static_cast<std::size_t>(s.variables), entries = s.state_pattern.row.size();
  std::vector<double> X(3 * n, 0.0), F(2 * static_cast<std::size_t>(s.equations)), Fx(2 * entries),
      Fxp(2 * s.derivative_pattern.row.size());
  std::ranges::copy(x, X.begin());
  system.taylor_jacobian(t, 1, X, F, Fx, Fxp);
  const std::vector<double> still(Fx.begin() + static_cast<std::ptrdiff_t>(entries), Fx.end());
  for (int k = 0; k < s.variables; ++k) {
    if (s.state_pattern.start[k] == s.state_pattern.start[k + 1]) continue;
    X[n + static_cast<std::size_t>(k)] = step;
    system.taylor_jacobian(t, 1, X, F, Fx, Fxp);
    X[n + static_cast<std::size_t>(k)] = 0.0;
    for_each(s.state_pattern, still, [&, place = entries](int i, int j, double before) mutable {
      const double value = Fx[place++];
      if (before == 0.0 && std::isfinite(value) && std::abs(value) > smallest) found.push_back({i, j, k, value / step});
    });
  }
  return found;
}

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double noise_factor = 50.0;  // a value is noise if it changes by more than 1/50 of itself within some ulp

/// What the user asks for instead of the rules below.
ArrayScaling scale_by_nominal_values(const Structure& s, std::span<const double> nominal) {
  ArrayScaling scaling;
  scaling.variable.assign(static_cast<std::size_t>(s.variables), 1.0);
  if (s.scaling == Scaling::nominal) std::ranges::copy(nominal, scaling.variable.begin());
  scaling.equation.assign(static_cast<std::size_t>(s.equations), 1.0);
  return scaling;
}

}  // namespace

ScalingRule cautious(ScalingRule rule) {
  rule.threshold = 1e-6;
  if (rule.unit_free) rule.noise_factor = 1e9;
  return rule;
}

void scale_rows(const Structure& s, const PointEntries& at, const PointEntries& beside, ArrayScaling& scaling) {
  const auto m = static_cast<std::size_t>(s.equations);
  scaling.equation.assign(m, 1.0);
  if (s.scaling != Scaling::automatic) return;
  std::vector<double> size(m, 0.0), change(m, 0.0);
  const auto note = [&](const SparsePattern& p, const std::vector<double>& v, const std::vector<double>& w,
                        double factor) {
    for (int j = 0; j < p.columns; ++j)
      for (int k = p.start[j]; k < p.start[j + 1]; ++k) {
        const double scale = scaling.variable[j] * factor;
        size[p.row[k]] = std::max(size[p.row[k]], std::abs(v[k]) * scale);
        change[p.row[k]] = std::max(change[p.row[k]], std::abs(v[k] - w[k]) * scale);
      }
  };
  note(s.state_pattern, at.Fx, beside.Fx, 1.0);
  note(s.derivative_pattern, at.Fxp, beside.Fxp, 1.0 / scaling.time);
  double largest = 0.0;
  const auto noise = [&](std::size_t i) {
    return !(size[i] > 0.0) || !std::isfinite(size[i]) || size[i] < noise_factor * change[i];
  };
  for (std::size_t i = 0; i < m; ++i)
    if (!noise(i)) largest = std::max(largest, size[i]);
  if (largest == 0.0) largest = 1.0;
  for (std::size_t i = 0; i < m; ++i) scaling.equation[i] = power_of_two(-std::log2(noise(i) ? largest : size[i]));
}

ArrayScaling scale_entries(const Structure& s, const PointEntries& at, const PointEntries& beside,
                           std::span<const double> X, std::span<const double> nominal,
                           std::span<const SecondDerivative> second, const ScalingRule& rule) {
  if (s.scaling != Scaling::automatic) return scale_by_nominal_values(s, nominal);
  const int m = s.equations, n = s.variables, size = m + n + 1;
  PointEntries e = at;
  const auto drop_noise = [&rule](std::vector<double>& values, const std::vector<double>& other) {
    for (std::size_t k = 0; k < values.size(); ++k)
      if (std::abs(values[k]) < rule.noise_factor * std::abs(values[k] - other[k])) values[k] = 0.0;
  };
  drop_noise(e.Fx, beside.Fx);
  drop_noise(e.Fxp, beside.Fxp);
  drop_noise(e.forces, beside.forces);

  // Normal equations, small and well conditioned thanks to the regularisation. Entries that come out small are
  // repeatedly given less weight: they are small by accident of the point (a product with a value near zero), and say
  // nothing about units.
  constexpr double of_sizes = 1e-4, of_second_derivatives = 1e-6, regularisation = 1e-10, tolerance_in_bits = 5.0;
  const bool by_sizes = rule.sizes == SizesFrom::values;
  Matrix A;
  std::vector<double> b, z(static_cast<std::size_t>(size), 0.0);
  bool first = true;
  const auto weight_of = [&](double deviation_in_bits) {
    const double deviation = std::min(deviation_in_bits, 0.0) / tolerance_in_bits;
    return first ? 1.0 : 1.0 / (1.0 + deviation * deviation);
  };
  // Entries are compared with the largest of their row in the scaling of the pass before, or in the units given.
  const auto shift = [&](int j, bool derivative) {
    return rule.unit_free ? z[m + j] - (derivative ? z[m + n] : 0.0) : 0.0;
  };
  std::vector<double> largest(static_cast<std::size_t>(m));
  const double ignored = rule.threshold > 0.0 ? std::log2(rule.threshold) : -infinity;
  const auto note = [&](bool derivative) {
    return [&, derivative](int i, int j, double v) {
      if (std::isfinite(v) && v != 0.0)
        largest[i] = std::max(largest[i], std::log2(std::abs(v)) + shift(j, derivative));
    };
  };
  const auto add = [&](bool derivative) {
    return [&, derivative](int i, int j, double v) {
      if (!std::isfinite(v) || v == 0.0) return;
      const int place[] = {i, m + j, m + n};
      const double sign[] = {1.0, 1.0, derivative ? -1.0 : 0.0};
      const double logarithm = std::log2(std::abs(v)), in_row = logarithm + z[m + j] + sign[2] * z[m + n];
      const bool compare = !rule.unit_free || !first;
      if (compare && logarithm + shift(j, derivative) <= ignored + largest[i]) return;
      const double weight = weight_of(in_row + z[i]);
      for (int p = 0; p < 3; ++p) {
        for (int q = 0; q < 3; ++q) A(place[p], place[q]) += weight * sign[p] * sign[q];
        b[place[p]] -= weight * sign[p] * logarithm;
      }
    };
  };
  const auto add_size = [&](int j, int order, double value) {
    if (!std::isfinite(value) || value == 0.0) return;
    const double logarithm = std::log2(std::abs(value)), q = order;
    const double weight = of_sizes * weight_of(logarithm - z[m + j] + q * z[m + n]);
    A(m + j, m + j) += weight;
    A(m + j, m + n) -= weight * q;
    A(m + n, m + j) -= weight * q;
    A(m + n, m + n) += weight * q * q;
    b[m + j] += weight * logarithm;
    b[m + n] -= weight * q * logarithm;
  };
  const auto add_force = [&](int i, double value) {
    if (!std::isfinite(value) || value == 0.0) return;
    const double logarithm = std::log2(std::abs(value)), weight = of_sizes * weight_of(logarithm + z[i]);
    A(i, i) += weight;
    b[i] -= weight * logarithm;
  };
  const auto add_second = [&](const SecondDerivative& d) {
    const int place[] = {d.row, m + d.column, m + d.other};
    const double logarithm = std::log2(std::abs(d.value));
    const double weight = of_second_derivatives * weight_of(logarithm + z[place[0]] + z[place[1]] + z[place[2]]);
    for (const int p : place) {
      for (const int q : place) A(p, q) += weight;
      b[p] -= weight * logarithm;
    }
  };
  DenseLu lu;
  for (int pass = 0; pass < 8; ++pass, first = false) {
    A.reset(size, size);
    b.assign(static_cast<std::size_t>(size), 0.0);
    std::ranges::fill(largest, -infinity);
    for_each(s.state_pattern, e.Fx, note(false));
    for_each(s.derivative_pattern, e.Fxp, note(true));
    for_each(s.state_pattern, e.Fx, add(false));
    for_each(s.derivative_pattern, e.Fxp, add(true));
    for (int k = 0; k < size; ++k) A(k, k) += by_sizes ? regularisation : of_sizes;
    for (const SecondDerivative& d : second) add_second(d);
    for (int i = 0; i < m && by_sizes; ++i) add_force(i, e.forces[i]);
    for (int j = 0; j < n; ++j) {
      if (!by_sizes) {
        b[m + j] += of_sizes * std::log2(std::max(std::abs(nominal[j]), 1e-300));
        continue;
      }
      add_size(j, 0, nominal[j] != 1.0 ? nominal[j] : X[j]);
      for (std::size_t k = static_cast<std::size_t>(n + j); k < X.size(); k += static_cast<std::size_t>(n))
        add_size(j, static_cast<int>(k) / n, X[k]);
    }
    if (!lu.factorise(size, {A.data(), static_cast<std::size_t>(size) * static_cast<std::size_t>(size)})) break;
    lu.solve(b);
    z = b;
  }
  // Powers of two respect nominal values that are nearly right; where nothing shall depend on units, rounding may not
  // either: corrections of minimum norm would lead elsewhere.
  const auto factor = [&rule](double exponent) {
    return rule.unit_free ? std::exp2(std::clamp(exponent, -500.0, 500.0)) : power_of_two(exponent);
  };
  ArrayScaling scaling;
  for (int j = 0; j < n; ++j) scaling.variable.push_back(factor(z[m + j]));
  scaling.time = factor(z[m + n]);
  scale_rows(s, at, beside, scaling);
  return scaling;
}

ArrayScaling scale_array(System& system, double t, std::span<const double> X, const ScalingRule& rule) {
  const auto n = static_cast<std::size_t>(system.structure().variables);
  std::vector<double> nominal(n);
  for (std::size_t j = 0; j < n; ++j) nominal[j] = system.nominal(static_cast<int>(j));
  const std::vector<SecondDerivative> second =
      rule.unit_free ? second_derivatives(system, t, X.first(n)) : std::vector<SecondDerivative>{};
  return scale_entries(system.structure(), entries_at(system, t, X), entries_beside(system, t, X), X, nominal, second,
                       rule);
}

void scale_equations(System& system, double t, std::span<const double> X, ArrayScaling& scaling) {
  scale_rows(system.structure(), entries_at(system, t, X), entries_beside(system, t, X), scaling);
}

std::vector<double> some_ulps_beside(std::span<const double> X) {
  constexpr double ulps = 4.0 * std::numeric_limits<double>::epsilon();
  std::vector<double> moved(X.begin(), X.end());
  std::uint64_t bits = 0x9e3779b97f4a7c15ULL;
  for (double& value : moved) {
    bits ^= bits << 13;
    bits ^= bits >> 7;
    bits ^= bits << 17;
    value *= bits & 1U ? 1.0 + ulps : 1.0 - ulps;
  }
  return moved;
}

bool remove_noise(std::span<const double> column, std::span<const double> guess, double noise, std::span<double> X) {
  bool found = false;
  for (std::size_t k = 0; k < X.size(); ++k) {
    const double before = k < guess.size() ? guess[k] : 0.0;
    if (X[k] == before || X[k] == 0.0 || std::abs(X[k]) > noise * std::max(column[k], std::abs(before))) continue;
    X[k] = 0.0;
    found = true;
  }
  return found;
}

std::vector<double> row_factors(const ArrayScaling& scaling, int level) {
  std::vector<double> factors;
  factors.reserve(scaling.equation.size() * static_cast<std::size_t>(level + 1));
  double power = 1.0;
  for (int j = 0; j <= level; ++j, power *= scaling.time)
    for (double w : scaling.equation) factors.push_back(w * power);
  return factors;
}

std::vector<double> column_factors(const ArrayScaling& scaling, int level) {
  std::vector<double> factors;
  factors.reserve(scaling.variable.size() * static_cast<std::size_t>(level + 2));
  double power = 1.0;
  for (int i = 0; i <= level + 1; ++i, power /= scaling.time)
    for (double w : scaling.variable) factors.push_back(w * power);
  return factors;
}

void apply_factors(Matrix& a, std::span<const double> row, std::span<const double> column) {
  for (int j = 0; j < a.columns(); ++j)
    for (int i = 0; i < a.rows(); ++i) a(i, j) *= row[i] * column[j];
}

}  // namespace saltus
