#include "model/projection.hpp"

#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace saltus {

Projection::Projection(const std::vector<std::vector<Expr>>& inputs, const std::vector<Expr>& variables,
                       const std::vector<Expr>& invariants, std::vector<double> nominal, const ProgramOptions& options)
    : nominal_(std::move(nominal)) {
  auto matrix = jacobian(invariants, variables);
  matrix.sort_by_columns();
  pattern_ = make_pattern(matrix.rows, matrix.columns, matrix.places());
  program_ = RunnableProgram(Program(inputs, std::vector<std::vector<Expr>>{invariants, matrix.values()}, options));
  values_.resize(invariants.size());
  step_.resize(invariants.size());
  entries_.resize(matrix.entries.size());
  if (nominal_.empty()) nominal_.assign(variables.size(), 1.0);
  // J D^2 J^T has an entry where two invariants share a variable
  std::vector<std::pair<int, int>> places;
  for (int i = 0; i < static_cast<int>(invariants.size()); ++i) places.emplace_back(i, i);
  for (int j = 0; j < pattern_.columns; ++j)
    for (int a = pattern_.start[j]; a < pattern_.start[j + 1]; ++a)
      for (int b = pattern_.start[j]; b < pattern_.start[j + 1]; ++b)
        places.emplace_back(pattern_.row[a], pattern_.row[b]);
  std::sort(places.begin(), places.end(),
            [](const auto& p, const auto& q) { return std::pair(p.second, p.first) < std::pair(q.second, q.first); });
  places.erase(std::unique(places.begin(), places.end()), places.end());
  gram_pattern_ = make_pattern(static_cast<int>(invariants.size()), static_cast<int>(invariants.size()), places);
  gram_.resize(places.size());
}

Projection::Projection(const Projection& other)
    : program_(other.program_),
      pattern_(other.pattern_),
      gram_pattern_(other.gram_pattern_),
      nominal_(other.nominal_),
      values_(other.values_),
      entries_(other.entries_),
      gram_(other.gram_),
      step_(other.step_) {}

double& Projection::gram(int row, int column) {
  const auto begin = gram_pattern_.row.begin() + gram_pattern_.start[column],
             end = gram_pattern_.row.begin() + gram_pattern_.start[column + 1];
  return gram_[static_cast<std::size_t>(std::lower_bound(begin, end, row) - gram_pattern_.row.begin())];
}

/// (J D^2 J^T) y = g, with y in place of g. An invariant that does not depend on x, as that of a surface on which the
/// solution does not slide, takes no part. False: there is no solution.
bool Projection::solve() {
  const int p = static_cast<int>(values_.size());
  std::fill(gram_.begin(), gram_.end(), 0.0);
  for (int j = 0; j < pattern_.columns; ++j) {
    const double weight = nominal_[j] * nominal_[j];
    for (int a = pattern_.start[j]; a < pattern_.start[j + 1]; ++a)
      for (int b = pattern_.start[j]; b < pattern_.start[j + 1]; ++b)
        gram(pattern_.row[a], pattern_.row[b]) += weight * entries_[a] * entries_[b];
  }
  for (int i = 0; i < p; ++i)
    if (double& diagonal = gram(i, i); diagonal == 0.0 && values_[i] == 0.0) diagonal = 1.0;
  step_ = values_;
  if (lu_.pattern().columns != p) lu_.set_pattern(gram_pattern_);
  if (!lu_.factorise(gram_)) return false;
  lu_.solve(step_);
  return true;
}

bool Projection::apply(double t, std::span<double> x, std::span<const double> data, std::span<const double> locks) {
  const std::size_t p = values_.size();
  bool changed = false;
  for (int iteration = 0; iteration < 4; ++iteration) {
    const double* in[] = {&t, x.data(), nullptr, data.data(), locks.data()};
    double* const out[] = {values_.data(), entries_.data()};
    program_(in, out);
    // a value that rounding errors of its arguments explain is zero already
    std::fill(step_.begin(), step_.end(), 0.0);
    for (int j = 0; j < pattern_.columns; ++j)
      for (int k = pattern_.start[j]; k < pattern_.start[j + 1]; ++k)
        step_[pattern_.row[k]] += std::abs(entries_[k] * x[j]);
    bool zero = true;
    for (std::size_t i = 0; i < p; ++i)
      zero = zero && !(std::abs(values_[i]) > 2.0 * std::numeric_limits<double>::epsilon() * step_[i]);
    if (zero) return changed;
    // (J D^2 J^T) y = g,   x -= D^2 J^T y
    if (!solve()) return changed;
    for (int j = 0; j < pattern_.columns; ++j) {
      const double weight = nominal_[j] * nominal_[j];
      for (int k = pattern_.start[j]; k < pattern_.start[j + 1]; ++k) {
        const double correction = weight * entries_[k] * step_[pattern_.row[k]];
        changed = changed || x[j] - correction != x[j];
        x[j] -= correction;
      }
    }
  }
  return changed;
}

}  // namespace saltus
