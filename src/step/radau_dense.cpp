// Values inside a Radau step. The polynomial of the method is of order s only; both ends of the step are of order 2s-1.
// Dense output therefore is the polynomial of degree 2s-2 through both ends that satisfies the equations at 2s-3 points
// between them: of order 2s-2 for all variables, whether their slopes are known (as those of algebraic variables and of
// reduced modes are not) or not. Newton's method for it begins with the polynomial of the method and the matrices of
// the step (see collocation.hpp), so that one or two iterations are enough.
#include "step/radau_stepper.hpp"

#include <algorithm>
#include <cmath>

namespace saltus {

void Radau::finish(const StepEnd& end) {
  const std::size_t n = x_.size();
  keep_guide(end.h);
  const double* last = stage(Z_, s_ - 1);
  for (std::size_t j = 0; j < n; ++j) x_new_[j] = x_[j] + last[j];
  std::fill(xp_new_.begin(), xp_new_.end(), 0.0);
  std::fill(polynomial_.begin(), polynomial_.end(), 0.0);
  has_polynomial_ = false;  // h_done_ is still that of the step before
  polynomial_degree_ = s_;
  for (int i = 0; i < s_; ++i) {
    const double* z = stage(Z_, i);
    const double w = method_->slopes[(s_ - 1) * s_ + i] / end.h;
    for (std::size_t j = 0; j < n; ++j) xp_new_[j] += w * z[j];
    for (int k = 0; k < s_; ++k) {
      const double m = method_->monomials[k * s_ + i];
      double* q = stage(polynomial_, k);
      for (std::size_t j = 0; j < n; ++j) q[j] += m * z[j];
    }
  }
}

// How far the slope of the method's polynomial is off at the beginning of the step, and what that does inside.
double Radau::slope_error(double h) {
  for (std::size_t j = 0; j < x_.size(); ++j) y_[j] = collocation_->slope_bound * (polynomial_[j] - h * xp_[j]);
  return tolerances_.largest_ratio(y_, x_, differentiated_.data(), &worst_);
}

// The step that has just been done, where the dense output is farthest from what determines it: what the equations leave of its values
// there, as an error of the order of the method's estimate. What the iteration has left may be half of the tolerance; it says nothing about
// longer steps, which may grow moderately then.
double Radau::inside_error() {
  constexpr double left = 0.5, growth = 1.25, small = 0.05;
  dense();
  double ratio = 0.0;
  for (const double theta : collocation_->looks) {
    const double t = t_old_ + theta * h_done_;
    dense_.evaluate(t, y_);
    dense_.derivative(t, yp_);
    if (!residual(t, y_, yp_, err_)) return std::numeric_limits<double>::infinity();
    real_.solve(err_);
    ratio = std::max(ratio, watched_.largest_ratio(err_, x_, asked_, &worst_));
    if (ratio > 1.0 || ratio < small) break;
  }
  const double error = solved_inside_ ? std::pow(ratio, (s_ + 1.0) / (2.0 * s_ - 1.0)) : ratio;
  return ratio > left ? error : std::min(error, std::pow(0.9 / growth, s_ + 1));
}

// At the method's polynomial, which is in dense_, plus W.
bool Radau::inner_residuals() {
  const StageSystem& inside = collocation_->inside;
  const std::size_t n = x_.size();
  for (int i = 0; i < inside.stages; ++i) {
    const double c = inside.c[i], *w = stage(W_, i);
    dense_.evaluate(t_old_ + c * h_done_, y_);
    dense_.derivative(t_old_ + c * h_done_, yp_);
    for (std::size_t j = 0; j < n; ++j) y_[j] += w[j];
    for (int k = 0; k < inside.stages; ++k) {
      const double slope = inside.slopes[i * inside.stages + k] / h_done_;
      const double* wk = stage(W_, k);
      for (std::size_t j = 0; j < n; ++j) yp_[j] += slope * wk[j];
    }
    if (!residual(t_old_ + c * h_done_, y_, yp_, {stage(F_, i), n})) return false;
  }
  return true;
}

// W, what is to be added to the method's polynomial at the inner nodes, until what is left is small beside the
// tolerance that was asked for. False if there is no such polynomial, or if it differs by so little that this may be
// rounding errors, which guards near zero must not see.
bool Radau::solve_inside() {
  constexpr double enough = 0.1, nothing = 1e-3;
  constexpr int most = 6;
  const StageSystem& inside = collocation_->inside;
  if (factorised_for_ != h_done_) return false;
  if (!inside_factorised_ && inside.lambda.size() > method_->lambda.size()) {
    ++statistics_.factorisations;
    for (std::size_t k = method_->lambda.size(); k < inside.lambda.size(); ++k)
      if (!factorise(complex_[k], inside.lambda[k] / h_done_)) return false;
  }
  inside_factorised_ = true;
  std::fill_n(W_.begin(), x_.size() * static_cast<std::size_t>(inside.stages), 0.0);
  const double to_asked = tolerances_.typical() / asked_.typical();
  double rate = iterations_ > 1 ? std::min(contraction_, 1.0) : 1.0, previous = 0.0;
  for (int iteration = 1; iteration <= std::max(most, fixed_iterations_); ++iteration) {
    if (!inner_residuals()) return false;
    const double size = correct(inside, W_) * to_asked;
    if (!std::isfinite(size)) return false;
    if (fixed_iterations_ > 0) {
      if (iteration == fixed_iterations_) return true;
      continue;
    }
    if (iteration == 1 && size <= nothing) return false;
    if (iteration > 1) rate = size / previous;
    if (size * rate <= enough) return true;
    if (rate > 1.0) return false;
    previous = size;
  }
  return true;
}

// Where the slopes at the ends are exact: at the start of a run (an event looks which way guards go from there), and at
// all points of explicit systems. What this changes is of the order of the error, except where a fast variable makes a
// large slope of a small error; there nothing is changed unless a start would point elsewhere.
void Radau::meet_slopes() {
  constexpr double little = 0.2, peak = 4.0 / 27.0;  // of the tolerance; of theta (1 - theta)^2
  const std::size_t n = x_.size();
  double *c1 = dense_.c.data() + n, *c2 = c1 + n, *c3 = c2 + n;
  for (std::size_t j = 0; j < n; ++j) {
    if (!differentiated_[j]) continue;
    const double most = options_.control_dense ? little * asked_.scale(static_cast<int>(j), std::abs(x_[j])) / peak
                                               : std::numeric_limits<double>::infinity();
    double left = h_done_ * xp_old_[j] - c1[j], right = 0.0;
    if (structure_->explicit_ode) {
      right = h_done_ * xp_[j];
      for (int k = 1; k <= dense_.degree; ++k) right -= k * dense_.c[static_cast<std::size_t>(k) * n + j];
    }
    if (std::max(std::abs(left), std::abs(right)) > most) {
      right = 0.0;
      if (!from_start_ || std::abs(left) < 0.5 * std::abs(h_done_ * xp_old_[j])) continue;
    }
    // left theta (1 - theta)^2 - right theta^2 (1 - theta)
    c1[j] += left;
    c2[j] -= 2.0 * left + right;
    c3[j] += left + right;
  }
}

// The weights are large, 1e7 for order 13; what they multiply is small.
void Radau::add_inside() {
  const StageSystem& inside = collocation_->inside;
  const std::size_t n = x_.size();
  dense_.degree = inside.stages + 1;
  for (int k = 0; k < dense_.degree; ++k) {
    double* c = stage(dense_.c, k + 1);
    if (k >= polynomial_degree_) std::fill(c, c + n, 0.0);
    for (int i = 0; i < inside.stages; ++i) {
      const double m = inside.monomials[k * inside.stages + i];
      const double* w = stage(W_, i);
      for (std::size_t j = 0; j < n; ++j) c[j] += m * w[j];
    }
  }
}

const DensePolynomial& Radau::dense() {
  if (dense_ready_) return dense_;
  dense_ready_ = true;
  dense_.t0 = t_old_;
  dense_.h = h_done_;
  const std::size_t n = x_.size();
  dense_.degree = polynomial_degree_;
  std::copy(x_old_.begin(), x_old_.end(), dense_.c.begin());
  std::copy_n(polynomial_.begin(), n * static_cast<std::size_t>(polynomial_degree_), stage(dense_.c, 1));
  double* c1 = stage(dense_.c, 1);
  for (std::size_t j = 0; j < n; ++j) {  // no rounding errors at the end of the step
    double end = x_old_[j];
    for (int k = 1; k <= dense_.degree; ++k) end += dense_.c[static_cast<std::size_t>(k) * n + j];
    c1[j] += x_[j] - end;
  }
  solved_inside_ = solve_inside();
  if (solved_inside_) add_inside();
  if (exact_slopes_) meet_slopes();
  return dense_;
}

}  // namespace saltus
