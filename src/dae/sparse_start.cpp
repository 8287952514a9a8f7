// Newton's method, damped by the natural monotonicity test (P. Deuflhard, Newton Methods for Nonlinear Problems,
// Springer 2004, section 3.3), measured in x alone: x' follows.
#include "dae/sparse_start.hpp"

#include <saltus/linalg/lu.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace saltus {
namespace {

class SparseNewton {
 public:
  SparseNewton(System& system, ExtraConditions& conditions, double t, const std::vector<char>& fixed,
               std::span<double> X)
      : system_(system), conditions_(conditions), s_(system.structure()), n_(s_.variables), t_(t), X_(X) {
    column_.assign(2 * static_cast<std::size_t>(n_), -1);
    for (int j = 0; j < n_; ++j)
      if (!fixed[j]) add_unknown(j);
    states_ = unknowns_.size();
    for (int j = 0; j < n_; ++j)
      if (s_.differentiated(j)) add_unknown(n_ + j);
  }

  // The pattern of the whole matrix; false if the problem is not of the kind that is solved here.
  bool prepare() {
    const int rows = s_.equations + conditions_.count();
    if (rows != static_cast<int>(unknowns_.size())) return false;
    const SparsePattern& other = conditions_.derivative_pattern();
    for (int j = 0; j < n_; ++j)
      if (other.start[j] < other.start[j + 1] && !s_.differentiated(j)) return false;
    std::vector<std::pair<int, int>> places;
    const auto add = [&](const SparsePattern& p, int first_row, int first_column) {
      for (int j = 0; j < n_; ++j)
        for (int k = p.start[j]; k < p.start[j + 1]; ++k)
          if (column_[first_column + j] >= 0) places.emplace_back(first_row + p.row[k], column_[first_column + j]);
    };
    add(s_.state_pattern, 0, 0);
    add(s_.derivative_pattern, 0, n_);
    add(conditions_.state_pattern(), s_.equations, 0);
    add(other, s_.equations, n_);
    pattern_ = make_pattern(rows, rows, places, &position_);
    values_.resize(position_.size());
    Fx_.resize(s_.state_pattern.row.size());
    Fxp_.resize(s_.derivative_pattern.row.size());
    hx_.resize(conditions_.state_pattern().row.size());
    hxp_.resize(other.row.size());
    b_.resize(unknowns_.size());
    return lu_.analyse(pattern_);
  }

  void run(SparseStart& result) {
    std::vector<double> start(X_.size()), step;
    bool polished = false;
    for (int iteration = 0; iteration < 50 && !polished; ++iteration) {
      polished = result.solved;
      if (!evaluate() || !factorise()) break;
      step = b_;
      lu_.solve(step);
      const double length = size(step);
      std::ranges::copy(X_, start.begin());
      double damping = 1.0;
      for (int halving = 0;; ++halving, damping *= 0.5) {
        for (std::size_t k = 0; k < unknowns_.size(); ++k) X_[unknowns_[k]] = start[unknowns_[k]] - damping * step[k];
        if (evaluate()) {
          lu_.solve(b_);
          if (polished || size(b_) <= (1.0 - damping / 4.0) * length + 1e-15) break;
        }
        if (halving == 12) {
          result.solved = false;
          return;
        }
      }
      ++result.iterations;
      result.corrections.push_back(length);
      double relative = 0.0;
      for (std::size_t k = 0; k < states_; ++k)
        relative = std::max(relative, damping * std::abs(step[k]) / (scale(k) + std::abs(X_[unknowns_[k]])));
      // derivatives are linear in the last correction, and one more iteration makes them as accurate as x
      if (relative <= 1e-12) result.solved = true;
    }
    result.solved = result.solved && polished;
  }

 private:
  void add_unknown(int place) {
    column_[place] = static_cast<int>(unknowns_.size());
    unknowns_.push_back(place);
  }
  double scale(std::size_t k) const { return std::abs(system_.nominal(unknowns_[k])); }
  double size(std::span<const double> step) const {
    double sum = 0.0;
    for (std::size_t k = 0; k < states_; ++k) sum += (step[k] / scale(k)) * (step[k] / scale(k));
    return std::sqrt(sum);
  }

  // F and h into b_.
  bool evaluate() {
    const auto n = static_cast<std::size_t>(n_), m = static_cast<std::size_t>(s_.equations);
    const std::span<const double> x = std::span<const double>(X_).first(n),
                                  xp = std::span<const double>(X_).subspan(n, n);
    system_.residual(t_, x, xp, std::span(b_).first(m));
    conditions_.residual(t_, x, xp, std::span(b_).subspan(m));
    return std::ranges::all_of(b_, [](double v) { return std::isfinite(v); });
  }

  bool factorise() {
    const auto n = static_cast<std::size_t>(n_);
    const std::span<const double> x = std::span<const double>(X_).first(n),
                                  xp = std::span<const double>(X_).subspan(n, n);
    system_.jacobian(t_, x, xp, Fx_, Fxp_);
    conditions_.jacobian(t_, x, xp, hx_, hxp_);
    std::ranges::fill(values_, 0.0);
    std::size_t next = 0;
    const auto put = [&](const SparsePattern& p, const std::vector<double>& entries, int first_column) {
      for (int j = 0; j < n_; ++j)
        for (int k = p.start[j]; k < p.start[j + 1]; ++k)
          if (column_[first_column + j] >= 0) values_[position_[next++]] = entries[k];
    };
    put(s_.state_pattern, Fx_, 0);
    put(s_.derivative_pattern, Fxp_, n_);
    put(conditions_.state_pattern(), hx_, 0);
    put(conditions_.derivative_pattern(), hxp_, n_);
    return lu_.factorise(values_) && lu_.reciprocal_condition() > 1e-18;
  }

  System& system_;
  ExtraConditions& conditions_;
  const Structure& s_;
  int n_;
  double t_;
  std::span<double> X_;
  std::vector<int> unknowns_, column_;  // places in X, and their columns (-1: not an unknown)
  std::size_t states_ = 0;
  SparsePattern pattern_;
  std::vector<int> position_;
  std::vector<double> values_, Fx_, Fxp_, hx_, hxp_, b_;
  SparseLu lu_;
};

}  // namespace

SparseStart solve_sparse_start(System& system, ExtraConditions& conditions, double t, const std::vector<char>& fixed,
                               std::span<double> X) {
  SparseStart result;
  SparseNewton newton(system, conditions, t, fixed, X);
  if (newton.prepare()) newton.run(result);
  return result;
}

}  // namespace saltus
