// Taylor series method. Step size after Jorba and Zou (see the header), over the last five orders; the defect P'(h) -
// f(t + h, P(h)) at the end of the step, times h, is the error that is tested.
//
// Differential-algebraic equations are expanded in stages (StagedSeries). P(h) is moved onto all constraints; the slope that they have
// there takes the place of f, and the move itself must be below the tolerance, too. Variables that never occur
// differentiated do not count, as their errors do not enter later steps; inside the step they do where dense output matters.
#include <saltus/dae/staged_series.hpp>
#include <saltus/step/taylor.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <cstdint>
#include <map>

#include "step/first_step.hpp"
#include "step/step_limits.hpp"
#include "step/tolerances.hpp"
#include "step/watched_variables.hpp"

namespace saltus {
namespace {

constexpr int fewest = 2, most = 60;
// A step of a differential-algebraic equation has costs that do not depend on the order (two or three inversions of the system Jacobian, the
// constraints): with cost a + b p^2 the best order lies above that of Jorba and Zou, who have a = 0. Measured: a/b = 400 to 700,
// which means 16 instead of 6 at 1e-4, 25 instead of 13 at 1e-10; but long steps fail more often.
constexpr int more_for_dae = 6;
// Implicit methods control an error that is larger than that of their result. A tenth of the tolerance, for the same accuracy at the same
// tolerance, costs a sixth more steps.
constexpr double tolerance_of_daes = 0.1;
// Where a series converges as fast as the solution changes, a step changes some variable by a tenth of itself. So many steps in
// succession with less than this part mean that something else limits them: a fast component that has died out.
constexpr int slow_steps_of_stiffness = 50;
constexpr double slow_change = 1e-2;
// A step that is smaller than the one before by this factor is suspected to begin near a branch point.
constexpr double sudden = 1e-2;

class Taylor final : public Stepper {
 public:
  Taylor(StepOptions options, TaylorOptions taylor) : options_(std::move(options)), wanted_order_(taylor.order) {
    if (wanted_order_ != 0 && (wanted_order_ < fewest || wanted_order_ > most))
      throw UsageError("make_taylor: the order must be 2 to 60, or 0 for a choice by the tolerance, not " +
                       std::to_string(wanted_order_));
    choose_order(0);
  }

  std::string_view name() const override { return "Taylor"; }
  int order() const override { return order_; }
  int series_order() const { return staged_ ? 0 : order_; }
  void start(System& system, const StartPoint& point) override;
  StepOutcome advance(double limit) override;
  double t() const override { return t_; }
  std::span<const double> x() const override { return x_; }
  std::span<const double> xp() const override { return xp_; }
  const DensePolynomial& dense() override;
  double next_step() const override { return h_next_; }
  double error() const override { return error_; }
  bool stiff() const override { return slow_steps_ >= slow_steps_of_stiffness; }
  bool takes_hidden_constraints() const override { return true; }
  bool keeps_constraints() const override { return true; }
  bool persist(System* system, StateArchive& archive) override;
  std::string linear_algebra() const override { return staged_ ? staged_->linear_algebra() : ""; }

 private:
  void choose_order(int more);
  void find_allowed();
  void prepare(System& system);
  enum class Attempt { good, inaccurate, not_finite, singular, not_converged };
  void start_dae(const Structure& structure, const StartPoint& point);
  Attempt attempt(const StepEnd& end);
  Attempt attempt_dae(const StepEnd& end);
  Attempt project(double t, double time);
  bool expand();
  void accept(const StepEnd& end);
  void note_error(std::size_t j, double error);
  double series_step(int first, int last, int p) const;
  double choose_step(double smallest);
  bool find_finite();
  StepOutcome failure(Attempt result) const;

  StepOptions options_;
  int wanted_order_, order_ = 0;
  int degree_ = 0;      // of the polynomial in use: the order, or less
  int finite_ = 0;      // the coefficients up to this order are finite
  double usual_ = 0.0;  // the size of the steps before
  std::vector<double> allowed_;  // by order, for the relative tolerance allowed_at_
  double allowed_at_ = 0.0;
  Tolerances tolerances_;
  WatchedVariables watched_;
  System* system_ = nullptr;
  int direction_ = 1;
  std::vector<double> x_, xp_, X_, x_new_, xp_new_;
  std::vector<char> tested_;  // variables of the error test

  // --- for differential-algebraic equations
  struct Analysed {
    SparsePattern state, derivative;  // of the structure that was analysed: another one may come to lie at its address
    std::unique_ptr<StagedSeries> series;
  };
  std::map<std::uint64_t, Analysed> analysed_;  // by Structure::id
  StagedSeries* staged_ = nullptr;    // null: explicit
  std::vector<double> X_new_, size_;  // coefficients at the end of the step, after it those at its beginning
  int bad_equation_ = -1;
  int slow_steps_ = 0;  // in succession
  /// The polynomial has a term of order p + 1 that makes it meet the end of the step; of the error e there it leaves that of
  /// order p + 2, e r (s^(p+1) - s^(p+2)), where r = tol^(1/p) = exp(-2) is the ratio of terms; its maximum is e r exp(-1)/(p + 2).
  double dense_part_;
  double watched_part_;  // the same where guards read the variable: r = 1, since its series may hardly converge
  double t_ = 0.0, t_old_ = 0.0, h_done_ = 0.0, h_next_ = 0.0, error_ = 0.0;
  bool first_ = true;
  Attempt start_ = Attempt::good;
  int bad_ = -1, worst_ = -1;
  DensePolynomial dense_;
  bool dense_ready_ = false;
};

/// By the tolerance, and so much more.
void Taylor::choose_order(int more) {
  order_ = wanted_order_;
  if (order_ == 0) {
    const double tolerance =
        options_.rtol > 0.0 ? options_.tightest_rtol() : *std::min_element(options_.atol.begin(), options_.atol.end());
    const int best = static_cast<int>(std::ceil(1.0 - 0.5 * std::log(std::max(tolerance, 1e-17))));
    order_ = std::clamp(best, 6, 30 - more) + more;
  }
  dense_part_ = std::exp(-3.0) / (order_ + 2);
  watched_part_ = std::exp(-1.0) / (order_ + 2);
}

/// What the last terms may be over scale/tol, see series_step.
void Taylor::find_allowed() {
  const double rtol = tolerances_.rtol();
  if (allowed_.size() == static_cast<std::size_t>(order_ + 1) && allowed_at_ == rtol) return;
  allowed_at_ = rtol;
  allowed_.assign(static_cast<std::size_t>(order_ + 1), 0.0);
  for (int i = 1; i <= order_ && rtol > 0.0; ++i)
    allowed_[static_cast<std::size_t>(i)] = std::pow(3.0 * rtol, static_cast<double>(i) / order_) / rtol;
}

/// All that depends on the system alone.
void Taylor::prepare(System& system) {
  const Structure& structure = system.structure();
  tolerances_.set(options_, structure.variables);
  if (!structure.explicit_ode) tolerances_.rescale(tolerance_of_daes, 1.0);
  watched_.set(system, options_);
  system_ = &system;
  const auto n = static_cast<std::size_t>(structure.variables);
  for (auto* v : {&x_, &xp_, &x_new_, &xp_new_, &size_}) v->resize(n);
  tested_.resize(n);
  for (std::size_t j = 0; j < n; ++j) tested_[j] = structure.differentiated(static_cast<int>(j));
  staged_ = nullptr;
  choose_order(structure.explicit_ode ? 0 : more_for_dae);
  find_allowed();
  dense_.degree = structure.explicit_ode ? order_ : order_ + 1;
  dense_.variables = structure.variables;
  dense_.c.assign(n * static_cast<std::size_t>(dense_.degree + 1), 0.0);
  if (structure.explicit_ode) X_.resize(n * static_cast<std::size_t>(order_ + 1));
}

void Taylor::start(System& system, const StartPoint& point) {
  const Structure& structure = system.structure();
  if (!structure.taylor)
    throw UsageError("Taylor: the system has no Taylor coefficients; choose another method for this mode");
  check_start(name(), structure, point);
  prepare(system);
  direction_ = point.direction;
  t_ = t_old_ = point.t;
  h_done_ = 0.0;
  bad_equation_ = worst_ = -1;
  slow_steps_ = 0;
  std::copy(point.x.begin(), point.x.end(), x_.begin());
  start_ = Attempt::good;
  bad_ = first_not_finite(x_);
  if (bad_ >= 0) start_ = Attempt::not_finite;
  if (structure.explicit_ode) {
    if (bad_ < 0) {
      system.rhs(t_, x_, xp_);
      ++statistics_.evaluations;
      bad_ = first_not_finite(xp_);
      if (bad_ >= 0) start_ = Attempt::not_finite;
    }
  } else {
    start_dae(structure, point);
  }
  dense_.t0 = t_;
  dense_.h = 0.0;
  std::copy(x_.begin(), x_.end(), dense_.c.begin());
  dense_ready_ = true;
  h_next_ = std::min(point.step > 0.0 ? point.step : options_.initial_step, options_.max_step);
  usual_ = h_next_;
  degree_ = order_;
  first_ = true;
  error_ = 0.0;
}

void Taylor::start_dae(const Structure& structure, const StartPoint& point) {
  Analysed& known = analysed_[structure.id.number()];
  if (!known.series || known.series->order() != order_ || known.state != structure.state_pattern || known.derivative != structure.derivative_pattern) {
    StructuralAnalysis analysis = analyse_structure(structure);
    if (analysis.singular())
      throw UsageError("Taylor: the equations do not determine the variables by their structure (" +
                       describe_singularity(analysis, *system_) + "); choose another method for this mode");
    known = {structure.state_pattern, structure.derivative_pattern,
             std::make_unique<StagedSeries>(structure, std::move(analysis), order_)};
  }
  staged_ = known.series.get();
  const std::size_t n = x_.size(), room = n * static_cast<std::size_t>(staged_->coefficients());
  X_.resize(room);
  X_new_.resize(room);
  std::fill(X_new_.begin(), X_new_.end(), 0.0);
  std::copy(x_.begin(), x_.end(), X_new_.begin());
  for (std::size_t j = 0; j < n; ++j)
    if (tested_[j]) X_new_[n + j] = point.xp[j];
  std::copy(point.xp.begin(), point.xp.end(), xp_.begin());
  if (start_ != Attempt::good) return;
  ++statistics_.evaluations;
  start_ = project(t_, point.step > 0.0 ? point.step : 1.0);
  if (start_ != Attempt::good) return;
  X_.swap(X_new_);
  if (!expand()) start_ = Attempt::not_finite;
}

/// Moves X_new_ onto the constraints.
Taylor::Attempt Taylor::project(double t, double time) {
  const std::size_t n = x_.size();
  for (std::size_t j = 0; j < n; ++j)
    size_[j] = std::abs(X_new_[j]) + tolerances_.atol()[j] / (tolerances_.rtol(j) > 0.0 ? tolerances_.rtol(j) : 1e-6);
  const int iterations = staged_->iterations(), factorisations = staged_->factorisations();
  const StagedSeries::Result result =
      staged_->project(*system_, t, X_new_, size_, time, 1e-3 * tolerances_.typical());
  statistics_.iterations += staged_->iterations() - iterations;
  statistics_.factorisations += staged_->factorisations() - factorisations;
  statistics_.jacobians += staged_->factorisations() - factorisations;
  bad_equation_ = staged_->bad_equation();
  bad_ = staged_->bad_variable();
  switch (result) {
    case StagedSeries::Result::good: return Attempt::good;
    case StagedSeries::Result::not_finite: return Attempt::not_finite;
    case StagedSeries::Result::singular: return Attempt::singular;
    default: return Attempt::not_converged;
  }
}

/// All coefficients at the point where X_ has those that the constraints determine, and x and x' there.
bool Taylor::expand() {
  const std::size_t n = x_.size();
  staged_->extend(*system_, X_);
  const bool good = find_finite();
  std::copy_n(X_.begin(), n, x_.begin());
  for (std::size_t j = 0; j < n; ++j)
    if (std::isfinite(X_[n + j])) xp_[j] = X_[n + j];
  return good;
}

/// The step at which the terms of these orders, and those that they let expect, are below the tolerance. For the last five orders of
/// the series: the smallest radius of convergence R = (|x| / |x_[i]|)^(1/i) that they suggest, times (3 tol)^(1/p): there
/// the last term is three times the tolerance, and what is left out less than that by about tol^(1/p) = 1/e^2. |x| is the
/// size that the tolerance refers to, scale/tol, with tol = rtol, or atol where rtol is zero. A series that is cut off before
/// (p = 0) has no such reserve: its terms themselves must be below the tolerance.
double Taylor::series_step(int first, int last, int p) const {
  const std::size_t n = x_.size();
  const double rtol = tolerances_.rtol();
  double h = std::numeric_limits<double>::infinity();
  for (int i = first; i <= last; ++i) {
    const double power = p > 0 ? static_cast<double>(i) / p : 1.0, reserve = p > 0 ? 3.0 : 1.0;
    const auto over_tolerance = [&](double tolerance) { return std::pow(reserve * tolerance, power) / tolerance; };
    const double common = p > 0 ? allowed_[static_cast<std::size_t>(i)] : 1.0;
    double largest = 0.0;
    for (std::size_t j = 0; j < n; ++j) {
      if (!tested_[j]) continue;
      const double c = std::abs(X_[static_cast<std::size_t>(i) * n + j]);
      const double factor = tolerances_.rtol_each() ? over_tolerance(tolerances_.rtol(j)) : common;
      const double allowed = rtol > 0.0 ? factor * tolerances_.scale(static_cast<int>(j), std::abs(x_[j]))
                                        : std::pow(reserve * tolerances_.atol()[j], power);
      largest = std::max(largest, c / allowed);
    }
    if (largest > 0.0) h = std::min(h, std::pow(largest, -1.0 / i));
  }
  return h;
}

/// Whether enough coefficients are finite to go on: very close to a branch point the last ones overflow.
bool Taylor::find_finite() {
  finite_ = order_;
  const auto n = static_cast<int>(x_.size());
  const int bad = first_not_finite(std::span(X_).first(static_cast<std::size_t>(n * (order_ + 1))));
  if (bad < 0) return true;
  bad_ = bad % n;
  finite_ = bad / n - 1;
  return finite_ >= 5;
}

/// Chooses the degree of the polynomial, and its step. Close to a branch point (the force of a contact that begins, depth^(1/4)) the series
/// converges nowhere beyond it, while its first terms alone are accurate over much longer steps. Four terms in succession are
/// asked, since single ones may vanish.
double Taylor::choose_step(double smallest) {
  degree_ = order_;
  double h = 0.0;
  if (finite_ == order_) {
    h = series_step(std::max(1, order_ - 4), order_, order_);
    if (h > sudden * usual_ && h > 100.0 * smallest) return h;
  }
  for (int k = 1; k + 4 <= finite_; ++k)
    if (const double other = series_step(k + 1, k + 4, 0); other > 2.0 * h) h = other, degree_ = k;
  return h;
}

void Taylor::note_error(std::size_t j, double error) {
  const double size = std::max(std::abs(x_[j]), std::abs(x_new_[j]));
  const double ratio = std::abs(error) / tolerances_.scale(static_cast<int>(j), size);
  if (ratio > error_) error_ = ratio, worst_ = static_cast<int>(j);
}

Taylor::Attempt Taylor::attempt(const StepEnd& end) {
  if (staged_) return attempt_dae(end);
  const std::size_t n = x_.size();
  const double h = end.h;
  std::fill(x_new_.begin(), x_new_.end(), 0.0);
  for (int k = degree_; k >= 0; --k) {
    const double* c = X_.data() + static_cast<std::size_t>(k) * n;
    for (std::size_t j = 0; j < n; ++j) x_new_[j] = x_new_[j] * h + c[j];
  }
  bad_ = first_not_finite(x_new_);
  if (bad_ >= 0) return Attempt::not_finite;
  system_->rhs(end.t, x_new_, xp_new_);
  ++statistics_.evaluations;
  bad_ = first_not_finite(xp_new_);
  if (bad_ >= 0) return Attempt::not_finite;
  error_ = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    double slope = 0.0;
    for (int k = degree_; k >= 1; --k) slope = slope * h + k * X_[static_cast<std::size_t>(k) * n + j];
    note_error(j, h * (slope - xp_new_[j]) / (degree_ + 1));
  }
  return error_ <= 1.0 ? Attempt::good : Attempt::inaccurate;
}

/// x_new_ and xp_new_ are what the series predicts, X_new_ what the constraints make of it.
Taylor::Attempt Taylor::attempt_dae(const StepEnd& end) {
  const std::size_t n = x_.size();
  const double h = end.h;
  // the coefficients of the polynomial about the end of the step, by Horner's method
  const int top = std::max(1, staged_->deepest());
  std::fill(X_new_.begin(), X_new_.end(), 0.0);
  for (int k = degree_; k >= 0; --k) {
    for (int q = std::min(top, degree_ - k); q > 0; --q) {
      double* y = X_new_.data() + static_cast<std::size_t>(q) * n;
      const double* below = y - n;
      for (std::size_t j = 0; j < n; ++j) y[j] = y[j] * h + below[j];
    }
    const double* c = X_.data() + static_cast<std::size_t>(k) * n;
    for (std::size_t j = 0; j < n; ++j) X_new_[j] = X_new_[j] * h + c[j];
  }
  std::copy_n(X_new_.begin(), n, x_new_.begin());
  std::copy_n(X_new_.begin() + static_cast<std::ptrdiff_t>(n), n, xp_new_.begin());
  bad_ = first_not_finite(x_new_);
  if (bad_ >= 0) return Attempt::not_finite;
  ++statistics_.evaluations;
  if (const Attempt result = project(end.t, std::abs(h)); result != Attempt::good) return result;
  error_ = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    const double moved = x_new_[j] - X_new_[j];
    if (tested_[j]) {
      note_error(j, h * (xp_new_[j] - X_new_[n + j]) / (degree_ + 1));
      note_error(j, moved);
    } else if (options_.control_dense) {
      note_error(j, moved * (watched_.contains(static_cast<int>(j)) ? watched_part_ : dense_part_));
    }
  }
  return error_ <= 1.0 ? Attempt::good : Attempt::inaccurate;
}

void Taylor::accept(const StepEnd& end) {
  usual_ = std::max(std::abs(end.h), usual_);
  t_old_ = t_;
  t_ = end.t;
  h_done_ = end.h;
  first_ = false;
  dense_ready_ = false;
  ++statistics_.steps;
  if (!staged_) {
    x_.swap(x_new_);
    xp_.swap(xp_new_);
    return;
  }
  X_.swap(X_new_);
  start_ = expand() ? Attempt::good : Attempt::not_finite;
  if (end.cut || std::abs(end.h) >= options_.max_step) return;
  double change = 0.0;
  for (std::size_t j = 0; j < x_.size(); ++j)
    if (tested_[j]) change = std::max(change, std::abs(end.h * xp_[j]) / size_[j]);
  slow_steps_ = change < slow_change ? slow_steps_ + 1 : 0;
}

StepOutcome Taylor::failure(Attempt result) const {
  switch (result) {
    case Attempt::not_finite: return {StepResult::not_finite, bad_, bad_equation_};
    case Attempt::singular: return {StepResult::singular, bad_, bad_equation_};
    case Attempt::not_converged: return {StepResult::singular, bad_, bad_equation_};
    default: return {StepResult::step_too_small, worst_};
  }
}

StepOutcome Taylor::advance(double limit) {
  if (system_ == nullptr) throw UsageError("Taylor: call start before advance");
  check_limit(t_, limit, direction_);
  if (start_ != Attempt::good) return failure(start_);
  if (!staged_) {
    std::copy(x_.begin(), x_.end(), X_.begin());
    system_->solution_taylor(t_, order_, X_);
    ++statistics_.evaluations;
    if (!find_finite()) return {StepResult::not_finite, bad_};
  }
  const double smallest = smallest_step(t_, limit);
  double wanted = std::min(choose_step(smallest), options_.max_step);  // the limit and the start may want a shorter one
  const double distance = std::abs(limit - t_);
  if (!std::isfinite(wanted)) wanted = std::isfinite(distance) ? distance : std::max(1.0, std::abs(t_));  // the series has ended
  double h = first_ && h_next_ > 0.0 ? std::min(wanted, h_next_) : wanted;
  for (;;) {
    const StepEnd end = step_end(t_, h, limit);
    const Attempt result = attempt(end);
    const double size = std::abs(end.h);
    if (result == Attempt::good) {
      h_next_ = wanted;
      accept(end);
      return {};
    }
    ++statistics_.rejected;
    if (h <= smallest || size <= smallest) {  // the end of the step is rounded: size may stay above
      error_ = 0.0;
      return failure(result);
    }
    const double factor =
        result == Attempt::inaccurate ? std::clamp(0.9 * std::pow(error_, -1.0 / degree_), 0.25, 0.9) : 0.25;
    wanted = h = std::max(size * factor, smallest);
  }
}

/// Explicit systems only. A stepper that is not in use begins anew when it is started.
bool Taylor::persist(System* system, StateArchive& archive) {
  if (system && !system->structure().explicit_ode) return false;
  if (system && archive.writes() && (staged_ || x_.size() != static_cast<std::size_t>(system->structure().variables)))
    return false;
  archive(statistics_);
  if (!system) return true;
  if (!archive.writes()) prepare(*system);
  const std::vector<std::size_t> sizes{x_.size(), xp_.size(), X_.size(), dense_.c.size()};
  archive(direction_, t_, t_old_, h_done_, h_next_, usual_, error_, first_, degree_, finite_, start_, bad_, x_, xp_, X_,
          dense_ready_, dense_.t0, dense_.h, dense_.c);
  if (sizes != std::vector<std::size_t>{x_.size(), xp_.size(), X_.size(), dense_.c.size()} || degree_ < 1 ||
      degree_ > order_)
    throw UsageError("the saved state is damaged: its numbers do not fit the model");
  return true;
}

const DensePolynomial& Taylor::dense() {
  if (dense_ready_) return dense_;
  dense_ready_ = true;
  dense_.t0 = t_old_;
  dense_.h = h_done_;
  const std::size_t n = x_.size();
  const std::vector<double>& X = staged_ ? X_new_ : X_;  // at the beginning of the step
  const auto degree = static_cast<std::size_t>(degree_);
  double power = 1.0;
  for (std::size_t k = 0; k <= static_cast<std::size_t>(order_); ++k, power *= h_done_)
    for (std::size_t j = 0; j < n; ++j) dense_.c[k * n + j] = k <= degree ? power * X[k * n + j] : 0.0;
  if (staged_)  // the first term that is missing makes up for what the constraints have moved
    for (std::size_t j = 0; j < n; ++j) dense_.c[(degree + 1) * n + j] = x_[j] - x_new_[j];
  return dense_;
}

}  // namespace

std::unique_ptr<Stepper> make_taylor(StepOptions options, TaylorOptions taylor) {
  return std::make_unique<Taylor>(std::move(options), taylor);
}

int order_of_series(const Stepper& stepper) {
  const auto* const taylor = dynamic_cast<const Taylor*>(&stepper);
  return taylor ? taylor->series_order() : 0;
}

}  // namespace saltus
