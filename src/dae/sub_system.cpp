#include "dae/sub_system.hpp"

#include <algorithm>

namespace saltus {

SparsePattern part_of(const SparsePattern& whole, std::span<const int> local_row, int rows,
                      std::span<const int> variables, std::vector<int>& place) {
  SparsePattern part{rows, static_cast<int>(variables.size()), {0}, {}};
  place.clear();
  std::vector<std::pair<int, int>> column;
  for (const int j : variables) {
    column.clear();
    for (int k = whole.start[j]; k < whole.start[j + 1]; ++k)
      if (local_row[whole.row[k]] >= 0) column.emplace_back(local_row[whole.row[k]], k);
    std::ranges::sort(column);
    for (const auto& [row, k] : column) {
      part.row.push_back(row);
      place.push_back(k);
    }
    part.start.push_back(part.nonzeros());
  }
  return part;
}

SubSystem::SubSystem(System& whole, std::vector<int> equations, std::vector<int> variables)
    : whole_(whole), equations_(std::move(equations)), variables_(std::move(variables)) {
  const Structure& s = whole.structure();
  structure_.equations = static_cast<int>(equations_.size());
  structure_.variables = static_cast<int>(variables_.size());
  structure_.linear = s.linear;
  structure_.taylor = s.taylor;
  structure_.scaling = s.scaling;
  std::vector<int> local(static_cast<std::size_t>(s.equations), -1);
  for (std::size_t i = 0; i < equations_.size(); ++i) local[equations_[i]] = static_cast<int>(i);
  structure_.state_pattern = part_of(s.state_pattern, local, structure_.equations, variables_, state_place_);
  structure_.derivative_pattern = part_of(s.derivative_pattern, local, structure_.equations, variables_, derivative_place_);
}

void SubSystem::fill(std::size_t coefficients, std::span<const double> X) {
  const auto n = static_cast<std::size_t>(whole_.structure().variables), own = variables_.size();
  X_.assign(coefficients * n, 0.0);
  std::copy_n(inputs_.begin(), std::min(inputs_.size(), X_.size()), X_.begin());
  for (std::size_t q = 0; q < coefficients; ++q)
    for (std::size_t j = 0; j < own; ++j) X_[q * n + static_cast<std::size_t>(variables_[j])] = X[q * own + j];
}

void SubSystem::fill(std::span<const double> x, std::span<const double> xp) {
  std::vector<double> both(x.begin(), x.end());
  both.insert(both.end(), xp.begin(), xp.end());
  fill(2, both);
}

std::span<const double> SubSystem::coefficient(std::size_t order) const {
  const auto n = static_cast<std::size_t>(whole_.structure().variables);
  return std::span(X_).subspan(order * n, n);
}

void SubSystem::pick(std::span<const double> all, std::span<double> part) const {
  for (std::size_t i = 0; i < equations_.size(); ++i) part[i] = all[equations_[i]];
}

void SubSystem::residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) {
  fill(x, xp);
  F_.resize(static_cast<std::size_t>(whole_.structure().equations));
  whole_.residual(t, coefficient(0), coefficient(1), F_);
  pick(F_, F);
}

void SubSystem::jacobian(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Fx,
                         std::span<double> Fxp) {
  fill(x, xp);
  Fx_.resize(whole_.structure().state_pattern.row.size());
  Fxp_.resize(whole_.structure().derivative_pattern.row.size());
  whole_.jacobian(t, coefficient(0), coefficient(1), Fx_, Fxp_);
  for (std::size_t k = 0; k < Fx.size(); ++k) Fx[k] = Fx_[state_place_[k]];
  for (std::size_t k = 0; k < Fxp.size(); ++k) Fxp[k] = Fxp_[derivative_place_[k]];
}

// What depends on time includes the inputs: the first coefficient of F along them, with the own variables at rest and
// their derivatives constant.
void SubSystem::time_derivative(double t, std::span<const double> x, std::span<const double> xp,
                                std::span<double> Ft) {
  if (!structure_.taylor) return System::time_derivative(t, x, xp, Ft);
  const std::size_t m = equations_.size();
  std::vector<double> Fx(structure_.state_pattern.row.size()), X(x.begin(), x.end()), F(2 * m);
  X.insert(X.end(), xp.begin(), xp.end());
  X.resize(3 * x.size(), 0.0);
  std::vector<double> Fxp(structure_.derivative_pattern.row.size());
  taylor(t, 1, X, F);
  jacobian(t, x, xp, Fx, Fxp);
  std::copy_n(F.begin() + static_cast<std::ptrdiff_t>(m), m, Ft.begin());
  const SparsePattern& p = structure_.state_pattern;  // less what the own variables do, which move along xp
  for (int j = 0; j < p.columns; ++j)
    for (int k = p.start[j]; k < p.start[j + 1]; ++k) Ft[p.row[k]] -= Fx[k] * xp[j];
}

void SubSystem::taylor(double t, int level, std::span<const double> X, std::span<double> F) {
  const auto count = static_cast<std::size_t>(level) + 1, m = static_cast<std::size_t>(whole_.structure().equations);
  fill(count + 1, X);
  F_.resize(count * m);
  whole_.taylor(t, level, X_, F_);
  for (std::size_t k = 0; k < count; ++k)
    pick(std::span(F_).subspan(k * m, m), F.subspan(k * equations_.size(), equations_.size()));
}

void SubSystem::taylor_jacobian(double t, int level, std::span<const double> X, std::span<double> F,
                                std::span<double> Fx, std::span<double> Fxp) {
  const Structure& s = whole_.structure();
  const auto count = static_cast<std::size_t>(level) + 1, m = static_cast<std::size_t>(s.equations);
  fill(count + 1, X);
  F_.resize(count * m);
  Fx_.resize(count * s.state_pattern.row.size());
  Fxp_.resize(count * s.derivative_pattern.row.size());
  whole_.taylor_jacobian(t, level, X_, F_, Fx_, Fxp_);
  for (std::size_t k = 0; k < count; ++k) {
    pick(std::span(F_).subspan(k * m, m), F.subspan(k * equations_.size(), equations_.size()));
    for (std::size_t e = 0; e < state_place_.size(); ++e)
      Fx[k * state_place_.size() + e] = Fx_[k * s.state_pattern.row.size() + static_cast<std::size_t>(state_place_[e])];
    for (std::size_t e = 0; e < derivative_place_.size(); ++e)
      Fxp[k * derivative_place_.size() + e] =
          Fxp_[k * s.derivative_pattern.row.size() + static_cast<std::size_t>(derivative_place_[e])];
  }
}

}  // namespace saltus
