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
  gram_.resize(invariants.size() * invariants.size());
  if (nominal_.empty()) nominal_.assign(variables.size(), 1.0);
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
    std::fill(gram_.begin(), gram_.end(), 0.0);
    for (int j = 0; j < pattern_.columns; ++j) {
      const double weight = nominal_[j] * nominal_[j];
      for (int a = pattern_.start[j]; a < pattern_.start[j + 1]; ++a)
        for (int b = pattern_.start[j]; b < pattern_.start[j + 1]; ++b)
          gram_[static_cast<std::size_t>(pattern_.row[a]) * p + static_cast<std::size_t>(pattern_.row[b])] +=
              weight * entries_[a] * entries_[b];
    }
    step_ = values_;
    for (std::size_t k = 0; k < p; ++k) {  // elimination without pivoting: the matrix is symmetric and positive definite
      if (!(gram_[k * p + k] > 0.0)) return changed;
      for (std::size_t i = k + 1; i < p; ++i) {
        const double factor = gram_[i * p + k] / gram_[k * p + k];
        for (std::size_t j = k; j < p; ++j) gram_[i * p + j] -= factor * gram_[k * p + j];
        step_[i] -= factor * step_[k];
      }
    }
    for (std::size_t k = p; k-- > 0;) {
      for (std::size_t j = k + 1; j < p; ++j) step_[k] -= gram_[k * p + j] * step_[j];
      step_[k] /= gram_[k * p + k];
    }
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
