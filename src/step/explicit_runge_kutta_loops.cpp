// What explicit Runge-Kutta steps do with any number of variables, in loops that the compiler vectorises, and what they do rarely.
#include "base/dense_defect.hpp"
#include "step/explicit_runge_kutta_stepper.hpp"

namespace saltus {

ExplicitRungeKutta::Arithmetic ExplicitRungeKutta::arithmetic_for_any() { return arithmetic_with<SumsOfAny>(); }

int ExplicitRungeKutta::worst_variable(double h) const {
  int worst = -1;
  double largest = -1.0;
  make_sums<SumsOfAny>().largest(error_weights_, tableau_.stages, k_.data(), [&](int j, double sum) {
    const auto v = static_cast<std::size_t>(j);
    const double ratio = std::abs(h * sum) / tolerances_.scale(j, std::max(std::abs(x0_[v]), std::abs(x1_[v])));
    if (ratio > largest) largest = ratio, worst = j;
    return ratio;
  });
  return worst;
}

/// Hairer, Norsett, Wanner I, section II.4, "starting step size", with the maximum norm. At the start of `advance`, so
/// x0_ and the first stage are the current point. Where values or slopes vanish, the distance to the limit sets the scale.
double ExplicitRungeKutta::first_step(double limit) {
  const double distance = std::min(std::abs(limit - t_), options_.max_step);
  const double fallback = std::isfinite(distance) ? 1e-6 * distance : 1e-6 * std::max(1.0, std::abs(t_));
  const auto norm = [&](const double* v, const double* minus) {
    double largest = 0.0;
    for (int j = 0; j < n_; ++j) {
      const double value = minus ? v[j] - minus[j] : v[j];
      largest = std::max(largest, std::abs(value) / tolerances_.scale(j, std::abs(x0_[static_cast<std::size_t>(j)])));
    }
    return largest;
  };
  const double d0 = norm(x0_.data(), nullptr), d1 = norm(row(0), nullptr);
  double h0 = d0 < 1e-5 || d1 < 1e-5 ? fallback : 0.01 * (d0 / d1);
  h0 = std::min(h0, distance);
  double d2 = 0.0;
  for (int tries = 0; tries < 20; ++tries, h0 *= 0.1) {  // an Euler step may leave the domain of f
    const double h = h0 * direction_;
    for (std::size_t j = 0; j < static_cast<std::size_t>(n_); ++j) y_[j] = x0_[j] + h * k_[j];
    if (!evaluate(make_sums<SumsOfAny>(), t_ + h, y_.data(), 1)) continue;
    d2 = norm(row(1), row(0)) / h0;
    break;
  }
  const double steepest = std::max(d1, d2);
  const double h1 =
      steepest <= 1e-15 ? std::max(fallback, 1e-3 * h0) : std::pow(0.01 / steepest, 1.0 / tableau_.error_exponent);
  return std::min({100.0 * h0, h1, distance});
}

/// Asked after every 16th step, and after all others while there are hits: |h lambda| estimated from the two stages at the end of the step,
/// in the norm of the tolerance: a fast variable may be much smaller than the others. Fifteen hits without six misses between them mean
/// stiffness.
void ExplicitRungeKutta::watch_stiffness(double h) {
  if (tableau_.stiffness_stage < 0 || stiff_) return;
  const double *const f1 = row(last_), *const f2 = row(tableau_.stiffness_stage);
  double numerator = 0.0, denominator = 0.0;
  for (std::size_t j = 0; j < static_cast<std::size_t>(n_); ++j) {
    const double scale = tolerances_.scale(static_cast<int>(j), std::abs(x1_[j]));
    const double f = (f1[j] - f2[j]) / scale, x = (x1_[j] - y_[j]) / scale;
    numerator += f * f;
    denominator += x * x;
  }
  // with tight tolerances the error of the fast variable keeps steps below the limit: at 0.9 of it with order 5, at 0.6
  // with order 8. Steps that accuracy limits are much shorter then
  const double below = options_.tightest_rtol() > 1e-5 ? 1.0 : tableau_.order > 5 ? 0.5 : 0.75;
  const double limit = below * tableau_.stiffness_limit;
  if (denominator > 0.0 && h * h * numerator > limit * limit * denominator) {
    stiff_misses_ = 0;
    if (++stiff_hits_ == 15) stiff_ = true;
  } else if (stiff_hits_ > 0 && ++stiff_misses_ == 6) {
    stiff_hits_ = stiff_misses_ = 0;
  }
}

/// The estimate of watch_stiffness for the last step. The argument of the stage is computed again: dense output may have
/// overwritten it. Differences far below the tolerance move no guard.
bool ExplicitRungeKutta::unstable() const {
  const int stage = tableau_.stiffness_stage;
  if (stage < 0 || steps_since_start_ == 0) return false;
  constexpr double noticeable = 0.01;  // tolerances
  const double* const weights = tableau_.a.data() + static_cast<std::size_t>(stage * tableau_.all_stages());
  const double *const f1 = row(last_), *const f2 = row(stage);
  const double h = h_done_;
  double numerator = 0.0, denominator = 0.0;
  for (std::size_t j = 0; j < static_cast<std::size_t>(n_); ++j) {
    double sum = 0.0;
    for (int i = 0; i < stage; ++i) sum += weights[i] * row(i)[j];
    const double scale = tolerances_.scale(static_cast<int>(j), std::abs(x1_[j]));
    const double f = h * (f1[j] - f2[j]) / scale, x = (x1_[j] - (x0_[j] + h * sum)) / scale;
    numerator += f * f;
    denominator += x * x;
  }
  const double limit = tableau_.stiffness_limit;
  return numerator > noticeable * noticeable && numerator > limit * limit * denominator;
}

/// The error of dense output inside the step, in units of what is allowed there, from its defect at one place.
double ExplicitRungeKutta::error_inside() {
  dense_ready_ = true;
  if (!(this->*arithmetic_.find_dense)()) return 0.0;
  const double t = t0_ + DenseDefect::place * h_done_;
  const auto n = static_cast<std::size_t>(n_);
  defect_.resize(2 * n);
  const auto slope = std::span(defect_).first(n), f = std::span(defect_).last(n);
  dense_.evaluate(t, z_);
  dense_.derivative(t, slope);
  system_->rhs(t, z_, f);
  ++statistics_.evaluations;
  double largest = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    const double ratio = std::abs(h_done_ * (slope[j] - f[j])) / tolerances_.scale(static_cast<int>(j), std::abs(z_[j]));
    if (std::isfinite(ratio)) largest = std::max(largest, ratio);
  }
  return largest / DenseDefect::of_tolerance;
}

/// Through values and slopes at both ends of the step.
void ExplicitRungeKutta::make_dense_cubic() {
  const std::size_t n = x0_.size();
  const double h = dense_.h;
  const double *const xp0 = row(0), *const xp1 = row(last_);
  double* const c = dense_.c.data();
  std::fill(dense_.c.begin(), dense_.c.end(), 0.0);
  for (std::size_t j = 0; j < n; ++j) {
    const double rise = x1_[j] - x0_[j];
    c[j] = x0_[j];
    c[n + j] = h * xp0[j];
    c[2 * n + j] = 3.0 * rise - h * (2.0 * xp0[j] + xp1[j]);
    c[3 * n + j] = -2.0 * rise + h * (xp0[j] + xp1[j]);
  }
}

void ExplicitRungeKutta::make_dense_constant() {
  dense_.t0 = t_;
  dense_.h = 0.0;
  std::fill(dense_.c.begin(), dense_.c.end(), 0.0);
  std::copy(x1_.begin(), x1_.end(), dense_.c.begin());
}

}  // namespace saltus
