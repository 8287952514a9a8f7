// The nonlinear system of a Radau step: Jacobians, the simplified Newton iteration, the error estimate (formulas in
// radau.cpp).
#include "step/radau_stepper.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/finite.hpp"
#include "step/fast_power.hpp"

namespace saltus {
bool Radau::residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) {
  system_->residual(t, x, xp, F);
  ++statistics_.evaluations;
  bad_ = first_not_finite(F);
  return bad_ < 0;
}

// After a step that was cut to a small part of its size, what is known of it serves steps that are as short only: a
// longer one would take the rounding errors of its polynomial to the power of the degree, and its slopes are
// differences of values that hardly differ. The polynomial of the step before is used further; without one, the slopes
// from which the step began.
void Radau::keep_guide(double h) {
  if (wanted_ <= reach * std::abs(h) || far(wanted_)) return;
  kept_h_ = has_polynomial_ ? h_done_ : std::copysign(wanted_, h);
  kept_at_ = has_polynomial_ ? 1.0 : 0.0;
  kept_degree_ = has_polynomial_ ? polynomial_degree_ : 1;
  if (has_polynomial_)
    kept_.swap(polynomial_);
  else
    for (std::size_t j = 0; j < x_.size(); ++j) kept_[j] = kept_h_ * xp_[j];
}

Radau::Guide Radau::guide(double h) const {
  if (!has_polynomial_) return {};
  if (!far(h)) return {polynomial_.data(), polynomial_degree_, h_done_, 1.0};
  if (kept_degree_ == 0 || kept_at_ + h / kept_h_ > 1.0 + reach) return {};
  return {kept_.data(), kept_degree_, kept_h_, kept_at_};
}

// Those of an explicit system are known; others make do with what estimate does about them.
void Radau::renew_slopes() {
  if (!structure_->explicit_ode || slopes_renewed_) return;
  slopes_renewed_ = true;
  system_->rhs(t_, x_, yp_);
  ++statistics_.evaluations;
  if (first_not_finite(yp_) < 0) xp_.swap(yp_);
}

bool Radau::update_jacobian(double h) {
  if (const Guide g = guide(h); at_middle_ && g.coefficients) {
    const std::size_t n = x_.size();
    const double theta = g.at + 0.5 * h / g.h;
    std::copy(x_.begin(), x_.end(), y_.begin());
    std::fill(yp_.begin(), yp_.end(), 0.0);
    double power = 1.0, power_at = 1.0;
    for (int k = 0; k < g.degree; ++k) {
      const double* q = g.coefficients + static_cast<std::size_t>(k) * n;
      power_at *= g.at;
      for (std::size_t j = 0; j < n; ++j) {
        yp_[j] += (k + 1) * power / g.h * q[j];
        y_[j] += (power * theta - power_at) * q[j];
      }
      power *= theta;
    }
    system_->jacobian(t_ + 0.5 * h, y_, yp_, Fx_, Fxp_);
  } else {
    system_->jacobian(t_, x_, xp_, Fx_, Fxp_);
  }
  ++statistics_.jacobians;
  jacobian_current_ = true;
  jacobian_wanted_ = false;
  factorised_for_.reset();
  return first_not_finite(Fx_) < 0 && first_not_finite(Fxp_) < 0;
}

// Newton's method corrects what is left of errors of iterative solutions, as long as they are smaller than what ends
// it.
template <class Scalar>
bool Radau::factorise(ShiftedMatrix<Scalar>& matrix, Scalar c) {
  if (!matrix.factorise(c, Fx_, Fxp_)) return false;
  if (matrix.iterates()) {
    for (std::size_t j = 0; j < work_.size(); ++j) work_[j] = tolerances_.scale(static_cast<int>(j), std::abs(x_[j]));
    matrix.set_accuracy(work_, 0.1 * newton_tolerance_);
  }
  return true;
}
template bool Radau::factorise(ShiftedMatrix<Complex>&, Complex);  // the dense output asks, too

bool Radau::factorise(double h) {
  if (factorised_for_ == h) return true;
  ++statistics_.factorisations;
  factorised_for_.reset();
  inside_factorised_ = false;
  if (!factorise(real_, method_->gamma / h)) return false;
  for (std::size_t k = 0; k < method_->lambda.size(); ++k)
    if (!factorise(complex_[k], method_->lambda[k] / h)) return false;
  // matrices that another order or the dense output will need are analysed now: later steps shall not allocate
  for (std::size_t k = method_->lambda.size(); k < complex_.size(); ++k)
    if (!complex_[k].analysed()) std::ignore = complex_[k].factorise(method_->lambda.back() / h, Fx_, Fxp_);
  factorised_for_ = h;
  return true;
}

void Radau::predict(double h) {
  const std::size_t n = x_.size();
  const Guide g = guide(h);
  const bool sloped = structure_->explicit_ode || !far(h);
  for (int i = 0; i < s_; ++i) {
    double* z = stage(Z_, i);
    const double c = method_->c[i];
    if (!g.coefficients) {
      for (std::size_t j = 0; j < n; ++j) z[j] = sloped ? c * h * xp_[j] : 0.0;
      continue;
    }
    const double theta = g.at + c * h / g.h;
    std::fill(z, z + n, 0.0);
    double power = 1.0, power_at = 1.0;
    for (int k = 0; k < g.degree; ++k) {
      power *= theta;
      power_at *= g.at;
      const double* q = g.coefficients + static_cast<std::size_t>(k) * n;
      for (std::size_t j = 0; j < n; ++j) z[j] += (power - power_at) * q[j];
    }
  }
}

bool Radau::stage_residuals(const StepEnd& end) {
  const std::size_t n = x_.size();
  const double ih = 1.0 / end.h;
  for (int i = 0; i < s_; ++i) {
    const double* z = stage(Z_, i);
    double *const y = y_.data(), *const yp = yp_.data();
    for (std::size_t j = 0; j < n; ++j) y[j] = x_[j] + z[j];
    std::fill_n(yp, n, 0.0);
    for (int k = 0; k < s_; ++k) {
      const double w = method_->slopes[i * s_ + k] * ih;
      const double* zk = stage(Z_, k);
      for (std::size_t j = 0; j < n; ++j) yp[j] += w * zk[j];
    }
    const double t = i == s_ - 1 ? end.t : t_ + method_->c[i] * end.h;
    if (!residual(t, y_, yp_, {stage(F_, i), n})) return false;
  }
  return true;
}

// One Newton step for the values W of a system of stages, with the residuals in F_.
double Radau::correct(const StageSystem& system, std::vector<double>& W) {
  const std::size_t n = x_.size();
  const auto count = static_cast<std::size_t>(system.stages);
  Complex* const complex = complex_work_.data();
  double *const real = work_.data(), *const updates = complex_update_.data();
  const double* const residuals = F_.data();
  std::fill_n(updates, n * count, 0.0);
  for (std::size_t k = 0; k < system.lambda.size(); ++k) {
    const Complex* inverse = system.Tinv_complex.data() + k * count;
    const Complex* T = system.T_complex.data() + k * count;
    std::fill_n(complex, n, Complex(0.0));
    for (std::size_t i = 0; i < count; ++i) {
      const double *F = residuals + i * n, re = inverse[i].real(), im = inverse[i].imag();
      for (std::size_t j = 0; j < n; ++j) complex[j] -= Complex(re * F[j], im * F[j]);
    }
    complex_[k].solve(complex_work_);
    for (std::size_t i = 0; i < count; ++i) {
      double* update = updates + i * n;
      const double re = 2.0 * T[i].real(), im = 2.0 * T[i].imag();
      for (std::size_t j = 0; j < n; ++j) update[j] += re * complex[j].real() - im * complex[j].imag();
    }
  }
  std::fill_n(real, n, 0.0);
  for (std::size_t i = 0; i < count; ++i) {
    const double *F = residuals + i * n, inverse = system.Tinv_real[i];
    for (std::size_t j = 0; j < n; ++j) real[j] -= inverse * F[j];
  }
  real_.solve(work_);
  double largest = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    double *update = updates + i * n, *w = W.data() + i * n;
    const double T = system.T_real[i];
    for (std::size_t j = 0; j < n; ++j) {
      update[j] += T * real[j];
      w[j] += update[j];
    }
    largest = std::max(largest, tolerances_.largest_ratio({update, n}, x_, nullptr));
  }
  return largest;
}

// Whether corrections are what rounding errors of the variables make of them: a variable that is a small difference of
// large ones, divided by something small, has no more digits, however short the step is.
bool Radau::is_rounding(double size) {
  constexpr double factor = 10.0;
  std::fill(work_.begin(), work_.end(), 0.0);
  const SparsePattern& pattern = structure_->state_pattern;
  for (int j = 0; j < structure_->variables; ++j)
    for (int k = pattern.start[j]; k < pattern.start[j + 1]; ++k)
      work_[static_cast<std::size_t>(pattern.row[k])] +=
          eps * std::abs(Fx_[static_cast<std::size_t>(k)] * x_[static_cast<std::size_t>(j)]);
  real_.solve(work_);
  return size <= factor * tolerances_.largest_ratio(work_, x_, nullptr);
}

Radau::Attempt Radau::newton(const StepEnd& end) {
  predict(end.h);
  double previous = 0.0;
  // The first correction says nothing about the contraction, and that of the step before is no guide when the step size
  // or the Jacobian has changed: one iteration is enough only if the correction itself is small.
  double eta = 1.0;
  for (iterations_ = 1; iterations_ <= std::max(most_iterations_, fixed_iterations_); ++iterations_) {
    if (!stage_residuals(end)) return Attempt::not_finite;
    const double size = correct(*method_, Z_);
    ++statistics_.iterations;
    if (!std::isfinite(size)) return Attempt::not_finite;
    if (fixed_iterations_ > 0) {
      if (iterations_ == fixed_iterations_) return Attempt::good;
      continue;
    }
    if (iterations_ > 1) {
      const double theta = size / previous;
      contraction_ = iterations_ == 2 ? theta : std::sqrt(theta * contraction_);
      // corrections at the level of rounding: as good as it gets
      if (tolerances_.rtol() > 0.0 && size * tolerances_.rtol() < 100.0 * eps) return Attempt::good;
      if (!(contraction_ < 0.99)) {
        shrink_ = 0.5;
        return is_rounding(size) ? Attempt::good : Attempt::no_convergence;
      }
      eta = contraction_ / (1.0 - contraction_);
      const double predicted = eta * size * std::pow(contraction_, most_iterations_ - 1 - iterations_);
      if (predicted > newton_tolerance_) {
        const double excess = std::clamp(predicted / newton_tolerance_, 1e-4, 20.0);
        shrink_ = 0.8 * fast_power(excess, -1.0 / (4.0 + most_iterations_ - 1 - iterations_));
        // (where the equations move the first correction is that of the predicted higher derivatives, and no guide)
        const bool early = at_middle_ && iterations_ == 2 && contraction_ < 0.5;
        if (iterations_ < most_iterations_ && !early)
          return is_rounding(size) ? Attempt::good : Attempt::no_convergence;
      }
    }
    if (size == 0.0 || eta * size <= newton_tolerance_) return Attempt::good;
    previous = size;
  }
  shrink_ = 0.5;
  return Attempt::no_convergence;
}

double Radau::estimate(double h, bool retry) {
  const std::size_t n = x_.size();
  std::copy(xp_.begin(), xp_.end(), yp_.begin());
  for (int i = 0; i < s_; ++i) {
    const double w = collocation_->error[i] / h;
    const double* z = stage(Z_, i);
    for (std::size_t j = 0; j < n; ++j) yp_[j] += w * z[j];
  }
  std::fill(err_.begin(), err_.end(), 0.0);
  multiply_add(structure_->derivative_pattern, Fxp_, yp_, 1.0, err_);
  std::copy(err_.begin(), err_.end(), y_.begin());  // the right-hand side is needed again
  // slopes from a very short step do not satisfy the equations well enough for a long one
  if (far(h) && !structure_->explicit_ode && residual(t_, x_, xp_, work_))
    for (std::size_t j = 0; j < n; ++j) err_[j] -= work_[j];
  real_.solve(err_);
  double ratio = tolerances_.largest_ratio(err_, x_, differentiated_.data(), &worst_);
  if (ratio <= 1.0 || !retry) return ratio;
  for (std::size_t j = 0; j < n; ++j) work_[j] = x_[j] + err_[j];
  if (!residual(t_, work_, xp_, err_)) return ratio;
  for (std::size_t j = 0; j < n; ++j) err_[j] = y_[j] - err_[j];
  real_.solve(err_);
  return tolerances_.largest_ratio(err_, x_, differentiated_.data(), &worst_);
}

}  // namespace saltus
