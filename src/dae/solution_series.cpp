// With a certificate each further coefficient is one linear system; otherwise the derivative array determines `order` coefficients at
// level mu + order.
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
  if (values->u > 0) return false;
  Initialisation start = initialise(system, t, x, values);
  if (!start.ok()) return false;
  X = std::move(start.X);
  if (values.certificate.valid && !values.structure.singular()) {
    StructuredArray array(system, values.structure);
    const int level = std::max(order, array.level());
    X.resize(static_cast<std::size_t>(level + 2) * n, 0.0);
    if (!array.extend(t, level, X)) return false;
  } else {
    DerivativeArray array(system);
    const int level = values->mu + order;
    if (array.columns(level) > largest_array) return false;
    X.resize(static_cast<std::size_t>(level + 2) * n, 0.0);
    ArrayNewtonOptions options;
    options.fixed.assign(n, 1);
    ArrayScaling scaling;
    if (!solve_array(array, scaling, t, level, X, options).converged) return false;
  }
  X.resize(static_cast<std::size_t>(order + 2) * n);
  return true;
}

}  // namespace saltus
