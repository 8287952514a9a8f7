// The unknowns are x' of differentiated variables and x of the others; the matrix of Newton's method is the system
// Jacobian G. Differentiating F(t, x, x') = 0 once gives G z = -F_t - sum F_x x' over the differentiated variables,
// where z holds their second derivatives and, for the others, the x' that is looked for.
#include "dae/index_one.hpp"

#include <saltus/linalg/structured_lu.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace saltus {
namespace {

constexpr int most_iterations = 10;
constexpr double tolerance = 1e-13;

bool all_finite(std::span<const double> values) {
  return std::ranges::all_of(values, [](double v) { return std::isfinite(v); });
}

/// Whether every residual is what rounding of its terms explains.
bool only_rounding(const Structure& s, std::span<const double> F, std::span<const double> Fx, std::span<const double> Fxp,
                   std::span<const double> x, std::span<const double> xp) {
  std::vector<double> terms(F.size(), 0.0);
  const auto add = [&](const SparsePattern& p, std::span<const double> entries, std::span<const double> values) {
    for (int j = 0; j < p.columns; ++j)
      for (int k = p.start[j]; k < p.start[j + 1]; ++k) terms[p.row[k]] += std::abs(entries[k] * values[j]);
  };
  add(s.state_pattern, Fx, x);
  add(s.derivative_pattern, Fxp, xp);
  constexpr double rounding = 32.0 * std::numeric_limits<double>::epsilon();
  for (std::size_t i = 0; i < F.size(); ++i)
    if (std::abs(F[i]) > rounding * terms[i] + std::numeric_limits<double>::min()) return false;
  return true;
}

}  // namespace

IndexOneStart solve_index_one(System& system, const StructuralAnalysis& structure, double t, std::span<double> X,
                              std::span<const double> scale, double time_scale) {
  const Structure& s = system.structure();
  const auto n = static_cast<std::size_t>(s.variables);
  const std::span<double> x = X.first(n), xp = X.subspan(n, n);
  const SystemJacobian jacobian(s, structure);
  StructuredLu lu;
  lu.set_pattern(jacobian.pattern(), std::vector<char>(n, 1));
  std::vector<double> Fx(s.state_pattern.row.size()), Fxp(s.derivative_pattern.row.size()),
      entries(jacobian.pattern().row.size()), b(n);
  IndexOneStart result;
  double previous = std::numeric_limits<double>::infinity();
  for (bool last = false; !last; ++result.iterations) {
    system.residual(t, x, xp, b);
    system.jacobian(t, x, xp, Fx, Fxp);
    if (!all_finite(b)) return result;
    last = only_rounding(s, b, Fx, Fxp, x, xp);
    jacobian.assemble(Fx, Fxp, entries);
    if (!lu.factorise(entries)) return result;
    lu.solve(b);
    double largest = 0.0;
    for (std::size_t j = 0; j < n; ++j) {
      const bool differential = structure.variable_offset[j] > 0;
      double& value = differential ? xp[j] : x[j];
      value -= b[j];
      const double typical = differential ? scale[j] / time_scale : scale[j];
      largest = std::max(largest, std::abs(b[j]) / (typical + std::abs(value)));
    }
    result.corrections.push_back(largest);
    if (!std::isfinite(largest)) return result;
    last = last || largest <= tolerance;
    if (!last && (largest > 0.5 * previous || result.iterations == most_iterations)) return result;
    previous = largest;
  }
  std::vector<double> Ft(n);
  system.time_derivative(t, x, xp, Ft);
  for (std::size_t i = 0; i < n; ++i) b[i] = Ft[i];
  for (int j = 0; j < s.variables; ++j) {
    if (structure.variable_offset[j] == 0) continue;
    for (int k = s.state_pattern.start[j]; k < s.state_pattern.start[j + 1]; ++k)
      b[s.state_pattern.row[k]] += Fx[k] * xp[j];
  }
  lu.solve(b);
  for (std::size_t j = 0; j < n; ++j)
    if (structure.variable_offset[j] == 0) xp[j] = -b[j];
  result.solved = all_finite(X.first(2 * n));
  return result;
}

}  // namespace saltus
