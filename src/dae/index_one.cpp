// The unknowns are x' of differentiated variables and x of the others; the matrix of Newton's method is the system
// Jacobian G. Differentiating F(t, x, x') = 0 once gives G z = -F_t - sum F_x x' over the differentiated variables,
// where z holds their second derivatives and, for the others, the x' that is looked for.
#include "dae/index_one.hpp"

#include <saltus/dae/sequential_jacobian.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/finite.hpp"

namespace saltus {
namespace {

constexpr int most_iterations = 10;
constexpr double tolerance = 1e-13;

/// Whether every residual is what rounding of its terms explains. The residual is used up: to evaluate it once more costs less than the
/// memory to keep it.
bool only_rounding(const Structure& s, std::span<double> residual, std::span<const double> Fx, std::span<const double> Fxp,
                   std::span<const double> x, std::span<const double> xp) {
  constexpr double rounding = 32.0 * std::numeric_limits<double>::epsilon();
  for (double& r : residual) r = std::abs(r);
  const auto subtract = [&](const SparsePattern& p, std::span<const double> entries, std::span<const double> values) {
    for (int j = 0; j < p.columns; ++j)
      for (int k = p.start[j]; k < p.start[j + 1]; ++k) residual[p.row[k]] -= rounding * std::abs(entries[k] * values[j]);
  };
  subtract(s.state_pattern, Fx, x);
  subtract(s.derivative_pattern, Fxp, xp);
  return std::ranges::all_of(residual, [](double r) { return r <= std::numeric_limits<double>::min(); });
}

}  // namespace

IndexOneSolver::IndexOneSolver(const Structure& structure, const StructuralAnalysis& analysis)
    : order_(SequentialJacobian::order(structure, analysis)) {
  if (sequential()) return;
  factors_ = std::make_unique<Factors>(Factors{SystemJacobian(structure, analysis), {}});
  factors_->lu.set_pattern(factors_->jacobian.pattern(), std::vector<char>(analysis.variable_offset.size(), 1));
}

IndexOneStart IndexOneSolver::solve(System& system, const StructuralAnalysis& analysis, double t, std::span<double> x,
                                    std::span<double> xp, std::span<const double> scale, double time_scale) {
  const Structure& s = system.structure();
  const auto n = static_cast<std::size_t>(s.variables);
  const auto differential = [&](int j) { return analysis.variable_offset[j] > 0; };
  const std::size_t nx = s.state_pattern.row.size(), nxp = s.derivative_pattern.row.size();
  std::vector<double> room(nx + nxp + n);
  const std::span<double> Fx = std::span(room).first(nx), Fxp = std::span(room).subspan(nx, nxp), b = std::span(room).last(n);
  // G z = b; take(j, z_j) for all variables
  const auto solve_for = [&](auto take) {
    if (sequential()) return SequentialJacobian(s, analysis, order_, Fx, Fxp).solve(b, take);
    factors_->lu.solve(b);
    for (int j = 0; j < s.variables; ++j) take(j, b[j]);
    return true;
  };
  const auto factorise = [&] {
    if (sequential()) return true;
    std::vector<double> entries(factors_->jacobian.pattern().row.size());
    factors_->jacobian.assemble(Fx, Fxp, entries);
    return factors_->lu.factorise(entries);
  };
  IndexOneStart result;
  double previous = std::numeric_limits<double>::infinity();
  for (bool last = false; !last; ++result.iterations) {
    system.residual(t, x, xp, b);
    system.jacobian(t, x, xp, Fx, Fxp);
    if (!all_finite(b)) return result;
    last = only_rounding(s, b, Fx, Fxp, x, xp);
    system.residual(t, x, xp, b);
    double largest = 0.0;
    const bool regular = factorise() && solve_for([&](int j, double correction) {
      double& value = differential(j) ? xp[j] : x[j];
      value -= correction;
      // a NaN, with which comparisons are false, must not get lost
      if (std::abs(correction) <= largest * std::abs(value)) return;
      const double typical = scale.empty() ? std::abs(system.nominal(j)) : scale[j];
      const double size = (differential(j) ? typical / time_scale : typical) + std::abs(value);
      if (!(std::abs(correction) <= largest * size)) largest = std::abs(correction) / size;
    });
    if (!regular) return result;
    result.corrections.push_back(largest);
    if (!std::isfinite(largest)) return result;
    last = last || largest <= tolerance;
    if (!last && (largest > 0.5 * previous || result.iterations == most_iterations)) return result;
    previous = largest;
  }
  system.time_derivative(t, x, xp, b);
  for (int j = 0; j < s.variables; ++j) {
    if (!differential(j)) continue;
    for (int k = s.state_pattern.start[j]; k < s.state_pattern.start[j + 1]; ++k)
      b[s.state_pattern.row[k]] += Fx[k] * xp[j];
  }
  const bool regular = solve_for([&](int j, double slope) {
    if (!differential(j)) xp[j] = -slope;
  });
  result.solved = regular && all_finite(x) && all_finite(xp);
  return result;
}

}  // namespace saltus
