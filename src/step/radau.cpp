// Radau IIA methods after E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, section IV.8 (RADAU5) and
// J. Comput. Appl. Math. 111 (1999) 93-111 (orders 9, 13), written for F(t, x, x') = 0.
//
// Stages X_i = x_0 + Z_i with slopes X_i' = (1/h) sum_j w_ij Z_j, w = A^{-1}, solve F(t_0 + c_i h, X_i, X_i') = 0. With
// one pair of Jacobians for all stages and w = T Lambda T^{-1}, Newton's method falls apart into
//   (F_x + lambda_k/h F_x') (T^{-1} dZ)_k = -(T^{-1} F)_k,   one real and (s-1)/2 complex systems of size n.
// Error estimate (8.19), divided by h/gamma:  (F_x + gamma/h F_x') err = F_x' (x_0' + sum_i e_i Z_i / h) - F(t_0, x_0,
// x_0').
#include <saltus/step/radau.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "step/collocation.hpp"
#include "step/fast_power.hpp"
#include "step/first_step.hpp"
#include "step/radau_order.hpp"
#include "step/shifted_matrix.hpp"
#include "step/step_limits.hpp"
#include "step/tolerances.hpp"

namespace saltus {
namespace {

using Complex = std::complex<double>;
constexpr double eps = std::numeric_limits<double>::epsilon();

class Radau final : public Stepper {
 public:
  Radau(StepOptions options, RadauOptions radau);

  std::string_view name() const override { return name_; }
  int order() const override { return 2 * s_ - 1; }  // of the next step
  void start(System& system, const StartPoint& point) override;
  StepOutcome advance(double limit) override;
  double t() const override { return t_; }
  std::span<const double> x() const override { return x_; }
  std::span<const double> xp() const override { return xp_; }
  const DensePolynomial& dense() override;
  double next_step() const override { return h_next_; }
  double error() const override { return error_; }
  std::string linear_algebra() const override { return real_.description(); }

 private:
  enum class Attempt { good, inaccurate, no_convergence, not_finite, singular };

  Attempt attempt(const StepEnd& end, bool retry);
  bool update_jacobian(double h);
  bool factorise(double h);
  void predict(double h);
  Attempt newton(const StepEnd& end);
  bool stage_residuals(const StepEnd& end);
  double correct();
  double estimate(double h, bool retry);
  double largest_ratio(std::span<const double> v, bool differentiated_only, int* worst);
  bool residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F);
  double next_size(double size, bool rejected);
  void finish(const StepEnd& end);
  void accept(const StepEnd& end);
  double dense_error(const StepEnd& end);
  void quartic(const StepEnd& end);
  void set_stages(int s);
  double* stage(std::vector<double>& v, int i) { return v.data() + static_cast<std::size_t>(i) * x_.size(); }

  RadauOrder choice_;
  const Collocation* method_ = nullptr;
  int s_ = 3;
  std::string name_;
  StepOptions options_;
  int fixed_iterations_;
  Tolerances asked_, tolerances_;  // as given; rescaled for the order in use
  double newton_tolerance_ = 0.0;
  int most_iterations_ = 0;

  System* system_ = nullptr;
  const Structure* structure_ = nullptr;
  std::vector<char> differentiated_;
  ShiftedMatrix<double> real_;
  std::vector<ShiftedMatrix<Complex>> complex_;
  double factorised_for_ = 0.0;
  bool jacobian_current_ = false, jacobian_wanted_ = true;
  bool at_middle_ = false;  // where Jacobians are evaluated

  int direction_ = 1;
  std::vector<double> x_, xp_, x_old_, xp_old_, x_new_, xp_new_;
  std::vector<double> Z_, F_, polynomial_, Fx_, Fxp_, y_, yp_, work_, err_;
  std::vector<Complex> complex_work_;
  std::vector<double> complex_update_;  // sum over pairs of 2 Re(T dW), s n
  double t_ = 0.0, t_old_ = 0.0, h_done_ = 0.0, h_next_ = 0.0, error_ = 0.0;
  double contraction_ = 1.0, shrink_ = 0.5;  // of the last Newton iteration; what to do with h when it failed
  double barred_ = std::numeric_limits<double>::infinity();  // a size at which Newton's method failed lately
  int barred_for_ = 0;                                       // steps for which sizes near it are not tried again
  int iterations_ = 0;
  double previous_error_ = 0.0, previous_size_ = 0.0;
  int polynomial_degree_ = 0;
  bool has_polynomial_ = false, first_ = true, started_badly_ = false;
  int worst_ = -1, bad_ = -1;
  DensePolynomial dense_;
  bool dense_ready_ = false;
};

Radau::Radau(StepOptions options, RadauOptions radau)
    : choice_(radau.order == 0 ? 0 : (radau.order + 1) / 2),
      name_(radau.order == 0 ? "Radau IIA" : "Radau IIA " + std::to_string(radau.order)),
      options_(std::move(options)),
      fixed_iterations_(radau.fixed_iterations) {
  if (radau.order != 0 && radau.order != 5 && radau.order != 9 && radau.order != 13)
    throw UsageError("make_radau: the order must be 5, 9 or 13, or 0 for a variable one, not " +
                     std::to_string(radau.order));
  complex_.resize(choice_.variable() ? 3 : static_cast<std::size_t>(choice_.stages() / 2));
}

/// From the next step on: the method with s stages, and the tolerances inside that belong to it.
void Radau::set_stages(int s) {
  s_ = s;
  method_ = &radau_collocation(s);
  most_iterations_ = 7 + (s - 3) * 5 / 2;
  tolerances_ = asked_;
  // the estimate behaves like h^(s+1), the error like h^(2s): Hairer's rescaling keeps the result proportional to the
  // tolerance
  // (the factors: 0.1 is RADAU5's; the larger ones bring orders 9 and 13 to the same error per tolerance)
  tolerances_.rescale(s == 3 ? 0.1 : s == 5 ? 0.15 : 0.3, (s + 1.0) / (2.0 * s));
  const double tolerance = std::min(1.0, tolerances_.typical());
  newton_tolerance_ = std::max(10.0 * eps / tolerance, std::min(0.03, std::sqrt(tolerance)));
  // constraints of a reduced mode shall hold far below the tolerance that was asked for
  if (!structure_->explicit_ode && !structure_->constant_mass)
    newton_tolerance_ = std::max(10.0 * eps / tolerance,
                                 std::min(newton_tolerance_, 1e-4 * std::min(1.0, asked_.typical()) / tolerance));
  factorised_for_ = 0.0;
}

void Radau::start(System& system, const StartPoint& point) {
  const Structure& structure = system.structure();
  check_start(name_, structure, point);
  asked_.set(options_, structure.variables);
  structure_ = &structure;
  choice_.restart(asked_.typical());
  set_stages(choice_.stages());

  real_.set_structure(structure);
  for (auto& matrix : complex_) matrix.set_structure(structure);
  system_ = &system;
  at_middle_ = structure.moving;
  const auto n = static_cast<std::size_t>(structure.variables);
  const std::size_t s = choice_.variable() ? 7 : static_cast<std::size_t>(s_);
  for (auto* v : {&x_, &xp_, &x_old_, &xp_old_, &x_new_, &xp_new_, &y_, &yp_, &work_, &err_}) v->resize(n);
  for (auto* v : {&Z_, &F_, &polynomial_, &complex_update_}) v->resize(n * s);
  complex_work_.resize(n);
  Fx_.resize(structure.state_pattern.row.size());
  Fxp_.resize(structure.derivative_pattern.row.size());
  differentiated_.resize(n);
  for (std::size_t j = 0; j < n; ++j) differentiated_[j] = structure.differentiated(static_cast<int>(j));
  dense_.degree = 0;
  dense_.variables = structure.variables;
  dense_.c.assign(n * (std::max<std::size_t>(s, 4) + 1), 0.0);

  direction_ = point.direction;
  t_ = t_old_ = point.t;
  std::copy(point.x.begin(), point.x.end(), x_.begin());
  std::copy(x_.begin(), x_.end(), dense_.c.begin());
  dense_.t0 = t_;
  dense_.h = h_done_ = 0.0;
  dense_ready_ = true;
  bad_ = first_not_finite(x_);
  if (bad_ < 0 && structure.explicit_ode) {
    system.rhs(t_, x_, xp_);
    ++statistics_.evaluations;
    bad_ = first_not_finite(xp_);
  } else if (!structure.explicit_ode) {
    std::copy(point.xp.begin(), point.xp.end(), xp_.begin());
    if (bad_ < 0) bad_ = first_not_finite(xp_);
  }
  started_badly_ = bad_ >= 0;
  h_next_ = std::min(point.step > 0.0 ? point.step : options_.initial_step, options_.max_step);
  has_polynomial_ = false;
  barred_for_ = 0;
  first_ = true;
  jacobian_wanted_ = true;
  jacobian_current_ = false;
  factorised_for_ = 0.0;
  error_ = 0.0;
  contraction_ = 1.0;
}

bool Radau::residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) {
  system_->residual(t, x, xp, F);
  ++statistics_.evaluations;
  bad_ = first_not_finite(F);
  return bad_ < 0;
}

/// Jacobians at the current point, or, for modes that are neither explicit nor linear in x', at the predicted middle of
/// the step: a reduced mode of high index fixes its projectors there, and they must serve all stages.
bool Radau::update_jacobian(double h) {
  if (at_middle_ && has_polynomial_) {
    const std::size_t n = x_.size();
    const double theta = 1.0 + 0.5 * h / h_done_;
    std::copy(x_old_.begin(), x_old_.end(), y_.begin());
    std::fill(yp_.begin(), yp_.end(), 0.0);
    double power = 1.0;
    for (int k = 0; k < polynomial_degree_; ++k) {
      const double* q = stage(polynomial_, k);
      for (std::size_t j = 0; j < n; ++j) {
        yp_[j] += (k + 1) * power / h_done_ * q[j];
        y_[j] += power * theta * q[j];
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
  factorised_for_ = 0.0;
  return first_not_finite(Fx_) < 0 && first_not_finite(Fxp_) < 0;
}

bool Radau::factorise(double h) {
  if (factorised_for_ == h) return true;
  ++statistics_.factorisations;
  factorised_for_ = 0.0;
  if (!real_.factorise(method_->gamma / h, Fx_, Fxp_)) return false;
  for (std::size_t k = 0; k < method_->lambda.size(); ++k)
    if (!complex_[k].factorise(method_->lambda[k] / h, Fx_, Fxp_)) return false;
  // matrices that another order will need are analysed now: later steps shall not allocate
  for (std::size_t k = method_->lambda.size(); k < complex_.size(); ++k)
    if (!complex_[k].analysed()) complex_[k].factorise(method_->lambda.back() / h, Fx_, Fxp_);
  factorised_for_ = h;
  return true;
}

/// First guess of Z: the polynomial of the previous step continued, or straight lines.
void Radau::predict(double h) {
  const std::size_t n = x_.size();
  for (int i = 0; i < s_; ++i) {
    double* z = stage(Z_, i);
    const double c = method_->c[i];
    if (!has_polynomial_) {
      for (std::size_t j = 0; j < n; ++j) z[j] = c * h * xp_[j];
      continue;
    }
    const double theta = 1.0 + c * h / h_done_;
    std::fill(z, z + n, 0.0);
    double power = 1.0;
    for (int k = 0; k < polynomial_degree_; ++k) {
      power *= theta;
      const double* q = stage(polynomial_, k);
      for (std::size_t j = 0; j < n; ++j) z[j] += (power - 1.0) * q[j];
    }
  }
}

bool Radau::stage_residuals(const StepEnd& end) {
  const std::size_t n = x_.size();
  const double ih = 1.0 / end.h;
  for (int i = 0; i < s_; ++i) {
    const double* z = stage(Z_, i);
    for (std::size_t j = 0; j < n; ++j) y_[j] = x_[j] + z[j];
    std::fill(yp_.begin(), yp_.end(), 0.0);
    for (int k = 0; k < s_; ++k) {
      const double w = method_->inverse[i * s_ + k] * ih;
      const double* zk = stage(Z_, k);
      for (std::size_t j = 0; j < n; ++j) yp_[j] += w * zk[j];
    }
    const double t = i == s_ - 1 ? end.t : t_ + method_->c[i] * end.h;
    if (!residual(t, y_, yp_, {stage(F_, i), n})) return false;
  }
  return true;
}

/// Solves for the corrections and adds them to Z; returns their norm.
double Radau::correct() {
  const std::size_t n = x_.size();
  std::fill(complex_update_.begin(), complex_update_.end(), 0.0);
  for (std::size_t k = 0; k < method_->lambda.size(); ++k) {
    const Complex* inverse = method_->Tinv_complex.data() + k * static_cast<std::size_t>(s_);
    const Complex* T = method_->T_complex.data() + k * static_cast<std::size_t>(s_);
    std::fill(complex_work_.begin(), complex_work_.end(), Complex(0.0));
    for (int i = 0; i < s_; ++i) {
      const double* F = stage(F_, i);
      for (std::size_t j = 0; j < n; ++j) complex_work_[j] -= inverse[i] * F[j];
    }
    complex_[k].solve(complex_work_);
    for (int i = 0; i < s_; ++i) {
      double* update = stage(complex_update_, i);
      const double re = 2.0 * T[i].real(), im = 2.0 * T[i].imag();
      for (std::size_t j = 0; j < n; ++j) update[j] += re * complex_work_[j].real() - im * complex_work_[j].imag();
    }
  }
  std::fill(work_.begin(), work_.end(), 0.0);
  for (int i = 0; i < s_; ++i) {
    const double* F = stage(F_, i);
    for (std::size_t j = 0; j < n; ++j) work_[j] -= method_->Tinv_real[i] * F[j];
  }
  real_.solve(work_);
  double largest = 0.0;
  for (int i = 0; i < s_; ++i) {
    double *update = stage(complex_update_, i), *z = stage(Z_, i);
    for (std::size_t j = 0; j < n; ++j) {
      update[j] += method_->T_real[i] * work_[j];
      z[j] += update[j];
    }
    largest = std::max(largest, largest_ratio({update, n}, false, nullptr));
  }
  return largest;
}

double Radau::largest_ratio(std::span<const double> v, bool differentiated_only, int* worst) {
  double largest = 0.0;
  for (std::size_t j = 0; j < v.size(); ++j) {
    if (differentiated_only && !differentiated_[j]) continue;
    const double ratio = std::abs(v[j]) / tolerances_.scale(static_cast<int>(j), std::abs(x_[j]));
    if (!(ratio <= largest)) {
      largest = ratio;
      if (worst) *worst = static_cast<int>(j);
      if (std::isnan(ratio)) return std::numeric_limits<double>::infinity();
    }
  }
  return largest;
}

/// Simplified Newton iteration with the stopping rules of Hairer, Wanner II, (8.10) and (8.11).
Radau::Attempt Radau::newton(const StepEnd& end) {
  predict(end.h);
  double previous = 0.0;
  // The first correction says nothing about the contraction, and that of the step before is no guide when the step size
  // or the Jacobian has changed: one iteration is enough only if the correction itself is small.
  double eta = 1.0;
  for (iterations_ = 1; iterations_ <= std::max(most_iterations_, fixed_iterations_); ++iterations_) {
    if (!stage_residuals(end)) return Attempt::not_finite;
    const double size = correct();
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
        return Attempt::no_convergence;
      }
      eta = contraction_ / (1.0 - contraction_);
      const double predicted = eta * size * std::pow(contraction_, most_iterations_ - 1 - iterations_);
      if (predicted > newton_tolerance_) {
        const double excess = std::clamp(predicted / newton_tolerance_, 1e-4, 20.0);
        shrink_ = 0.8 * fast_power(excess, -1.0 / (4.0 + most_iterations_ - 1 - iterations_));
        if (iterations_ < most_iterations_) return Attempt::no_convergence;
      }
    }
    if (size == 0.0 || eta * size <= newton_tolerance_) return Attempt::good;
    previous = size;
  }
  shrink_ = 0.5;
  return Attempt::no_convergence;
}

/// err_ and its norm. After a rejection or in the first step a large estimate is filtered once more, which takes the
/// stiff components out of it.
double Radau::estimate(double h, bool retry) {
  const std::size_t n = x_.size();
  std::copy(xp_.begin(), xp_.end(), yp_.begin());
  for (int i = 0; i < s_; ++i) {
    const double w = method_->error[i] / h;
    const double* z = stage(Z_, i);
    for (std::size_t j = 0; j < n; ++j) yp_[j] += w * z[j];
  }
  std::fill(err_.begin(), err_.end(), 0.0);
  multiply_add(structure_->derivative_pattern, Fxp_, yp_, 1.0, err_);
  std::copy(err_.begin(), err_.end(), y_.begin());  // the right-hand side is needed again
  real_.solve(err_);
  double ratio = largest_ratio(err_, true, &worst_);
  if (ratio <= 1.0 || !retry) return ratio;
  for (std::size_t j = 0; j < n; ++j) work_[j] = x_[j] + err_[j];
  if (!residual(t_, work_, xp_, err_)) return ratio;
  for (std::size_t j = 0; j < n; ++j) err_[j] = y_[j] - err_[j];
  real_.solve(err_);
  return largest_ratio(err_, true, &worst_);
}

Radau::Attempt Radau::attempt(const StepEnd& end, bool retry) {
  if (!factorise(end.h)) return Attempt::singular;
  const Attempt solved = newton(end);
  if (solved != Attempt::good) return solved;
  error_ = estimate(end.h, retry);
  if (!(error_ <= 1.0)) return Attempt::inaccurate;
  finish(end);
  if (options_.control_dense) error_ = std::max(error_, dense_error(end));
  return error_ <= 1.0 ? Attempt::good : Attempt::inaccurate;
}

/// Size of the next step after an attempt that converged (Hairer, Wanner II, (8.21)-(8.25)).
double Radau::next_size(double size, bool accepted) {
  const double power = 1.0 / (s_ + 1.0);
  const double safety = std::min(0.9, 0.9 * (1.0 + 2.0 * most_iterations_) / (iterations_ + 2.0 * most_iterations_));
  const double error = std::clamp(error_, 1e-10, 1e30);
  double quotient = std::clamp(fast_power(error, power) / safety, 0.125, 5.0);
  if (accepted) {
    if (!first_ && previous_size_ > 0.0) {
      const double predictive =
          previous_size_ / size * fast_power(std::max(error * error / previous_error_, 1e-30), power) / 0.9;
      quotient = std::max(quotient, std::clamp(predictive, 0.125, 5.0));
    }
    previous_size_ = size;
    previous_error_ = std::max(0.01, error);
  }
  return size / quotient;
}

/// Values, slopes and the collocation polynomial of the step that Newton's method has solved.
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

/// How far the dense output may be off inside the step, over the tolerance. Order 5: the quartic against the stages,
/// which it does not use. Higher orders: the polynomial does not use the slope at the beginning, and what that would
/// change is the next term.
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

void Radau::accept(const StepEnd& end) {
  x_old_.swap(x_);
  x_.swap(x_new_);
  xp_old_.swap(xp_);
  xp_.swap(xp_new_);
  t_old_ = t_;
  t_ = end.t;
  h_done_ = end.h;
  has_polynomial_ = true;
  dense_ready_ = polynomial_degree_ == 3 && options_.control_dense;
  ++statistics_.steps;
}

StepOutcome Radau::advance(double limit) {
  if (system_ == nullptr) throw UsageError(name_ + ": call start before advance");
  check_limit(t_, limit, direction_);
  if (started_badly_) return {StepResult::not_finite, bad_};
  if (h_next_ == 0.0) h_next_ = first_step_from_slopes(t_, limit, options_.max_step, tolerances_, *structure_, x_, xp_);
  const double smallest = smallest_step(t_, limit);
  double h = std::min(h_next_, options_.max_step);
  bool rejected = false, failed_before = false;
  for (;;) {
    if (choice_.stages() != s_) {
      set_stages(choice_.stages());
      previous_size_ = 0.0;
    }
    const StepEnd end = step_end(t_, h, limit);
    if (jacobian_wanted_ && !update_jacobian(end.h)) {
      if (!has_polynomial_) return {StepResult::not_finite, -1};
      has_polynomial_ = false;  // the prediction left the domain: stay at the current point
      continue;
    }
    const Attempt result = attempt(end, first_ || rejected);
    const double size = std::abs(end.h);
    if (result == Attempt::good) {
      double next = next_size(size, true);
      if (rejected) next = std::min(next, size);
      accept(end);
      first_ = false;
      choice_.after_step(iterations_ == 1 ? 0.0 : contraction_, next / size);
      // keep the Jacobian while Newton converges fast, and the factors too while the step would hardly grow
      const bool fast = contraction_ < 1e-3 || structure_->constant_jacobian;
      jacobian_wanted_ = at_middle_ || !fast;
      jacobian_current_ = false;
      if (fast && next >= size && next <= 1.2 * size) next = size;
      if (barred_for_ > 0) {
        next = std::min(next, 0.8 * barred_);
        --barred_for_;
      }
      h_next_ = std::min(options_.max_step, end.cut && !rejected ? std::max(h, next) : next);
      return {};
    }
    ++statistics_.rejected;
    rejected = true;
    if (size <= smallest) {
      error_ = 0.0;
      if (result == Attempt::singular) return {StepResult::singular, -1};
      if (result == Attempt::not_finite) return {StepResult::not_finite, bad_};
      return {StepResult::step_too_small, result == Attempt::inaccurate ? worst_ : -1};
    }
    double next = 0.25 * size;
    if (result == Attempt::not_finite || result == Attempt::no_convergence) {
      if (result == Attempt::not_finite && !failed_before) next = 0.6 * size;
      failed_before = true;
      barred_ = size;
      barred_for_ = 10;
    }
    if (result == Attempt::inaccurate) next = first_ ? 0.1 * size : std::min(next_size(size, false), 0.9 * size);
    if (result == Attempt::no_convergence) {
      next = shrink_ * size;
      choice_.after_failure();
    }
    if (result == Attempt::singular) next = 0.5 * size;
    if (at_middle_) jacobian_wanted_ = true;
    if (result != Attempt::inaccurate) {
      if (!jacobian_current_ && !structure_->constant_jacobian) jacobian_wanted_ = true;
      contraction_ = 1.0;
    }
    h = std::max(next, smallest);
  }
}

/// The cubic through values and slopes at both ends, plus delta phi(theta), phi = (theta (1-theta) / (m (1-m)))^2, with
/// delta from collocation at theta = m. There phi' = 2 (1-2m) / (m (1-m)); m is chosen so that this is gamma, and the
/// matrix is the one that is factorised already. One correction suffices: its remainder is a factor h smaller than
/// delta = O(h^4).
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

}  // namespace

std::unique_ptr<Stepper> make_radau(StepOptions options, RadauOptions radau) {
  return std::make_unique<Radau>(std::move(options), radau);
}

}  // namespace saltus
