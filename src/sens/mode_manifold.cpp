#include "sens/mode_manifold.hpp"

#include <fmt/format.h>
#include <saltus/linalg/decomposition.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/ridders.hpp"

namespace saltus {

namespace {

constexpr int steps = 14;            // of differences: the last is 1.6^13 = 450 times shorter than the first
constexpr double first_step = 0.02;  // of the size of a variable
constexpr double consistent = 1e-6;  // residual of a row by the sum of its terms, above which nothing was found

bool all_finite(std::span<const double> values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

Matrix dense(const SparsePattern& pattern, std::span<const double> values, int rows, int columns) {
  Matrix a(rows, columns);
  for (int j = 0; j < columns; ++j)
    for (int k = pattern.start[j]; k < pattern.start[j + 1]; ++k) a(pattern.row[k], j) = values[k];
  return a;
}

/// The last columns of V: directions that a matrix takes to zero. `rank` by the largest gap, or -1 where none is clear.
Matrix null_space(const Matrix& a, int& rank) {
  const int n = a.columns();
  const Svd found = svd(a);
  constexpr double clear = 1e-10;
  const double largest = found.s.empty() ? 0.0 : found.s.front();
  rank = static_cast<int>(std::ranges::count_if(found.s, [&](double s) { return s > clear * largest && s > 0.0; }));
  return columns(found.V, rank, n - rank);
}

}  // namespace

ModeManifold::ModeManifold(const CompiledModel& model, const SimulatorState& at)
    : model_(model), at_(at), mode_(at.mode), t_(at.t), system_(&model_.system(mode_)) {
  if (at.model != model.name())
    throw UsageError(fmt::format("linearise: the state is one of the model '{}', not of '{}'", at.model, model.name()));
}

double ModeManifold::size(int variable, const ManifoldPoint& at) const {
  return std::max(std::abs(at.x[static_cast<std::size_t>(variable)]), system_->nominal(variable));
}

std::optional<ManifoldPoint> ModeManifold::settle(CompiledModel& model, const Mode& mode, std::vector<double> x,
                                                  std::vector<double> xp, Consistency& consistency) {
  System& system = model.system(mode);
  const Structure& structure = system.structure();
  if (structure.explicit_ode) {
    if (mode.on_surfaces()) system.project(t_, x);
    system.rhs(t_, x, xp);
  } else {
    consistency.refine(system, t_, x, xp);
    std::vector<double> F(static_cast<std::size_t>(structure.equations)), Fx(structure.state_pattern.row.size()),
        Fxp(structure.derivative_pattern.row.size()), sum(F.size());
    system.residual(t_, x, xp, F);
    system.jacobian(t_, x, xp, Fx, Fxp);
    for (int j = 0; j < structure.variables; ++j) {
      const SparsePattern &a = structure.state_pattern, &b = structure.derivative_pattern;
      for (int k = a.start[j]; k < a.start[j + 1]; ++k)
        sum[static_cast<std::size_t>(a.row[k])] += std::abs(Fx[k]) * std::max(std::abs(x[j]), system.nominal(j));
      for (int k = b.start[j]; k < b.start[j + 1]; ++k)
        sum[static_cast<std::size_t>(b.row[k])] += std::abs(Fxp[k]) * std::max(std::abs(xp[j]), system.nominal(j));
    }
    for (std::size_t i = 0; i < F.size(); ++i)
      if (!(std::abs(F[i]) <= consistent * std::max(sum[i], std::numeric_limits<double>::min()))) return std::nullopt;
  }
  if (!all_finite(x) || !all_finite(xp)) return std::nullopt;
  ManifoldPoint point{std::move(x), std::move(xp), std::vector<double>(model.observed().size())};
  model.observe(mode, t_, point.x, point.xp, point.values);
  if (!all_finite(point.values)) return std::nullopt;
  return point;
}

std::optional<ManifoldPoint> ModeManifold::start(std::string& why) {
  const auto n = static_cast<std::size_t>(system_->structure().variables);
  std::vector<double> x = at_.x, xp = at_.xp;
  x.resize(n);
  xp.resize(n);
  if (!is_explicit()) {
    const Failure failure = consistency_.find(*system_, t_, Cause::mode_change, {}, nullptr, x, xp);
    if (failure.code != StatusCode::success) {
      why = failure.message;
      return std::nullopt;
    }
    const CharacteristicValues* values = consistency_.values(*system_);
    if (values && values->numbers.u > 0) {
      why = "the equations of the mode do not determine all variables";
      return std::nullopt;
    }
  }
  auto found = settle(model_, mode_, std::move(x), std::move(xp), consistency_);
  if (!found) why = fmt::format("the equations have no values at t = {:.9g}", t_);
  return found;
}

std::optional<ManifoldPoint> ModeManifold::point(std::vector<double> x, const std::vector<double>& guess) {
  return settle(model_, mode_, std::move(x), guess, consistency_);
}

std::optional<ManifoldPoint> ModeManifold::point(const ManifoldPoint& from, const LinearInput& input, double value) {
  if (input.discrete >= 0) {
    Mode mode = mode_;
    mode.discrete[static_cast<std::size_t>(input.discrete)] = value;
    return settle(model_, mode, from.x, from.xp, consistency_);
  }
  CompiledModel other = model_.with_values({{input.name, value}});
  Consistency fresh;
  return settle(other, mode_, from.x, from.xp, fresh);
}

void ModeManifold::add_column(Motion& motion, int column, const std::vector<double>& derivatives,
                              const std::vector<double>& errors) {
  std::size_t k = 0;
  double error = 0.0;
  for (Matrix* part : {&motion.x, &motion.xp, &motion.values}) {
    double largest = 0.0, worst = 0.0;
    for (int i = 0; i < part->rows(); ++i, ++k) {
      (*part)(i, column) = derivatives[k];
      largest = std::max(largest, std::abs(derivatives[k]));
      worst = std::max(worst, errors[k]);
    }
    if (largest > 0.0) error = std::max(error, worst / largest);
  }
  motion.errors.push_back(error);
}

ModeManifold::Motion ModeManifold::along(const ManifoldPoint& from, const Matrix& directions) {
  const int n = static_cast<int>(from.x.size()), all = static_cast<int>(from.values.size());
  const int count = directions.columns();
  Motion motion{Matrix(n, count), Matrix(n, count), Matrix(all, count), {}};
  for (int c = 0; c < count; ++c) {
    double size = std::numeric_limits<double>::infinity();  // how far the direction may be followed
    for (int j = 0; j < n; ++j)
      if (directions(j, c) != 0.0) size = std::min(size, this->size(j, from) / std::abs(directions(j, c)));
    const auto at = [&](double h, std::vector<double>& out) {
      std::vector<double> x = from.x;
      for (int j = 0; j < n; ++j) x[static_cast<std::size_t>(j)] += h * directions(j, c);
      const auto found = point(std::move(x), from.xp);
      if (!found) return false;
      out.clear();
      for (const auto* part : {&found->x, &found->xp, &found->values})
        out.insert(out.end(), part->begin(), part->end());
      return true;
    };
    const Differences found =
        differentiate_at_zero(static_cast<std::size_t>(2 * n + all), first_step * size, at, steps);
    add_column(motion, c, found.derivatives, found.errors);
  }
  return motion;
}

ModeManifold::Motion ModeManifold::with(const ManifoldPoint& from, const std::vector<LinearInput>& inputs) {
  const int n = static_cast<int>(from.x.size()), all = static_cast<int>(from.values.size());
  const int count = static_cast<int>(inputs.size());
  Motion motion{Matrix(n, count), Matrix(n, count), Matrix(all, count), {}};
  for (int c = 0; c < count; ++c) {
    const LinearInput& input = inputs[static_cast<std::size_t>(c)];
    const auto at = [&](double h, std::vector<double>& out) {
      const auto found = point(from, input, input.value + h);
      if (!found) return false;
      out.clear();
      for (const auto* part : {&found->x, &found->xp, &found->values})
        out.insert(out.end(), part->begin(), part->end());
      return true;
    };
    const Differences found =
        differentiate_at_zero(static_cast<std::size_t>(2 * n + all), first_step * input.size, at, steps);
    add_column(motion, c, found.derivatives, found.errors);
  }
  return motion;
}

// Of the strangeness-free form E x' + K x = 0 (all constraints are rows of it): directions that zᵀ K takes to zero, for
// all z with zᵀ E = 0. Rows and columns are scaled, so that ranks do not depend on units.
Matrix ModeManifold::tangents(const ManifoldPoint& at, std::string& why) {
  const int n = static_cast<int>(at.x.size());
  if (is_explicit()) {
    Matrix all(n, n);
    for (int j = 0; j < n; ++j) all(j, j) = size(j, at);
    return all;
  }
  if (!consistency_.reduce(*system_)) {
    why = "the constraints of the mode are not clear at this point";
    return {};
  }
  System& reduced = consistency_.integrable(*system_);
  const Structure& structure = reduced.structure();
  consistency_.restart_reduced(*system_, t_, at.x);
  std::vector<double> Fx(structure.state_pattern.row.size()), Fxp(structure.derivative_pattern.row.size());
  reduced.jacobian(t_, at.x, at.xp, Fx, Fxp);
  Matrix K = dense(structure.state_pattern, Fx, structure.equations, n),
         E = dense(structure.derivative_pattern, Fxp, structure.equations, n);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < structure.equations; ++i) {
      K(i, j) *= size(j, at);
      E(i, j) *= size(j, at);
    }
  for (int i = 0; i < structure.equations; ++i) {
    double largest = 0.0;
    for (int j = 0; j < n; ++j) largest = std::max({largest, std::abs(K(i, j)), std::abs(E(i, j))});
    for (int j = 0; j < n && largest > 0.0; ++j) {
      K(i, j) /= largest;
      E(i, j) /= largest;
    }
  }
  int differential = 0, constraints = 0;
  const Matrix left = null_space(transpose(E), differential);
  Matrix T = null_space(transpose_times(left, K), constraints);
  if (T.columns() != differential) {
    why = fmt::format("the mode has {} differential equations and {} degrees of freedom at this point", differential,
                      T.columns());
    return {};
  }
  for (int c = 0; c < T.columns(); ++c)
    for (int j = 0; j < n; ++j) T(j, c) *= size(j, at);
  return T;
}

}  // namespace saltus
