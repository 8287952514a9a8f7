// The unknowns are x' of differentiated variables and x of the others; the matrix of Newton's method is the system
// Jacobian G. Differentiating F(t, x, x') = 0 once gives G z = -F_t - sum F_x x' over the differentiated variables,
// where z holds their second derivatives and, for the others, the x' that is looked for.
#include "dae/index_one.hpp"

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

}  // namespace

IndexOneSolver::IndexOneSolver(const Structure& structure, const StructuralAnalysis& analysis)
    : differential_(analysis.variable_offset.size()), jacobian_(structure, analysis) {
  const auto n = static_cast<std::size_t>(structure.variables);
  for (std::size_t j = 0; j < n; ++j) differential_[j] = analysis.variable_offset[j] > 0;
  lu_.set_pattern(jacobian_.pattern(), std::vector<char>(n, 1));
  Fx_.resize(structure.state_pattern.row.size());
  Fxp_.resize(structure.derivative_pattern.row.size());
  entries_.resize(jacobian_.pattern().row.size());
  b_.resize(n);
  terms_.resize(n);
}

/// Whether every residual in b_ is what rounding of its terms explains.
bool IndexOneSolver::only_rounding(const Structure& s, std::span<const double> x, std::span<const double> xp) {
  std::ranges::fill(terms_, 0.0);
  const auto add = [&](const SparsePattern& p, std::span<const double> entries, std::span<const double> values) {
    for (int j = 0; j < p.columns; ++j)
      for (int k = p.start[j]; k < p.start[j + 1]; ++k) terms_[p.row[k]] += std::abs(entries[k] * values[j]);
  };
  add(s.state_pattern, Fx_, x);
  add(s.derivative_pattern, Fxp_, xp);
  constexpr double rounding = 32.0 * std::numeric_limits<double>::epsilon();
  for (std::size_t i = 0; i < b_.size(); ++i)
    if (std::abs(b_[i]) > rounding * terms_[i] + std::numeric_limits<double>::min()) return false;
  return true;
}

IndexOneStart IndexOneSolver::solve(System& system, double t, std::span<double> X, std::span<const double> scale,
                                    double time_scale) {
  const Structure& s = system.structure();
  const std::size_t n = b_.size();
  const std::span<double> x = X.first(n), xp = X.subspan(n, n);
  IndexOneStart result;
  double previous = std::numeric_limits<double>::infinity();
  for (bool last = false; !last; ++result.iterations) {
    system.residual(t, x, xp, b_);
    system.jacobian(t, x, xp, Fx_, Fxp_);
    if (!all_finite(b_)) return result;
    last = only_rounding(s, x, xp);
    jacobian_.assemble(Fx_, Fxp_, entries_);
    if (!lu_.factorise(entries_)) return result;
    lu_.solve(b_);
    double largest = 0.0;
    for (std::size_t j = 0; j < n; ++j) {
      double& value = differential_[j] ? xp[j] : x[j];
      value -= b_[j];
      const double typical = differential_[j] ? scale[j] / time_scale : scale[j];
      largest = std::max(largest, std::abs(b_[j]) / (typical + std::abs(value)));
    }
    result.corrections.push_back(largest);
    if (!std::isfinite(largest)) return result;
    last = last || largest <= tolerance;
    if (!last && (largest > 0.5 * previous || result.iterations == most_iterations)) return result;
    previous = largest;
  }
  system.time_derivative(t, x, xp, b_);
  for (int j = 0; j < s.variables; ++j) {
    if (!differential_[j]) continue;
    for (int k = s.state_pattern.start[j]; k < s.state_pattern.start[j + 1]; ++k)
      b_[s.state_pattern.row[k]] += Fx_[k] * xp[j];
  }
  lu_.solve(b_);
  for (std::size_t j = 0; j < n; ++j)
    if (!differential_[j]) xp[j] = -b_[j];
  result.solved = all_finite(X.first(2 * n));
  return result;
}

}  // namespace saltus
