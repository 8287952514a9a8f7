// Values inside a Radau step.
#include "step/radau_stepper.hpp"

#include <algorithm>
#include <cmath>

namespace saltus {

void Radau::finish(const StepEnd& end) {
  const std::size_t n = x_.size();
  const double* last = stage(Z_, s_ - 1);
  for (std::size_t j = 0; j < n; ++j) x_new_[j] = x_[j] + last[j];
  std::fill(xp_new_.begin(), xp_new_.end(), 0.0);
  std::fill(polynomial_.begin(), polynomial_.end(), 0.0);
  has_polynomial_ = false;  // h_done_ is still that of the step before
  polynomial_degree_ = s_;
  for (int i = 0; i < s_; ++i) {
    const double* z = stage(Z_, i);
    const double w = method_->inverse[(s_ - 1) * s_ + i] / end.h;
    for (std::size_t j = 0; j < n; ++j) xp_new_[j] += w * z[j];
    for (int k = 0; k < s_; ++k) {
      const double m = method_->monomials[k * s_ + i];
      double* q = stage(polynomial_, k);
      for (std::size_t j = 0; j < n; ++j) q[j] += m * z[j];
    }
  }
}

double Radau::dense_error(const StepEnd& end) {
  const std::size_t n = x_.size();
  double largest = 0.0;
  if (s_ == 3) {
    quartic(end);
    for (int i = 0; i < 2; ++i) {
      dense_.evaluate(t_ + method_->c[i] * end.h, y_);
      const double* z = stage(Z_, i);
      for (std::size_t j = 0; j < n; ++j) y_[j] -= x_[j] + z[j];
      largest = std::max(largest, largest_ratio(y_, true, &worst_));
    }
    return largest;
  }
  for (std::size_t j = 0; j < n; ++j) y_[j] = method_->slope_bound * (polynomial_[j] - end.h * xp_[j]);
  return largest_ratio(y_, true, &worst_);
}

void Radau::quartic(const StepEnd& end) {
  const std::size_t n = x_.size();
  const double gamma = method_->gamma, h = end.h;
  const bool accepted = t_ == end.t;
  const std::vector<double>&x0 = accepted ? x_old_ : x_, &xp0 = accepted ? xp_old_ : xp_;
  const std::vector<double>&x1 = accepted ? x_ : x_new_, &xp1 = accepted ? xp_ : xp_new_;
  const double t0 = accepted ? t_old_ : t_;
  dense_.t0 = t0;
  dense_.h = h;
  dense_.degree = 4;
  const double m = (gamma + 4.0 - std::sqrt(gamma * gamma + 16.0)) / (2.0 * gamma);
  double *c0 = dense_.c.data(), *c1 = c0 + n, *c2 = c1 + n, *c3 = c2 + n, *c4 = c3 + n;
  for (std::size_t j = 0; j < n; ++j) {
    const double rise = x1[j] - x0[j];
    c0[j] = x0[j];
    c1[j] = h * xp0[j];
    c2[j] = 3.0 * rise - h * (2.0 * xp0[j] + xp1[j]);
    c3[j] = -2.0 * rise + h * (xp0[j] + xp1[j]);
    c4[j] = 0.0;
    y_[j] = c0[j] + m * (c1[j] + m * (c2[j] + m * c3[j]));
    yp_[j] = (c1[j] + m * (2.0 * c2[j] + m * 3.0 * c3[j])) / h;
  }
  if (factorised_for_ != h || !residual(t0 + m * h, y_, yp_, work_)) return;
  real_.solve(work_);
  const double scale = -1.0 / (m * m * (1.0 - m) * (1.0 - m));
  for (std::size_t j = 0; j < n; ++j) {
    const double q = scale * work_[j];  // phi = scale-free q (theta^2 - 2 theta^3 + theta^4)
    c2[j] += q;
    c3[j] -= 2.0 * q;
    c4[j] = q;
  }
}

const DensePolynomial& Radau::dense() {
  if (dense_ready_) return dense_;
  dense_ready_ = true;
  dense_.t0 = t_old_;
  dense_.h = h_done_;
  if (polynomial_degree_ == 3) {
    quartic({t_, h_done_, false});
    return dense_;
  }
  dense_.degree = polynomial_degree_;
  std::copy(x_old_.begin(), x_old_.end(), dense_.c.begin());
  std::copy_n(polynomial_.begin(), x_.size() * static_cast<std::size_t>(polynomial_degree_),
              dense_.c.begin() + static_cast<std::ptrdiff_t>(x_.size()));
  return dense_;
}

}  // namespace saltus
