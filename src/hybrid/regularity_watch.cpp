// A sign change of the determinant proves a singular point between two points of the solution however far they are
// apart, which a small singular value cannot; the latter finds approaches and touches.
#include "hybrid/regularity_watch.hpp"

#include <fmt/format.h>
#include <saltus/dae/sequential_jacobian.hpp>
#include <saltus/linalg/decomposition.hpp>

#include <algorithm>
#include <cmath>

#include "hybrid/large_modes.hpp"

namespace saltus {

namespace {

// Below this part of its first value, or after such a fall in one step, the margin alarms.
constexpr double far_below = 1e-6, sudden = 1e-3;
// Below this part of its first value it counts as zero.
constexpr double vanished = 1e-9;
// Up to this size modes without certificate get decompositions of their own, wherever they are needed; larger ones have
// the margin that comes with the Jacobians of the integrator, if they are reduced.
constexpr int largest_dense_watch = 30;
// Up to this size the inverse itself is cheaper than factors with an estimate of its norm.
constexpr int largest_inverse = 12;
// Large modes are looked at now and then only: a factorisation per step would be felt. Very large ones give the memory back in between.
constexpr int large_mode = 200, large_mode_interval = 10;
constexpr int very_large_mode_interval = 50;

/// The exponent of the power of two that brings a value near 1.
std::int8_t inverse_exponent(double value) {
  constexpr double most = 120.0;
  return value > 0.0 && std::isfinite(value) ? static_cast<std::int8_t>(-std::clamp(std::round(std::log2(value)), -most, most)) : std::int8_t{0};
}

}  // namespace

RegularityWatch::RegularityWatch() = default;
RegularityWatch::~RegularityWatch() = default;

void RegularityWatch::begin(System& system, const CharacteristicValues* values, const ReducedSystem* reduced, double t,
                            std::span<const double> x, std::span<const double> xp) {
  system_ = nullptr;
  if (!values || system.structure().constant_jacobian) return;
  const bool same_mode = values == values_ && (!order_.empty() || jacobian_);
  values_ = values;
  reduced_ = reduced;
  own_.reset();
  const Structure& s = system.structure();
  if (!same_mode) {
    jacobian_.reset();
    inverse_.reset();
    order_ = values->certificate.valid ? SequentialJacobian::order(s, values->structure) : std::vector<int>();
  }
  if (same_mode || !order_.empty()) {
    // pattern and ordering are there already, or not needed
  } else if (values->certificate.valid && !values->structure.singular()) {
    auto jacobian = std::make_unique<SystemJacobian>(s, values->structure);
    if (s.variables <= largest_inverse)
      inverse_ = std::make_unique<SmallInverse>(s.variables);
    else if (!lu_.analyse(jacobian->pattern()))
      return;
    jacobian_ = std::move(jacobian);
  } else if (s.variables <= largest_dense_watch && values->T2.rows() == s.variables) {
    own_ = std::make_unique<ReducedSystem>(system, *values);
  } else if (!reduced) {
    return;
  }
  system_ = &system;
  interval_ = s.variables > very_large_mode ? very_large_mode_interval : s.variables > large_mode ? large_mode_interval : 1;
  if (same_mode && interval_ > 1) {  // what is known about a large mode stays: the count of steps goes on
    last_.sign = 0;                  // but the state may have jumped across a singularity
    last_time_ = t;
    return;
  }
  steps_ = 0;
  row_scale_.clear();
  last_ = read(t, x, xp);
  first_margin_ = last_.margin;
  last_time_ = t;
  slope_ = 0.0;
  checked_margin_ = std::numeric_limits<double>::infinity();
}

RegularityWatch::Reading RegularityWatch::read(double t, std::span<const double> x, std::span<const double> xp) {
  if (!order_.empty() || jacobian_) return read_jacobian(t, x, xp);
  if (own_) return own_->refresh(t, x, xp) ? Reading{own_->margin(), 0} : Reading{0.0, 0};
  return {reduced_->margin(), 0};
}

// The margin is the distance 1 / |A^-1| from singularity, in the scaling of the first point.
RegularityWatch::Reading RegularityWatch::read_jacobian(double t, std::span<const double> x,
                                                        std::span<const double> xp) {
  const Structure& s = system_->structure();
  Fx_.resize(s.state_pattern.row.size());
  Fxp_.resize(s.derivative_pattern.row.size());
  system_->jacobian(t, x, xp, Fx_, Fxp_);
  give_back(x.size(), x_, xp_);
  const Reading reading = !order_.empty() ? read_sequential() : read_factors();
  if (s.variables > very_large_mode) lu_.release_factors();
  give_back(x.size(), Fx_, Fxp_, entries_, work_);
  return reading;
}

RegularityWatch::Reading RegularityWatch::read_sequential() {
  const SequentialJacobian jacobian(system_->structure(), values_->structure, order_, Fx_, Fxp_);
  if (row_scale_.empty()) scale_jacobian([&](auto visit) { jacobian.for_each(visit); });
  const int sign = jacobian.determinant_sign();
  const double norm = sign == 0 ? 0.0 : jacobian.inverse_norm(row_scale_, column_scale_, work_);
  return norm > 0.0 && std::isfinite(norm) ? Reading{1.0 / norm, sign} : Reading{0.0, 0};
}

RegularityWatch::Reading RegularityWatch::read_factors() {
  const SparsePattern& p = jacobian_->pattern();
  entries_.resize(p.row.size());
  jacobian_->assemble(Fx_, Fxp_, entries_);
  if (row_scale_.empty())
    scale_jacobian([&](auto visit) {
      for (int j = 0; j < p.columns; ++j)
        for (int k = p.start[j]; k < p.start[j + 1]; ++k) visit(p.row[k], j, entries_[k]);
    });
  double largest = 0.0;
  for (int j = 0; j < p.columns; ++j) {
    double sum = 0.0;
    for (int k = p.start[j]; k < p.start[j + 1]; ++k) {
      entries_[k] *= power_of_two(row_scale_[p.row[k]]) * power_of_two(column_scale_[j]);
      sum += std::abs(entries_[k]);
    }
    largest = std::max(largest, sum);
  }
  if (inverse_) return read_inverse();
  return lu_.factorise(entries_) ? Reading{lu_.reciprocal_condition() * largest, lu_.determinant_sign()} : Reading{0.0, 0};
}

// Of the entries, in their scaling.
RegularityWatch::Reading RegularityWatch::read_inverse() {
  const SparsePattern& p = jacobian_->pattern();
  const auto n = static_cast<std::size_t>(p.columns);
  dense_.assign(n * n, 0.0);
  for (std::size_t j = 0; j < n; ++j)
    for (int k = p.start[j]; k < p.start[j + 1]; ++k) dense_[j * n + static_cast<std::size_t>(p.row[k])] = entries_[k];
  if (!inverse_->invert(dense_)) return {0.0, 0};
  const double norm = inverse_->norm();
  return norm > 0.0 && std::isfinite(norm) ? Reading{1.0 / norm, inverse_->determinant_sign()} : Reading{0.0, 0};
}

template <class ForEach>
void RegularityWatch::scale_jacobian(ForEach for_each) {
  const auto n = static_cast<std::size_t>(system_->structure().variables);
  std::vector<double> largest(n, 0.0);
  const auto inverse = [&](std::vector<std::int8_t>& scale) {
    scale.resize(n);
    std::ranges::transform(largest, scale.begin(), inverse_exponent);
  };
  for_each([&](int i, int, double value) { largest[i] = std::max(largest[i], std::abs(value)); });
  inverse(row_scale_);
  std::ranges::fill(largest, 0.0);
  for_each([&](int i, int j, double value) { largest[j] = std::max(largest[j], std::abs(value) * power_of_two(row_scale_[i])); });
  inverse(column_scale_);
}

RegularityWatch::Reading RegularityWatch::read_at(const DensePolynomial& dense, double t) {
  x_.resize(static_cast<std::size_t>(dense.variables));
  xp_.resize(x_.size());
  dense.evaluate(t, x_);
  dense.derivative(t, xp_);
  const Reading reading = read(t, x_, xp_);
  give_back(x_.size(), x_, xp_);
  return reading;
}

Failure RegularityWatch::check(const DensePolynomial& dense, double end) {
  if (!system_ || ++steps_ % interval_ != 0) return {};
  Reading now = read_at(dense, end);
  const Reading before = last_;
  const double length = std::abs(end - last_time_), slope = slope_;
  last_ = now;
  last_time_ = end;
  slope_ = length > 0.0 ? (now.margin - before.margin) / length : 0.0;
  // a singular value has no sign, nor has a determinant that vanishes twice, and long steps may lie on both sides: where it
  // is about to vanish, its smallest value on the way is looked for
  double lowest = end;
  if ((own_ || ((!order_.empty() || jacobian_) && interval_ == 1)) && before.margin + slope * length < 0.1 * before.margin) {
    lowest = find_minimum(dense, end);
    const Reading there = read_at(dense, lowest);
    if (there.margin < now.margin)
      now = there;
    else
      lowest = end;
  }
  const bool crossed = before.sign != 0 && now.sign != 0 && now.sign != before.sign;
  const bool fallen = now.margin < far_below * first_margin_ || now.margin < sudden * before.margin;
  if (!crossed && !(fallen && now.margin < 0.1 * checked_margin_)) return {};
  checked_margin_ = now.margin;
  time_ = crossed ? locate(dense, end) : lowest;
  // between two neighbouring numbers lies no point at which the values could be seen to differ: the margin decides. Where
  // it just falls it does not: that of a junction that begins to block falls by twelve powers of ten.
  const bool lowest_here = crossed || lowest != end;
  const bool singular =
      lowest_here && (crossed ? read_at(dense, time_).margin : now.margin) < vanished * first_margin_;
  x_.resize(static_cast<std::size_t>(dense.variables));
  dense.evaluate(time_, x_);
  xp_.resize(x_.size());
  dense.derivative(time_, xp_);
  return compare(time_, x_, xp_, singular);
}

// Golden section. A simple zero of the margin is a kink, which can be found to the last bit.
double RegularityWatch::find_minimum(const DensePolynomial& dense, double end) {
  constexpr double ratio = 0.6180339887498949;
  double a = dense.t0, b = end;
  double p = b - ratio * (b - a), q = a + ratio * (b - a);
  double at_p = read_at(dense, p).margin, at_q = read_at(dense, q).margin;
  for (int k = 0; k < 75; ++k) {
    if (at_p < at_q) {
      b = q;
      q = p;
      at_q = at_p;
      p = b - ratio * (b - a);
      at_p = read_at(dense, p).margin;
    } else {
      a = p;
      p = q;
      at_p = at_q;
      q = a + ratio * (b - a);
      at_q = read_at(dense, q).margin;
    }
  }
  return at_p < at_q ? p : q;
}

// Bisection to the last bit: the values are those of the singular point only there. With an interval of several steps
// the change may lie before this step; then its beginning is as near as can be.
double RegularityWatch::locate(const DensePolynomial& dense, double end) {
  double a = dense.t0, b = end;
  const int after = last_.sign;
  if (read_at(dense, a).sign == after) return a;
  for (int k = 0; k < 200; ++k) {
    const double middle = a + 0.5 * (b - a);
    if (middle == a || middle == b) break;
    const int sign = read_at(dense, middle).sign;
    if (sign == 0) return middle;
    (sign == after ? b : a) = middle;
  }
  return b;
}

namespace {

/// "index 1 with 1 degree of freedom": what characteristic values mean for a user.
std::string in_words(const CharacteristicNumbers& numbers) {
  std::string text = fmt::format("index {} with {} degree{} of freedom", numbers.a > 0 ? numbers.mu + 1 : 0, numbers.d,
                                 numbers.d == 1 ? "" : "s");
  if (numbers.u > 0)
    text += fmt::format(" and {} undetermined component{}", numbers.u, numbers.u == 1 ? "" : "s");
  return text;
}

}  // namespace

// The singular vectors of the smallest singular value of the system Jacobian, with rows and columns scaled to 1.
RegularityWatch::Culprits RegularityWatch::find_culprits(double t, std::span<const double> x,
                                                         std::span<const double> xp) const {
  constexpr int largest = 200;
  const Structure& s = system_->structure();
  if (!values_->certificate.valid || values_->structure.singular() || s.variables > largest) return {};
  const SystemJacobian jacobian(s, values_->structure);
  std::vector<double> Fx(s.state_pattern.row.size()), Fxp(s.derivative_pattern.row.size());
  std::vector<double> entries(jacobian.pattern().row.size());
  system_->jacobian(t, x, xp, Fx, Fxp);
  jacobian.assemble(Fx, Fxp, entries);
  if (!std::ranges::all_of(entries, [](double value) { return std::isfinite(value); })) return {};
  Matrix A(s.equations, s.variables);
  std::vector<double> row_size(static_cast<std::size_t>(s.equations), 0.0);
  for (int j = 0; j < s.variables; ++j)
    for (int k = jacobian.pattern().start[j]; k < jacobian.pattern().start[j + 1]; ++k) {
      const int i = jacobian.pattern().row[k];
      A(i, j) = entries[k];
      row_size[i] = std::max(row_size[i], std::abs(entries[k]));
    }
  for (int j = 0; j < s.variables; ++j)
    for (int i = 0; i < s.equations; ++i)
      if (row_size[i] > 0.0) A(i, j) /= row_size[i];
  const Svd parts = svd(A);
  // of variables that take part alike an algebraic one
  const auto largest_entry = [](std::span<const double> v, const auto& weight) {
    int best = 0;
    for (int k = 1; k < static_cast<int>(v.size()); ++k)
      if (std::abs(v[k]) * weight(k) > std::abs(v[best]) * weight(best)) best = k;
    return best;
  };
  const auto algebraic_first = [&](int j) { return s.differentiated(j) ? 0.5 : 1.0; };
  return {system_->variable_name(largest_entry(parts.V.column(s.variables - 1), algebraic_first)),
          system_->equation_name(largest_entry(parts.U.column(s.equations - 1), [](int) { return 1.0; }))};
}

Failure RegularityWatch::compare(double t, std::span<const double> x, std::span<const double> xp,
                                 bool singular) const {
  const CharacteristicValues found = characteristic_values(*system_, t, x, {.neighbours = false});
  const auto same = [](const CharacteristicNumbers& p, const CharacteristicNumbers& q) {
    return p.mu == q.mu && p.d == q.d && p.a == q.a && p.u == q.u && p.v == q.v;
  };
  const bool decided = found.status != AnalysisStatus::undecided;
  const bool changed = !decided || !same(found.numbers, values_->numbers);
  if (!changed && !singular) return {};
  const Culprits culprits = find_culprits(t, x, xp);
  const std::string where =
      culprits.variable.empty()
          ? ""
          : fmt::format("; '{}' is the variable most concerned, in '{}'", culprits.variable, culprits.equation);
  return {StatusCode::singular_mode,
          fmt::format("the equations become singular at t = {:.12g}: {} before, {} there{}", t,
                      in_words(values_->numbers),
                      !decided  ? "not to be decided"
                      : changed ? in_words(found.numbers)
                                : "no unique derivatives",
                      where),
          culprits.variable.empty() ? std::vector<std::string>{}
                                    : std::vector<std::string>{culprits.variable, culprits.equation}};
}

Failure RegularityWatch::explain(double t, std::span<const double> x, std::span<const double> xp) {
  if (!system_) return {};
  const Reading now = read(t, x, xp);
  if (!(now.margin < sudden * first_margin_)) return {};
  if (Failure changed = compare(t, x, xp, false)) return changed;
  const Culprits culprits = find_culprits(t, x, xp);
  return {StatusCode::singular_mode,
          fmt::format("the equations ({}) are nearly singular at t = {:.12g}: the distance from a singular point has "
                      "fallen by the factor {:.2g}{}",
                      in_words(values_->numbers), t, now.margin / first_margin_,
                      culprits.variable.empty() ? ""
                                                : fmt::format("; '{}' is the variable most concerned, in '{}'",
                                                              culprits.variable, culprits.equation)),
          {}};
}

}  // namespace saltus
