// With a certificate each further coefficient is one linear system. Otherwise the array of level mu contains all
// constraints on x, but their derivatives only at the next level: x_[order] is determined at level mu + order (Kunkel
// and Mehrmann, Differential-Algebraic Equations, EMS 2006, section 4.1: the reduced equations are of index 1).
#include <saltus/dae/initialisation.hpp>
#include <saltus/dae/solution_series.hpp>

#include <algorithm>

#include "dae/array_newton.hpp"
#include "dae/structured_array.hpp"

namespace saltus {

namespace {
constexpr int largest_array = 1000;  // columns of a dense array
}

bool solution_series(System& system, double t, std::span<const double> x, const CharacteristicValues& values, int order,
                     std::vector<double>& X) {
  const Structure& s = system.structure();
  const auto n = static_cast<std::size_t>(s.variables);
  if (!s.taylor) return false;
  if (s.explicit_ode) {
    X.assign(x.begin(), x.end());
    X.resize(static_cast<std::size_t>(order + 2) * n, 0.0);
    system.solution_taylor(t, order + 1, X);
    return true;
  }
  Initialisation start = initialise(system, t, x, values);
  if (!start.ok()) return false;
  X = std::move(start.X);
  if (!extend_series(system, t, values, order + 1, X)) return false;
  X.resize(static_cast<std::size_t>(order + 2) * n);
  return true;
}

bool extend_series(System& system, double t, const CharacteristicValues& values, int order, std::vector<double>& X) {
  const auto n = static_cast<std::size_t>(system.structure().variables);
  if (!system.structure().taylor) return false;
  std::vector<double> longer = X;
  if (values.certificate.valid && !values.structure.singular()) {
    StructuredArray array(system, values.structure);
    const int level = std::max(order - 1, array.level());
    longer.resize(static_cast<std::size_t>(level + 2) * n, 0.0);
    if (!array.extend(t, level, longer)) return false;
  } else {
    DerivativeArray array(system);
    const int level = values->mu + order;
    if (array.columns(level) > largest_array) return false;
    longer.resize(static_cast<std::size_t>(level + 2) * n, 0.0);
    ArrayNewtonOptions options;
    options.fixed.assign(n, 1);
    options.constant.assign(n, 0);
    for (const int j : values.constant_components) {
      options.constant[static_cast<std::size_t>(j)] = 1;
      for (std::size_t q = n; q < longer.size(); q += n) longer[q + static_cast<std::size_t>(j)] = 0.0;
    }
    ArrayScaling scaling;
    const ArrayNewtonResult found = solve_array(array, scaling, t, level, longer, options);
    if (!found.converged || !(found.residual <= 1e-8 * (1.0 + found.reference))) return false;
  }
  X = std::move(longer);
  return true;
}

}  // namespace saltus
