// Directions in which nothing is determined: T2 spans what the constraints leave, and on it the differential part Z1^T
// F_x' has a null space of dimension u. Variables that are kept constant there must have independent parts in these
// directions; then the other variables, and all derivatives, are determined.
#include "dae/undetermined.hpp"

#include <saltus/linalg/decomposition.hpp>

#include <cmath>

namespace saltus {

Matrix undetermined_directions(System& system, double t, const CharacteristicValues& values) {
  const Structure& s = system.structure();
  const int n = s.variables;
  if (values->u == 0 || values.T2.rows() != n || values.Z1.rows() != s.equations) return {};
  const auto size = static_cast<std::size_t>(n);
  std::vector<double> Fx(s.state_pattern.row.size()), Fxp(s.derivative_pattern.row.size());
  system.jacobian(t, std::span(values.X).first(size), std::span(values.X).subspan(size, size), Fx, Fxp);
  Matrix mass(s.equations, n);
  for (int j = 0; j < n; ++j)
    for (int k = s.derivative_pattern.start[j]; k < s.derivative_pattern.start[j + 1]; ++k) {
      const int i = s.derivative_pattern.row[k];
      mass(i, j) = Fxp[k] * values.equation_scale[i] * values.variable_scale[j] / values.time_scale;
      if (!std::isfinite(mass(i, j))) return {};
    }
  if (values.Z1.columns() == 0) return values.T2;
  const Svd parts = svd(transpose_times(values.Z1, mass) * values.T2);
  return values.T2 * columns(parts.V, values.T2.columns() - values->u, values->u);
}

std::vector<int> choose_constant_components(Matrix directions) {
  constexpr double clearly = 1.01;  // larger; what differs by rounding errors alone is equal
  std::vector<int> chosen;
  std::vector<double> q(static_cast<std::size_t>(directions.columns()));
  const auto length = [&](int i) {
    double sum = 0.0;
    for (int k = 0; k < directions.columns(); ++k) sum += directions(i, k) * directions(i, k);
    return std::sqrt(sum);
  };
  while (static_cast<int>(chosen.size()) < directions.columns()) {
    int best = 0;
    for (int j = 1; j < directions.rows(); ++j)
      if (length(j) > clearly * length(best)) best = j;
    const double size = length(best);
    if (!(size > 0.0)) break;
    chosen.push_back(best);
    for (int k = 0; k < directions.columns(); ++k) q[static_cast<std::size_t>(k)] = directions(best, k) / size;
    for (int i = 0; i < directions.rows(); ++i) {
      double product = 0.0;
      for (int k = 0; k < directions.columns(); ++k) product += directions(i, k) * q[static_cast<std::size_t>(k)];
      for (int k = 0; k < directions.columns(); ++k) directions(i, k) -= product * q[static_cast<std::size_t>(k)];
    }
  }
  return chosen;
}

std::vector<int> undetermined_variables(System& system, double t, const CharacteristicValues& values) {
  std::vector<int> result;
  const Matrix directions = undetermined_directions(system, t, values);
  constexpr double share = 1e-6;  // of a unit vector: smaller ones are rounding
  for (int j = 0; j < directions.rows(); ++j)
    for (int k = 0; k < directions.columns(); ++k)
      if (std::abs(directions(j, k)) > share) {
        result.push_back(j);
        break;
      }
  return result;
}

}  // namespace saltus
