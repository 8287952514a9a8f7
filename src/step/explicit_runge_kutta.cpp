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

#include "step/step_controller.hpp"
#include "step/step_limits.hpp"
#include "step/tolerances.hpp"

namespace saltus {
namespace {

constexpr int most_terms = 16;
constexpr std::int64_t many_steps = 2000;

/// The non-zero weights of a linear combination of stages.
struct Combination {
  int count = 0;
  std::array<double, most_terms> weight{};
  std::array<int, most_terms> stage{};

  template <class Weights>
  static Combination of(const Weights& weights, std::size_t first, std::size_t step, int stages) {
    Combination result;
    for (int i = 0; i < stages; ++i) {
      const double w = weights[first + step * static_cast<std::size_t>(i)];
      if (w == 0.0) continue;
      result.weight[static_cast<std::size_t>(result.count)] = w;
      result.stage[static_cast<std::size_t>(result.count++)] = i;
    }
    return result;
  }
};

/// One pass over the variables with all terms of the combination in registers: use(j, sum_i weight_i k_i[j]).
template <int N, class Use>
void combine_terms(const Combination& combination, double* const* k, int n, Use use) {
  std::array<const double*, N> row;
  std::array<double, N> weight;
  for (std::size_t i = 0; i < N; ++i) {
    row[i] = k[combination.stage[i]];
    weight[i] = combination.weight[i];
  }
  for (int j = 0; j < n; ++j) {
    double sum = weight[0] * row[0][j];
    for (std::size_t i = 1; i < N; ++i) sum += weight[i] * row[i][j];
    use(j, sum);
  }
}

template <class Use>
void combine(const Combination& combination, double* const* k, int n, Use use) {
  switch (combination.count) {
    case 1:
      return combine_terms<1>(combination, k, n, use);
    case 2:
      return combine_terms<2>(combination, k, n, use);
    case 3:
      return combine_terms<3>(combination, k, n, use);
    case 4:
      return combine_terms<4>(combination, k, n, use);
    case 5:
      return combine_terms<5>(combination, k, n, use);
    case 6:
      return combine_terms<6>(combination, k, n, use);
    case 7:
      return combine_terms<7>(combination, k, n, use);
    default:
      break;
  }
  for (int j = 0; j < n; ++j) {
    double sum = 0.0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(combination.count); ++i)
      sum += combination.weight[i] * k[combination.stage[i]][j];
    use(j, sum);
  }
}

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
  std::span<const double> xp() const override { return {k_[last_], static_cast<std::size_t>(n_)}; }
  bool xp_is_rhs() const override { return true; }
  const DensePolynomial& dense() override;
  double next_step() const override { return h_next_; }
  double error() const override { return error_; }
  bool stiff() const override { return stiff_; }

 private:
  enum class Attempt { good, inaccurate, not_finite };

  Attempt attempt(const StepEnd& end);
  Attempt attempt_at_once(const StepEnd& end);
  bool evaluate(double t, const double* x, int stage);
  void take_slope(std::span<const double> slope);
  double error_ratio(double h) const;
  double largest_ratio(const Combination& weights, double h) const;
  int worst_variable(double h) const;
  double first_step(double limit);
  void look_for_evaluator();
  /// Whether the dense output is evaluated with the stages.
  bool dense_at_once() const { return options_.control_dense && tableau_.extra_stages == 0; }
  void swap_ends();
  void watch_stiffness(double h);
  void allocate();

  const Tableau& tableau_;
  StepOptions options_;
  Tolerances tolerances_;
  std::vector<Combination> argument_;  // of each stage
  Combination error_weights_, second_error_weights_;
  std::vector<Combination> dense_weights_;  // of each power of theta
  bool error_needs_last_ = false;
  StepController controller_;

  System* system_ = nullptr;
  StageEvaluator* at_once_ = nullptr;  // evaluates all stages together, if the system has something for that
  int n_ = 0, last_ = 0, direction_ = 1;
  std::vector<double> storage_;
  std::vector<double*> k_;  // rows of storage_
  // Between steps x1_ and k_[last_] are the current point; x0_ and k_[0] are where the last step began.
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
  if (tableau.c.size() != width || tableau.a.size() != width * width || all > most_terms ||
      tableau.error.size() != static_cast<std::size_t>(tableau.stages) ||
      tableau.dense.size() != width * static_cast<std::size_t>(tableau.dense_degree))
    throw UsageError("make_explicit_runge_kutta: the arrays of tableau '" + tableau.name +
                     "' do not fit its number of stages");
  last_ = tableau.stages - 1;
  for (std::size_t i = 0; i < width; ++i)
    argument_.push_back(Combination::of(tableau.a, i * width, 1, static_cast<int>(i)));
  error_weights_ = Combination::of(tableau.error, 0, 1, tableau.stages);
  if (!tableau.second_error.empty())
    second_error_weights_ = Combination::of(tableau.second_error, 0, 1, tableau.stages);
  error_needs_last_ = tableau.error[static_cast<std::size_t>(last_)] != 0.0;
  const auto degree = static_cast<std::size_t>(tableau.dense_degree);
  for (std::size_t k = 0; k < degree; ++k) dense_weights_.push_back(Combination::of(tableau.dense, k, degree, all));
  controller_ = StepController(tableau.error_exponent, tableau.beta, tableau.shrink_limit, tableau.growth_limit);
}

void ExplicitRungeKutta::allocate() {
  const auto n = static_cast<std::size_t>(n_);
  const auto all = static_cast<std::size_t>(tableau_.all_stages());
  storage_.resize(all * n);
  k_.resize(all);
  for (std::size_t i = 0; i < all; ++i) k_[i] = storage_.data() + i * n;
  x0_.resize(n);
  x1_.resize(n);
  y_.resize(n);
  dense_.degree = tableau_.dense_degree;
  dense_.variables = n_;
  dense_.c.resize(static_cast<std::size_t>(tableau_.dense_degree + 1) * n);
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
  tolerances_.set(options_, structure.variables);
  system_ = &system;
  if (structure.variables != n_ || k_.empty()) {
    n_ = structure.variables;
    allocate();
  }
  look_for_evaluator();
  direction_ = point.direction;
  t_ = t0_ = point.t;
  h_done_ = 0.0;
  std::copy(point.x.begin(), point.x.end(), x1_.begin());
  not_finite_at_ = -1;
  if (const int bad = first_not_finite(x1_); bad >= 0)
    not_finite_at_ = bad;
  else if (point.xp_is_rhs)
    take_slope(point.xp);
  else
    evaluate(t_, x1_.data(), last_);
  const double wanted = point.step > 0.0 ? point.step : options_.initial_step;
  h_next_ = std::min(wanted, options_.max_step);
  error_ = 0.0;
  controller_.restart();
  stiff_ = false;
  stiff_hits_ = stiff_misses_ = steps_since_start_ = 0;
  dense_.t0 = t_;
  dense_.h = 0.0;
  std::fill(dense_.c.begin(), dense_.c.end(), 0.0);
  std::copy(x1_.begin(), x1_.end(), dense_.c.begin());
  dense_ready_ = true;
}

/// k_stage = f(t, x); false if that is not finite.
bool ExplicitRungeKutta::evaluate(double t, const double* x, int stage) {
  const auto n = static_cast<std::size_t>(n_);
  const std::span<double> k(k_[static_cast<std::size_t>(stage)], n);
  system_->rhs(t, {x, n}, k);
  ++statistics_.evaluations;
  not_finite_at_ = first_not_finite(k);
  return not_finite_at_ < 0;
}

/// The slope at the start is known.
void ExplicitRungeKutta::take_slope(std::span<const double> slope) {
  std::copy(slope.begin(), slope.end(), k_[static_cast<std::size_t>(last_)]);
  not_finite_at_ = first_not_finite(slope);
}

void ExplicitRungeKutta::swap_ends() {
  x0_.swap(x1_);
  std::swap(k_[0], k_[static_cast<std::size_t>(last_)]);
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

ExplicitRungeKutta::Attempt ExplicitRungeKutta::attempt_at_once(const StepEnd& end) {
  at_once_->evaluate(t_, end.h, end.t, x0_, k_, y_, x1_, std::span(dense_.c).subspan(static_cast<std::size_t>(n_)));
  statistics_.evaluations += last_;
  not_finite_at_ = first_not_finite(x1_);
  if (not_finite_at_ < 0) {  // the rows of the stages are one block
    not_finite_at_ = first_not_finite(std::span(storage_).first(static_cast<std::size_t>(tableau_.stages * n_)));
    if (not_finite_at_ >= 0) not_finite_at_ %= n_;
  }
  if (not_finite_at_ >= 0) return Attempt::not_finite;
  error_ = error_ratio(end.h);
  return error_ <= 1.0 ? Attempt::good : Attempt::inaccurate;
}

ExplicitRungeKutta::Attempt ExplicitRungeKutta::attempt(const StepEnd& end) {
  if (at_once_) return attempt_at_once(end);
  const double h = end.h;
  const double* const x0 = x0_.data();
  for (int i = 1; i <= last_; ++i) {
    double* const y = i == last_ ? x1_.data() : y_.data();
    combine(argument_[static_cast<std::size_t>(i)], k_.data(), n_, [=](int j, double sum) { y[j] = x0[j] + h * sum; });
    if (i == last_) {
      not_finite_at_ = first_not_finite(x1_);
      if (not_finite_at_ >= 0) return Attempt::not_finite;
      if (!error_needs_last_ && (error_ = error_ratio(h)) > 1.0) return Attempt::inaccurate;
    }
    const double c = tableau_.c[static_cast<std::size_t>(i)];
    if (!evaluate(c == 1.0 ? end.t : t_ + c * h, y, i)) return Attempt::not_finite;
  }
  if (error_needs_last_) error_ = error_ratio(h);
  return error_ <= 1.0 ? Attempt::good : Attempt::inaccurate;
}

double ExplicitRungeKutta::largest_ratio(const Combination& weights, double h) const {
  const double *const x0 = x0_.data(), *const x1 = x1_.data(), *const atol = tolerances_.atol();
  const double rtol = tolerances_.rtol();
  double largest = 0.0;
  combine(weights, k_.data(), n_, [&](int j, double sum) {
    const double magnitude = std::max(std::abs(x0[j]), std::abs(x1[j]));
    largest = std::max(largest, std::abs(h * sum) / (atol[j] + rtol * magnitude));
  });
  return largest;
}

double ExplicitRungeKutta::error_ratio(double h) const {
  const double first = largest_ratio(error_weights_, h);
  if (second_error_weights_.count == 0 || first == 0.0 || first > 1e100) return first;
  // Hairer, Norsett, Wanner I, (10.17): behaves like h^8 though the two estimates behave like h^6 and h^4
  const double second = largest_ratio(second_error_weights_, h);
  return first * first / std::sqrt(first * first + 0.01 * second * second);
}

int ExplicitRungeKutta::worst_variable(double h) const {
  int worst = -1;
  double largest = -1.0;
  combine(error_weights_, k_.data(), n_, [&](int j, double sum) {
    const double magnitude =
        std::max(std::abs(x0_[static_cast<std::size_t>(j)]), std::abs(x1_[static_cast<std::size_t>(j)]));
    const double ratio = std::abs(h * sum) / tolerances_.scale(j, magnitude);
    if (ratio > largest) largest = ratio, worst = j;
  });
  return worst;
}

/// Hairer, Norsett, Wanner I, section II.4, "starting step size", with the maximum norm. At the start of `advance`, so
/// x0_ and k_[0] are the current point. Where values or slopes vanish, the distance to the limit sets the scale.
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
  const double d0 = norm(x0_.data(), nullptr), d1 = norm(k_[0], nullptr);
  double h0 = d0 < 1e-5 || d1 < 1e-5 ? fallback : 0.01 * (d0 / d1);
  h0 = std::min(h0, distance);
  double d2 = 0.0;
  for (int tries = 0; tries < 20; ++tries, h0 *= 0.1) {  // an Euler step may leave the domain of f
    const double h = h0 * direction_;
    for (std::size_t j = 0; j < static_cast<std::size_t>(n_); ++j) y_[j] = x0_[j] + h * k_[0][j];
    if (!evaluate(t_ + h, y_.data(), 1)) continue;
    d2 = norm(k_[1], k_[0]) / h0;
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
  swap_ends();
  if (h_next_ == 0.0) h_next_ = first_step(limit);
  const double smallest = smallest_step(t_, limit);
  double h = std::min(h_next_, options_.max_step);
  bool rejected = false;
  for (;;) {
    const StepEnd end = step_end(t_, h, limit);
    const Attempt result = attempt(end);
    if (result == Attempt::good) {
      const double size = std::abs(end.h);
      const double factor = controller_.after_success(error_, rejected);
      h_next_ = std::min(options_.max_step, end.cut ? std::max(h, size * factor) : size * factor);
      t0_ = t_;
      t_ = end.t;
      h_done_ = end.h;
      dense_ready_ = false;
      ++statistics_.steps;
      ++steps_since_start_;
      watch_stiffness(end.h);
      return {};
    }
    ++statistics_.rejected;
    rejected = true;
    const double size = std::abs(end.h);
    if (h <= smallest || size <= smallest) {  // the end of the step is rounded: size may stay above
      const StepOutcome failure = result == Attempt::not_finite
                                      ? StepOutcome{StepResult::not_finite, not_finite_at_}
                                      : StepOutcome{StepResult::step_too_small, worst_variable(end.h)};
      not_finite_at_ = -1;
      error_ = 0.0;
      swap_ends();
      return failure;
    }
    const double factor =
        result == Attempt::not_finite ? StepController::after_not_finite : controller_.after_rejection(error_, size);
    h = std::max(size * factor, smallest);
  }
}

/// |h lambda| estimated from the two stages at the end of the step. Fifteen hits without six misses between them mean
/// stiffness.
void ExplicitRungeKutta::watch_stiffness(double h) {
  if (tableau_.stiffness_stage < 0 || stiff_) return;
  if (stiff_hits_ == 0 && steps_since_start_ % 16 != 0) return;
  const double *const f1 = k_[static_cast<std::size_t>(last_)],
                      *const f2 = k_[static_cast<std::size_t>(tableau_.stiffness_stage)];
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
  const double h = h_done_;
  bool finite = true;
  for (int i = tableau_.stages; i < tableau_.all_stages(); ++i) {
    combine(argument_[static_cast<std::size_t>(i)], k_.data(), n_, [this, h](int j, double sum) {
      y_[static_cast<std::size_t>(j)] = x0_[static_cast<std::size_t>(j)] + h * sum;
    });
    finite = evaluate(t0_ + tableau_.c[static_cast<std::size_t>(i)] * h, y_.data(), i) && finite;
  }
  dense_.t0 = t0_;
  dense_.h = h;
  double* c = dense_.c.data();
  std::copy(x0_.begin(), x0_.end(), c);
  dense_ready_ = true;
  if (at_once_ && dense_at_once()) return dense_;  // the rest is there already
  if (!finite) {  // an extra stage left the domain of f, the step itself did not: the cubic through both ends
    hermite_cubic(dense_, x0_, {k_[0], x0_.size()}, x1_, {k_[static_cast<std::size_t>(last_)], x0_.size()});
    return dense_;
  }
  for (const Combination& weights : dense_weights_) {
    c += n_;
    combine(weights, k_.data(), n_, [c, h](int j, double sum) { c[j] = h * sum; });
  }
  return dense_;
}

}  // namespace

std::unique_ptr<Stepper> make_explicit_runge_kutta(const Tableau& tableau, StepOptions options) {
  return std::make_unique<ExplicitRungeKutta>(tableau, std::move(options));
}

}  // namespace saltus
