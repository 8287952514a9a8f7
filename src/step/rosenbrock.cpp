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
#include "step/few_variables.hpp"
#include "step/first_step.hpp"
#include "step/kept_factors.hpp"
#include "step/shifted_matrix.hpp"
#include "step/step_controller.hpp"
#include "step/step_limits.hpp"
#include "step/tolerances.hpp"
#include "step/watched_variables.hpp"

namespace saltus {
namespace {

// One look inside a step may fall on a place where the error is small by chance.
constexpr double well_below = 0.5;
// Errors of stages, where systems are solved iteratively, in units of the tolerance. They enter the result with factors whose sum is
// 6 (Rodas 4) and 23 (Rodas 5P) at most, over all z = h lambda <= 0 of the test equation: a twentieth of the tolerance.
constexpr double stage_accuracy = 2e-3;
// From this size on memory counts more than the evaluation of a Jacobian now and then.
constexpr std::size_t large = 1000;
/// So many numbers of some vectors stay in the cache between two passes.
constexpr std::size_t in_cache = 512;

class Rosenbrock final : public Stepper {
 public:
  Rosenbrock(const RosenbrockTableau& tableau, StepOptions options)
      : tableau_(tableau), options_(std::move(options)), controller_(tableau.error_exponent, 0.0, 0.2, 6.0) {
    find_dense_weights();
  }

  std::string_view name() const override { return tableau_.name; }
  int order() const override { return tableau_.order; }
  void start(System& system, const StartPoint& point) override;
  StepOutcome advance(double limit) override;
  double t() const override { return t_; }
  std::span<const double> x() const override { return x1_; }
  std::span<const double> xp() const override { return xp_; }
  bool xp_is_rhs() const override { return xp_is_rhs_; }
  const DensePolynomial& dense() override;
  void forget_dense() override {
    if (x0_.size() >= large) std::vector<double>().swap(dense_.c);
  }
  double next_step() const override { return h_next_; }
  double error() const override { return error_; }
  std::string linear_algebra() const override { return factors_.description(); }

 private:
  enum class Attempt { good, inaccurate, not_finite, singular };

  Attempt attempt(const StepEnd& end);
  bool evaluate(double t, std::span<const double> x, std::span<double> F);
  bool evaluate_stage(double t, std::span<double> v);
  bool subtract_in_pieces(std::span<double> v) const;
  bool finish_attempt();
  JacobianValues jacobian();
  bool evaluate_jacobian();
  bool linearise();
  bool keeps_jacobian();
  [[nodiscard]] bool factorise(double h);
  double wanted_step(double limit) const;
  double* stage(int i) { return dense_.c.data() + static_cast<std::size_t>(i) * x0_.size(); }
  Stages stages() const { return {dense_.c.data(), x0_.size()}; }
  double error_ratio(std::size_t first, std::size_t end) const;
  template <class Atol, class Rtol>
  double error_ratio(std::size_t first, std::size_t end, Atol atol, Rtol rtol) const;
  int worst() const;
  void end_slopes();
  void evaluate_dense(double theta, double* x, double* xp) const;
  bool correct_dense(double* ratio);
  bool correct_dense(std::span<double> w, double* ratio);
  void fill_dense(double t0, double h);
  void make_room();
  void hold_still();
  void find_dense_weights();

  const RosenbrockTableau& tableau_;
  StepOptions options_;
  std::array<std::array<double, 16>, 8> dense_weights_{};  // of the stages in each coefficient of the dense output
  std::array<double, 16> end_weights_{};                   // in its slope at the end, times the size of the step
  std::array<double, 16> places_{};                        // where it is looked at, one after the other
  Tolerances tolerances_;
  WatchedVariables watched_;
  StepController controller_;
  System* system_ = nullptr;
  const Structure* structure_ = nullptr;
  KeptFactors factors_;

  int direction_ = 1;
  std::vector<double> x0_, x1_, xp_, y_, yp_;
  std::vector<double> Ft_;        // where it is not zero
  std::vector<double> f_;         // F(t, x, 0) at the beginning of the step that comes next,
  bool f_known_ = false;          // unless an attempt has used the room
  std::vector<double> Fx_, Fxp_;  // where they are kept; see jacobian()
  double t_ = 0.0, t0_ = 0.0, h_done_ = 0.0, h_next_ = 0.0, error_ = 0.0;
  int not_finite_at_ = -1, worst_inside_ = -1;
  bool started_badly_ = false, linearised_ = false, autonomous_ = false;
  bool has_jacobian_ = false;  // a constant one, in Fx_ and Fxp_: that of the factors
  bool borrows_room_ = false;  // of the stages, for the Jacobian
  bool xp_is_rhs_ = false;
  DensePolynomial dense_;  // its room is that of the stages, of which it is made: they are not needed beside each other
  bool dense_ready_ = false;
};

void Rosenbrock::start(System& system, const StartPoint& point) {
  const Structure& structure = system.structure();
  if (!structure.constant_mass && !structure.explicit_ode)
    throw UsageError(tableau_.name +
                     ": F must be affine in x' with a constant matrix; choose a Radau method for this mode");
  check_start(tableau_.name, structure, point);
  tolerances_.set(options_, structure.variables, structure.variables < static_cast<int>(large));
  watched_.set(system, options_);
  // factors of a constant matrix serve several steps
  const int solutions = structure.constant_jacobian ? 4 * tableau_.stages : tableau_.stages;
  // a switch that only adds sources leaves a constant Jacobian as it is: that is seen when it is evaluated
  has_jacobian_ = factors_.set_structure(structure, solutions) && structure.constant_jacobian && has_jacobian_;
  if (!has_jacobian_) factors_.forget();
  system_ = &system;
  structure_ = &structure;
  const auto n = static_cast<std::size_t>(structure.variables);
  for (auto* v : {&x0_, &x1_, &xp_, &y_, &yp_, &f_}) v->resize(n);
  dense_.degree = tableau_.dense_degree;
  dense_.variables = structure.variables;
  make_room();
  const std::size_t entries = structure.state_pattern.row.size() + structure.derivative_pattern.row.size();
  const bool fits = entries + factors_.matrix().entries() <= n * static_cast<std::size_t>(tableau_.stages);
  borrows_room_ = n >= large && fits && !structure.constant_jacobian;
  Fx_.resize(borrows_room_ ? 0 : structure.state_pattern.row.size());
  Fxp_.resize(borrows_room_ ? 0 : structure.derivative_pattern.row.size());
  if (borrows_room_)
    for (auto* v : {&Fx_, &Fxp_}) v->shrink_to_fit();

  direction_ = point.direction;
  t_ = t0_ = point.t;
  std::copy(point.x.begin(), point.x.end(), x1_.begin());
  hold_still();
  linearised_ = false;
  f_known_ = true;
  controller_.restart();
  error_ = 0.0;
  not_finite_at_ = first_not_finite(x1_);
  started_badly_ = not_finite_at_ >= 0;
  const bool given = structure.explicit_ode && point.xp_is_rhs;
  if (given) {
    std::copy(point.xp.begin(), point.xp.end(), xp_.begin());
    std::transform(xp_.begin(), xp_.end(), f_.begin(), std::negate<>());
    if (!started_badly_) not_finite_at_ = first_not_finite(f_);
    started_badly_ = not_finite_at_ >= 0;
  } else if (!started_badly_) {
    started_badly_ = !evaluate(t_, x1_, f_);
  }
  xp_is_rhs_ = structure.explicit_ode && !started_badly_;
  if (!structure.explicit_ode)
    std::copy(point.xp.begin(), point.xp.end(), xp_.begin());
  else if (!given)
    std::transform(f_.begin(), f_.end(), xp_.begin(), std::negate<>());
  h_next_ = std::min(point.step > 0.0 ? point.step : options_.initial_step, options_.max_step);
}

/// The dense output before the first step and after one that has failed: a constant.
void Rosenbrock::hold_still() {
  dense_.c.assign(x1_.size() * static_cast<std::size_t>(tableau_.dense_degree + 1), 0.0);
  std::copy(x1_.begin(), x1_.end(), dense_.c.begin());
  dense_.t0 = t_;
  dense_.h = h_done_ = 0.0;
  dense_ready_ = true;
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

/// v := yp_ - v. True if all numbers are finite, which is seen while they are in the cache.
bool Rosenbrock::subtract_in_pieces(std::span<double> v) const {
  bool finite = true;
  for (std::size_t first = 0; first < v.size(); first += in_cache) {
    const std::size_t end = std::min(first + in_cache, v.size());
    for (std::size_t j = first; j < end; ++j) v[j] = yp_[j] - v[j];
    finite = finite && all_finite(v.subspan(first, end - first));
  }
  return finite;
}

/// F(t, y_, yp_).
bool Rosenbrock::evaluate_stage(double t, std::span<double> v) {
  ++statistics_.evaluations;
  if (structure_->explicit_ode) {
    system_->rhs(t, y_, v);
    if (few_variables(v.size())) {
      subtract_from(yp_.data(), v.data(), v.size());
    } else if (subtract_in_pieces(v)) {
      not_finite_at_ = -1;
      return true;
    }
  } else {
    system_->residual(t, y_, yp_, v);
  }
  not_finite_at_ = first_not_finite(v);
  if (not_finite_at_ < 0) return true;
  if (const int variable = first_not_finite(y_); variable >= 0) not_finite_at_ = variable;
  return false;
}

/// Where F_x and F_x' stand. Large systems have them in the room of the stages, and evaluate them again in the few steps that
/// are repeated.
JacobianValues Rosenbrock::jacobian() {
  if (!borrows_room_) return {Fx_, Fxp_, {}};
  const std::size_t nx = structure_->state_pattern.row.size(), nxp = structure_->derivative_pattern.row.size();
  const std::span<double> room(dense_.c);
  return {room.first(nx), room.subspan(nx, nxp), room.subspan(nx + nxp, factors_.matrix().entries())};
}

bool Rosenbrock::evaluate_jacobian() {
  const JacobianValues J = jacobian();
  std::fill(yp_.begin(), yp_.end(), 0.0);
  system_->jacobian(t_, x0_, yp_, J.Fx, J.Fxp);
  ++statistics_.jacobians;
  return first_not_finite(J.Fx) < 0 && first_not_finite(J.Fxp) < 0;
}

/// Jacobian and time derivative at the current point; nothing to do if they cannot have changed.
bool Rosenbrock::linearise() {
  if (!linearised_ || !structure_->constant_jacobian) {
    linearised_ = true;
    if (!keeps_jacobian()) {
      factors_.forget();
      has_jacobian_ = false;
      if (!evaluate_jacobian()) return false;
      has_jacobian_ = structure_->constant_jacobian;
    }
  }
  std::fill(yp_.begin(), yp_.end(), 0.0);
  system_->time_derivative(t_, x0_, yp_, y_);
  autonomous_ = std::all_of(y_.begin(), y_.end(), [](double value) { return value == 0.0; });
  if (!autonomous_) Ft_ = y_;
  return autonomous_ || first_not_finite(Ft_) < 0;
}

/// Behind an event: true if factors of the Jacobian that was there before serve the new one, too.
bool Rosenbrock::keeps_jacobian() {
  if (!has_jacobian_) return false;
  const std::size_t nx = Fx_.size(), nxp = Fxp_.size();
  if (dense_.c.size() < nx + nxp) dense_.c.resize(nx + nxp);  // the room of the stages, which come later
  const auto Fx = std::span(dense_.c).first(nx), Fxp = std::span(dense_.c).subspan(nx, nxp);
  std::fill(yp_.begin(), yp_.end(), 0.0);
  system_->jacobian(t_, x0_, yp_, Fx, Fxp);
  ++statistics_.jacobians;
  const double c = h_next_ > 0.0 ? 1.0 / (h_next_ * tableau_.gamma) : 1.0;
  const KeptFactors::Difference difference = factors_.compare(jacobian(), Fx, Fxp, c);
  make_room();
  return difference != KeptFactors::Difference::many;
}

/// Factors for this step size; false: singular.
bool Rosenbrock::factorise(double h) {
  if (factors_.are_for(h)) return true;
  if (borrows_room_ && !linearised_) evaluate_jacobian();
  const auto find_weights = [&] {
    for (std::size_t j = 0; j < x0_.size(); ++j) y_[j] = tolerances_.scale(static_cast<int>(j), std::abs(x0_[j]));
  };
  const KeptFactors::Request request{h, 1.0 / (h * tableau_.gamma), has_jacobian_};
  if (factors_.changed()) find_weights();
  const bool regular = factors_.find(request, jacobian(), y_, dense_.c, statistics_);
  if (borrows_room_) linearised_ = false;
  if (regular && factors_.matrix().iterates()) {
    find_weights();
    factors_.set_accuracy(y_, stage_accuracy);
  }
  return regular;
}

/// For the stages, which a dense output may have replaced.
void Rosenbrock::make_room() {
  dense_.c.resize(x0_.size() * static_cast<std::size_t>(std::max(tableau_.stages, tableau_.dense_degree + 2)));
}

Rosenbrock::Attempt Rosenbrock::attempt(const StepEnd& end) {
  const double h = end.h;
  const std::size_t n = x0_.size();
  make_room();
  if (!factorise(h)) return Attempt::singular;
  if (!f_known_) f_known_ = evaluate(t_, x0_, f_);
  const int s = tableau_.stages;
  std::array<double, 16> for_y{}, for_yp{};
  for (int i = 0; i < s; ++i) {
    const std::span<double> v(stage(i), n);
    if (i == 0) {
      std::copy(f_.begin(), f_.end(), v.begin());
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
    factors_.solve(v, yp_);
  }
  if (!finish_attempt()) return Attempt::not_finite;
  worst_inside_ = -1;
  if (!(error_ <= 1.0)) return Attempt::inaccurate;
  if (watched_.any()) {
    double inside = 0.0;
    fill_dense(t_, h);
    if (!correct_dense(&inside)) return Attempt::not_finite;
    error_ = std::max(error_, inside);
    if (!(error_ <= 1.0)) return Attempt::inaccurate;
  }
  f_known_ = false;
  return evaluate(end.t, x1_, f_) ? Attempt::good : Attempt::not_finite;
}

/// x1_ and its error, piece by piece, so that nothing is read twice from memory. False if x1_ is not finite.
bool Rosenbrock::finish_attempt() {
  const double* const last = stage(tableau_.stages - 1);
  const std::size_t n = x0_.size();
  bool finite = true;
  error_ = 0.0;
  for (std::size_t first = 0; first < n; first += in_cache) {
    const std::size_t end = std::min(first + in_cache, n);
    for (std::size_t j = first; j < end; ++j) x1_[j] = y_[j] - last[j];
    finite = finite && all_finite(std::span(x1_).subspan(first, end - first));
    error_ = std::max(error_, error_ratio(first, end));
  }
  not_finite_at_ = finite ? -1 : first_not_finite(x1_);
  return finite;
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
bool Rosenbrock::correct_dense(double* ratio) {
  const std::size_t n = x0_.size(), coefficients = dense_.c.size();
  dense_.c.resize(coefficients + n);  // within the room of the stages
  const std::span<double> w(dense_.c.data() + coefficients, n);
  const bool evaluated = correct_dense(w, ratio);
  dense_.c.resize(coefficients);
  return evaluated;
}

bool Rosenbrock::correct_dense(std::span<double> w, double* ratio) {
  const int d = dense_.degree;
  const std::size_t n = w.size();
  double theta = 0.0;
  const auto look = [&](int i) {  // w: what is to be subtracted from the values there
    theta = places_[i];
    evaluate_dense(theta, y_.data(), yp_.data());
    if (!evaluate_stage(dense_.t0 + theta * dense_.h, w)) return false;
    factors_.solve(w, yp_);
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

/// The largest error over the tolerance among some variables. In lanes that the compiler can put side by side.
double Rosenbrock::error_ratio(std::size_t first, std::size_t end) const {
  const double *const atol = tolerances_.atol(), *const each = tolerances_.rtol_each();
  const auto one_rtol = [all = tolerances_.rtol()](std::size_t) { return all; };
  const auto atol_of = [atol](std::size_t j) { return atol[j]; };
  if (each) return error_ratio(first, end, atol_of, [each](std::size_t j) { return each[j]; });
  return tolerances_.one_for_all() ? error_ratio(first, end, [all = *atol](std::size_t) { return all; }, one_rtol)
                                   : error_ratio(first, end, atol_of, one_rtol);
}

template <class Atol, class Rtol>
double Rosenbrock::error_ratio(std::size_t first, std::size_t end, Atol atol, Rtol rtol) const {
  constexpr std::size_t lanes = 4;
  const double* last = dense_.c.data() + x0_.size() * static_cast<std::size_t>(tableau_.stages - 1);
  const auto ratio = [&](std::size_t j) {
    return std::abs(last[j]) / (atol(j) + rtol(j) * std::max(std::abs(x0_[j]), std::abs(x1_[j])));
  };
  double largest[lanes] = {};
  std::size_t j = first;
  for (; j + lanes <= end; j += lanes)
    for (std::size_t k = 0; k < lanes; ++k) largest[k] = std::max(largest[k], ratio(j + k));
  for (; j < end; ++j) largest[0] = std::max(largest[0], ratio(j));
  return std::max(std::max(largest[0], largest[1]), std::max(largest[2], largest[3]));
}

/// The variable whose error was largest.
int Rosenbrock::worst() const {
  if (worst_inside_ >= 0) return worst_inside_;
  const double* last = dense_.c.data() + x0_.size() * static_cast<std::size_t>(tableau_.stages - 1);
  double largest = -1.0;
  int found = -1;
  for (std::size_t j = 0; j < x0_.size(); ++j) {
    const double ratio =
        std::abs(last[j]) / tolerances_.scale(static_cast<int>(j), std::max(std::abs(x0_[j]), std::abs(x1_[j])));
    if (ratio > largest) largest = ratio, found = static_cast<int>(j);
  }
  return found;
}

/// The size of the next step: on a grid where factors for several sizes are worth keeping, unless it goes to the limit.
double Rosenbrock::wanted_step(double limit) const {
  const double h = std::min(h_next_, options_.max_step);
  if (!has_jacobian_ || !factors_.worthwhile()) return h;
  const double shorter = KeptFactors::on_grid(h);
  return std::abs(limit - t_) <= 2.0 * h ? h : shorter;
}

StepOutcome Rosenbrock::advance(double limit) {
  if (system_ == nullptr) throw UsageError(tableau_.name + ": call start before advance");
  check_limit(t_, limit, direction_);
  if (started_badly_) return {StepResult::not_finite, not_finite_at_};
  if (h_next_ == 0.0)
    h_next_ = first_step_from_slopes(t_, limit, options_.max_step, tolerances_, *structure_, x1_, xp_);
  x0_.swap(x1_);
  make_room();
  const auto give_up = [this](StepResult result, int worst) {
    x0_.swap(x1_);
    hold_still();
    error_ = 0.0;
    return StepOutcome{result, worst};
  };
  if (!linearise()) return give_up(StepResult::not_finite, -1);
  const double smallest = smallest_step(t_, limit);
  double h = wanted_step(limit);
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
      f_known_ = true;
      if (structure_->explicit_ode)
        std::transform(f_.begin(), f_.end(), xp_.begin(), std::negate<>());
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
void Rosenbrock::find_dense_weights() {
  const int s = tableau_.stages, degree = tableau_.dense_degree;
  for (int power = 1; power <= degree; ++power)
    for (int j = 0; j < s; ++j) {
      const auto q = [&](int k) {
        return k < 0 || k > degree - 2 ? 0.0 : tableau_.dense[static_cast<std::size_t>(k * s + j)];
      };
      const double change = power > 1 ? 0.0 : j + 1 < s ? tableau_.a[static_cast<std::size_t>((s - 1) * s + j)] : 1.0;
      dense_weights_[power][j] = q(power - 2) - q(power - 1) - change;
      end_weights_[j] += power * dense_weights_[power][j];
    }
  for (int i = 0; i < degree; ++i)
    places_[i] = 0.5 - 0.5 * std::cos(std::numbers::pi / degree *
                                      (i == 0 ? degree - 1 : i < degree - 1 ? i : (degree - 1) / 2 + 0.5));
}

/// The derivative of the dense output at the end of the step, from the stages at once.
void Rosenbrock::end_slopes() {
  const int s = tableau_.stages;
  std::array<double, 16> weights{};
  for (int j = 0; j < s; ++j) weights[j] = end_weights_[j] / h_done_;
  combine<1>(stages(), s, {{{weights.data(), nullptr, xp_.data()}}});
}

const DensePolynomial& Rosenbrock::dense() {
  if (dense_.c.size() < x0_.size()) hold_still();  // it has been given back
  if (dense_ready_) return dense_;
  fill_dense(t0_, h_done_);
  double left = 0.0;
  if (options_.keep_dense && factors_.are_for(h_done_)) correct_dense(&left);
  return dense_;
}

/// Replaces the stages by the coefficients, piece by piece.
void Rosenbrock::fill_dense(double t0, double h) {
  dense_ready_ = true;
  dense_.t0 = t0;
  dense_.h = h;
  const std::size_t n = x0_.size();
  const int s = tableau_.stages, degree = tableau_.dense_degree;
  constexpr std::size_t piece = 256;
  double c[8 * piece];
  for (std::size_t first = 0; first < n; first += piece) {
    const std::size_t length = std::min(piece, n - first);
    const Stages u(dense_.c.data() + first, length, n);
    const auto take = [&](int power) { return Combination{dense_weights_[power].data(), nullptr, c + static_cast<std::size_t>(power) * piece}; };
    int power = 1;
    for (; power + 1 <= degree; power += 2) combine<2>(u, s, {{take(power), take(power + 1)}});
    if (power == degree) combine<1>(u, s, {{take(power)}});
    std::copy_n(x0_.data() + first, length, dense_.c.data() + first);
    for (power = 1; power <= degree; ++power)
      std::copy_n(c + static_cast<std::size_t>(power) * piece, length, dense_.c.data() + static_cast<std::size_t>(power) * n + first);
  }
  dense_.c.resize(n * static_cast<std::size_t>(degree + 1));
}

}  // namespace

std::unique_ptr<Stepper> make_rosenbrock(const RosenbrockTableau& tableau, StepOptions options) {
  return std::make_unique<Rosenbrock>(tableau, std::move(options));
}

}  // namespace saltus
