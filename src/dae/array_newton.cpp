// Gauss-Newton with minimum norm corrections, truncated where the rank decision says zero, damped by the natural
// monotonicity test (P. Deuflhard, Newton Methods for Nonlinear Problems, Springer 2004, sections 3.3 and 4.4).
#include "dae/array_newton.hpp"

#include <saltus/linalg/decomposition.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/finite.hpp"
#include "base/work_limit.hpp"

namespace saltus {
namespace {

class Iteration {
 public:
  Iteration(DerivativeArray& array, ArrayScaling& scaling, double t, int level, std::span<double> X,
            const ArrayNewtonOptions& options)
      : array_(array), scaling_(scaling), t_(t), level_(level), X_(X), options_(options), n_(scaling.variable.size()) {
    array_rows_ = static_cast<std::size_t>(array.rows(level));
  }

  // `hold_state`: x_[0] stays, and pivots below 1e-6 do not count, so that tiny ones cannot create huge derivatives.
  void run(bool hold_state, int iterations, ArrayNewtonResult& result) {
    choose_free(hold_state);
    rounding_ = 1e-15;
    // with x_[0] held the extra conditions could only be met by derivatives that the equations do not have
    extra_ = hold_state || !options_.conditions ? 0 : options_.conditions->count();
    f_.resize(array_rows_ + static_cast<std::size_t>(extra_));
    trial_f_.resize(f_.size());
    result.converged = false;
    // one more iteration after convergence: ranks are decided at the point, and any distance counts
    bool polished = false;
    for (int k = 0; k < iterations + 1 && !polished; ++k) {
      polished = result.converged;
      if (k == iterations && !polished) break;
      const auto rows = static_cast<double>(f_.size()), columns = static_cast<double>(X_.size());
      WorkLimit::look(rows * columns * columns);
      evaluate_jacobian();
      result.finite = all_finite(f_) && all_finite({J_.data(), f_.size() * X_.size()});
      if (!result.finite) return;
      scale_equations(array_.system(), t_, X_, scaling_);
      scale();
      result.finite = all_finite(f_) && all_finite({J_.data(), f_.size() * X_.size()});
      if (!result.finite) return;
      const double reference = norm2_estimate(J_);
      const bool confined = !hold_state && options_.subspace.rows() > 0;
      Matrix active = confined ? confine() : select_columns(J_, free_);
      LeastSquares solver(active);
      const int rank =
          hold_state
              ? static_cast<int>(std::ranges::count_if(solver.pivots(), [&](double p) { return p > 1e-6 * reference; }))
          : rank_ ? *rank_
                  : rank_gap(solver.pivots(), J_.columns(), reference).rank;
      if (!hold_state && !confined && !options_.preference.empty()) {
        // the rank is decided without preference weights, which spread the pivots over many orders of magnitude
        for (std::size_t q = 0; q < free_.size(); ++q)
          if (static_cast<std::size_t>(free_[q]) < n_) {
            const double weight = options_.preference[free_[q]];
            for (double& value : active.column(static_cast<int>(q))) value *= weight;
            column_[free_[q]] *= weight;
          }
        solver = LeastSquares(active);
        rounding_ = 1e-15 / std::ranges::min(options_.preference);
      }
      solver.truncate(rank);
      std::vector<double> step = solver.solve(f_);  // to be subtracted
      const double length = norm(step);
      if (confined) step = expand(step);
      result.unreachable = solver.unreachable(f_);
      result.rank = rank;
      result.reference = reference;
      const double damping = search(solver, step, length, result);
      if (!result.finite) return;
      result.step = damping * length;
      if (!hold_state) {
        result.corrections.push_back(length);
        ++result.iterations;
      }
      const double relative = relative_length(step);  // not of a damped step: that is short because it failed
      result.converged = polished || relative <= options_.tolerance;
      polished |= relative <= 1e-15 || (hold_state && result.converged);
    }
  }

  // From a point that was found, in the norm in which the equations are written, with the rank that was decided there.
  void run_as_written(ArrayNewtonResult& result) {
    as_written_ = true;
    rank_ = result.rank;
    run(false, options_.iterations, result);
  }

  // The scaled Jacobian and residuals at X_, for finding out what contradicts what.
  void report(ArrayNewtonResult& result) {
    evaluate_jacobian();
    if (!all_finite(f_) || !all_finite({J_.data(), f_.size() * X_.size()})) return;
    scale();
    result.jacobian = J_;
    result.rows = row_;
    result.columns = column_;
    result.values = f_;
  }

 private:
  std::span<const double> coefficient(std::size_t order) const {
    return std::span<const double>(X_).subspan(order * n_, n_);
  }

  void evaluate(std::span<double> f) {
    array_.evaluate(t_, level_, X_, f.first(array_rows_));
    if (extra_ > 0) options_.conditions->residual(t_, coefficient(0), coefficient(1), f.subspan(array_rows_));
  }

  void evaluate_jacobian() {
    array_.evaluate(t_, level_, X_, std::span(f_).first(array_rows_), J_);
    if (extra_ == 0) return;
    options_.conditions->residual(t_, coefficient(0), coefficient(1), std::span(f_).subspan(array_rows_));
    const int n = static_cast<int>(n_);
    const SparsePattern &in_state = options_.conditions->state_pattern(),
                        &in_derivative = options_.conditions->derivative_pattern();
    hx_.resize(in_state.row.size());
    hxp_.resize(in_derivative.row.size());
    options_.conditions->jacobian(t_, coefficient(0), coefficient(1), hx_, hxp_);
    Matrix rows(extra_, J_.columns());
    for (int j = 0; j < n; ++j) {
      for (int k = in_state.start[j]; k < in_state.start[j + 1]; ++k) rows(in_state.row[k], j) = hx_[k];
      for (int k = in_derivative.start[j]; k < in_derivative.start[j + 1]; ++k)
        rows(in_derivative.row[k], n + j) = hxp_[k];
    }
    J_ = above(J_, rows);
  }

  void choose_free(bool hold_state) {
    free_.clear();
    for (std::size_t k = 0; k < X_.size(); ++k) {
      const bool held = k < n_ ? hold_state || (!options_.fixed.empty() && options_.fixed[k])
                               : !options_.constant.empty() && options_.constant[k % n_];
      if (!held) free_.push_back(static_cast<int>(k));
    }
  }

  // The columns of x_[0] combined as the subspace says.
  Matrix confine() const {
    Matrix directions = options_.subspace;
    for (int j = 0; j < directions.columns(); ++j)
      for (std::size_t i = 0; i < n_; ++i) directions(static_cast<int>(i), j) /= column_[i];
    const int n = static_cast<int>(n_);
    return beside(columns(J_, 0, n) * directions, columns(J_, n, J_.columns() - n));
  }
  std::vector<double> expand(std::span<const double> step) const {
    const auto k = static_cast<std::size_t>(options_.subspace.columns());
    std::vector<double> full = times(options_.subspace, step.first(k));
    for (std::size_t i = 0; i < n_; ++i) full[i] /= column_[i];
    full.insert(full.end(), step.begin() + static_cast<std::ptrdiff_t>(k), step.end());
    return full;
  }

  void scale() {
    row_ = row_factors(scaling_, level_);
    column_ = column_factors(scaling_, level_);
    const std::size_t m = scaling_.equation.size();
    for (std::size_t i = 0; as_written_ && i < row_.size(); ++i) row_[i] /= scaling_.equation[i % m];
    for (int i = J_.rows() - extra_; i < J_.rows(); ++i) {
      double largest = 0.0;
      for (int j = 0; j < J_.columns(); ++j) largest = std::max(largest, std::abs(J_(i, j)) * column_[j]);
      row_.push_back(largest > 0.0 && std::isfinite(largest) ? std::exp2(-std::round(std::log2(largest))) : 1.0);
    }
    apply_factors(J_, row_, column_);
    for (std::size_t i = 0; i < f_.size(); ++i) f_[i] *= row_[i];
  }

  // The largest damping factor 1, 1/2, … for which the simplified correction at the new point is shorter; X moves
  // there.
  double search(const LeastSquares& solver, std::span<const double> step, double length, ArrayNewtonResult& result) {
    const std::vector<double> start(X_.begin(), X_.end());
    double damping = 1.0;
    for (int halving = 0;; ++halving, damping *= 0.5) {
      std::ranges::copy(start, X_.begin());
      for (std::size_t k = 0; k < free_.size(); ++k) X_[free_[k]] -= damping * step[k] * column_[free_[k]];
      evaluate(trial_f_);
      const bool finite = all_finite(trial_f_);
      if (finite) {
        for (std::size_t i = 0; i < trial_f_.size(); ++i) trial_f_[i] *= row_[i];
        result.residual = norm(trial_f_);
        if (norm(solver.solve(trial_f_)) <= (1.0 - damping / 4.0) * length + rounding_) return damping;
      }
      if (halving == 12) {
        result.finite = finite;
        return damping;
      }
    }
  }

  // Component by component: one large component must not hide the error of another.
  double relative_length(std::span<const double> step) const {
    double largest = 0.0;
    for (std::size_t k = 0; k < free_.size(); ++k)
      largest = std::max(largest, std::abs(step[k]) / (1.0 + std::abs(X_[free_[k]] / column_[free_[k]])));
    return largest;
  }

  DerivativeArray& array_;
  ArrayScaling& scaling_;
  double t_;
  int level_;
  std::span<double> X_;
  const ArrayNewtonOptions& options_;
  std::size_t n_, array_rows_;
  int extra_ = 0;  // rows of extra conditions
  bool as_written_ = false;  // see run_as_written
  std::optional<int> rank_;
  double rounding_ = 1e-15;  // of lengths of corrections, which weigh rounding errors as the preference does
  Matrix J_;
  std::vector<double> f_, trial_f_, row_, column_, hx_, hxp_;
  std::vector<int> free_;
};

}  // namespace

ArrayNewtonResult solve_array(DerivativeArray& array, ArrayScaling& scaling, double t, int level, std::span<double> X,
                              const ArrayNewtonOptions& options) {
  const std::vector<double> guess(X.begin(), X.end());
  std::vector<double> best;
  ArrayNewtonResult result;
  for (const ScalingRule& rule : {cautious(options.scaling), options.scaling}) {
    std::ranges::copy(guess, X.begin());
    scaling = scale_array(array.system(), t, X, rule);
    ArrayNewtonResult attempt;
    Iteration iteration(array, scaling, t, level, X, options);
    if (options.presolve) iteration.run(true, 6, attempt);
    if (attempt.finite) iteration.run(false, options.iterations, attempt);
    if (attempt.finite && attempt.converged && rule.unit_free) {
      // corrections are as wrong as the weights of the preference differ, so the array has to be solved again without
      const std::vector<double> found(X.begin(), X.end()), column = column_factors(scaling, level);
      const double spread = options.preference.empty() ? 1.0 : std::ranges::min(options.preference);
      if (remove_noise(column, guess, std::min(1e-13 / spread, 1e-7), X)) {
        ArrayNewtonResult again;
        iteration.run(true, 5, again);
        if (!(again.finite && again.residual <= attempt.residual + 1e-13 * (1.0 + attempt.reference)))
          std::ranges::copy(found, X.begin());
      }
      remove_noise(column, guess, 1e-13, X);
    }
    if (attempt.finite && options.conditions) iteration.report(attempt);
    const bool solved = attempt.finite && attempt.converged && attempt.residual <= 1e-8 * (1.0 + attempt.reference);
    if (options.norm_as_written && attempt.finite && attempt.converged && !solved) {
      const std::vector<double> found(X.begin(), X.end());
      ArrayNewtonResult written = attempt;
      iteration.run_as_written(written);
      if (!written.finite || !written.converged) std::ranges::copy(found, X.begin());
    }
    // keep the first attempt unless the second one is better in kind
    if (best.empty() || solved || (attempt.converged && !result.converged)) {
      result = attempt;
      best.assign(X.begin(), X.end());
    }
    if (solved) break;
  }
  std::ranges::copy(best, X.begin());
  scaling = scale_array(array.system(), t, X, options.scaling);
  return result;
}

}  // namespace saltus
