// The matrix of stage k has the entries dF_i,[c_i+k] / dx_j,[d_j+k]: those of the system Jacobian J times (d_j+k)!/(c_i+k)!, as d_j - c_i
// is 0 or 1 where an entry is not zero. So with the factors (c_i+k)!/k! for rows and (d_j+k)!/k! for columns one factorisation serves all.
//
// In a stage k < 0 some equations and unknowns are missing, and the unknowns outnumber the equations. The rows of J that are there
// contain no other columns than those that are there, so that J z = (r, 0) solves the stage: z moves the unknowns along directions that
// the missing equations, at their own stage, would not notice. If r comes from errors in derivatives alone (unknowns of order 1
// and more) then z corrects just these, because the missing rows do not contain their columns.
#include <saltus/dae/staged_series.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "dae/small_inverse.hpp"

namespace saltus {
namespace {

constexpr int most_passes = 10;
// Newton's method converges quadratically: after a correction of this relative size nothing but rounding is left.
constexpr double negligible = 1e-9;

// Up to this size the inverse is faster than factors.
constexpr int largest_inverse = 16;

}  // namespace

double stage_factor(int offset, int stage) {
  double value = 1.0;
  for (int i = std::max(stage, 0) + 1; i <= offset + stage; ++i) value *= i;
  return value;
}

StagedSeries::~StagedSeries() = default;

std::string StagedSeries::linear_algebra() const { return inverse_ ? "inverted" : lu_.description(); }

StagedSeries::StagedSeries(const Structure& structure, StructuralAnalysis analysis, int order)
    : analysis_(std::move(analysis)),
      jacobian_(structure, analysis_),
      n_(structure.variables),
      order_(order),
      Fx_(structure.state_pattern.row.size()),
      Fxp_(structure.derivative_pattern.row.size()),
      entries_(jacobian_.pattern().row.size()),
      b_(static_cast<std::size_t>(n_)),
      terms_(static_cast<std::size_t>(n_)) {
  const auto &c = analysis_.equation_offset, &d = analysis_.variable_offset;
  int smallest = 0, deepest_equation = 0;
  if (n_ > 0) {
    smallest = *std::ranges::min_element(d);
    deepest_ = *std::ranges::max_element(d);
    deepest_equation = *std::ranges::max_element(c);
  }
  last_ = std::max(0, order_ - smallest);
  coefficients_ = std::max({deepest_, deepest_equation + 1, 1}) + last_ + 1;
  for (int k = -deepest_; k <= last_; ++k)
    for (int j = 0; j < n_; ++j) {
      row_scale_.push_back(c[j] + k < 0 ? 0.0 : stage_factor(c[j], k));
      column_scale_.push_back(d[j] + k < 0 ? 0.0 : 1.0 / stage_factor(d[j], k));
    }
  const auto n = static_cast<std::size_t>(n_);
  unit_.assign(n * static_cast<std::size_t>(deepest_ + 1), 0.0);
  before_.assign(n * static_cast<std::size_t>(coefficients_), 0.0);
  if (n_ <= largest_inverse) {
    inverse_ = std::make_unique<SmallInverse>(n_);
    dense_.assign(n * n, 0.0);
    const SparsePattern& p = jacobian_.pattern();
    for (int j = 0; j < n_; ++j)
      for (int k = p.start[j]; k < p.start[j + 1]; ++k) place_.push_back(j * n_ + p.row[k]);
    return;
  }
  std::vector<char> simple(static_cast<std::size_t>(n_), 1);
  lu_.set_pattern(jacobian_.pattern(), std::move(simple));
}

bool StagedSeries::factorise(System& system, double t, std::span<const double> X) {
  const auto n = static_cast<std::size_t>(n_);
  system.jacobian(t, X.first(n), X.subspan(n, n), Fx_, Fxp_);
  jacobian_.assemble(Fx_, Fxp_, entries_);
  ++factorisations_;
  if (inverse_) {
    for (std::size_t k = 0; k < entries_.size(); ++k) dense_[place_[k]] = entries_[k];
    if (!inverse_->invert(dense_)) return false;
  } else if (!lu_.factorise(entries_)) {
    return false;
  }
  if (first_row_.empty()) {
    first_row_.assign(n, 0.0);
    const SparsePattern& p = jacobian_.pattern();
    for (std::size_t k = 0; k < entries_.size(); ++k)
      first_row_[p.row[k]] = std::max(first_row_[p.row[k]], std::abs(entries_[k]));
  }
  return true;
}

// b_ := what must be subtracted from the unknowns of the stage.
void StagedSeries::solve(int stage) {
  const auto n = static_cast<std::size_t>(n_);
  const double* row = row_scale_.data() + static_cast<std::size_t>(stage + deepest_) * n;
  const double* column = column_scale_.data() + static_cast<std::size_t>(stage + deepest_) * n;
  for (std::size_t i = 0; i < n; ++i) b_[i] *= row[i];
  if (inverse_)
    inverse_->apply(b_);
  else
    lu_.solve(b_);
  for (std::size_t j = 0; j < n; ++j) b_[j] *= column[j];
}

void StagedSeries::blame_equation(int i) {
  bad_equation_ = i;
  bad_variable_ = analysis_.matched_variable[static_cast<std::size_t>(i)];
}

// The equation whose entries have become smallest, compared with what they were at first.
StagedSeries::Result StagedSeries::blame_matrix() {
  const SparsePattern& p = jacobian_.pattern();
  for (std::size_t i = 0; i < b_.size(); ++i) b_[i] = 0.0;
  for (std::size_t k = 0; k < entries_.size(); ++k) b_[p.row[k]] = std::max(b_[p.row[k]], std::abs(entries_[k]));
  for (std::size_t k = 0; k < entries_.size(); ++k)
    if (!std::isfinite(entries_[k])) {
      blame_equation(p.row[k]);
      return Result::not_finite;
    }
  if (first_row_.empty()) return Result::singular;
  std::size_t least = 0;
  for (std::size_t i = 0; i < b_.size(); ++i)
    if (b_[i] * first_row_[least] < b_[least] * first_row_[i]) least = i;
  blame_equation(static_cast<int>(least));
  return Result::singular;
}

StagedSeries::Result StagedSeries::pass(System& system, double t, std::span<double> X, double& largest) {
  const auto n = static_cast<std::size_t>(n_);
  const auto& d = analysis_.variable_offset;
  if (!factorise(system, t, X)) return blame_matrix();
  system.start_stages(t, analysis_.equation_offset, d, last_);
  std::copy_n(X.begin(), unit_.size(), before_.begin());
  if (!(inverse_ && system.correct_stages(inverse_->entries(), X)))
    if (const Result result = correct(system, X); result != Result::good) return result;
  largest = 0.0;
  for (std::size_t place = 0; place < unit_.size(); ++place) {
    const double relative = std::abs(X[place] - before_[place]) / (std::abs(X[place]) + unit_[place]);
    if (!(relative <= largest)) largest = relative, bad_variable_ = static_cast<int>(place % n);
  }
  if (std::isfinite(largest)) return Result::good;
  correct(system, before_);  // which says why
  return bad_equation_ >= 0 ? Result::not_finite : Result::not_converged;
}

/// Stages up to 0, each with one step of Newton's method.
StagedSeries::Result StagedSeries::correct(System& system, std::span<double> X) {
  const auto n = static_cast<std::size_t>(n_);
  const auto& d = analysis_.variable_offset;
  for (int stage = -deepest_; stage <= 0; ++stage) {
    system.stage_residual(stage, X, b_);
    for (std::size_t i = 0; i < n; ++i)
      if (!std::isfinite(b_[i])) {
        blame_equation(static_cast<int>(i));
        return Result::not_finite;
      }
    solve(stage);
    for (std::size_t j = 0; j < n; ++j)
      if (d[j] + stage >= 0) X[static_cast<std::size_t>(d[j] + stage) * n + j] -= b_[j];
    system.stage_residual(stage, X, b_);  // what later stages build upon
  }
  return Result::good;
}

/// Whether all equations hold up to the rounding errors of their terms. Then further corrections only follow these
/// errors, however large they are where an equation multiplies them: i = -(j + k) has an error of 1e-14 if j is 50, and
/// so i' = 1e8 i one of 1e-6.
bool StagedSeries::only_rounding(System& system, double t, std::span<const double> X) {
  constexpr double rounding = 64.0 * std::numeric_limits<double>::epsilon();
  const Structure& s = system.structure();
  const auto n = static_cast<std::size_t>(n_);
  system.start_stages(t, analysis_.equation_offset, analysis_.variable_offset, last_);
  for (int stage = -deepest_; stage <= 0; ++stage) {
    system.stage_residual(stage, X, b_);
    std::ranges::fill(terms_, 0.0);
    const auto add = [&](const SparsePattern& p, std::span<const double> entries, int derivative) {
      for (std::size_t j = 0; j < n; ++j)
        for (int k = p.start[j]; k < p.start[j + 1]; ++k) {
          const auto i = static_cast<std::size_t>(p.row[k]);
          const int order = analysis_.equation_offset[i] + stage;
          if (order < 0) continue;
          const double factor = derivative > 0 ? order + 1 : 1;
          const std::size_t place = static_cast<std::size_t>(order + derivative) * n + j;
          terms_[i] += std::abs(factor * entries[static_cast<std::size_t>(k)]) * (std::abs(X[place]) + unit_[place]);
        }
    };
    add(s.state_pattern, Fx_, 0);
    add(s.derivative_pattern, Fxp_, 1);
    for (std::size_t i = 0; i < n; ++i)
      if (!(std::abs(b_[i]) <= rounding * terms_[i])) return false;
  }
  return true;
}

StagedSeries::Result StagedSeries::project(System& system, double t, std::span<double> X, std::span<const double> size, double time,
                                           double tolerance) {
  const auto n = static_cast<std::size_t>(n_);
  bad_equation_ = bad_variable_ = -1;
  for (std::size_t place = n; place < X.size(); ++place)  // beyond the guess
    if (static_cast<int>(place / n) > analysis_.variable_offset[place % n]) X[place] = 0.0;
  double power = 1.0;
  for (std::size_t q = 0; q <= static_cast<std::size_t>(deepest_); ++q, power /= time)
    for (std::size_t j = 0; j < n; ++j) unit_[q * n + j] = size[j] * power;
  double previous = std::numeric_limits<double>::infinity();
  for (int k = 0; k < most_passes; ++k) {
    double largest = 0.0;
    ++iterations_;
    if (const Result result = pass(system, t, X, largest); result != Result::good) return result;
    if (largest <= negligible) return factorise(system, t, X) ? Result::good : blame_matrix();  // where it now is
    // as good as rounding allows
    if (k > 1 && largest > 0.3 * previous && (largest <= tolerance || only_rounding(system, t, X))) return Result::good;
    previous = largest;
  }
  return Result::not_converged;
}

bool StagedSeries::extend(System& system, std::span<double> X) {
  const auto n = static_cast<std::size_t>(n_);
  const auto& d = analysis_.variable_offset;
  if (inverse_ && system.extend_stages(inverse_->entries(), order_, X)) {
    const auto coefficients = X.first(n * static_cast<std::size_t>(order_ + 1));
    return std::ranges::all_of(coefficients, [](double v) { return std::isfinite(v); });
  }
  for (int stage = 1; stage <= last_; ++stage) {
    system.stage_residual(stage, X, b_);
    solve(stage);
    bool finite = true;
    for (std::size_t j = 0; j < n; ++j) {
      X[static_cast<std::size_t>(d[j] + stage) * n + j] = -b_[j];
      finite = finite && std::isfinite(b_[j]);
    }
    if (!finite) {  // nor are those that follow
      const int order = *std::ranges::min_element(d) + stage;
      std::fill(X.begin() + static_cast<std::ptrdiff_t>(n) * order, X.end(), std::numeric_limits<double>::quiet_NaN());
      return false;
    }
    system.settle_stage(stage, X);
  }
  return true;
}

}  // namespace saltus
