// Embedded explicit Runge-Kutta pairs with local extrapolation, after E. Hairer, S. P. Norsett, G. Wanner, Solving
// Ordinary Differential Equations I, 2nd ed., section II.4: PI step-size control (H. W. Gustafsson), their choice of
// the first step and their test for stiffness (Solving Ordinary Differential Equations II, section IV.2).
#include <saltus/step/explicit_runge_kutta.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <utility>

#include "step/stage_sums.hpp"
#include "step/step_controller.hpp"
#include "step/step_limits.hpp"
#include "step/tolerances.hpp"

namespace saltus {
namespace {

constexpr std::int64_t many_steps = 2000;

/// The cubic through values and slopes at both ends, in a polynomial of degree 3 at least whose t0 and h are set.
void hermite_cubic(DensePolynomial& p, std::span<const double> x0, std::span<const double> xp0,
                   std::span<const double> x1, std::span<const double> xp1) {
  const std::size_t n = x0.size();
  std::fill(p.c.begin(), p.c.end(), 0.0);
  for (std::size_t j = 0; j < n; ++j) {
    const double rise = x1[j] - x0[j];
    p.c[j] = x0[j];
    p.c[n + j] = p.h * xp0[j];
    p.c[2 * n + j] = 3.0 * rise - p.h * (2.0 * xp0[j] + xp1[j]);
    p.c[3 * n + j] = -2.0 * rise + p.h * (xp0[j] + xp1[j]);
  }
}

class ExplicitRungeKutta final : public Stepper {
 public:
  ExplicitRungeKutta(const Tableau& tableau, StepOptions options);

  std::string_view name() const override { return tableau_.name; }
  int order() const override { return tableau_.order; }
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

 private:
  enum class Attempt { good, inaccurate, not_finite };

  /// What every step does with all variables; the kind of Sums follows from their number.
  struct Arithmetic {
    Attempt (ExplicitRungeKutta::*attempt)(const StepEnd& end) = nullptr;
    void (ExplicitRungeKutta::*find_dense)() = nullptr;
  };
  template <class Sums>
  static Arithmetic arithmetic_with() {
    return {&ExplicitRungeKutta::attempt<Sums>, &ExplicitRungeKutta::find_dense<Sums>};
  }
  template <int Variables>
  Arithmetic arithmetic_for_few() const;
  Arithmetic choose_arithmetic() const;

  template <class Sums>
  Attempt attempt(const StepEnd& end);
  template <class Sums>
  Attempt attempt_at_once(const Sums& sums, const StepEnd& end);
  template <class Sums>
  double error_ratio(const Sums& sums, double h) const;
  template <class Sums>
  double largest_ratio(const Sums& sums, const StageWeights& weights, double h) const;
  template <class Sums>
  void find_dense();
  bool evaluate(double t, const double* x, int stage, int n);
  bool evaluate_extra_stages(double h);
  bool note_not_finite(std::span<const double> values);
  int worst_variable(double h) const;
  double first_step(double limit);
  void look_for_evaluator();
  /// Whether the dense output is evaluated with the stages.
  bool dense_at_once() const { return options_.control_dense && tableau_.extra_stages == 0; }
  void watch_stiffness(double h);
  void set_size(int variables);
  SumsOfAny any_sums() const { return {n_, tableau_.stages, tableau_.all_stages()}; }
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

  System* system_ = nullptr;
  StageEvaluator* at_once_ = nullptr;  // evaluates all stages together, if the system has something for that
  Arithmetic arithmetic_;
  int n_ = -1, last_ = 0, direction_ = 1;
  // Between steps x1_ and the last stage are the current point; x0_ and the first stage are where the last step began.
  std::vector<double> k_;  // the stages, n values each
  std::vector<double> x0_, x1_, y_;
  double t_ = 0.0, t0_ = 0.0, h_done_ = 0.0;
  double h_next_ = 0.0;
  double error_ = 0.0;
  int not_finite_at_ = -1;
  DensePolynomial dense_;
  bool dense_ready_ = false;
  int stiff_hits_ = 0, stiff_misses_ = 0, steps_since_start_ = 0;
  bool stiff_ = false;
};

ExplicitRungeKutta::ExplicitRungeKutta(const Tableau& tableau, StepOptions options)
    : tableau_(tableau), options_(std::move(options)) {
  const int all = tableau.all_stages();
  const auto width = static_cast<std::size_t>(all);
  if (tableau.c.size() != width || tableau.a.size() != width * width || all > most_stages ||
      tableau.error.size() != static_cast<std::size_t>(tableau.stages) ||
      tableau.dense.size() != width * static_cast<std::size_t>(tableau.dense_degree))
    throw UsageError("make_explicit_runge_kutta: the arrays of tableau '" + tableau.name +
                     "' do not fit its number of stages");
  last_ = tableau.stages - 1;
  for (std::size_t i = 0; i < width; ++i)
    argument_.push_back(StageWeights::of(tableau.a, i * width, 1, static_cast<int>(i)));
  error_weights_ = StageWeights::of(tableau.error, 0, 1, tableau.stages);
  if (!tableau.second_error.empty())
    second_error_weights_ = StageWeights::of(tableau.second_error, 0, 1, tableau.stages);
  error_needs_last_ = tableau.error[static_cast<std::size_t>(last_)] != 0.0;
  const auto degree = static_cast<std::size_t>(tableau.dense_degree);
  for (std::size_t k = 0; k < degree; ++k) dense_weights_.push_back(StageWeights::of(tableau.dense, k, degree, all));
  controller_ = StepController(tableau.error_exponent, tableau.beta, tableau.shrink_limit, tableau.growth_limit);
}

/// Nothing that follows from the number of variables is done again at a restart.
void ExplicitRungeKutta::set_size(int variables) {
  tolerances_.set(options_, variables);
  n_ = variables;
  const auto n = static_cast<std::size_t>(n_);
  k_.resize(static_cast<std::size_t>(tableau_.all_stages()) * n);
  for (auto* v : {&x0_, &x1_, &y_}) v->resize(n);
  dense_.degree = tableau_.dense_degree;
  dense_.variables = n_;
  dense_.c.resize(static_cast<std::size_t>(tableau_.dense_degree + 1) * n);
  arithmetic_ = choose_arithmetic();
}

ExplicitRungeKutta::Arithmetic ExplicitRungeKutta::choose_arithmetic() const {
  switch (n_) {
    case 1:
      return arithmetic_for_few<1>();
    case 2:
      return arithmetic_for_few<2>();
    case 3:
      return arithmetic_for_few<3>();
    case 4:
      return arithmetic_for_few<4>();
    default:
      return arithmetic_with<SumsOfAny>();
  }
}

/// For the numbers of stages of the methods in tableau.hpp.
template <int Variables>
ExplicitRungeKutta::Arithmetic ExplicitRungeKutta::arithmetic_for_few() const {
  const std::pair stages(tableau_.stages, tableau_.all_stages());
  if (stages == std::pair(4, 4)) return arithmetic_with<SumsOfFew<Variables, 4, 4>>();
  if (stages == std::pair(7, 7)) return arithmetic_with<SumsOfFew<Variables, 7, 7>>();
  if (stages == std::pair(13, 16)) return arithmetic_with<SumsOfFew<Variables, 13, 16>>();
  return arithmetic_with<SumsOfAny>();
}

void ExplicitRungeKutta::start(System& system, const StartPoint& point) {
  const Structure& structure = system.structure();
  if (!structure.explicit_ode)
    throw UsageError(tableau_.name + ": the system is not an explicit ODE x' = f(t, x); choose an implicit method");
  if (point.x.size() != static_cast<std::size_t>(structure.variables))
    throw UsageError(tableau_.name + ": the start point has " + std::to_string(point.x.size()) + " values for " +
                     std::to_string(structure.variables) + " variables");
  if (point.direction != 1 && point.direction != -1)
    throw UsageError(tableau_.name + ": StartPoint::direction must be +1 or -1");
  if (structure.variables != n_) set_size(structure.variables);
  system_ = &system;
  look_for_evaluator();
  direction_ = point.direction;
  t_ = point.t;
  copy_values(point.x.data(), n_, x1_.data());
  if (note_not_finite(x1_)) {
    // advance says so
  } else if (point.xp_is_rhs) {
    copy_values(point.xp.data(), n_, row(last_));
    note_not_finite(point.xp);
  } else {
    evaluate(t_, x1_.data(), last_, n_);
  }
  const double wanted = point.step > 0.0 ? point.step : options_.initial_step;
  h_next_ = std::min(wanted, options_.max_step);
  error_ = 0.0;
  controller_.restart();
  stiff_ = false;
  stiff_hits_ = stiff_misses_ = steps_since_start_ = 0;
  dense_ready_ = false;
}

/// Whether one of the values is not finite, and which.
inline bool ExplicitRungeKutta::note_not_finite(std::span<const double> values) {
  if (all_finite(values)) {
    not_finite_at_ = -1;
    return false;
  }
  not_finite_at_ = first_not_finite(values);
  return true;
}

/// k_stage = f(t, x); false if that is not finite. n is n_, which is a constant in some places.
inline bool ExplicitRungeKutta::evaluate(double t, const double* x, int stage, int n) {
  const std::span<double> k(k_.data() + stage * n, static_cast<std::size_t>(n));
  system_->rhs(t, {x, k.size()}, k);
  ++statistics_.evaluations;
  return !note_not_finite(k);
}

/// Such an evaluator takes some time to make: runs of a few steps do without. The number of steps decides, so that the same run always gets
/// the same bits.
void ExplicitRungeKutta::look_for_evaluator() {
  at_once_ = nullptr;
  if (statistics_.steps >= many_steps)
    at_once_ = system_->stages({.stages = tableau_.stages,
                                .a = tableau_.a,
                                .c = tableau_.c,
                                .dense_degree = dense_at_once() ? tableau_.dense_degree : 0,
                                .dense = dense_at_once() ? std::span<const double>(tableau_.dense) : std::span<const double>()});
}

template <class Sums>
ExplicitRungeKutta::Attempt ExplicitRungeKutta::attempt_at_once(const Sums& sums, const StepEnd& end) {
  std::array<double*, most_stages> rows;
  const auto count = static_cast<std::size_t>(sums.stages());
  for (std::size_t i = 0; i < count; ++i) rows[i] = row(static_cast<int>(i));
  const auto n = static_cast<std::size_t>(sums.variables());
  at_once_->evaluate(t_, end.h, end.t, x0_, std::span(rows).first(count), y_, x1_, std::span(dense_.c).subspan(n));
  statistics_.evaluations += last_;
  if (note_not_finite({x1_.data(), n})) return Attempt::not_finite;
  if (note_not_finite({k_.data(), count * n})) {
    not_finite_at_ %= n_;
    return Attempt::not_finite;
  }
  error_ = error_ratio(sums, end.h);
  return error_ <= 1.0 ? Attempt::good : Attempt::inaccurate;
}

template <class Sums>
ExplicitRungeKutta::Attempt ExplicitRungeKutta::attempt(const StepEnd& end) {
  const Sums sums(n_, tableau_.stages, tableau_.all_stages());
  if (at_once_) return attempt_at_once(sums, end);
  const double h = end.h;
  const double* const x0 = x0_.data();
  Attempt failure = Attempt::not_finite;
  const bool evaluated = sums.every_stage([&](auto i) {
    const bool last = i == sums.stages() - 1;
    double* const y = last ? x1_.data() : y_.data();
    sums.fill(y, argument_[static_cast<std::size_t>(i)], i, k_.data(), [=](int j, double sum) { return x0[j] + h * sum; });
    if (last) {
      if (note_not_finite({y, static_cast<std::size_t>(sums.variables())})) return false;
      if (!error_needs_last_ && (error_ = error_ratio(sums, h)) > 1.0) {
        failure = Attempt::inaccurate;
        return false;
      }
    }
    const double c = tableau_.c[static_cast<std::size_t>(i)];
    return evaluate(c == 1.0 ? end.t : t_ + c * h, y, i, sums.variables());
  });
  if (!evaluated) return failure;
  if (error_needs_last_) error_ = error_ratio(sums, h);
  return error_ <= 1.0 ? Attempt::good : Attempt::inaccurate;
}

template <class Sums>
double ExplicitRungeKutta::largest_ratio(const Sums& sums, const StageWeights& weights, double h) const {
  const double *const x0 = x0_.data(), *const x1 = x1_.data(), *const atol = tolerances_.atol();
  const double rtol = tolerances_.rtol();
  return sums.largest(weights, sums.stages(), k_.data(), [=](int j, double sum) {
    const double magnitude = std::max(std::abs(x0[j]), std::abs(x1[j]));
    return std::abs(h * sum) / (atol[j] + rtol * magnitude);
  });
}

template <class Sums>
double ExplicitRungeKutta::error_ratio(const Sums& sums, double h) const {
  const double first = largest_ratio(sums, error_weights_, h);
  if (second_error_weights_.count == 0 || first == 0.0 || first > 1e100) return first;
  // Hairer, Norsett, Wanner I, (10.17): behaves like h^8 though the two estimates behave like h^6 and h^4
  const double second = largest_ratio(sums, second_error_weights_, h);
  return first * first / std::sqrt(first * first + 0.01 * second * second);
}

int ExplicitRungeKutta::worst_variable(double h) const {
  int worst = -1;
  double largest = -1.0;
  any_sums().largest(error_weights_, tableau_.stages, k_.data(), [&](int j, double sum) {
    const auto v = static_cast<std::size_t>(j);
    const double ratio = std::abs(h * sum) / tolerances_.scale(j, std::max(std::abs(x0_[v]), std::abs(x1_[v])));
    if (ratio > largest) largest = ratio, worst = j;
    return ratio;
  });
  return worst;
}

/// Hairer, Norsett, Wanner I, section II.4, "starting step size", with the maximum norm. At the start of `advance`, so
/// x0_ and the first stage are the current point. Where values or slopes vanish, the distance to the limit sets the scale.
double ExplicitRungeKutta::first_step(double limit) {
  const double distance = std::min(std::abs(limit - t_), options_.max_step);
  const double fallback = std::isfinite(distance) ? 1e-6 * distance : 1e-6 * std::max(1.0, std::abs(t_));
  const auto norm = [&](const double* v, const double* minus) {
    double largest = 0.0;
    for (int j = 0; j < n_; ++j) {
      const double value = minus ? v[j] - minus[j] : v[j];
      largest = std::max(largest, std::abs(value) / tolerances_.scale(j, std::abs(x0_[static_cast<std::size_t>(j)])));
    }
    return largest;
  };
  const double d0 = norm(x0_.data(), nullptr), d1 = norm(row(0), nullptr);
  double h0 = d0 < 1e-5 || d1 < 1e-5 ? fallback : 0.01 * (d0 / d1);
  h0 = std::min(h0, distance);
  double d2 = 0.0;
  for (int tries = 0; tries < 20; ++tries, h0 *= 0.1) {  // an Euler step may leave the domain of f
    const double h = h0 * direction_;
    for (std::size_t j = 0; j < static_cast<std::size_t>(n_); ++j) y_[j] = x0_[j] + h * k_[j];
    if (!evaluate(t_ + h, y_.data(), 1, n_)) continue;
    d2 = norm(row(1), row(0)) / h0;
    break;
  }
  const double steepest = std::max(d1, d2);
  const double h1 =
      steepest <= 1e-15 ? std::max(fallback, 1e-3 * h0) : std::pow(0.01 / steepest, 1.0 / tableau_.error_exponent);
  return std::min({100.0 * h0, h1, distance});
}

StepOutcome ExplicitRungeKutta::advance(double limit) {
  if (system_ == nullptr) throw UsageError(tableau_.name + ": call start before advance");
  check_limit(t_, limit, direction_);
  if (steps_since_start_ == 0 && not_finite_at_ >= 0) return {StepResult::not_finite, not_finite_at_};
  if (statistics_.steps == many_steps) look_for_evaluator();
  x0_.swap(x1_);
  copy_values(row(last_), n_, row(0));
  if (h_next_ == 0.0) h_next_ = first_step(limit);
  double h = std::min(h_next_, options_.max_step);
  bool rejected = false;
  for (;;) {
    const StepEnd end = step_end(t_, h, limit);
    const Attempt result = (this->*arithmetic_.attempt)(end);
    const double size = std::abs(end.h);
    if (result == Attempt::good) {
      const double factor = controller_.after_success(error_, rejected);
      h_next_ = std::min(options_.max_step, end.cut ? std::max(h, size * factor) : size * factor);
      t0_ = t_;
      t_ = end.t;
      h_done_ = end.h;
      dense_ready_ = false;
      ++statistics_.steps;
      ++steps_since_start_;
      if (stiff_hits_ > 0 || steps_since_start_ % 16 == 0) watch_stiffness(end.h);
      return {};
    }
    ++statistics_.rejected;
    rejected = true;
    const double smallest = smallest_step(t_, limit);
    if (h <= smallest || size <= smallest) {  // the end of the step is rounded: size may stay above
      const StepOutcome failure = result == Attempt::not_finite
                                      ? StepOutcome{StepResult::not_finite, not_finite_at_}
                                      : StepOutcome{StepResult::step_too_small, worst_variable(end.h)};
      not_finite_at_ = -1;
      error_ = 0.0;
      x0_.swap(x1_);
      copy_values(row(0), n_, row(last_));
      return failure;
    }
    const double factor =
        result == Attempt::not_finite ? StepController::after_not_finite : controller_.after_rejection(error_, size);
    h = std::max(size * factor, smallest);
  }
}

/// Asked after every 16th step, and after all others while there are hits: |h lambda| estimated from the two stages at the end of the step.
/// Fifteen hits without six misses between them mean stiffness.
void ExplicitRungeKutta::watch_stiffness(double h) {
  if (tableau_.stiffness_stage < 0 || stiff_) return;
  const double *const f1 = row(last_), *const f2 = row(tableau_.stiffness_stage);
  double numerator = 0.0, denominator = 0.0;
  for (std::size_t j = 0; j < static_cast<std::size_t>(n_); ++j) {
    numerator += (f1[j] - f2[j]) * (f1[j] - f2[j]);
    denominator += (x1_[j] - y_[j]) * (x1_[j] - y_[j]);
  }
  const double limit = tableau_.stiffness_limit;
  if (denominator > 0.0 && h * h * numerator > limit * limit * denominator) {
    stiff_misses_ = 0;
    if (++stiff_hits_ == 15) stiff_ = true;
  } else if (stiff_hits_ > 0 && ++stiff_misses_ == 6) {
    stiff_hits_ = stiff_misses_ = 0;
  }
}

const DensePolynomial& ExplicitRungeKutta::dense() {
  if (dense_ready_) return dense_;
  dense_ready_ = true;
  if (steps_since_start_ == 0) {  // a constant
    dense_.t0 = t_;
    dense_.h = 0.0;
    std::fill(dense_.c.begin(), dense_.c.end(), 0.0);
    std::copy(x1_.begin(), x1_.end(), dense_.c.begin());
    return dense_;
  }
  dense_.t0 = t0_;
  dense_.h = h_done_;
  copy_values(x0_.data(), n_, dense_.c.data());
  if (!at_once_ || !dense_at_once()) (this->*arithmetic_.find_dense)();
  return dense_;
}

/// All coefficients but the first.
template <class Sums>
void ExplicitRungeKutta::find_dense() {
  const Sums sums(n_, tableau_.stages, tableau_.all_stages());
  const double h = h_done_;
  if (tableau_.extra_stages > 0 && !evaluate_extra_stages(h)) {
    // one of them left the domain of f, the step itself did not: the cubic through both ends
    hermite_cubic(dense_, x0_, {row(0), x0_.size()}, x1_, {row(last_), x0_.size()});
    return;
  }
  double* c = dense_.c.data();
  for (const StageWeights& weights : dense_weights_) {
    c += sums.variables();
    sums.fill(c, weights, sums.all_stages(), k_.data(), [h](int, double sum) { return h * sum; });
  }
}

/// False if they are not finite.
bool ExplicitRungeKutta::evaluate_extra_stages(double h) {
  const double* const x0 = x0_.data();
  bool finite = true;
  for (int i = tableau_.stages; i < tableau_.all_stages(); ++i) {
    any_sums().fill(y_.data(), argument_[static_cast<std::size_t>(i)], i, k_.data(),
                    [=](int j, double sum) { return x0[j] + h * sum; });
    finite = evaluate(t0_ + tableau_.c[static_cast<std::size_t>(i)] * h, y_.data(), i, n_) && finite;
  }
  return finite;
}

}  // namespace

std::unique_ptr<Stepper> make_explicit_runge_kutta(const Tableau& tableau, StepOptions options) {
  return std::make_unique<ExplicitRungeKutta>(tableau, std::move(options));
}

}  // namespace saltus
