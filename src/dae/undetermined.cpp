// Directions in which nothing is determined: T2 spans what the constraints leave, and on it the differential part Z1^T
// F_x' has a null space of dimension u.
#include <saltus/dae/characteristic_values.hpp>
#include <saltus/linalg/decomposition.hpp>

#include <cmath>

namespace saltus {

std::vector<int> undetermined_variables(System& system, double t, const CharacteristicValues& values) {
  const Structure& s = system.structure();
  const int n = s.variables;
  std::vector<int> result;
  if (values->u == 0 || values.T2.rows() != n || values.Z1.rows() != s.equations) return result;
  const auto size = static_cast<std::size_t>(n);
  std::vector<double> Fx(s.state_pattern.row.size()), Fxp(s.derivative_pattern.row.size());
  system.jacobian(t, std::span(values.X).first(size), std::span(values.X).subspan(size, size), Fx, Fxp);
  Matrix mass(s.equations, n);
  for (int j = 0; j < n; ++j)
    for (int k = s.derivative_pattern.start[j]; k < s.derivative_pattern.start[j + 1]; ++k) {
      const int i = s.derivative_pattern.row[k];
      mass(i, j) = Fxp[k] * values.equation_scale[i] * values.variable_scale[j] / values.time_scale;
      if (!std::isfinite(mass(i, j))) return result;
    }
  const int free = values.T2.columns();
  Matrix directions = values.T2;
  if (values.Z1.columns() > 0) {
    const Svd parts = svd(transpose_times(values.Z1, mass) * values.T2);
    directions = values.T2 * columns(parts.V, free - values->u, values->u);
  }
  constexpr double share = 1e-6;  // of a unit vector: smaller ones are rounding
  for (int j = 0; j < n; ++j)
    for (int k = 0; k < directions.columns(); ++k)
      if (std::abs(directions(j, k)) > share) {
        result.push_back(j);
        break;
      }
  return result;
}

}  // namespace saltus
