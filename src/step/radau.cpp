// Radau IIA methods after E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, section IV.8 (RADAU5) and
// J. Comput. Appl. Math. 111 (1999) 93-111 (orders 9, 13), written for F(t, x, x') = 0.
//
// Stages X_i = x_0 + Z_i with slopes X_i' = (1/h) sum_j w_ij Z_j, w = A^{-1}, solve F(t_0 + c_i h, X_i, X_i') = 0. With
// one pair of Jacobians for all stages and w = T Lambda T^{-1}, Newton's method falls apart into
//   (F_x + lambda_k/h F_x') (T^{-1} dZ)_k = -(T^{-1} F)_k,   one real and (s-1)/2 complex systems of size n.
// Error estimate (8.19), divided by h/gamma:  (F_x + gamma/h F_x') err = F_x' (x_0' + sum_i e_i Z_i / h) - F(t_0, x_0,
// x_0').
#include "step/radau_stepper.hpp"

#include <algorithm>
#include <cmath>

#include "step/fast_power.hpp"
#include "step/first_step.hpp"
#include "base/finite.hpp"

namespace saltus {
Radau::Radau(StepOptions options, RadauOptions radau)
    : choice_(radau.order == 0 ? 0 : (radau.order + 1) / 2),
      name_(radau.order == 0 ? "Radau IIA" : "Radau IIA " + std::to_string(radau.order)),
      options_(std::move(options)),
      fixed_iterations_(radau.fixed_iterations) {
  if (radau.order != 0 && radau.order != 5 && radau.order != 9 && radau.order != 13)
    throw UsageError("make_radau: the order must be 5, 9 or 13, or 0 for a variable one, not " +
                     std::to_string(radau.order));
  complex_.resize(static_cast<std::size_t>(most_stages() - 2));
}

void Radau::set_stages(int s) {
  s_ = s;
  collocation_ = &radau_collocation(s);
  method_ = &collocation_->method;
  most_iterations_ = 7 + (s - 3) * 5 / 2 + (structure_->moving ? 3 : 0);
  tolerances_ = asked_;
  // the estimate behaves like h^(s+1), the error of the result like h^(2s-1): with this power it is proportional to the
  // tolerance (Hairer's (s+1)/(2s) counts local errors); the factors bring all orders to about the same error at 1e-6
  tolerances_.rescale(s == 3 ? 0.63 : s == 5 ? 0.38 : 0.55, (s + 1.0) / (2.0 * s - 1.0));
  const double tolerance = std::min(1.0, tolerances_.typical());
  newton_tolerance_ = std::max(10.0 * eps / tolerance, std::min(0.03, std::sqrt(tolerance)));
  // constraints of a mode that is reduced, or has dummy derivatives, shall hold far below the tolerance that was asked for, and algebraic
  // variables that guards read below it: what moves them at an event counts as noise of the guards
  const bool constrained = !structure_->dense_variables.empty() || (!structure_->explicit_ode && !structure_->constant_mass);
  if (const double part = constrained ? 1e-4 : watched_.algebraic() ? 1e-2 : 1.0; part < 1.0)
    newton_tolerance_ = std::max(10.0 * eps / tolerance,
                                 std::min(newton_tolerance_, part * std::min(1.0, asked_.typical()) / tolerance));
  factorised_for_.reset();
}

void Radau::start(System& system, const StartPoint& point) {
  const Structure& structure = system.structure();
  check_start(name_, structure, point);
  asked_.set(options_, structure.variables);
  structure_ = &structure;
  watched_.set(system, options_);
  choice_.restart(asked_.typical(), structure.moving);
  set_stages(choice_.stages());

  // three iterations of Newton's method; matrices of linear systems serve several steps
  const int solutions = structure.constant_jacobian ? 12 : 3;
  const auto prepare = [&](auto& matrix) {
    matrix.allow_iteration(solutions);
    matrix.set_structure(structure);
  };
  prepare(real_);
  for (auto& matrix : complex_) prepare(matrix);
  system_ = &system;
  at_middle_ = structure.moving;
  const auto n = static_cast<std::size_t>(structure.variables);
  const auto s = static_cast<std::size_t>(most_stages());
  for (auto* v : {&x_, &xp_, &x_old_, &xp_old_, &x_new_, &xp_new_, &y_, &yp_, &work_, &err_}) v->resize(n);
  for (auto* v : {&Z_, &polynomial_, &kept_}) v->resize(n * s);
  for (auto* v : {&W_, &F_, &complex_update_}) v->resize(n * (2 * s - 3));
  complex_work_.resize(n);
  Fx_.resize(structure.state_pattern.row.size());
  Fxp_.resize(structure.derivative_pattern.row.size());
  mark_differentiated(structure, differentiated_);
  dense_.degree = 0;
  dense_.variables = structure.variables;
  dense_.c.assign(n * (2 * s - 1), 0.0);

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
  guessed_ = !(point.step > 0.0);
  h_next_ = std::min(guessed_ ? options_.initial_step : point.step, options_.max_step);
  has_polynomial_ = false;
  kept_degree_ = 0;
  barred_for_ = 0;
  first_ = true;
  jacobian_wanted_ = true;
  jacobian_current_ = false;
  factorised_for_.reset();
  error_ = 0.0;
  contraction_ = 1.0;
}

Radau::Attempt Radau::attempt(const StepEnd& end, bool retry) {
  if (!factorise(end.h)) return Attempt::singular;
  if (far(end.h)) renew_slopes();
  const Attempt solved = newton(end);
  if (solved != Attempt::good) return solved;
  error_ = estimate(end.h, retry);
  if (!(error_ <= 1.0)) return Attempt::inaccurate;
  finish(end);
  if (options_.control_dense && !watched_.any()) error_ = std::max(error_, slope_error(end.h));
  if (!(error_ <= 1.0)) return Attempt::inaccurate;
  const double h_before = h_done_;
  accept(end);
  if (!watched_.any()) return Attempt::good;
  error_ = std::max(error_, inside_error());
  if (error_ <= 1.0) return Attempt::good;
  take_back(h_before);
  return Attempt::inaccurate;
}

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

void Radau::accept(const StepEnd& end) {
  x_old_.swap(x_);
  x_.swap(x_new_);
  xp_old_.swap(xp_);
  xp_.swap(xp_new_);
  t_old_ = t_;
  t_ = end.t;
  h_done_ = end.h;
  if (kept_degree_ > 0) kept_at_ += end.h / kept_h_;
  slopes_renewed_ = false;
  has_polynomial_ = true;
  dense_ready_ = false;
  from_start_ = first_;
  exact_slopes_ = first_ || structure_->explicit_ode;
  ++statistics_.steps;
}

/// The reverse, except for what only the dense output and the prediction use.
void Radau::take_back(double h_before) {
  x_.swap(x_new_);
  x_old_.swap(x_);
  xp_.swap(xp_new_);
  xp_old_.swap(xp_);
  t_ = t_old_;
  if (kept_degree_ > 0) kept_at_ -= h_done_ / kept_h_;
  h_done_ = h_before;
  has_polynomial_ = false;
  --statistics_.steps;
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
    wanted_ = h;
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
      first_ = false;
      if (h <= reach * size)  // what converges fast because it is short says nothing about longer steps
        choice_.after_step(iterations_ == 1 ? 0.0 : contraction_, next / size, barred_for_ > 0);
      // keep the Jacobian while Newton converges fast, and the factors too while the step would hardly grow
      const bool fast = contraction_ < 1e-3 || structure_->constant_jacobian;
      jacobian_wanted_ = at_middle_ || !fast;
      jacobian_current_ = false;
      if (fast && next >= size && next <= 1.2 * size) next = size;
      if (barred_for_ > 0) {
        next = std::min(next, 0.8 * barred_);
        if (at_middle_) barred_ *= 1.2;
        --barred_for_;
      }
      h_next_ = std::min(options_.max_step, end.cut && !rejected ? std::max(h, next) : next);
      return {};
    }
    ++statistics_.rejected;
    rejected = true;
    if (h <= smallest || size <= smallest) {  // the end of the step is rounded: size may stay above
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
    if (result == Attempt::inaccurate)
      next = first_ && guessed_ ? 0.1 * size : std::min(next_size(size, false), 0.9 * size);
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

std::unique_ptr<Stepper> make_radau(StepOptions options, RadauOptions radau) {
  return std::make_unique<Radau>(std::move(options), radau);
}

}  // namespace saltus
