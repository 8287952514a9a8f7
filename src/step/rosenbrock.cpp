// Rosenbrock methods after E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, sections IV.7 (ODEs) and
// VI.4 (DAEs of index 1). With F(t, x, x') = E x' + F(t, x, 0) the book's M is E = F_x', its f is -F(t, x, 0), its J is
// -F_x. A stage is kept with the opposite sign, v_i = -u_i: then its right-hand side is the residual itself,
//   (E/(h gamma) + F_x) v_i = F(t + c_i h, x - sum_j a_ij v_j, sum_j C_ij/h v_j) + h d_i F_t,
// and no product with E is needed.
//
// Dense output has the order of the table for variables of nonstiff equations only; it is one lower for algebraic
// variables, and has no order for those of a fast relaxation. Where guards read the values (WatchedVariables) or steps
// are kept, the equations are asked inside the step: (E/(h gamma) + F_x) w = F(t, P, P') there is the error of the
// polynomial P in algebraic and fast variables, and of the size of the error in others.
#include <saltus/step/rosenbrock.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>

#include "step/combination.hpp"
#include "step/first_step.hpp"
#include "step/shifted_matrix.hpp"
#include "step/step_controller.hpp"
#include "step/step_limits.hpp"
#include "step/tolerances.hpp"
#include "step/watched_variables.hpp"

namespace saltus {
namespace {

// One look inside a step may fall on a place where the error is small by chance.
constexpr double well_below = 0.5;

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
  bool evaluate(double t, std::span<const double> x, std::span<double> F);
  bool evaluate_stage(double t, std::span<double> v);
  bool linearise();
  double* stage(int i) { return stages_.data() + static_cast<std::size_t>(i) * x0_.size(); }
  Stages stages() const { return {stages_.data(), x0_.size()}; }
  double error_ratio() const;
  int worst() const;
  void end_slopes();
  void evaluate_dense(double theta, double* x, double* xp) const;
  bool correct_dense(std::span<double> w, double* ratio);
  void fill_dense(double t0, double h);
  double dense_weight(int power, int stage) const;

  const RosenbrockTableau& tableau_;
  StepOptions options_;
  Tolerances tolerances_;
  WatchedVariables watched_;
  StepController controller_;
  System* system_ = nullptr;
  const Structure* structure_ = nullptr;
  ShiftedMatrix<double> matrix_;
  double factorised_for_ = 0.0;  // h of the factors that are there, 0: none

  int direction_ = 1;
  std::vector<double> x0_, x1_, xp_, y_, yp_, Fx_, Fxp_, Ft_, stages_;
  std::vector<double> f0_, f1_;  // F(t, x, 0) at both ends of the step
  double t_ = 0.0, t0_ = 0.0, h_done_ = 0.0, h_next_ = 0.0, error_ = 0.0;
  int not_finite_at_ = -1, worst_inside_ = -1;
  bool started_badly_ = false, linearised_ = false, autonomous_ = false;
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
  watched_.set(system, options_);
  matrix_.set_structure(structure);
  system_ = &system;
  structure_ = &structure;
  const auto n = static_cast<std::size_t>(structure.variables);
  for (auto* v : {&x0_, &x1_, &xp_, &y_, &yp_, &Ft_, &f0_, &f1_}) v->resize(n);
  Fx_.resize(structure.state_pattern.row.size());
  Fxp_.resize(structure.derivative_pattern.row.size());
  stages_.resize(n * static_cast<std::size_t>(tableau_.stages));
  dense_.degree = tableau_.dense_degree;
  dense_.variables = structure.variables;
  dense_.c.resize(n * static_cast<std::size_t>(tableau_.dense_degree + 1));
  std::fill(dense_.c.begin() + static_cast<std::ptrdiff_t>(n), dense_.c.end(), 0.0);

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
    std::transform(f1_.begin(), f1_.end(), xp_.begin(), std::negate<>());
  else
    std::copy(point.xp.begin(), point.xp.end(), xp_.begin());
  h_next_ = std::min(point.step > 0.0 ? point.step : options_.initial_step, options_.max_step);
}

/// F(t, x, 0).
bool Rosenbrock::evaluate(double t, std::span<const double> x, std::span<double> F) {
  ++statistics_.evaluations;
  if (structure_->explicit_ode) {
    system_->rhs(t, x, F);
    for (double& value : F) value = -value;
  } else {
    std::fill(yp_.begin(), yp_.end(), 0.0);
    system_->residual(t, x, yp_, F);
  }
  not_finite_at_ = first_not_finite(F);
  return not_finite_at_ < 0;
}

/// F(t, y_, yp_).
bool Rosenbrock::evaluate_stage(double t, std::span<double> v) {
  ++statistics_.evaluations;
  if (structure_->explicit_ode) {
    system_->rhs(t, y_, v);
    for (std::size_t j = 0; j < v.size(); ++j) v[j] = yp_[j] - v[j];
  } else {
    system_->residual(t, y_, yp_, v);
  }
  not_finite_at_ = first_not_finite(v);
  if (not_finite_at_ < 0) return true;
  if (const int variable = first_not_finite(y_); variable >= 0) not_finite_at_ = variable;
  return false;
}

/// Jacobian and time derivative at the current point; nothing to do if they cannot have changed.
bool Rosenbrock::linearise() {
  const bool known = linearised_ && structure_->constant_jacobian;
  std::fill(yp_.begin(), yp_.end(), 0.0);
  if (!known) {
    system_->jacobian(t_, x0_, yp_, Fx_, Fxp_);
    ++statistics_.jacobians;
    linearised_ = true;
    factorised_for_ = 0.0;
  }
  system_->time_derivative(t_, x0_, yp_, Ft_);
  autonomous_ = std::all_of(Ft_.begin(), Ft_.end(), [](double value) { return value == 0.0; });
  return (known || (first_not_finite(Fx_) < 0 && first_not_finite(Fxp_) < 0)) &&
         (autonomous_ || first_not_finite(Ft_) < 0);
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
  std::array<double, 16> for_y{}, for_yp{};
  for (int i = 0; i < s; ++i) {
    const std::span<double> v(stage(i), n);
    if (i == 0) {
      std::copy(f0_.begin(), f0_.end(), v.begin());
    } else {
      const double* const a = tableau_.a.data() + i * s;
      for (int j = 0; j < i; ++j) {
        for_y[j] = -a[j];
        for_yp[j] = tableau_.C[i * s + j] / h;
      }
      combine<2>(stages(), i, {{{for_y.data(), x0_.data(), y_.data()}, {for_yp.data(), nullptr, yp_.data()}}});
      const double c = tableau_.c[i];
      if (!evaluate_stage(c == 1.0 ? end.t : t_ + c * h, v)) return Attempt::not_finite;
    }
    if (const double hd = h * tableau_.d[i]; hd != 0.0 && !autonomous_)
      for (std::size_t j = 0; j < n; ++j) v[j] += hd * Ft_[j];
    matrix_.solve(v);
  }
  const double* last = stage(s - 1);
  for (std::size_t j = 0; j < n; ++j) x1_[j] = y_[j] - last[j];
  not_finite_at_ = first_not_finite(x1_);
  if (not_finite_at_ >= 0) return Attempt::not_finite;
  error_ = error_ratio();
  worst_inside_ = -1;
  if (!(error_ <= 1.0)) return Attempt::inaccurate;
  if (watched_.any()) {
    double inside = 0.0;
    fill_dense(t_, h);
    if (!correct_dense(f1_, &inside)) return Attempt::not_finite;
    error_ = std::max(error_, inside);
    if (!(error_ <= 1.0)) return Attempt::inaccurate;
  }
  return evaluate(end.t, x1_, f1_) ? Attempt::good : Attempt::not_finite;
}

/// Values and slopes in one pass over the coefficients.
void Rosenbrock::evaluate_dense(double theta, double* x, double* xp) const {
  std::array<double, 16> values{}, slopes{};
  double power = 1.0;
  for (int k = 1; k <= dense_.degree; ++k) {
    slopes[k - 1] = k * power / dense_.h;
    power *= theta;
    values[k - 1] = power;
  }
  const std::size_t n = x0_.size();
  combine<2>({dense_.c.data() + n, n}, dense_.degree,
             {{{values.data(), dense_.c.data(), x}, {slopes.data(), nullptr, xp}}});
}

/// One look inside the step is enough where the polynomial is good. Otherwise it is corrected at as many points as its degree leaves free,
/// one after the other (Newton's interpolation), which gives algebraic and fast variables the order of the others, and looked at once more:
/// `ratio` is what is left in watched variables, over the tolerance, or 0 after one look. False if the equations cannot be evaluated there. The
/// points and the last look are the zeros and the largest extremum of theta (1 - theta) U_(d-1), with Chebyshev's polynomial of the second kind.
bool Rosenbrock::correct_dense(std::span<double> w, double* ratio) {
  const int d = dense_.degree;
  const std::size_t n = w.size();
  double theta = 0.0;
  const auto look = [&](int i) {  // w: what is to be subtracted from the values there
    theta = 0.5 - 0.5 * std::cos(std::numbers::pi / d * (i == 0 ? d - 1 : i < d - 1 ? i : (d - 1) / 2 + 0.5));
    evaluate_dense(theta, y_.data(), yp_.data());
    if (!evaluate_stage(dense_.t0 + theta * dense_.h, w)) return false;
    matrix_.solve(w);
    return true;
  };
  if (!look(0)) return false;
  *ratio = 0.0;
  if ((options_.keep_dense ? tolerances_.largest_ratio(w, x1_, nullptr)
                           : watched_.largest_ratio(w, x1_, tolerances_, &worst_inside_)) <= well_below)
    return true;
  std::array<double, 16> basis = {0.0, 1.0, -1.0};  // theta (1 - theta), times theta - theta_i for all points so far
  for (int i = 0; i + 1 < d; ++i) {
    double there = 0.0;
    for (int k = i + 2; k >= 1; --k) there = (there + basis[k]) * theta;
    for (int k = 1; k <= i + 2; ++k) {
      double* const c = dense_.c.data() + n * static_cast<std::size_t>(k);
      const double weight = basis[k] / there;
      for (std::size_t j = 0; j < n; ++j) c[j] -= weight * w[j];
    }
    for (int k = i + 3; k >= 1; --k) basis[k] = basis[k - 1] - theta * basis[k];
    if (!look(i + 1)) return false;
  }
  *ratio = watched_.largest_ratio(w, x1_, tolerances_, &worst_inside_);
  return true;
}

/// In lanes that the compiler can put side by side; all values are finite.
double Rosenbrock::error_ratio() const {
  constexpr std::size_t lanes = 4;
  const std::size_t n = x0_.size();
  const double *last = stages_.data() + n * static_cast<std::size_t>(tableau_.stages - 1), *atol = tolerances_.atol();
  const double rtol = tolerances_.rtol();
  const auto ratio = [&](std::size_t j) {
    return std::abs(last[j]) / (atol[j] + rtol * std::max(std::abs(x0_[j]), std::abs(x1_[j])));
  };
  double largest[lanes] = {};
  std::size_t j = 0;
  for (; j + lanes <= n; j += lanes)
    for (std::size_t k = 0; k < lanes; ++k) largest[k] = std::max(largest[k], ratio(j + k));
  for (; j < n; ++j) largest[0] = std::max(largest[0], ratio(j));
  return std::max(std::max(largest[0], largest[1]), std::max(largest[2], largest[3]));
}

/// The variable whose error was largest.
int Rosenbrock::worst() const {
  if (worst_inside_ >= 0) return worst_inside_;
  const double* last = stages_.data() + x0_.size() * static_cast<std::size_t>(tableau_.stages - 1);
  double largest = -1.0;
  int found = -1;
  for (std::size_t j = 0; j < x0_.size(); ++j) {
    const double ratio =
        std::abs(last[j]) / tolerances_.scale(static_cast<int>(j), std::max(std::abs(x0_[j]), std::abs(x1_[j])));
    if (ratio > largest) largest = ratio, found = static_cast<int>(j);
  }
  return found;
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
      dense_ready_ = watched_.any();
      if (structure_->explicit_ode)
        std::transform(f1_.begin(), f1_.end(), xp_.begin(), std::negate<>());
      else if (dense_ready_)
        evaluate_dense(1.0, y_.data(), xp_.data());
      else
        end_slopes();
      ++statistics_.steps;
      return {};
    }
    ++statistics_.rejected;
    rejected = true;
    if (h <= smallest || size <= smallest) {  // the end of the step is rounded: size may stay above
      if (result == Attempt::inaccurate) return give_up(StepResult::step_too_small, worst());
      if (result == Attempt::singular) return give_up(StepResult::singular, -1);
      return give_up(StepResult::not_finite, not_finite_at_);
    }
    const double factor =
        result == Attempt::inaccurate ? controller_.after_rejection(error_, size) : StepController::after_not_finite;
    h = std::max(size * factor, smallest);
  }
}

/// The weight of v_j in coefficient `power` of the dense output, from 1 on: theta (1-theta) theta^k q_k =
/// theta^(k+1) q_k - theta^(k+2) q_k, so that coefficient k + 1 is q_k - q_(k-1); the first contains x_1 - x_0 as well,
/// the last row of a with a 1 behind it.
double Rosenbrock::dense_weight(int power, int j) const {
  const int s = tableau_.stages;
  const auto q = [&](int k) {
    return k < 0 || k > tableau_.dense_degree - 2 ? 0.0 : tableau_.dense[static_cast<std::size_t>(k * s + j)];
  };
  const double change = power > 1 ? 0.0 : j + 1 < s ? tableau_.a[static_cast<std::size_t>((s - 1) * s + j)] : 1.0;
  return q(power - 2) - q(power - 1) - change;
}

/// The derivative of the dense output at the end of the step, from the stages at once.
void Rosenbrock::end_slopes() {
  const int s = tableau_.stages;
  std::array<double, 16> weights{};
  for (int j = 0; j < s; ++j) {
    for (int power = 1; power <= tableau_.dense_degree; ++power) weights[j] += power * dense_weight(power, j);
    weights[j] /= h_done_;
  }
  combine<1>(stages(), s, {{{weights.data(), nullptr, xp_.data()}}});
}

const DensePolynomial& Rosenbrock::dense() {
  if (dense_ready_) return dense_;
  fill_dense(t0_, h_done_);
  double left = 0.0;  // (the time derivative is that of a step that is over)
  if (options_.keep_dense && factorised_for_ == h_done_ && !correct_dense(Ft_, &left)) fill_dense(t0_, h_done_);
  return dense_;
}

void Rosenbrock::fill_dense(double t0, double h) {
  dense_ready_ = true;
  dense_.t0 = t0;
  dense_.h = h;
  const std::size_t n = x0_.size();
  const int s = tableau_.stages;
  double* c = dense_.c.data();
  std::copy(x0_.begin(), x0_.end(), c);
  std::array<std::array<double, 16>, 2> weights{};
  const auto take = [&](int power, std::array<double, 16>& into) {
    for (int j = 0; j < s; ++j) into[j] = dense_weight(power, j);
    return Combination{into.data(), nullptr, c + n * static_cast<std::size_t>(power)};
  };
  int power = 1;
  for (; power + 1 <= tableau_.dense_degree; power += 2)
    combine<2>(stages(), s, {{take(power, weights[0]), take(power + 1, weights[1])}});
  if (power == tableau_.dense_degree) combine<1>(stages(), s, {{take(power, weights[0])}});
}

}  // namespace

std::unique_ptr<Stepper> make_rosenbrock(const RosenbrockTableau& tableau, StepOptions options) {
  return std::make_unique<Rosenbrock>(tableau, std::move(options));
}

}  // namespace saltus
