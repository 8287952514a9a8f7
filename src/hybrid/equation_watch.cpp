#include "hybrid/equation_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "dae/written_relations.hpp"

namespace saltus {

namespace {

// Rounding errors of values that solve an equation as well as they can, relative to its terms.
constexpr double rounding = 1e-12;
// Errors of a result in tolerances: each step may add one, and what one variable does not show another one may.
constexpr double some_tolerances = 20.0;
// A guard that vanishes identically is ignored up to a thousand of them; relations that are wrong are wrong by much
// more.
constexpr double many_tolerances = 2000.0;
constexpr int trials = 8;
// Steps between two looks. At an explicit mode a look costs about half a step, at others as much as two to four steps.
constexpr std::int64_t interval_of_explicit_modes = 64, interval_of_others = 512;
// At first the looks are so many times as many steps apart as have been made.
constexpr std::int64_t growth = 3;

bool is_suspicious(const WrittenResidual& r) {
  return std::abs(r.value) > rounding * r.terms;
}

}  // namespace

EquationWatch::EquationWatch(const SimulateOptions& options, std::span<const VariableInfo> variables)
    : rtol_(options.rtol), atol_(options.atol) {
  // those of single variables are not known by observed variables
  for (const double rtol : options.rtol_each) rtol_ = std::max(rtol_, rtol);
  for (std::size_t j = 0; j < std::min(options.atol_each.size(), variables.size()); ++j)
    if (options.atol_each[j] > options.atol * std::abs(variables[j].nominal))
      largest_atol_ = std::max(largest_atol_, options.atol_each[j]);
}

bool EquationWatch::step_is_due(bool explicit_mode) {
  if (++steps_ < next_) return false;
  next_ = steps_ + std::min(growth * steps_, explicit_mode ? interval_of_explicit_modes : interval_of_others);
  return true;
}

bool EquationWatch::event_is_due() {
  if (++events_ < next_event_) return false;
  next_event_ = events_ + std::min(growth * events_, interval_of_explicit_modes);
  return true;
}

double EquationWatch::place() {
  constexpr double golden = 0.6180339887498949;  // multiples of it come near to every place
  place_ += golden;
  place_ -= std::floor(place_);
  return place_;
}

template <class Evaluate>
void EquationWatch::find_allowed(const Evaluate& evaluate, double tolerances, double time_error, HybridSystem& hybrid,
                                 std::span<const double> values, std::span<const double> x, std::span<const double> xp,
                                 double step) {
  const auto& observed = hybrid.observed();
  std::mt19937 random(1);
  // between 1/2 and 1, of either sign: equal errors of the two sides would hide each other
  const auto part = [&] {
    const double size = 0.5 + 0.5 * static_cast<double>(random() >> 8) / static_cast<double>(1u << 24);
    return (random() & 1u) != 0u ? size : -size;
  };
  const auto error = [&](double value, double nominal) {
    return tolerances *
           (std::max(atol_ * std::abs(nominal), largest_atol_) + rtol_ * std::max(std::abs(value), std::abs(nominal)));
  };
  allowed_.assign(residuals_.size(), 0.0);
  others_.resize(residuals_.size());
  for (int trial = 0; trial < trials; ++trial) {
    values_.assign(values.begin(), values.end());
    slopes_.assign(xp.begin(), xp.end());
    for (std::size_t j = 0; j < values_.size(); ++j) values_[j] += part() * error(values[j], observed[j].nominal);
    for (std::size_t j = 0; j < slopes_.size(); ++j)
      slopes_[j] += part() * (error(x[j], 1.0) / step + tolerances * rtol_ * std::abs(xp[j]));
    evaluate(time_error > 0.0 ? time_error * part() : 0.0, values_, slopes_, others_);
    for (std::size_t i = 0; i < allowed_.size(); ++i) {
      const double change = std::abs(others_[i].value - residuals_[i].value);
      // at the edge of its domain an equation explains everything
      allowed_[i] = std::isfinite(change) ? std::max(allowed_[i], change) : std::numeric_limits<double>::infinity();
    }
  }
}

int EquationWatch::worst() const {
  int found = -1;
  double largest = 1.0;
  for (std::size_t i = 0; i < residuals_.size(); ++i) {
    const double allowed = allowed_[i] + rounding * residuals_[i].terms;
    if (!(std::abs(residuals_[i].value) > largest * allowed)) continue;
    largest = std::abs(residuals_[i].value) / allowed;
    found = static_cast<int>(i);
  }
  return found;
}

Failure EquationWatch::check(HybridSystem& hybrid, const Mode& mode, double t, std::span<const double> values,
                             std::span<const double> x, std::span<const double> xp, double step) {
  WrittenEquations* const equations = hybrid.written_equations(mode);
  if (!equations) return {};
  const auto evaluate = [&](double /*later*/, std::span<const double> v, std::span<const double> slopes,
                            std::span<WrittenResidual> residuals) {
    equations->residuals(mode, t, v, slopes, residuals);
  };
  residuals_.resize(static_cast<std::size_t>(equations->count()));
  evaluate(0.0, values, xp, residuals_);
  if (std::ranges::none_of(residuals_, is_suspicious)) return {};
  find_allowed(evaluate, some_tolerances, 0.0, hybrid, values, x, xp, step);
  const int found = worst();
  if (found < 0) return {};
  const std::string name = equations->name(found);
  const auto place = static_cast<std::size_t>(found);
  return {
      StatusCode::equation_violated,
      fmt::format("the result does not satisfy the equation '{}' at t = {:.9g}: its sides differ by {:.3g}, of which "
                  "the tolerance explains {:.1g}; try a smaller tolerance or another method",
                  name, t, std::abs(residuals_[place].value), allowed_[place]),
      {name}};
}

Failure EquationWatch::check_relations(HybridSystem& hybrid, const Mode& mode, double t, std::span<const double> values,
                                       std::span<const double> x, std::span<const double> xp, double step) {
  auto* const relations = dynamic_cast<WrittenRelations*>(hybrid.written_equations(mode));
  if (!relations || relations->relation_count() == 0) return {};
  const auto evaluate = [&](double later, std::span<const double> v, std::span<const double> slopes,
                            std::span<WrittenResidual> wrong) {
    relations->wrong_relations(mode, t + later, v, slopes, wrong);
  };
  residuals_.resize(static_cast<std::size_t>(relations->relation_count()));
  evaluate(0.0, values, xp, residuals_);
  if (std::ranges::none_of(residuals_, is_suspicious)) return {};
  // (the time of an event is known up to rounding errors)
  find_allowed(evaluate, many_tolerances, rounding * (std::abs(t) + step), hybrid, values, x, xp, step);
  const int found = worst();
  if (found < 0) return {};
  const std::string name = relations->relation_name(found, mode);
  const auto place = static_cast<std::size_t>(found);
  return {StatusCode::equation_violated,
          fmt::format("the result contradicts the relation {} at t = {:.9g}: its sides differ by {:.3g}, of which the "
                      "tolerance explains {:.1g}; try a smaller tolerance or another method",
                      name, t, std::abs(residuals_[place].value), allowed_[place]),
          {name}};
}

}  // namespace saltus
