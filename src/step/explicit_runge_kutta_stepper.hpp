// The stepper of explicit_runge_kutta.hpp (explicit_runge_kutta.cpp: its steps; explicit_runge_kutta_loops.cpp: loops over many variables).
#pragma once

#include <saltus/step/explicit_runge_kutta.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "step/stage_sums.hpp"
#include "step/step_controller.hpp"
#include "step/step_limits.hpp"
#include "step/tolerances.hpp"

namespace saltus {

class ExplicitRungeKutta final : public Stepper {
 public:
  ExplicitRungeKutta(const Tableau& tableau, StepOptions options);

  std::string_view name() const override { return tableau_.name; }
  int order() const override { return tableau_.order; }
  const Tableau* tableau() const override { return &tableau_; }
  void start(System& system, const StartPoint& point) override;
  StepOutcome advance(double limit) override;
  double t() const override { return t_; }
  std::span<const double> x() const override { return x1_; }
  std::span<const double> xp() const override { return {row(last_), static_cast<std::size_t>(n_)}; }
  bool xp_is_rhs() const override { return true; }
  const DensePolynomial& dense() override;
  double next_step() const override { return h_next_; }
  double error() const override { return error_; }
  bool stiff() const override { return stiff_; }
  bool unstable() const override;
  bool persist(System* system, StateArchive& archive) override;

 private:
  enum class Attempt { good, inaccurate, not_finite };

  /// What restarts, steps and dense output do with all variables; the kind of Sums follows from their number.
  struct Arithmetic {
    void (ExplicitRungeKutta::*take)(const StartPoint& point) = nullptr;
    Attempt (ExplicitRungeKutta::*attempt)(double end, double h) = nullptr;
    bool (ExplicitRungeKutta::*find_dense)() = nullptr;
  };
  template <class Sums>
  static Arithmetic arithmetic_with() {
    return {&ExplicitRungeKutta::take<Sums>, &ExplicitRungeKutta::attempt<Sums>, &ExplicitRungeKutta::find_dense<Sums>};
  }
  Arithmetic choose_arithmetic() const;
  template <int Variables>
  Arithmetic arithmetic_for_few() const;
  static Arithmetic arithmetic_for_any();

  template <class Sums>
  void take(const StartPoint& point);
  template <class Sums>
  Attempt attempt(double end, double h);
  template <class Sums>
  Attempt attempt_at_once(Sums sums, double end, double h);
  /// False: only a cubic could be had.
  template <class Sums>
  bool find_dense();
  template <class Sums>
  bool evaluate_extra_stages(Sums sums);
  template <class Sums>
  bool evaluate(Sums sums, double t, const double* x, int stage);
  template <class Sums, class Stage>
  void set_argument(Sums sums, Stage i, double h, double* y) const;
  template <class Sums>
  double error_ratio(Sums sums, double h) const;
  template <class Sums>
  double largest_ratio(Sums sums, const StageWeights& weights, double h) const;
  template <class Sums>
  Sums make_sums() const {
    return Sums(n_, tableau_.stages, tableau_.all_stages());
  }

  bool note_not_finite(std::span<const double> values) {
    not_finite_at_ = all_finite(values) ? -1 : first_not_finite(values);
    return not_finite_at_ >= 0;
  }
  double first_step(double limit);
  int worst_variable(double h) const;
  void watch_stiffness(double h);
  void look_for_evaluator();
  /// Whether the dense output is evaluated with the stages.
  bool dense_at_once() const { return options_.control_dense && tableau_.extra_stages == 0; }
  /// Whether the errors inside the steps have to be looked at: dense output of its own is less accurate than the ends.
  bool controls_dense() const { return options_.control_dense && tableau_.extra_stages > 0; }
  double error_inside();
  void make_dense_constant();
  void make_dense_cubic();
  void set_size(int variables);
  const double* row(int stage) const { return k_.data() + static_cast<std::size_t>(stage) * static_cast<std::size_t>(n_); }
  double* row(int stage) { return k_.data() + static_cast<std::size_t>(stage) * static_cast<std::size_t>(n_); }

  const Tableau& tableau_;
  StepOptions options_;
  Tolerances tolerances_;
  std::vector<StageWeights> argument_;  // of each stage
  StageWeights error_weights_, second_error_weights_;
  std::vector<StageWeights> dense_weights_;  // of each power of theta
  bool error_needs_last_ = false;
  StepController controller_;
  RungeKuttaStages together_;  // for systems that evaluate all stages at once

  System* system_ = nullptr;
  StageEvaluator* at_once_ = nullptr;  // evaluates all stages together, if the system has something for that
  Arithmetic arithmetic_;
  int n_ = -1, last_ = 0, direction_ = 1;
  // Between steps x1_ and the last stage are the current point; x0_ and the first stage are where the last step began.
  std::vector<double> k_;  // the stages, n values each
  std::vector<double> x0_, x1_, y_;
  std::vector<double> z_, defect_;  // of dense output
  double t_ = 0.0, t0_ = 0.0, h_done_ = 0.0;
  double h_next_ = 0.0;
  double error_ = 0.0;
  int not_finite_at_ = -1;
  DensePolynomial dense_;
  bool dense_ready_ = false;
  int stiff_hits_ = 0, stiff_misses_ = 0, steps_since_start_ = 0;
  bool stiff_ = false;
};

/// Values and slopes of the start point.
template <class Sums>
void ExplicitRungeKutta::take(const StartPoint& point) {
  const auto sums = make_sums<Sums>();
  const auto n = static_cast<std::size_t>(sums.variables());
  std::copy_n(point.x.data(), n, x1_.data());
  if (note_not_finite({x1_.data(), n})) return;
  if (point.xp_is_rhs) {
    std::copy_n(point.xp.data(), n, row(last_));
    note_not_finite({row(last_), n});
  } else {
    evaluate(sums, t_, x1_.data(), last_);
  }
}

/// k_stage = f(t, x); false if that is not finite. Not inline: with a call of its own in every stage steps are slower.
template <class Sums>
[[gnu::noinline]] bool ExplicitRungeKutta::evaluate(Sums sums, double t, const double* x, int stage) {
  const auto n = static_cast<std::size_t>(sums.variables());
  const std::span<double> k(k_.data() + static_cast<std::size_t>(stage) * n, n);
  system_->rhs(t, {x, n}, k);
  ++statistics_.evaluations;
  return !note_not_finite(k);
}

/// y = x0 + h sum_j a_ij k_j.
template <class Sums, class Stage>
void ExplicitRungeKutta::set_argument(Sums sums, Stage i, double h, double* y) const {
  const double* const x0 = x0_.data();
  sums.fill(y, argument_[static_cast<std::size_t>(i)], i, k_.data(), [=](int j, double sum) { return x0[j] + h * sum; });
}

template <class Sums>
ExplicitRungeKutta::Attempt ExplicitRungeKutta::attempt_at_once(Sums sums, double end, double h) {
  std::array<double*, most_stages> rows;
  const auto n = static_cast<std::size_t>(sums.variables()), count = static_cast<std::size_t>(sums.stages());
  for (std::size_t i = 0; i < count; ++i) rows[i] = k_.data() + i * n;
  at_once_->evaluate(t_, h, end, x0_, std::span(rows).first(count), y_, x1_, std::span(dense_.c).subspan(n));
  statistics_.evaluations += last_;
  if (note_not_finite({x1_.data(), n})) return Attempt::not_finite;
  if (note_not_finite({k_.data(), count * n})) {
    not_finite_at_ %= n_;
    return Attempt::not_finite;
  }
  error_ = error_ratio(sums, h);
  return error_ <= 1.0 ? Attempt::good : Attempt::inaccurate;
}

template <class Sums>
ExplicitRungeKutta::Attempt ExplicitRungeKutta::attempt(double end, double h) {
  const auto sums = make_sums<Sums>();
  if (at_once_) return attempt_at_once(sums, end, h);
  Attempt failure = Attempt::not_finite;
  const bool evaluated = sums.every_stage([&](auto i) {
    const bool last = i == sums.stages() - 1;
    double* const y = last ? x1_.data() : y_.data();
    set_argument(sums, i, h, y);
    if (last) {
      if (note_not_finite({y, static_cast<std::size_t>(sums.variables())})) return false;
      if (!error_needs_last_ && (error_ = error_ratio(sums, h)) > 1.0) {
        failure = Attempt::inaccurate;
        return false;
      }
    }
    const double c = tableau_.c[static_cast<std::size_t>(i)];
    return evaluate(sums, c == 1.0 ? end : t_ + c * h, y, i);
  });
  if (!evaluated) return failure;
  if (error_needs_last_) error_ = error_ratio(sums, h);
  return error_ <= 1.0 ? Attempt::good : Attempt::inaccurate;
}

template <class Sums>
double ExplicitRungeKutta::largest_ratio(Sums sums, const StageWeights& weights, double h) const {
  const double *const x0 = x0_.data(), *const x1 = x1_.data(), *const atol = tolerances_.atol();
  const auto largest = [&](auto rtol) {
    return sums.largest(weights, sums.stages(), k_.data(), [=](int j, double sum) {
      const double magnitude = std::max(std::abs(x0[j]), std::abs(x1[j]));
      return std::abs(h * sum) / (atol[j] + rtol(j) * magnitude);
    });
  };
  if (const double* const each = tolerances_.rtol_each()) return largest([each](int j) { return each[j]; });
  return largest([all = tolerances_.rtol()](int) { return all; });
}

template <class Sums>
double ExplicitRungeKutta::error_ratio(Sums sums, double h) const {
  const double first = largest_ratio(sums, error_weights_, h);
  if (second_error_weights_.count == 0 || first == 0.0 || first > 1e100) return first;
  // Hairer, Norsett, Wanner I, (10.17): behaves like h^8 though the two estimates behave like h^6 and h^4
  const double second = largest_ratio(sums, second_error_weights_, h);
  return first * first / std::sqrt(first * first + 0.01 * second * second);
}

template <class Sums>
bool ExplicitRungeKutta::find_dense() {
  const auto sums = make_sums<Sums>();
  const double h = h_done_;
  double* c = dense_.c.data();
  dense_.t0 = t0_;
  dense_.h = h;
  std::copy_n(x0_.data(), sums.variables(), c);
  if (at_once_ && dense_at_once()) return true;                          // the rest is there already
  if (tableau_.extra_stages > 0 && !evaluate_extra_stages(sums)) {  // the step itself is in the domain of f
    make_dense_cubic();
    return false;
  }
  for (const StageWeights& weights : dense_weights_) {
    c += sums.variables();
    sums.fill(c, weights, sums.all_stages(), k_.data(), [h](int, double sum) { return h * sum; });
  }
  return true;
}

/// False if they are not finite.
template <class Sums>
bool ExplicitRungeKutta::evaluate_extra_stages(Sums sums) {
  return sums.every_extra_stage([&](auto i) {
    set_argument(sums, i, h_done_, z_.data());
    return evaluate(sums, t0_ + tableau_.c[static_cast<std::size_t>(i)] * h_done_, z_.data(), i);
  });
}

}  // namespace saltus
