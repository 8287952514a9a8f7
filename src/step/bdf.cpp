// BDF methods for F(t, x, x') = 0 after Brenan, Campbell, Petzold (see bdf_history.hpp), sections 5.2.2 (Newton), 5.2.3
// (error tests and choice of order): the order goes where the scaled differences phi_i fall, the step doubles when it
// safely can and otherwise stays, so that factors can be used again.
#include <saltus/step/bdf.hpp>
#include <saltus/step/radau.hpp>

#include <algorithm>
#include <cmath>

#include "base/finite.hpp"
#include "step/bdf_history.hpp"
#include "step/first_step.hpp"
#include "step/shifted_matrix.hpp"
#include "step/step_limits.hpp"
#include "step/tolerances.hpp"
#include "step/watched_variables.hpp"

namespace saltus {
namespace {

constexpr int start_order = 4;  // of the dense output of the first step
constexpr int most_iterations = 5;
// Factors serve until the leading coefficient has changed by this factor.
constexpr double leading_range = 1.5;

class Bdf final : public Stepper {
 public:
  Bdf(StepOptions options, BdfOptions bdf);

  std::string_view name() const override { return "BDF"; }
  int order() const override { return bdf_.max_order; }
  void start(System& system, const StartPoint& point) override;
  StepOutcome advance(double limit) override;
  double t() const override { return t_; }
  std::span<const double> x() const override { return x_; }
  std::span<const double> xp() const override { return xp_; }
  const DensePolynomial& dense() override;
  double next_step() const override { return h_next_; }
  double error() const override { return error_; }
  std::string linear_algebra() const override { return matrix_.description(); }

 private:
  enum class Attempt { good, inaccurate, no_convergence, not_finite, singular };

  StepOutcome first_step(double limit);
  Attempt attempt(const StepEnd& end);
  bool refresh(const StepEnd& end);
  Attempt newton(const StepEnd& end);
  void estimate();
  double size_of(std::span<const double> v, int* worst = nullptr) const {
    return tolerances_.largest_ratio(v, x_, any_tested_ ? tested_.data() : nullptr, worst);
  }
  double sum_size(int order);
  void choose_next(double size);
  double growth(double error, int order) const;

  StepOptions options_;
  BdfOptions bdf_;
  Tolerances tolerances_;
  double newton_tolerance_ = 0.1;
  std::unique_ptr<Stepper> starter_;

  System* system_ = nullptr;
  const Structure* structure_ = nullptr;
  std::vector<char> tested_;  // variables of the error test
  bool any_tested_ = false;
  BdfHistory history_;
  ShiftedMatrix<double> matrix_;
  double factorised_for_ = 0.0;  // leading coefficient of the factors that are there, 0: none
  bool jacobian_current_ = false, jacobian_wanted_ = true;

  int direction_ = 1, order_ = 1, lower_order_ = 1;
  std::vector<double> x_, xp_, x_old_, x_new_, xp_new_, x_predicted_, xp_predicted_, correction_, work_, Fx_, Fxp_;
  double t_ = 0.0, t_old_ = 0.0, h_next_ = 0.0, error_ = 0.0;
  double error_k_ = 0.0, error_below_ = 0.0, error_new_ = 0.0;  // estimates for orders k, k-1 and the one chosen
  double convergence_ = 20.0;                                   // rate / (1 - rate) of Newton's method
  bool started_ = false;
  int worst_ = -1, bad_ = -1;
  DensePolynomial dense_;
  bool dense_ready_ = false, dense_of_starter_ = false;
};

Bdf::Bdf(StepOptions options, BdfOptions bdf) : options_(std::move(options)), bdf_(bdf) {
  if (bdf.max_order < 1 || bdf.max_order > BdfHistory::most)
    throw UsageError("make_bdf: the order must be 1 to 5, not " + std::to_string(bdf.max_order));
  StepOptions first = options_;
  first.control_dense = true;
  starter_ = make_radau(std::move(first), {.order = 5, .fixed_iterations = bdf.fixed_iterations});
}

void Bdf::start(System& system, const StartPoint& point) {
  const Structure& structure = system.structure();
  check_start(name(), structure, point);
  tolerances_.set(options_, structure.variables);
  // local errors add up over many small steps: this keeps the error of the result near the tolerance
  tolerances_.rescale(0.1, 1.0);
  const double tolerance = std::min(1.0, tolerances_.typical());
  // constraints of a reduced mode shall hold far below the tolerance
  newton_tolerance_ = std::max(10.0 * eps / tolerance, structure.moving ? 0.003 : 0.05);
  matrix_.set_structure(structure);
  system_ = &system;
  structure_ = &structure;
  const auto n = static_cast<std::size_t>(structure.variables);
  for (auto* v : {&x_, &xp_, &x_old_, &x_new_, &xp_new_, &x_predicted_, &xp_predicted_, &correction_, &work_})
    v->resize(n);
  Fx_.resize(structure.state_pattern.row.size());
  Fxp_.resize(structure.derivative_pattern.row.size());
  mark_differentiated(structure, tested_);
  WatchedVariables watched;
  watched.set(system, options_);
  watched.mark(tested_);
  any_tested_ = std::ranges::count(tested_, 1) > 0;
  dense_.c.assign(n * (BdfHistory::most + 1), 0.0);
  dense_.degree = 0;
  dense_.variables = structure.variables;
  direction_ = point.direction;
  t_ = t_old_ = dense_.t0 = point.t;
  dense_.h = 0.0;
  std::copy(point.x.begin(), point.x.end(), x_.begin());
  std::copy(x_.begin(), x_.end(), dense_.c.begin());
  dense_ready_ = true;
  dense_of_starter_ = false;
  h_next_ = std::min(point.step > 0.0 ? point.step : options_.initial_step, options_.max_step);
  StartPoint first = point;
  first.step = start_order * h_next_;
  const std::int64_t before = starter_->statistics().evaluations;
  starter_->start(system, first);
  statistics_.evaluations += starter_->statistics().evaluations - before;
  std::copy(starter_->xp().begin(), starter_->xp().end(), xp_.begin());
  started_ = false;
  error_ = 0.0;
  jacobian_wanted_ = true;
  factorised_for_ = 0.0;
}

/// One Radau step; its polynomial becomes the history.
StepOutcome Bdf::first_step(double limit) {
  const StepStatistics before = starter_->statistics();
  const StepOutcome outcome = starter_->advance(limit);
  const DensePolynomial& p = starter_->dense();
  const StepStatistics& after = starter_->statistics();
  statistics_.steps += after.steps - before.steps;
  statistics_.rejected += after.rejected - before.rejected;
  statistics_.evaluations += after.evaluations - before.evaluations;
  statistics_.jacobians += after.jacobians - before.jacobians;
  statistics_.factorisations += after.factorisations - before.factorisations;
  statistics_.iterations += after.iterations - before.iterations;
  if (!outcome.ok()) return outcome;
  order_ = std::min(start_order, bdf_.max_order);
  history_.start(p, order_);
  t_old_ = t_;
  t_ = starter_->t();
  std::copy(starter_->x().begin(), starter_->x().end(), x_.begin());
  std::copy(starter_->xp().begin(), starter_->xp().end(), xp_.begin());
  const double piece = std::abs(p.h) / start_order;
  h_next_ = std::min(options_.max_step,
                     std::max({h_next_, piece, std::min(starter_->next_step() / start_order, 2.0 * piece)}));
  error_ = starter_->error();
  dense_ready_ = dense_of_starter_ = true;
  started_ = true;
  convergence_ = 20.0;
  return {};
}

/// Jacobians at the predicted point, and factors.
bool Bdf::refresh(const StepEnd& end) {
  const double leading = history_.leading();
  const bool far = factorised_for_ == 0.0 || leading / factorised_for_ > leading_range ||
                   leading / factorised_for_ < 1.0 / leading_range;
  if (jacobian_wanted_ || structure_->moving || (far && !structure_->constant_jacobian)) {
    system_->jacobian(end.t, x_predicted_, xp_predicted_, Fx_, Fxp_);
    ++statistics_.jacobians;
    jacobian_wanted_ = false;
    jacobian_current_ = true;
    factorised_for_ = 0.0;
    if (first_not_finite(Fx_) >= 0 || first_not_finite(Fxp_) >= 0) return false;
  }
  if (factorised_for_ != 0.0 && !far) return true;
  ++statistics_.factorisations;
  factorised_for_ = 0.0;
  if (!matrix_.factorise(leading, Fx_, Fxp_)) return false;
  factorised_for_ = leading;
  convergence_ = 20.0;
  return true;
}

Bdf::Attempt Bdf::newton(const StepEnd& end) {
  const std::size_t n = x_.size();
  const double leading = history_.leading();
  const double damping = 2.0 / (1.0 + leading / factorised_for_);  // for factors of another step size
  std::copy(x_predicted_.begin(), x_predicted_.end(), x_new_.begin());
  std::copy(xp_predicted_.begin(), xp_predicted_.end(), xp_new_.begin());
  std::fill(correction_.begin(), correction_.end(), 0.0);
  convergence_ = std::pow(std::max(convergence_, eps), 0.8);  // what was measured steps ago is trusted less and less
  double first = 0.0;
  for (int iteration = 1; iteration <= std::max(most_iterations, bdf_.fixed_iterations); ++iteration) {
    system_->residual(end.t, x_new_, xp_new_, work_);
    ++statistics_.evaluations;
    ++statistics_.iterations;
    bad_ = first_not_finite(work_);
    if (bad_ >= 0) return Attempt::not_finite;
    matrix_.solve(work_);
    for (std::size_t j = 0; j < n; ++j) {
      work_[j] *= -damping;
      correction_[j] += work_[j];
      x_new_[j] += work_[j];
      xp_new_[j] += leading * work_[j];
    }
    const double size = tolerances_.largest_ratio(work_, x_, nullptr);
    if (!std::isfinite(size)) return Attempt::not_finite;
    if (bdf_.fixed_iterations > 0) {
      if (iteration == bdf_.fixed_iterations) return Attempt::good;
      continue;
    }
    if (iteration == 1) {
      first = size;
      if (size <= 1e-4 * newton_tolerance_) return Attempt::good;
    } else {
      // corrections at the level of rounding: as good as it gets
      if (tolerances_.rtol() > 0.0 && size * tolerances_.rtol() < 100.0 * eps) return Attempt::good;
      const double rate = std::pow(size / first, 1.0 / (iteration - 1));
      if (!(rate < 0.9)) return Attempt::no_convergence;
      convergence_ = rate / (1.0 - rate);
    }
    if (convergence_ * size <= newton_tolerance_) return Attempt::good;
  }
  return Attempt::no_convergence;
}

/// Size of phi_order + … + phi_k + correction, the difference that an order below k would have left.
double Bdf::sum_size(int order) {
  const auto phi = history_.difference(order);
  for (std::size_t j = 0; j < work_.size(); ++j) work_[j] += phi[j];
  return size_of(work_);
}

/// Error estimates of the present order and the two below, and which of them to go on with at most.
void Bdf::estimate() {
  const double correction = size_of(correction_, &worst_);
  error_ = history_.error_constant() * correction;
  error_k_ = error_new_ = history_.sigma(order_) * correction;
  lower_order_ = order_;
  if (order_ == 1 || bdf_.fixed_order) return;
  std::copy(correction_.begin(), correction_.end(), work_.begin());
  error_below_ = history_.sigma(order_ - 1) * sum_size(order_);
  const double here = (order_ + 1) * error_k_, below = order_ * error_below_;
  bool lower = below <= 0.5 * here;
  if (order_ > 2) {
    const double two_below = (order_ - 1) * history_.sigma(order_ - 2) * sum_size(order_ - 1);
    lower = std::max(below, two_below) <= here;
  }
  if (!lower) return;
  lower_order_ = order_ - 1;
  error_new_ = error_below_;
}

Bdf::Attempt Bdf::attempt(const StepEnd& end) {
  history_.begin(end.h, order_);
  history_.predict(x_predicted_, xp_predicted_);
  bad_ = first_not_finite(x_predicted_);  // differences over very short steps
  if (bad_ >= 0) return Attempt::not_finite;
  if (!refresh(end)) return Attempt::singular;
  const Attempt solved = newton(end);
  if (solved != Attempt::good) return solved;
  estimate();
  return error_ <= 1.0 ? Attempt::good : Attempt::inaccurate;
}

/// h_new/h that the error estimate of an order allows.
double Bdf::growth(double error, int order) const {
  return std::pow(2.0 * error + 1e-4, -1.0 / (order + 1));
}

/// Order and size of the next step after one of this size; correction_ is still there.
void Bdf::choose_next(double size) {
  const int k = order_, most = bdf_.max_order;
  if (bdf_.fixed_order) {
    order_ = k < most && history_.regular_steps() > k ? k + 1 : k;
  } else if (lower_order_ < k) {
    order_ = lower_order_;
  } else if (k < most && history_.regular_steps() > k + 1) {
    // what one order more would leave: the difference of the last two corrections
    const auto before = history_.difference(k + 1);
    for (std::size_t j = 0; j < work_.size(); ++j) work_[j] = correction_[j] - before[j];
    const double above = size_of(work_), here = (k + 1) * error_k_;
    if (k == 1 ? above < 0.5 * here : above < here && k * error_below_ > std::min(here, above)) {
      order_ = k + 1;
      error_new_ = above / (k + 2);
    } else if (k > 1 && k * error_below_ <= std::min(here, above)) {
      order_ = k - 1;
      error_new_ = error_below_;
    }
  }
  const double factor = growth(error_new_, order_);
  h_next_ = size * (factor >= 2.0 ? 2.0 : factor <= 1.0 ? std::clamp(factor, 0.5, 0.9) : 1.0);
}

StepOutcome Bdf::advance(double limit) {
  if (system_ == nullptr) throw UsageError("BDF: call start before advance");
  check_limit(t_, limit, direction_);
  if (!started_) return first_step(limit);
  const double smallest = smallest_step(t_, limit);
  double h = std::min(h_next_, options_.max_step);
  int failures = 0;
  for (;;) {
    const StepEnd end = step_end(t_, h, limit);
    const double size = std::abs(end.h);
    jacobian_current_ = false;
    const Attempt result = attempt(end);
    if (result == Attempt::good) {
      choose_next(size);
      history_.accept(correction_);
      if (failures > 0) h_next_ = std::min(h_next_, size);
      if (end.cut && failures == 0) h_next_ = std::max(h_next_, std::min(h, 4.0 * size));
      h_next_ = std::min(h_next_, options_.max_step);
      x_old_.swap(x_);
      x_.swap(x_new_);
      xp_.swap(xp_new_);
      t_old_ = t_;
      t_ = end.t;
      dense_ready_ = dense_of_starter_ = false;
      ++statistics_.steps;
      return {};
    }
    history_.restore();
    if (result == Attempt::no_convergence && !jacobian_current_ && !structure_->constant_jacobian) {
      jacobian_wanted_ = true;  // the same step once more
      continue;
    }
    ++statistics_.rejected;
    ++failures;
    if (size <= smallest) {
      error_ = 0.0;
      if (result == Attempt::singular) return {StepResult::singular, -1};
      if (result == Attempt::not_finite) return {StepResult::not_finite, bad_};
      return {StepResult::step_too_small, result == Attempt::inaccurate ? worst_ : -1};
    }
    double factor = 0.25;
    if (result == Attempt::inaccurate) {
      if (failures == 1) factor = std::clamp(0.9 * growth(error_new_, lower_order_), 0.25, 0.9);
      if (!bdf_.fixed_order) order_ = lower_order_;
    } else {
      jacobian_wanted_ = true;
    }
    h = std::max(size * factor, smallest);
    if (failures == 3) {  // the past is no guide: begin anew
      starter_->start(*system_, {.t = t_, .x = x_, .xp = xp_, .direction = direction_, .step = start_order * h});
      h_next_ = h;
      return first_step(limit);
    }
  }
}

const DensePolynomial& Bdf::dense() {
  if (dense_of_starter_) return starter_->dense();
  if (dense_ready_) return dense_;
  dense_ready_ = true;
  history_.polynomial(dense_);
  dense_.t0 = t_old_;
  dense_.h = t_ - t_old_;
  std::copy(x_old_.begin(), x_old_.end(), dense_.c.begin());
  return dense_;
}

}  // namespace

std::unique_ptr<Stepper> make_bdf(StepOptions options, BdfOptions bdf) {
  return std::make_unique<Bdf>(std::move(options), bdf);
}

}  // namespace saltus
