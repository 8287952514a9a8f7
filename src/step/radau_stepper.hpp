// The Radau IIA stepper (radau.cpp: steps; radau_newton.cpp: the nonlinear system; radau_dense.cpp: inside a step).
#pragma once

#include <saltus/step/radau.hpp>

#include <cmath>
#include <complex>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "step/collocation.hpp"
#include "step/radau_order.hpp"
#include "step/shifted_matrix.hpp"
#include "step/step_limits.hpp"
#include "step/tolerances.hpp"
#include "step/watched_variables.hpp"

namespace saltus {

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
  using Complex = std::complex<double>;
  enum class Attempt { good, inaccurate, no_convergence, not_finite, singular };

  Attempt attempt(const StepEnd& end, bool retry);
  bool update_jacobian(double h);
  [[nodiscard]] bool factorise(double h);
  template <class Scalar>
  [[nodiscard]] bool factorise(ShiftedMatrix<Scalar>& matrix, Scalar c);
  /// A polynomial that says where a step leads.
  struct Guide {
    const double* coefficients = nullptr;  // of theta, theta^2, ...; null: there is none
    int degree = 0;
    double h = 0.0, at = 0.0;  // the time that one theta takes; theta at t_
  };
  bool far(double h) const { return std::abs(h) > reach * std::abs(h_done_) && h_done_ != 0.0; }
  Guide guide(double h) const;
  void keep_guide(double h);
  void renew_slopes();
  void predict(double h);
  Attempt newton(const StepEnd& end);
  bool stage_residuals(const StepEnd& end);
  double correct(const StageSystem& system, std::vector<double>& W);
  bool is_rounding(double size);
  double estimate(double h, bool retry);
  bool residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F);
  double next_size(double size, bool rejected);
  void finish(const StepEnd& end);
  void accept(const StepEnd& end);
  void take_back(double h_before);
  double slope_error(double h);
  double inside_error();
  bool solve_inside();
  bool inner_residuals();
  void add_inside();
  void meet_slopes();
  void set_stages(int s);
  int most_stages() const { return choice_.variable() ? 7 : choice_.stages(); }
  // Steps grow eightfold at most; a longer one follows where a limit (a pause, say) has cut the one before.
  static constexpr double reach = 10.0;
  double* stage(std::vector<double>& v, int i) { return v.data() + static_cast<std::size_t>(i) * x_.size(); }

  RadauOrder choice_;
  const Collocation* collocation_ = nullptr;
  const StageSystem* method_ = nullptr;
  int s_ = 3;
  std::string name_;
  StepOptions options_;
  int fixed_iterations_;
  Tolerances asked_, tolerances_;  // as given; rescaled for the order in use
  WatchedVariables watched_;
  double newton_tolerance_ = 0.0;
  int most_iterations_ = 0;

  System* system_ = nullptr;
  const Structure* structure_ = nullptr;
  std::vector<char> differentiated_;
  ShiftedMatrix<double> real_;
  std::vector<ShiftedMatrix<Complex>> complex_;
  std::optional<double> factorised_for_;  // size of the step that has factors
  bool inside_factorised_ = false;        // the matrices that only the dense output needs
  bool jacobian_current_ = false, jacobian_wanted_ = true;
  bool at_middle_ = false;  // where Jacobians are evaluated

  int direction_ = 1;
  std::vector<double> x_, xp_, x_old_, xp_old_, x_new_, xp_new_;
  std::vector<double> Z_, W_, F_, polynomial_, kept_, Fx_, Fxp_, y_, yp_, work_, err_;
  std::vector<Complex> complex_work_;
  std::vector<double> complex_update_;  // sum over pairs of 2 Re(T dW) at every stage
  double t_ = 0.0, t_old_ = 0.0, h_done_ = 0.0, h_next_ = 0.0, error_ = 0.0;
  double contraction_ = 1.0, shrink_ = 0.5;  // of the last Newton iteration; what to do with h when it failed
  double barred_ = std::numeric_limits<double>::infinity();  // a size at which Newton's method failed lately
  int barred_for_ = 0;                                       // steps for which sizes near it are not tried again
  int iterations_ = 0;
  double previous_error_ = 0.0, previous_size_ = 0.0;
  int polynomial_degree_ = 0;
  double wanted_ = 0.0;  // the size of the step at hand before a limit cuts it
  int kept_degree_ = 0;  // kept_, kept_h_ and kept_at_ are a Guide from before steps that were cut to a small part
  double kept_h_ = 0.0, kept_at_ = 0.0;
  bool has_polynomial_ = false, first_ = true, guessed_ = true, started_badly_ = false;
  int worst_ = -1, bad_ = -1;
  DensePolynomial dense_;
  bool dense_ready_ = false, solved_inside_ = false;
  bool exact_slopes_ = false;  // whether xp_old_ is exact, not the slope of a polynomial
  bool from_start_ = false;    // the last step was the first one
  bool slopes_renewed_ = false;
};

}  // namespace saltus
