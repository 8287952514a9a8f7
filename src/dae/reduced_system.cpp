// P. Kunkel, V. Mehrmann, Differential-Algebraic Equations, EMS 2006, section 6.2, and their code GENDA; here y is
// eliminated inside the residual, so that integrators see n equations only. What decides between no and thousands of
// convergence failures: y starts from the Taylor polynomial of the last refresh (without its undetermined part, which
// would wander from step to step), is solved for with x fixed before the residual is formed, and the projectors belong to the point
// at which the Jacobian was asked for.
#include <saltus/dae/reduced_system.hpp>
#include <saltus/linalg/decomposition.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/finite.hpp"
#include "dae/undetermined.hpp"

namespace saltus {
namespace {

constexpr int largest_dense = 1000;

double binomial(int n, int k) {
  double value = 1.0;
  for (int i = 1; i <= k; ++i) value = value * (n - k + i) / i;
  return value;
}

}  // namespace

bool needs_reduction(const Structure& structure, const CharacteristicNumbers& numbers) {
  return numbers.mu > 0 || structure.equations != structure.variables || numbers.u > 0 || numbers.v > 0;
}

ReducedSystem::ReducedSystem(System& system, const CharacteristicValues& values)
    : system_(&system),
      array_(system),
      numbers_(values.numbers),
      n_(system.structure().variables),
      m_(system.structure().equations),
      constant_(values.constant_components) {
  if (values.status == AnalysisStatus::undecided)
    throw UsageError(
        "ReducedSystem: the characteristic values are undecided; the system cannot be reduced at this point");
  if (n_ > largest_dense || values.T2.rows() != n_ || static_cast<int>(values.equation_scale.size()) != m_)
    throw UsageError(
        fmt::format("ReducedSystem: it needs the dense projectors of characteristic_values of this system, and at most "
                    "{} variables (there are {})",
                    largest_dense, n_));
  if (static_cast<int>(constant_.size()) != numbers_.u)
    throw UsageError("ReducedSystem: the values do not say which components are kept constant");
  const Structure& s = system.structure();
  structure_ = s;
  structure_.equations = n_;
  structure_.explicit_ode = structure_.taylor = structure_.constant_jacobian = structure_.constant_mass = false;
  structure_.moving = true;
  std::vector<std::pair<int, int>> all, differentiated;
  for (int j = 0; j < n_; ++j)
    for (int i = 0; i < n_; ++i) {
      all.emplace_back(i, j);
      if (s.differentiated(j) && i < numbers_.d) differentiated.emplace_back(i, j);
    }
  structure_.state_pattern = make_pattern(n_, n_, all);
  structure_.derivative_pattern = make_pattern(n_, n_, differentiated);
  choose_array(values);
  F_.resize(static_cast<std::size_t>(m_));
  anchor_.resize(static_cast<std::size_t>(n_));
  restart(0.0, {});
  t_start_ = std::nan("");
}

ReducedSystem::~ReducedSystem() = default;

void ReducedSystem::choose_array(const CharacteristicValues& values) {
  const StructuralAnalysis& structure = values.structure;
  certified_ = values.certificate.valid && !structure.singular();
  if (certified_) {
    level_ = n_ == 0 ? 0 : *std::ranges::max_element(structure.equation_offset);
    for (int l = 0; l <= level_; ++l)
      for (int i = 0; i < m_; ++i)
        if (l <= structure.equation_offset[i]) rows_.push_back(l * m_ + i);
    for (int q = 1; q <= level_ + 1; ++q)
      for (int j = 0; j < n_; ++j)
        if (q <= structure.variable_offset[j]) columns_.push_back(q * n_ + j);
    rank_ = static_cast<int>(columns_.size());
  } else {
    level_ = numbers_.mu;
    for (int i = 0; i < array_.rows(level_); ++i) rows_.push_back(i);
    for (int j = n_; j < array_.columns(level_); ++j) columns_.push_back(j);
    rank_ = numbers_.r - numbers_.a;
  }
  double power = 1.0;
  // redundant equations may contradict each other: then least squares in the norm in which they are written
  for (int l = 0; l <= level_; ++l, power *= values.time_scale)
    for (double w : values.equation_scale) row_scale_.push_back(numbers_.v > 0 ? power : w * power);
  power = 1.0;
  for (int q = 0; q <= level_ + 1; ++q, power /= values.time_scale)
    for (double w : values.variable_scale) column_scale_.push_back(w * power);
  f_.resize(row_scale_.size());
  g_.resize(rows_.size());
  step_.resize(columns_.size());
  X_.assign(column_scale_.size(), 0.0);
  supports_.assign(1, {0.0, std::vector<double>(column_scale_.size(), 0.0), {}});
}

std::string ReducedSystem::equation_name(int i) const {
  if (i < numbers_.d) return "differential part, combination " + std::to_string(i + 1);
  if (i < numbers_.d + numbers_.a) return "constraints, combination " + std::to_string(i - numbers_.d + 1);
  return variable_name(constant_[static_cast<std::size_t>(i - numbers_.d - numbers_.a)]) + " is kept constant";
}

void ReducedSystem::restart(double t, std::span<const double> X) {
  supports_.resize(1);
  Support& first = supports_.front();
  std::ranges::fill(first.X, 0.0);
  std::copy_n(X.begin(), std::min(X.size(), first.X.size()), first.X.begin());
  first.t = t_start_ = t_refreshed_ = t;
  before_ = first;
  has_anchor_ = X.size() >= anchor_.size() && !X.empty();
  if (has_anchor_) std::copy_n(X.begin(), anchor_.size(), anchor_.begin());
}

const ReducedSystem::Support& ReducedSystem::nearest(double t) const {
  return *std::ranges::min_element(supports_, {}, [t](const Support& s) { return std::abs(s.t - t); });
}

// x is given; X_[1] is the derivative that the integrator has in mind where it occurs, if it tells; the rest comes from the
// nearest polynomial.
void ReducedSystem::predict_derivatives(double t, std::span<const double> x, std::span<const double> xp) {
  const auto n = static_cast<std::size_t>(n_);
  const int top = level_ + 1;
  const Support& base = nearest(t);
  const double shift = t - base.t;
  std::ranges::copy(x, X_.begin());
  for (int q = 1; q <= top; ++q) {
    const auto target = std::span(X_).subspan(static_cast<std::size_t>(q) * n, n);
    std::ranges::fill(target, 0.0);
    double power = 1.0;
    for (int k = q; k <= top; ++k, power *= shift) {
      const double factor = binomial(k, q) * power;
      for (std::size_t j = 0; j < n; ++j) target[j] += factor * base.X[static_cast<std::size_t>(k) * n + j];
    }
  }
  for (int j = 0; j < static_cast<int>(xp.size()); ++j)
    if (system_->structure().differentiated(j) && std::isfinite(xp[j])) X_[n + static_cast<std::size_t>(j)] = xp[j];
}

// Picks the rows that are used out of the whole array, scaled.
void ReducedSystem::gather(std::span<const double> all) {
  for (std::size_t k = 0; k < rows_.size(); ++k) g_[k] = all[rows_[k]] * row_scale_[rows_[k]];
}

// The part of J_ that is used, scaled: the columns of x, or those of y.
Matrix ReducedSystem::scaled_part(bool derivatives) const {
  Matrix part(static_cast<int>(rows_.size()), derivatives ? static_cast<int>(columns_.size()) : n_);
  for (int i = 0; i < part.rows(); ++i)
    for (int k = 0; k < part.columns(); ++k) {
      const int c = derivatives ? columns_[k] : k;
      part(i, k) = J_(rows_[i], c) * row_scale_[rows_[i]] * column_scale_[c];
    }
  return part;
}

// One set of projectors serves a whole step, but the pseudo-inverse that finds y does not reach so far where steps are
// long: a point at which it converges badly gets its own, for the rest of the step. But where very short steps take back to
// the constraints what was left of them before, only their slopes are far from those of the solution.
bool ReducedSystem::solve_derivatives(double t, std::span<const double> x, std::span<const double> xp) {
  constexpr std::size_t most_supports = 16;
  predict_derivatives(t, x, xp);
  const bool found = iterate_derivatives(t, nearest(t).inverse);
  if ((found && iterations_ <= 6) || supports_.size() >= most_supports) return found;
  if (!found) {
    predict_derivatives(t, x, {});
    if (iterate_derivatives(t, nearest(t).inverse) && iterations_ <= 6) return true;
    predict_derivatives(t, x, xp);
  }
  for (int round = 0; round < 3; ++round) {  // Newton's method where the simplified one fails
    if (!add_support(t)) return false;
    const bool better = iterate_derivatives(t, supports_.back().inverse);
    if (better) supports_.back().X = X_;
    if (better || found) return better;
    supports_.pop_back();
  }
  return false;
}

// With the array at the present X_.
bool ReducedSystem::add_support(double t) {
  array_.evaluate(t, level_, X_, f_, J_);
  if (!all_finite(f_) || !std::isfinite(frobenius_norm(J_))) return false;
  supports_.push_back({t, X_, {}});
  decompose(scaled_part(true), supports_.back().inverse, nullptr);
  return true;
}

bool ReducedSystem::iterate_derivatives(double t, const Matrix& inverse) {
  double previous = std::numeric_limits<double>::infinity();
  for (iterations_ = 0; iterations_ < 12; ++iterations_) {
    array_.evaluate(t, level_, X_, f_);
    if (!all_finite(f_)) return false;
    gather(f_);
    std::ranges::fill(step_, 0.0);
    multiply_add(inverse, g_, -1.0, step_);
    double relative = 0.0;
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      const int c = columns_[k];
      X_[c] += step_[k] * column_scale_[c];
      relative = std::max(relative, std::abs(step_[k]) / (1.0 + std::abs(X_[c]) / column_scale_[c]));
    }
    if (!std::isfinite(relative)) return false;
    // below 1e-9 one more evaluation gains three digits at least, or rounding is reached
    if (relative <= 1e-13 || (relative <= 1e-9 && relative >= 0.3 * previous)) {
      array_.evaluate(t, level_, X_, f_);
      gather(f_);
      return all_finite(g_);
    }
    if (iterations_ > 2 && relative > 0.9 * previous) return false;
    previous = relative;
  }
  return false;
}

// The inverse of the part of y, and a basis of what it does not reach. With a certificate the ranks are those of the structure and
// QR will do, at a fifth of the cost; otherwise only singular values tell what counts. Returns the smallest value that does.
double ReducedSystem::decompose(const Matrix& M, Matrix& inverse, Matrix* null) const {
  const double none = std::numeric_limits<double>::infinity();
  if (!certified_ || rank_ == 0) {
    const Svd parts = svd(M);
    inverse = pseudo_inverse(parts, rank_);
    if (null) *null = columns(parts.U, rank_, M.rows() - rank_);
    return rank_ > 0 ? parts.s[rank_ - 1] : none;
  }
  const PivotedQr qr = pivoted_qr(M);
  inverse = Matrix(rank_, M.rows());
  for (int k = 0; k < M.rows(); ++k)
    for (int i = rank_ - 1; i >= 0; --i) {  // R x = Q1ᵀ e_k, from below
      double sum = qr.Q(k, i);
      for (int j = i + 1; j < rank_; ++j) sum -= qr.R(i, j) * inverse(qr.permutation[j], k);
      inverse(qr.permutation[i], k) = sum / qr.R(i, i);
    }
  if (null) *null = columns(qr.Q, rank_, M.rows() - rank_);
  return qr.pivots[rank_ - 1];
}

double ReducedSystem::find_constraints(const Matrix& null, const Matrix& N, Matrix& T2) {
  const int a = numbers_.a;
  double kept = std::numeric_limits<double>::infinity();
  if (certified_) {  // as many as null has columns
    const PivotedQr qr = pivoted_qr(transpose_times(N, null));
    Z2_ = null;
    T2 = columns(qr.Q, a, n_ - a);
    if (a > 0) kept = qr.pivots[a - 1];
  } else {
    const Svd constraints = svd(transpose_times(null, N));
    Z2_ = null * columns(constraints.U, 0, a);
    T2 = columns(constraints.V, a, n_ - a);
    if (a > 0) kept = constraints.s[a - 1];
  }
  return kept;
}

double ReducedSystem::find_differential_part(const Matrix& ET2, const Matrix& T2) {
  const int d = numbers_.d;
  double kept = std::numeric_limits<double>::infinity();
  if (certified_) {
    const PivotedQr qr = pivoted_qr(ET2);
    Z1_ = columns(qr.Q, 0, d);
    if (d > 0) kept = qr.pivots[d - 1];
  } else {
    const Svd differential = svd(ET2);
    Z1_ = columns(differential.U, 0, d);
    open_ = T2 * columns(differential.V, d, T2.columns() - d);
    if (d > 0) kept = differential.s[d - 1];
  }
  return kept;
}

double ReducedSystem::constancy(std::span<const int> components) const {
  if (open_.columns() == 0) return 1.0;
  const Svd parts = svd(select_rows(open_, components));
  return parts.s.size() == static_cast<std::size_t>(open_.columns()) ? parts.s.back() : 0.0;
}

bool ReducedSystem::choose_constant_anew() {
  constexpr double poor = 0.3, better = 1.5;
  const double now = constancy(constant_);
  if (now >= poor) return false;
  std::vector<int> others = choose_constant_components(open_);
  if (static_cast<int>(others.size()) != numbers_.u || !(constancy(others) > better * now)) return false;
  constant_ = std::move(others);
  return true;
}

// An integrator that comes back from a later time has failed there; the y that was found may belong to a point far off
// the solution, and is no guess for any other.
void ReducedSystem::forget_failed_step(double t) {
  if (std::isnan(t_start_)) t_start_ = t_refreshed_ = t;
  supports_.resize(1);
  if (std::abs(t - t_start_) <= std::abs(t_refreshed_ - t_start_))
    supports_.front() = before_;
  else
    before_ = supports_.front();
  t_refreshed_ = t;
}

bool ReducedSystem::refresh(double t, std::span<const double> x, std::span<const double> xp) {
  forget_failed_step(t);
  if (columns_.empty() || supports_.front().inverse.empty() || !solve_derivatives(t, x, xp))
    predict_derivatives(t, x, xp);
  // twice if y moves: the projectors belong to the y that solves the array
  for (int round = 0; round < 2; ++round) {
    array_.evaluate(t, level_, X_, f_, J_);
    if (!all_finite(f_) || !std::isfinite(frobenius_norm(J_))) return false;
    const Matrix N = scaled_part(false), M = scaled_part(true);
    const double reference = std::max(norm2_estimate(beside(N, M)), std::numeric_limits<double>::min());
    supports_.resize(1);
    Matrix null;
    const double kept = decompose(M, supports_.front().inverse, &null);
    if (leaves_choice()) derivative_part_ = M;
    Matrix T2;
    margin_ = std::min(1.0, kept / reference);
    margin_ = std::min(margin_, find_constraints(null, N, T2) / reference);

    const SparsePattern& p = system_->structure().derivative_pattern;
    const auto values = array_.derivative_coefficients();
    Matrix E(m_, n_);
    for (int j = 0; j < n_; ++j)
      for (int k = p.start[j]; k < p.start[j + 1]; ++k)
        E(p.row[k], j) = values[k] * row_scale_[p.row[k]] * column_scale_[static_cast<std::size_t>(n_ + j)];
    margin_ = std::min(margin_, find_differential_part(E * T2, T2) / reference);
    if (round == 0 && !columns_.empty()) {
      gather(f_);
      const std::vector<double> move = times(supports_.front().inverse, g_);
      if (norm(move) <= 1e-2) break;
      if (!solve_derivatives(t, x, xp)) break;
    }
  }
  if (first_margin_ == 0.0) first_margin_ = margin_;
  if (!has_anchor_) std::ranges::copy(x, anchor_.begin());
  has_anchor_ = true;
  if (!columns_.empty() && solve_derivatives(t, x, xp)) {
    const std::vector<double> solved = X_;
    if (leaves_choice()) {
      remove_undetermined();
      if (!iterate_derivatives(t, supports_.front().inverse)) X_ = solved;
    }
    supports_.front().X = X_;
    supports_.front().t = t;
  }
  return true;
}

// The part of y that the array leaves open becomes zero. Extrapolated from step to step with the rest, it would grow
// without bound.
void ReducedSystem::remove_undetermined() {
  std::vector<double> y(columns_.size());
  for (std::size_t k = 0; k < y.size(); ++k) y[k] = X_[columns_[k]] / column_scale_[columns_[k]];
  const std::vector<double> determined = times(supports_.front().inverse, times(derivative_part_, y));
  for (std::size_t k = 0; k < y.size(); ++k) X_[columns_[k]] = determined[k] * column_scale_[columns_[k]];
}

void ReducedSystem::residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) {
  if (Z1_.rows() != m_ && !refresh(t, x, xp)) {
    std::ranges::fill(F, std::nan(""));
    return;
  }
  if (columns_.empty()) {
    predict_derivatives(t, x, xp);
    array_.evaluate(t, level_, X_, f_);
    gather(f_);
  } else if (!solve_derivatives(t, x, xp)) {
    std::ranges::fill(F, std::nan(""));
    return;
  }
  system_->residual(t, x, xp, F_);
  for (int i = 0; i < m_; ++i) F_[i] *= row_scale_[i];
  int row = 0;
  const auto project = [&](const Matrix& Z, std::span<const double> values) {
    for (int k = 0; k < Z.columns(); ++k) {
      double sum = 0.0;
      for (int i = 0; i < Z.rows(); ++i) sum += Z(i, k) * values[i];
      F[row++] = sum;
    }
  };
  project(Z1_, F_);
  project(Z2_, g_);
  for (const int j : constant_) F[row++] = (x[j] - anchor_[j]) / column_scale_[j];
}

void ReducedSystem::jacobian(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Fx,
                             std::span<double> Fxp) {
  if (!refresh(t, x, xp)) {
    std::ranges::fill(Fx, std::nan(""));
    std::ranges::fill(Fxp, std::nan(""));
    return;
  }
  const Structure& s = system_->structure();
  std::vector<double> Gx(s.state_pattern.row.size()), Gxp(s.derivative_pattern.row.size());
  system_->jacobian(t, x, xp, Gx, Gxp);
  std::ranges::fill(Fx, 0.0);
  std::ranges::fill(Fxp, 0.0);
  const auto column_start = [&](int j) { return static_cast<std::size_t>(j) * static_cast<std::size_t>(n_); };
  for (int j = 0; j < n_; ++j) {
    for (int k = s.state_pattern.start[j]; k < s.state_pattern.start[j + 1]; ++k)
      for (int i = 0; i < numbers_.d; ++i)
        Fx[column_start(j) + static_cast<std::size_t>(i)] +=
            Z1_(s.state_pattern.row[k], i) * Gx[k] * row_scale_[s.state_pattern.row[k]];
    const int target = structure_.derivative_pattern.start[j];
    for (int k = s.derivative_pattern.start[j]; k < s.derivative_pattern.start[j + 1]; ++k)
      for (int i = 0; i < numbers_.d; ++i)
        Fxp[target + i] += Z1_(s.derivative_pattern.row[k], i) * Gxp[k] * row_scale_[s.derivative_pattern.row[k]];
    // Z2ᵀ M = 0 here, so y does not contribute
    for (int i = 0; i < numbers_.a; ++i) {
      double sum = 0.0;
      for (int k = 0; k < Z2_.rows(); ++k) sum += Z2_(k, i) * J_(rows_[k], j) * row_scale_[rows_[k]];
      Fx[column_start(j) + static_cast<std::size_t>(numbers_.d + i)] = sum;
    }
    for (std::size_t i = 0; i < constant_.size(); ++i)
      if (constant_[i] == j)
        Fx[column_start(j) + static_cast<std::size_t>(numbers_.d + numbers_.a) + i] = 1.0 / column_scale_[j];
  }
}

void ReducedSystem::guards(double t, std::span<const double> x, std::span<const double> xp, std::span<double> g) {
  system_->guards(t, x, xp, g);
}

}  // namespace saltus
