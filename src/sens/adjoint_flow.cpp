#include "sens/adjoint_flow.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace saltus {

LinearPoint* RecordedPath::at(double t) {
  const auto covers = [&](const Trajectory::Step& step) {
    const double sign = step.polynomial.h >= 0.0 ? 1.0 : -1.0;
    return (t - step.polynomial.t0) * sign >= 0.0 && (step.t_end - t) * sign >= 0.0;
  };
  if (!covers(steps_[step_])) {
    const double sign = steps_.front().polynomial.h >= 0.0 ? 1.0 : -1.0;
    const auto it = std::partition_point(steps_.begin(), steps_.end(),
                                         [&](const Trajectory::Step& step) { return (step.t_end - t) * sign < 0.0; });
    step_ = std::min(static_cast<std::size_t>(it - steps_.begin()), steps_.size() - 1);
  }
  const DensePolynomial& polynomial = steps_[step_].polynomial;
  x_.resize(static_cast<std::size_t>(polynomial.variables));
  xp_.resize(x_.size());
  polynomial.evaluate(t, x_);
  if (!point_.mode().is_explicit()) polynomial.derivative(t, xp_);
  return point_.move(t, x_, xp_) ? &point_ : nullptr;
}

AdjointEquations::AdjointEquations(RecordedPath& path, Gradient* integrand)
    : path_(path), integrand_(integrand), function_(path.point().mode().unknowns()) {
  const LinearPoint& point = path.point();
  const int n = static_cast<int>(point.held().size());
  std::vector<std::pair<int, int>> diagonal, entries;
  for (int k = 0; k < n; ++k) diagonal.emplace_back(k, k);
  if (point.mode().is_explicit())
    for (const auto& [row, column] : point.explicit_entries()) entries.emplace_back(column, row);
  else
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < n; ++k) entries.emplace_back(k, j);
  structure_.variables = structure_.equations = n;
  structure_.state_pattern = make_pattern(n, n, entries, &places_);
  structure_.derivative_pattern = make_pattern(n, n, diagonal);
  structure_.explicit_ode = structure_.linear = structure_.constant_mass = true;
  nominal_.assign(static_cast<std::size_t>(n), 1.0);
}

void AdjointEquations::fill(const LinearPoint& point, std::span<const double> lambda, std::vector<double>& function) {
  std::ranges::fill(function, 0.0);
  for (std::size_t k = 0; k < lambda.size(); ++k)
    function[static_cast<std::size_t>(point.mode().place(static_cast<std::size_t>(point.held()[k]), 1))] = lambda[k];
  if (!integrand_) return;
  point.evaluate(*integrand_);
  for (const Gradient::Entry& e : integrand_->entries())
    if (e.group == LinearMode::by_unknown) function[e.place] += e.value;
}

void AdjointEquations::rhs(double t, std::span<const double> x, std::span<double> xp) {
  const LinearPoint* const point = path_.at(t);
  if (!point) {
    std::ranges::fill(xp, std::numeric_limits<double>::quiet_NaN());
    return;
  }
  fill(*point, x, function_);
  std::ranges::fill(xp, 0.0);
  point->pull_held(function_, xp);
  for (double& v : xp) v = -v;
}

void AdjointEquations::residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) {
  rhs(t, x, F);
  for (std::size_t k = 0; k < F.size(); ++k) F[k] = xp[k] - F[k];
}

void AdjointEquations::jacobian(double t, std::span<const double>, std::span<const double>, std::span<double> Fx,
                                std::span<double> Fxp) {
  std::ranges::fill(Fxp, 1.0);
  const LinearPoint* const point = path_.at(t);
  if (!point) {
    std::ranges::fill(Fx, std::numeric_limits<double>::quiet_NaN());
    return;
  }
  if (point->mode().is_explicit()) {
    const std::span<const double> values = point->E();
    std::ranges::fill(Fx, 0.0);
    for (std::size_t k = 0; k < places_.size(); ++k)
      Fx[static_cast<std::size_t>(places_[k])] -= values[static_cast<std::size_t>(point->explicit_values()[k])];
    return;
  }
  const std::size_t n = point->held().size();
  std::vector<double> function(function_.size()), column(n);
  for (std::size_t j = 0; j < n; ++j) {
    std::ranges::fill(function, 0.0);
    std::ranges::fill(column, 0.0);
    function[static_cast<std::size_t>(point->mode().place(static_cast<std::size_t>(point->held()[j]), 1))] = 1.0;
    point->pull_held(function, column);
    for (std::size_t k = 0; k < n; ++k) Fx[static_cast<std::size_t>(places_[j * n + k])] = column[k];
  }
}

AdjointFlow::AdjointFlow(AdjointEquations& equations, std::span<const double> start) : equations_(equations) {
  for (std::size_t k = 0; k < start.size(); ++k)
    variables_.push_back({.name = equations.variable_name(static_cast<int>(k)),
                          .start = start[k],
                          .fixed = true,
                          .nominal = equations.nominal(static_cast<int>(k))});
}

}  // namespace saltus
