#include "sens/tangent_flow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace saltus {

namespace {

/// Steps of the run are divided where the error of a derivative is this many tolerances: the run has an error of a
/// tolerance in each step, too.
constexpr double error_allowed = 10.0;
/// Below this share of what is allowed, an error does not keep steps from growing.
constexpr double worth_filtering = 0.1;
/// Dividing a step of an explicit method into more parts than this, again and again, means that the mode is stiff.
constexpr int many_parts = 12;

}  // namespace

TangentWork::TangentWork(std::shared_ptr<const TangentCode> code, std::size_t directions)
    : code_(std::move(code)), lanes_(code_->variables(), directions) {
  const std::size_t width = lanes_.lanes(), n = lanes_.n;
  t_.resize(width);
  dt_.resize(width);
  x_.resize(n * width);
  xp_.resize(n * width);
  zeros_.assign(std::max(n, code_->data()) * width, 0.0);
  for (std::size_t j = 0; j < n; ++j) weights_.push_back(1.0 / code_->nominal(j));
}

TangentStepper* TangentWork::explicit_stepper(const Tableau& tableau) {
  if (tableau_ != &tableau) {
    explicit_ = make_explicit_tangents(*code_, tableau, lanes_);
    tableau_ = &tableau;
  }
  return explicit_.get();
}

TangentStepper& TangentWork::implicit_stepper() {
  if (!equations_) equations_ = std::make_unique<ExplicitEquations>(*code_);
  if (!implicit_) implicit_ = std::make_unique<LinearRosenbrock>(*equations_, rodas_5p(), lanes_);
  return *implicit_;
}

Gradient& TangentWork::guard(int number) {
  const auto it = guards_.find(number);
  return it != guards_.end() ? it->second : guards_.emplace(number, code_->guard(number)).first->second;
}

Gradient& TangentWork::guard_speed(int number) {
  const auto it = guard_speeds_.find(number);
  return it != guard_speeds_.end() ? it->second
                                   : guard_speeds_.emplace(number, code_->guard_speed(number)).first->second;
}

void TangentWork::run(const Program& program, Runner& runner, int width, double t, std::span<const double> x,
                      std::span<const double> xp, const double* s, const double* sp, double dt, const double* data,
                      const double* changes, const double* locks, double* out) {
  if (runner.lanes != width) {
    runner.work = program.workspace(width);
    runner.lanes = width;
  }
  std::fill_n(t_.begin(), width, t);
  std::fill_n(dt_.begin(), width, dt);
  spread(x, width, x_.data());
  spread(xp, width, xp_.data());
  const double* in[TangentInput::count] = {};
  in[TangentInput::t] = t_.data();
  in[TangentInput::x] = x_.data();
  in[TangentInput::xp] = xp.empty() ? zeros_.data() : xp_.data();
  in[TangentInput::s] = s;
  in[TangentInput::sp] = sp ? sp : zeros_.data();
  in[TangentInput::dt] = dt_.data();
  in[TangentInput::data] = data;
  in[TangentInput::dd] = changes;
  in[TangentInput::locks] = locks;
  double* const outs[] = {out};
  program(in, outs, runner.work);
}

void TangentWork::slopes(double t, std::span<const double> x, const TangentValues& values, std::span<const double> s,
                         std::span<double> f, std::span<double> sp) {
  const std::size_t size = lanes_.block(), width = lanes_.lanes();
  out_.resize(2 * size);
  for (std::size_t b = 0; b < lanes_.blocks(); ++b) {
    run(code_->slopes(), slopes_, lanes_.width, t, x, {}, s.data() + b * size, nullptr, 0.0, values.spread_data.data(),
        values.block_changes(b), values.spread_locks.data(), out_.data());
    std::copy_n(out_.data() + size, size, sp.data() + b * size);
  }
  for (std::size_t j = 0; j < lanes_.n; ++j) f[j] = out_[j * width];
}

std::vector<double> TangentWork::bend(double t, std::span<const double> x, std::span<const double> xp,
                                      const TangentValues& values) {
  out_.resize(std::max(out_.size(), 2 * lanes_.n));
  run(code_->slopes(), slopes_of_one_, 1, t, x, {}, xp.data(), nullptr, 1.0, values.data.data(), zeros_.data(),
      values.locks.data(), out_.data());
  return {out_.begin() + static_cast<std::ptrdiff_t>(lanes_.n),
          out_.begin() + static_cast<std::ptrdiff_t>(2 * lanes_.n)};
}

std::vector<double> TangentWork::observe_time(double t, std::span<const double> x, std::span<const double> xp,
                                              std::span<const double> xpp, const TangentValues& values) {
  std::vector<double> result(code_->observed());
  run(code_->observation(), observe_one_, 1, t, x, xp, xp.data(), xpp.data(), 1.0, values.data.data(), zeros_.data(),
      values.locks.data(), result.data());
  return result;
}

std::vector<std::vector<double>> TangentWork::observe(double t, std::span<const double> x, std::span<const double> xp,
                                                      const TangentValues& values, std::span<const double> s,
                                                      std::span<const double> sp) {
  const std::size_t size = lanes_.block(), width = lanes_.lanes(), count = code_->observed();
  std::vector<std::vector<double>> result(lanes_.directions, std::vector<double>(count));
  out_.resize(std::max(out_.size(), count * width));
  for (std::size_t b = 0; b < lanes_.blocks(); ++b) {
    run(code_->observation(), observe_, lanes_.width, t, x, xp, s.data() + b * size, sp.data() + b * size, 0.0,
        values.spread_data.data(), values.block_changes(b), values.spread_locks.data(), out_.data());
    for (std::size_t l = 0; l < width && b * width + l < lanes_.directions; ++l)
      for (std::size_t j = 0; j < count; ++j) result[b * width + l][j] = out_[j * width + l];
  }
  return result;
}

/// s -= D^2 G^T (G D^2 G^T)^{-1} (G s + g_d dd), with the nominal values D.
bool TangentWork::project(double t, std::span<const double> x, const TangentValues& values, std::span<double> s) {
  const std::size_t p = code_->invariants(), n = lanes_.n, width = lanes_.lanes();
  if (p == 0) return false;
  bool changed = false;
  std::vector<double> gram(p * p), step(p), weight(n);
  for (std::size_t j = 0; j < n; ++j) weight[j] = code_->nominal(j) * code_->nominal(j);
  out_.resize(std::max(out_.size(), (p + p * n) * width));
  for (std::size_t b = 0; b < lanes_.blocks(); ++b) {
    double* const part = s.data() + b * lanes_.block();
    run(code_->invariant_tangents(), invariants_, lanes_.width, t, x, {}, part, nullptr, 0.0, values.spread_data.data(),
        values.block_changes(b), values.spread_locks.data(), out_.data());
    const auto G = [&](std::size_t i, std::size_t j) { return out_[(p + i * n + j) * width]; };
    std::ranges::fill(gram, 0.0);
    for (std::size_t i = 0; i < p; ++i) {
      for (std::size_t k = 0; k < p; ++k)
        for (std::size_t j = 0; j < n; ++j) gram[k * p + i] += weight[j] * G(i, j) * G(k, j);
      // an invariant that does not depend on x takes no part
      if (gram[i * p + i] == 0.0) gram[i * p + i] = 1.0;
    }
    DenseLu lu;
    if (!lu.factorise(static_cast<int>(p), gram)) return changed;
    for (std::size_t l = 0; l < width; ++l) {
      for (std::size_t i = 0; i < p; ++i) step[i] = out_[i * width + l];
      lu.solve(step);
      for (std::size_t j = 0; j < n; ++j) {
        double correction = 0.0;
        for (std::size_t i = 0; i < p; ++i) correction += weight[j] * G(i, j) * step[i];
        double& value = part[j * width + l];
        changed = changed || value - correction != value;
        value -= correction;
      }
    }
  }
  return changed;
}

std::vector<double> TangentWork::observed_slopes(double t, SolutionPath& path, const TangentValues& values,
                                                 std::span<const double> s) {
  std::vector<double> x(lanes_.n), f(lanes_.n), sp(s.size());
  path.step(t).polynomial.evaluate(t, x);
  slopes(t, x, values, s, f, sp);
  return observe_time(t, x, f, bend(t, x, f, values), values);
}

std::vector<std::vector<double>> TangentWork::observed(double t, SolutionPath& path, const TangentValues& values,
                                                       std::span<const double> s) {
  std::vector<double> x(lanes_.n), f(lanes_.n), sp(s.size());
  path.step(t).polynomial.evaluate(t, x);
  slopes(t, x, values, s, f, sp);
  return observe(t, x, f, values, s, sp);
}

TangentFlow::TangentFlow(std::shared_ptr<TangentMode> mode, std::shared_ptr<const TangentValues> values,
                         const std::vector<Trajectory::Step>& steps, double from, std::vector<double> s)
    : mode_(std::move(mode)),
      values_(std::move(values)),
      path_(steps),
      t_(from),
      s_(std::move(s)),
      s1_(s_.size()),
      error_(s_.size()) {}

/// The largest error of the step from s_ to s1_, in units of what is allowed. The largest value of a direction counts,
/// in units of the nominal values: single values may pass zero, or be much smaller than the others.
double TangentFlow::error_ratio(const TangentTolerance& tolerance) {
  const Lanes& lanes = mode_->flowing();
  const std::span<const double> weights = mode_->weights();
  const std::size_t width = lanes.lanes();
  double worst = 0.0;
  for (std::size_t b = 0; b < lanes.blocks(); ++b) {
    double size[4] = {}, error[4] = {};
    const double *s = s1_.data() + b * lanes.block(), *e = error_.data() + b * lanes.block();
    for (std::size_t j = 0; j < lanes.n; ++j, s += width, e += width)
      for (std::size_t l = 0; l < width; ++l) {
        size[l] = std::max(size[l], std::abs(s[l]) * weights[j]);
        error[l] = std::max(error[l], std::abs(e[l]) * weights[j]);
      }
    for (std::size_t l = 0; l < width && b * width + l < lanes.directions; ++l)
      worst = std::max(worst, error[l] / std::max(size[l], tolerance.least[b * width + l]));
  }
  return worst / (error_allowed * tolerance.rtol);
}

/// The end of the step of the run that begins at t_, or covers it.
double TangentFlow::end_of_step(double to) {
  const double sign = to >= t_ ? 1.0 : -1.0, end = path_.step_from(t_).t_end;
  return (to - end) * sign > 0.0 && end != t_ ? end : to;
}

/// A step from s_ to s1_. Where the choice of the mode does not serve for it, another one is made, if there is a better
/// one; if not, a shorter step is needed.
TangentFlow::Attempt TangentFlow::attempt(TangentStepper& stepper, double h, double end) {
  if (!stepper.step(t_, h, path_, *values_, s_, s1_, error_)) return Attempt::not_finite;
  if (mode_->serves(end, path_, *values_)) return Attempt::made;
  const int before = choice_;
  bool good = true;
  choice_ = mode_->passed(t_, path_, *values_, s_, true, good);
  return !good ? Attempt::not_linear : choice_ != before ? Attempt::other_choice : Attempt::not_finite;
}

/// Keeps where a step begins, and goes to its end. Returns "", or why it cannot go on from there.
std::string TangentFlow::accept(double end, bool implicit, std::int64_t most_steps) {
  nodes_.push_back({t_, implicit, choice_});
  kept_.push_back(s_);
  if (steps() > most_steps) return fmt::format("they need more than {} steps", most_steps);
  t_ = end;
  s_.swap(s1_);
  bool good = true;
  choice_ = mode_->passed(t_, path_, *values_, s_, false, good);
  return good ? "" : "the equations of the mode cannot be linearised";
}

std::string TangentFlow::advance(double to, const Tableau* tableau, const TangentTolerance& tolerance,
                                 std::int64_t most_steps) {
  tableau_ = tableau;
  if (TangentStepper* const follower = tableau && !mode_->stiff ? mode_->explicit_stepper(*tableau) : nullptr)
    if (std::string why = follow(to, *follower, tolerance, most_steps); !why.empty()) return why;
  return t_ == to ? "" : step_freely(to, tolerance, most_steps);
}

/// With an explicit method in the steps of the run, or in parts of them. It stops where the mode turns out to be stiff.
std::string TangentFlow::follow(double to, TangentStepper& stepper, const TangentTolerance& tolerance,
                                std::int64_t most_steps) {
  const double sign = to >= t_ ? 1.0 : -1.0, infinite = std::numeric_limits<double>::infinity();
  double suggested = infinite, end = t_;
  int parts = 0, failures = 0, long_steps = 0;
  while (t_ != to) {
    if (t_ == end) end = end_of_step(to);
    const double left = std::abs(end - t_);
    const bool whole = parts == 0 || suggested >= left;
    const double h = sign * (whole ? left : suggested < 0.5 * left ? suggested : 0.5 * left);
    const Attempt made = attempt(stepper, h, whole ? end : t_ + h);
    if (made == Attempt::not_linear) return "the equations of the mode cannot be linearised";
    if (made == Attempt::other_choice) continue;
    const bool finite = made == Attempt::made;
    const double ratio = !finite ? infinite : tolerance.control ? error_ratio(tolerance) : 0.0;
    const auto factor = [&] { return 0.9 * std::pow(std::clamp(ratio, 1e-8, 1e8), -1.0 / stepper.error_exponent()); };
    if (ratio <= 1.0) {
      if (std::string why = accept(whole ? end : t_ + h, false, most_steps); !why.empty()) return why;
      failures = 0;
      ++parts;
      if (t_ != end) {
        suggested = std::abs(h) * std::min(factor(), 8.0);
        continue;
      }
      long_steps = parts > many_parts ? long_steps + 1 : 0;
      parts = 0;
      suggested = infinite;
    } else {
      suggested = std::abs(h) * std::max(factor(), finite ? 0.1 : 0.25);
      parts = std::max(parts, 1);
      if (++failures > 60 || t_ + sign * suggested == t_)
        return "a step is too small, or a derivative is not a finite number";
    }
    if (long_steps >= 2 || parts > 4 * many_parts || failures >= 4) {
      mode_->stiff = true;
      return "";
    }
  }
  return "";
}

/// With an implicit method, in steps that the errors of the derivatives ask for: the solution between them is that of
/// the run. Errors that are not tested: in the steps of the run.
std::string TangentFlow::step_freely(double to, const TangentTolerance& tolerance, std::int64_t most_steps) {
  TangentStepper& stepper = mode_->implicit_stepper();
  const double sign = to >= t_ ? 1.0 : -1.0;
  double suggested = std::abs(end_of_step(to) - t_);
  for (int failures = 0; t_ != to;) {
    double end = tolerance.control ? t_ + sign * suggested : end_of_step(to);
    if (failures > 0) end = t_ + sign * suggested;
    const double left = std::abs(to - t_), planned = std::abs(end - t_);
    if (planned > 0.99 * left)
      end = to;
    else if (planned > 0.5 * left && tolerance.control)
      end = t_ + 0.5 * (to - t_);
    const double h = end - t_;
    const Attempt made = attempt(stepper, h, end);
    if (made == Attempt::not_linear) return "the equations of the mode cannot be linearised";
    if (made == Attempt::other_choice) continue;
    const bool finite = made == Attempt::made;
    double ratio = !finite ? std::numeric_limits<double>::infinity() : tolerance.control ? error_ratio(tolerance) : 0.0;
    if (finite && ratio > worth_filtering) {
      stepper.filter(error_);
      ratio = error_ratio(tolerance);
    }
    const double factor = 0.9 * std::pow(std::clamp(ratio, 1e-8, 1e8), -1.0 / stepper.error_exponent());
    if (ratio <= 1.0) {
      if (std::string why = accept(end, true, most_steps); !why.empty()) return why;
      suggested = std::abs(h) * std::clamp(factor, 0.2, failures > 0 ? 1.0 : 5.0);
      failures = 0;
    } else {
      suggested = std::abs(h) * (finite ? std::clamp(factor, 0.1, 0.9) : 0.25);
      if (++failures > 60 || t_ + sign * suggested == t_)
        return "a step is too small, or a derivative is not a finite number";
    }
  }
  return "";
}

std::vector<double> TangentFlow::at(double t) const {
  const double sign = nodes_.empty() || t_ >= nodes_.front().t ? 1.0 : -1.0;
  if (nodes_.empty() || t == t_) return s_;
  auto node = std::upper_bound(nodes_.begin(), nodes_.end(), t,
                               [&](double value, const Node& n) { return (n.t - value) * sign > 0.0; });
  if (node != nodes_.begin()) --node;
  const std::vector<double>& start = kept_[static_cast<std::size_t>(node - nodes_.begin())];
  if (node->t == t) return start;
  std::vector<double> result(start.size()), error(start.size());
  TangentStepper& stepper = node->implicit ? mode_->implicit_stepper() : *mode_->explicit_stepper(*tableau_);
  mode_->choose(node->choice);
  stepper.step(node->t, t - node->t, path_, *values_, start, result, error);
  return result;
}

std::vector<double> TangentFlow::observed_slopes(double t) const {
  return mode_->observed_slopes(t, path_, *values_, at(t));
}

std::vector<std::vector<double>> TangentFlow::observed(double t) const {
  return mode_->observed(t, path_, *values_, at(t));
}

}  // namespace saltus
