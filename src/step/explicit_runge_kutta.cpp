// Embedded explicit Runge-Kutta pairs with local extrapolation, after E. Hairer, S. P. Norsett, G. Wanner, Solving
// Ordinary Differential Equations I, 2nd ed., section II.4: PI step-size control (H. W. Gustafsson), their choice of
// the first step and their test for stiffness (Solving Ordinary Differential Equations II, section IV.2).
//
// For a few variables, steps are as fast as their latencies. This file is compiled without vectorisation: two values that have just been
// written one by one cannot be read as one vector before they have reached the cache, which costs more than all arithmetic.
#include "step/explicit_runge_kutta_stepper.hpp"

#include <bit>
#include <cstdint>
#include <string>
#include <utility>

namespace saltus {
namespace {

constexpr std::int64_t many_steps = 2000;

/// One by one where there are few, since they may just have been written one by one.
void copy_values(const double* from, int n, double* to) {
  if (n > 32)
    std::copy_n(from, n, to);
  else
    for (int j = 0; j < n; ++j) to[j] = from[j];
}

std::uint64_t fingerprint(const RungeKuttaStages& method) {
  std::uint64_t hash = 0xcbf29ce484222325u + static_cast<std::uint64_t>(method.stages);
  for (const auto list : {method.a, method.c, method.dense})
    for (const double value : list) {
      hash = (hash ^ std::bit_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 29;
    }
  return std::max<std::uint64_t>(hash, 1);
}

}  // namespace

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
  argument_.reserve(width);
  for (std::size_t i = 0; i < width; ++i)
    argument_.push_back(StageWeights::of(tableau.a, i * width, 1, static_cast<int>(i)));
  error_weights_ = StageWeights::of(tableau.error, 0, 1, tableau.stages);
  if (!tableau.second_error.empty())
    second_error_weights_ = StageWeights::of(tableau.second_error, 0, 1, tableau.stages);
  error_needs_last_ = tableau.error[static_cast<std::size_t>(last_)] != 0.0;
  const auto degree = static_cast<std::size_t>(tableau.dense_degree);
  dense_weights_.reserve(degree);
  for (std::size_t k = 0; k < degree; ++k) dense_weights_.push_back(StageWeights::of(tableau.dense, k, degree, all));
  controller_ = StepController(tableau.error_exponent, tableau.beta, tableau.shrink_limit, tableau.growth_limit);
  together_ = {.stages = tableau.stages, .a = tableau.a, .c = tableau.c};
  if (dense_at_once()) {
    together_.dense_degree = tableau.dense_degree;
    together_.dense = tableau.dense;
  }
  together_.fingerprint = fingerprint(together_);
}

/// Nothing that follows from the number of variables is done again at a restart.
void ExplicitRungeKutta::set_size(int variables) {
  tolerances_.set(options_, variables);
  n_ = variables;
  const auto n = static_cast<std::size_t>(n_);
  k_.resize(static_cast<std::size_t>(tableau_.all_stages()) * n);
  for (auto* v : {&x0_, &x1_, &y_}) v->resize(n);
  if (tableau_.extra_stages > 0) z_.resize(n);
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
    case 5:
      return arithmetic_for_few<5>();
    case 6:
      return arithmetic_for_few<6>();
    default:
      return arithmetic_for_any();
  }
}

/// For the numbers of stages of the methods in tableau.hpp. With many stages, more variables would not be faster.
template <int Variables>
ExplicitRungeKutta::Arithmetic ExplicitRungeKutta::arithmetic_for_few() const {
  const std::pair stages(tableau_.stages, tableau_.all_stages());
  if (stages == std::pair(4, 4)) return arithmetic_with<SumsOfFew<Variables, 4, 4>>();
  if (stages == std::pair(7, 7)) return arithmetic_with<SumsOfFew<Variables, 7, 7>>();
  if constexpr (Variables <= 4)
    if (stages == std::pair(13, 16)) return arithmetic_with<SumsOfFew<Variables, 13, 16>>();
  return arithmetic_for_any();
}

[[gnu::hot]] void ExplicitRungeKutta::start(System& system, const StartPoint& point) {
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
  (this->*arithmetic_.take)(point);
  const double wanted = point.step > 0.0 ? point.step : options_.initial_step;
  h_next_ = std::min(wanted, options_.max_step);
  error_ = 0.0;
  controller_.restart();
  stiff_ = false;
  stiff_hits_ = stiff_misses_ = steps_since_start_ = 0;
  dense_ready_ = false;
}

/// Such an evaluator takes some time to make: runs of a few steps do without. The number of steps decides, so that the same run always gets
/// the same bits.
void ExplicitRungeKutta::look_for_evaluator() {
  at_once_ = nullptr;
  if (statistics_.steps >= many_steps) at_once_ = system_->stages(together_);
}

[[gnu::hot]] StepOutcome ExplicitRungeKutta::advance(double limit) {
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
    const Attempt result = (this->*arithmetic_.attempt)(end.t, end.h);
    const double size = std::abs(end.h);
    if (result == Attempt::good) {
      t0_ = t_;
      h_done_ = end.h;
      dense_ready_ = false;
      if (controls_dense()) error_ = std::max(error_, error_inside());
    }
    if (result == Attempt::good && error_ <= 1.0) {
      const double factor = controller_.after_success(error_, rejected);
      h_next_ = std::min(options_.max_step, end.cut ? std::max(h, size * factor) : size * factor);
      t_ = end.t;
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

[[gnu::hot]] const DensePolynomial& ExplicitRungeKutta::dense() {
  if (dense_ready_) return dense_;
  dense_ready_ = true;
  if (steps_since_start_ > 0)
    (this->*arithmetic_.find_dense)();
  else
    make_dense_constant();
  return dense_;
}

bool ExplicitRungeKutta::persist(System* system, StateArchive& archive) {
  int variables = n_;
  archive(variables, statistics_);
  if (variables < 0) return true;  // it has not been started
  if (!archive.writes() && variables != n_) {
    if (system && system->structure().variables != variables)
      throw UsageError("the saved state is damaged: its numbers do not fit the model");
    set_size(variables);
  }
  const std::vector<std::size_t> sizes{k_.size(), x0_.size(), x1_.size(), dense_.c.size()};
  archive(direction_, k_, x0_, x1_, t_, t0_, h_done_, h_next_, error_, not_finite_at_, controller_, stiff_hits_,
          stiff_misses_, steps_since_start_, stiff_, dense_ready_, dense_.t0, dense_.h, dense_.c);
  if (sizes != std::vector<std::size_t>{k_.size(), x0_.size(), x1_.size(), dense_.c.size()})
    throw UsageError("the saved state is damaged: its numbers do not fit the model");
  if (!archive.writes() && system) {
    system_ = system;
    look_for_evaluator();
  }
  return true;
}

std::unique_ptr<Stepper> make_explicit_runge_kutta(const Tableau& tableau, StepOptions options) {
  return std::make_unique<ExplicitRungeKutta>(tableau, std::move(options));
}

}  // namespace saltus
