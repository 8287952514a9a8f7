// A variable is a polynomial on the step. About the middle m of a piece with radius r it is sum_k d_k (s - m)^k, and
// its Taylor coefficients at all points of the piece lie within
//   x_[i] = d_i ± sum_{k > i} C(k, i) |d_k| r^(k - i).
// The shift to the middle is computed with numbers; what its rounding may amount to is added.
#include "step_enclosure.hpp"

#include <algorithm>
#include <cmath>

#include "base/finite.hpp"

namespace saltus {

void CourseEnclosure::start(const DensePolynomial& step, int most_rows) {
  step_ = &step;
  const std::size_t terms = static_cast<std::size_t>(step.degree) + 1;
  if (shifted_.size() < terms) shifted_.resize(terms);
  powers_.resize(static_cast<std::size_t>(most_rows));
  Interval power = 1.0;
  for (Interval& each : powers_) {
    each = power;
    power = power * Interval(step.h);
  }
}

Interval CourseEnclosure::place(double low, double high) {
  middle_ = 0.5 * (low + high);
  radius_ = std::max(high - middle_, middle_ - low);
  return Interval(step_->t0) + Interval(step_->h) * Interval(low, high);
}

void CourseEnclosure::enclose(std::size_t j, int rows, Interval* out, std::size_t stride) {
  const auto n = static_cast<std::size_t>(step_->variables);
  const int degree = step_->degree;
  for (int k = 0; k <= degree; ++k)
    shifted_[static_cast<std::size_t>(k)] = step_->c[static_cast<std::size_t>(k) * n + j];
  for (int i = 0; i < degree; ++i)  // repeated Horner's scheme
    for (int k = degree - 1; k >= i; --k)
      shifted_[static_cast<std::size_t>(k)] += middle_ * shifted_[static_cast<std::size_t>(k) + 1];
  for (int i = 0; i < rows; ++i) {
    double spread = 0.0, power = 1.0, binomial = 1.0, size = 0.0;
    for (int k = i; k <= degree; ++k) {  // power = r^(k - i), binomial = C(k, i)
      if (k > i) spread += binomial * power * std::abs(shifted_[static_cast<std::size_t>(k)]);
      size += binomial * std::abs(step_->c[static_cast<std::size_t>(k) * n + j]);
      power *= radius_;
      binomial *= (k + 1.0) / (k + 1.0 - i);
    }
    const double centre = i <= degree ? shifted_[static_cast<std::size_t>(i)] : 0.0;
    spread += 4.0 * (degree + 1) * eps * size;  // rounding of the shift and of these sums
    Interval& value = out[static_cast<std::size_t>(i) * stride];
    value = {centre - spread, centre + spread};
    if (i > 0) value = value / powers_[static_cast<std::size_t>(i)];  // from fractions of the step to times
  }
}

void StepEnclosure::start(System& system, const DensePolynomial& step) {
  system_ = &system;
  step_ = &step;
  const Structure& structure = system.structure();
  guards_ = static_cast<std::size_t>(structure.guards);
  read_ = structure.guard_variables;
  const std::size_t variables = read_.empty() ? static_cast<std::size_t>(step.variables) : read_.size();
  const std::size_t rows = max_order + 2;
  if (x_.size() < rows * variables) x_.resize(rows * variables);
  if (g_.size() < rows * guards_) g_.resize(rows * guards_);
  course_.start(step, static_cast<int>(rows));
}

bool StepEnclosure::enclose(double low, double high, int order, std::span<const int> which) {
  ++calls;
  const Interval t = course_.place(low, high);
  const int rows = order + (system_->structure().guards_read_xp ? 2 : 1);
  const std::size_t variables = read_.empty() ? static_cast<std::size_t>(step_->variables) : read_.size();
  for (std::size_t i = 0; i < variables; ++i)
    course_.enclose(read_.empty() ? i : static_cast<std::size_t>(read_[i]), rows, x_.data() + i, variables);
  return system_->enclose_guards(t, order, {x_.data(), static_cast<std::size_t>(rows) * variables}, which, g_);
}

Interval StepEnclosure::coefficient(int k, int i) const {
  Interval value = g_[static_cast<std::size_t>(i) * guards_ + static_cast<std::size_t>(k)];
  for (int d = 0; d < i; ++d) value = value * Interval(step_->h);
  return value;
}

}  // namespace saltus
