// Rosenbrock methods after E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, sections IV.7 (ODEs) and
// VI.4 (DAEs of index 1). With F(t, x, x') = E x' + F(t, x, 0) the book's M is E = F_x', its f is -F(t, x, 0), its J is
// -F_x.
#include <saltus/step/rosenbrock.hpp>

#include <algorithm>
#include <array>
#include <cmath>

#include "step/combination.hpp"
#include "step/first_step.hpp"
#include "step/shifted_matrix.hpp"
#include "step/step_controller.hpp"
#include "step/step_limits.hpp"
#include "step/tolerances.hpp"

namespace saltus {
namespace {

class Rosenbrock final : public Stepper {
 public:
  Rosenbrock(const RosenbrockTableau& tableau, StepOptions options)
      : tableau_(tableau), options_(std::move(options)), controller_(tableau.error_exponent, 0.0, 0.2, 6.0) {}

  std::string_view name() const override { return tableau_.name; }
  int order() const override { return tableau_.order; }
  void start(System& system, const StartPoint& point) override;
  StepOutcome advance(double limit) override;
  double t() const override { return t_; }
  std::span<const double> x() const override { return x1_; }
  std::span<const double> xp() const override { return xp_; }
  const DensePolynomial& dense() override;
  double next_step() const override { return h_next_; }
  double error() const override { return error_; }
  std::string linear_algebra() const override { return matrix_.description(); }

 private:
  enum class Attempt { good, inaccurate, not_finite, singular };

  Attempt attempt(const StepEnd& end);
  bool evaluate(double t, std::span<const double> x, std::span<double> f);
  bool linearise();
  double* stage(int i) { return stages_.data() + static_cast<std::size_t>(i) * x0_.size(); }
  double error_ratio();
  void combine(const double* weights, int count, const double* base, std::span<double> sum);
  void end_slopes();

  const RosenbrockTableau& tableau_;
  StepOptions options_;
  Tolerances tolerances_;
  StepController controller_;
  System* system_ = nullptr;
  const Structure* structure_ = nullptr;
  ShiftedMatrix<double> matrix_;
  double factorised_for_ = 0.0;  // h of the factors that are there, 0: none

  int direction_ = 1;
  std::vector<double> x0_, x1_, xp_, zero_, y_, sum_, Fx_, Fxp_, Ft_, stages_;
  std::vector<double> f0_, f1_;  // the book's f at both ends of the step
  double t_ = 0.0, t0_ = 0.0, h_done_ = 0.0, h_next_ = 0.0, error_ = 0.0;
  int worst_ = -1, not_finite_at_ = -1;
  bool started_badly_ = false, linearised_ = false;
  DensePolynomial dense_;
  bool dense_ready_ = false;
};

void Rosenbrock::start(System& system, const StartPoint& point) {
  const Structure& structure = system.structure();
  if (!structure.constant_mass && !structure.explicit_ode)
    throw UsageError(tableau_.name +
                     ": F must be affine in x' with a constant matrix; choose a Radau method for this mode");
  check_start(tableau_.name, structure, point);
  tolerances_.set(options_, structure.variables);
  matrix_.set_structure(structure);
  system_ = &system;
  structure_ = &structure;
  const auto n = static_cast<std::size_t>(structure.variables);
  for (auto* v : {&x0_, &x1_, &xp_, &zero_, &y_, &sum_, &Ft_, &f0_, &f1_}) v->resize(n);
  std::fill(zero_.begin(), zero_.end(), 0.0);
  Fx_.resize(structure.state_pattern.row.size());
  Fxp_.resize(structure.derivative_pattern.row.size());
  stages_.resize(n * static_cast<std::size_t>(tableau_.stages));
  dense_.degree = tableau_.dense_degree;
  dense_.variables = structure.variables;
  dense_.c.assign(n * static_cast<std::size_t>(tableau_.dense_degree + 1), 0.0);

  direction_ = point.direction;
  t_ = t0_ = point.t;
  std::copy(point.x.begin(), point.x.end(), x1_.begin());
  std::copy(x1_.begin(), x1_.end(), dense_.c.begin());
  dense_.t0 = t_;
  dense_.h = h_done_ = 0.0;
  dense_ready_ = true;
  linearised_ = false;
  factorised_for_ = 0.0;
  controller_.restart();
  error_ = 0.0;
  not_finite_at_ = first_not_finite(x1_);
  started_badly_ = not_finite_at_ >= 0;
  if (!started_badly_) started_badly_ = !evaluate(t_, x1_, f1_);
  if (structure.explicit_ode)
    std::copy(f1_.begin(), f1_.end(), xp_.begin());
  else
    std::copy(point.xp.begin(), point.xp.end(), xp_.begin());
  h_next_ = std::min(point.step > 0.0 ? point.step : options_.initial_step, options_.max_step);
}

/// f = -F(t, x, 0), which for explicit modes is their right-hand side.
bool Rosenbrock::evaluate(double t, std::span<const double> x, std::span<double> f) {
  ++statistics_.evaluations;
  if (structure_->explicit_ode) {
    system_->rhs(t, x, f);
  } else {
    system_->residual(t, x, zero_, f);
    for (double& value : f) value = -value;
  }
  not_finite_at_ = first_not_finite(f);
  return not_finite_at_ < 0;
}

/// Jacobian and time derivative at the current point; nothing to do if they cannot have changed.
bool Rosenbrock::linearise() {
  if (linearised_ && structure_->constant_jacobian) {
    system_->time_derivative(t_, x0_, zero_, Ft_);
    return first_not_finite(Ft_) < 0;
  }
  system_->jacobian(t_, x0_, zero_, Fx_, Fxp_);
  system_->time_derivative(t_, x0_, zero_, Ft_);
  ++statistics_.jacobians;
  linearised_ = true;
  factorised_for_ = 0.0;
  return first_not_finite(Fx_) < 0 && first_not_finite(Fxp_) < 0 && first_not_finite(Ft_) < 0;
}

/// sum = base + the weighted stages; base may be null.
void Rosenbrock::combine(const double* weights, int count, const double* base, std::span<double> sum) {
  add_combination(stages_.data(), x0_.size(), weights, count, base, sum);
}

Rosenbrock::Attempt Rosenbrock::attempt(const StepEnd& end) {
  const double h = end.h;
  const std::size_t n = x0_.size();
  if (factorised_for_ != h) {
    ++statistics_.factorisations;
    factorised_for_ = 0.0;
    if (!matrix_.factorise(1.0 / (h * tableau_.gamma), Fx_, Fxp_)) return Attempt::singular;
    factorised_for_ = h;
  }
  const int s = tableau_.stages;
  for (int i = 0; i < s; ++i) {
    const std::span<double> u(stage(i), n);
    const double* a = tableau_.a.data() + i * s;
    if (i == 0) {
      std::copy(f0_.begin(), f0_.end(), u.begin());
    } else {
      if (i >= 2 && a[i - 1] == 1.0 &&
          std::equal(a, a + i - 1, a - s)) {  // the stiffly accurate last rows: one more term
        const double* previous = stage(i - 1);
        for (std::size_t j = 0; j < n; ++j) y_[j] += previous[j];
      } else {
        combine(a, i, x0_.data(), y_);
      }
      if (first_not_finite(y_) >= 0) {
        not_finite_at_ = first_not_finite(y_);
        return Attempt::not_finite;
      }
      const double c = tableau_.c[i];
      if (!evaluate(c == 1.0 ? end.t : t_ + c * h, y_, u)) return Attempt::not_finite;
      combine(tableau_.C.data() + i * s, i, nullptr, sum_);
      if (structure_->explicit_ode) {  // E is the identity
        const double ih = 1.0 / h;
        for (std::size_t j = 0; j < n; ++j) u[j] += ih * sum_[j];
      } else {
        multiply_add(structure_->derivative_pattern, Fxp_, sum_, 1.0 / h, u);
      }
    }
    if (const double hd = h * tableau_.d[i]; hd != 0.0)
      for (std::size_t j = 0; j < n; ++j) u[j] -= hd * Ft_[j];
    matrix_.solve(u);
  }
  const double* last = stage(s - 1);
  for (std::size_t j = 0; j < n; ++j) x1_[j] = y_[j] + last[j];
  not_finite_at_ = first_not_finite(x1_);
  if (not_finite_at_ >= 0) return Attempt::not_finite;
  error_ = error_ratio();
  if (!(error_ <= 1.0)) return Attempt::inaccurate;
  return evaluate(end.t, x1_, f1_) ? Attempt::good : Attempt::not_finite;
}

double Rosenbrock::error_ratio() {
  const double* last = stage(tableau_.stages - 1);
  double largest = -1.0;
  for (std::size_t j = 0; j < x0_.size(); ++j) {
    const double ratio =
        std::abs(last[j]) / tolerances_.scale(static_cast<int>(j), std::max(std::abs(x0_[j]), std::abs(x1_[j])));
    if (ratio > largest) largest = ratio, worst_ = static_cast<int>(j);
  }
  return std::max(largest, 0.0);
}

StepOutcome Rosenbrock::advance(double limit) {
  if (system_ == nullptr) throw UsageError(tableau_.name + ": call start before advance");
  check_limit(t_, limit, direction_);
  if (started_badly_) return {StepResult::not_finite, not_finite_at_};
  if (h_next_ == 0.0)
    h_next_ = first_step_from_slopes(t_, limit, options_.max_step, tolerances_, *structure_, x1_, xp_);
  x0_.swap(x1_);
  f0_.swap(f1_);
  const auto give_up = [this](StepResult result, int worst) {
    x0_.swap(x1_);
    f0_.swap(f1_);
    error_ = 0.0;
    return StepOutcome{result, worst};
  };
  if (!linearise()) return give_up(StepResult::not_finite, -1);
  const double smallest = smallest_step(t_, limit);
  double h = std::min(h_next_, options_.max_step);
  bool rejected = false;
  for (;;) {
    const StepEnd end = step_end(t_, h, limit);
    const Attempt result = attempt(end);
    const double size = std::abs(end.h);
    if (result == Attempt::good) {
      double factor = controller_.after_success(error_, rejected);
      // factors of a constant matrix are worth more than a slightly longer step
      if (structure_->constant_jacobian && factor >= 1.0 && factor < 1.2) factor = 1.0;
      h_next_ = std::min(options_.max_step, end.cut ? std::max(h, size * factor) : size * factor);
      t0_ = t_;
      t_ = end.t;
      h_done_ = end.h;
      dense_ready_ = false;
      if (structure_->explicit_ode)
        std::copy(f1_.begin(), f1_.end(), xp_.begin());
      else
        end_slopes();
      ++statistics_.steps;
      return {};
    }
    ++statistics_.rejected;
    rejected = true;
    if (h <= smallest || size <= smallest) {  // the end of the step is rounded: size may stay above
      if (result == Attempt::inaccurate) return give_up(StepResult::step_too_small, worst_);
      if (result == Attempt::singular) return give_up(StepResult::singular, -1);
      return give_up(StepResult::not_finite, not_finite_at_);
    }
    const double factor =
        result == Attempt::inaccurate ? controller_.after_rejection(error_, size) : StepController::after_not_finite;
    h = std::max(size * factor, smallest);
  }
}

/// The derivative of the dense output at the end of the step.
void Rosenbrock::end_slopes() {
  dense();
  const std::size_t n = xp_.size();
  std::copy_n(dense_.c.begin() + static_cast<std::ptrdiff_t>(n), n, xp_.begin());
  for (int k = 2; k <= dense_.degree; ++k) {
    const double* c = dense_.c.data() + static_cast<std::size_t>(k) * n;
    for (std::size_t j = 0; j < n; ++j) xp_[j] += k * c[j];
  }
  for (double& value : xp_) value /= h_done_;
}

const DensePolynomial& Rosenbrock::dense() {
  if (dense_ready_) return dense_;
  dense_ready_ = true;
  dense_.t0 = t0_;
  dense_.h = h_done_;
  const std::size_t n = x0_.size();
  const int s = tableau_.stages, last = tableau_.dense_degree - 2;
  double* c = dense_.c.data();
  std::copy(x0_.begin(), x0_.end(), c);
  for (std::size_t j = 0; j < n; ++j) c[n + j] = x1_[j] - x0_[j];
  // theta (1-theta) theta^k q_k = theta^(k+1) q_k - theta^(k+2) q_k: coefficient k + 1 is q_k - q_(k-1)
  const auto q = [&](int k, int j) { return k < 0 || k > last ? 0.0 : tableau_.dense[static_cast<std::size_t>(k * s + j)]; };
  std::array<double, 16> weights{};
  for (int k = 0; k <= last + 1; ++k) {
    for (int j = 0; j < s; ++j) weights[j] = q(k, j) - q(k - 1, j);
    double* target = c + n * static_cast<std::size_t>(k + 1);
    combine(weights.data(), s, k == 0 ? target : nullptr, {target, n});
  }
  return dense_;
}

}  // namespace

std::unique_ptr<Stepper> make_rosenbrock(const RosenbrockTableau& tableau, StepOptions options) {
  return std::make_unique<Rosenbrock>(tableau, std::move(options));
}

}  // namespace saltus
