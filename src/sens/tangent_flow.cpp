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
/// Dividing a step of an explicit method into more parts than this, again and again, means that the mode is stiff.
constexpr int many_parts = 12;
/// So many steps of a multistep method become one at most.
constexpr int most_together = 6;

}  // namespace

TangentWork::TangentWork(std::shared_ptr<const TangentCode> code, std::size_t directions)
    : code_(std::move(code)), lanes_(code_->variables(), directions) {
  const std::size_t width = lanes_.lanes(), n = lanes_.n;
  t_.resize(width);
  dt_.resize(width);
  x_.resize(n * width);
  xp_.resize(n * width);
  zeros_.assign(std::max(n, code_->data()) * width, 0.0);
}

TangentStepper* TangentWork::explicit_stepper(const Tableau& tableau) {
  if (tableau_ != &tableau) {
    explicit_ = make_explicit_tangents(*code_, tableau, lanes_);
    tableau_ = &tableau;
  }
  return explicit_.get();
}

TangentStepper& TangentWork::implicit_stepper() {
  if (!implicit_) implicit_ = make_implicit_tangents(*code_, rodas_5p(), lanes_);
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

TangentFlow::TangentFlow(std::shared_ptr<TangentWork> work, std::shared_ptr<const TangentValues> values,
                         const std::vector<Trajectory::Step>& steps, double from, std::vector<double> s)
    : work_(std::move(work)),
      values_(std::move(values)),
      path_(steps),
      t_(from),
      s_(std::move(s)),
      s1_(s_.size()),
      error_(s_.size()) {
  for (std::size_t j = 0; j < work_->lanes().n; ++j) inverse_nominal_.push_back(1.0 / work_->code().nominal(j));
}

/// The largest error of the step from s_ to s1_, in units of what is allowed. The largest value of a direction counts,
/// in units of the nominal values: single values may pass zero, or be much smaller than the others.
double TangentFlow::error_ratio(const TangentTolerance& tolerance) {
  const Lanes& lanes = work_->lanes();
  const std::size_t width = lanes.lanes();
  double worst = 0.0;
  for (std::size_t b = 0; b < lanes.blocks(); ++b)
    for (std::size_t l = 0; l < width && b * width + l < lanes.directions; ++l) {
      double size = tolerance.least[b * width + l], error = 0.0;
      for (std::size_t j = 0; j < lanes.n; ++j) {
        const std::size_t i = b * lanes.block() + j * width + l;
        size = std::max(size, std::abs(s1_[i]) * inverse_nominal_[j]);
        error = std::max(error, std::abs(error_[i]) * inverse_nominal_[j]);
      }
      worst = std::max(worst, error / size);
    }
  return worst / (error_allowed * tolerance.rtol);
}

/// Where a step from t_ is to end: with a step of the run. Short ones are taken together where an implicit method made
/// them, if that is not too long.
double TangentFlow::step_end(double to, double suggested) {
  const double sign = to >= t_ ? 1.0 : -1.0;
  const Trajectory::Step* step = &path_.step_from(t_);
  double end = t_;
  for (int count = 0; count < most_together; ++count) {
    const double next = (to - step->t_end) * sign > 0.0 && step->t_end != t_ ? step->t_end : to;
    if (count > 0 && std::abs(next - t_) > suggested) break;
    end = next;
    if (end == to || suggested == std::numeric_limits<double>::infinity()) break;
    step = &path_.step_from(end);
  }
  return end;
}

std::string TangentFlow::advance(double to, const Tableau* tableau, const TangentTolerance& tolerance,
                                 std::int64_t most_steps) {
  tableau_ = tableau;
  TangentStepper* follower = tableau && !work_->stiff ? work_->explicit_stepper(*tableau) : nullptr;
  const double sign = to >= t_ ? 1.0 : -1.0, infinite = std::numeric_limits<double>::infinity();
  double suggested = infinite, end = t_;
  int parts = 0, failures = 0, long_steps = 0;
  while (t_ != to) {
    if (t_ == end) end = step_end(to, suggested);
    const double left = std::abs(end - t_);
    const bool whole = parts == 0 || suggested >= left;
    const double h = sign * (whole ? left : suggested < 0.5 * left ? suggested : 0.5 * left);
    TangentStepper& stepper = follower ? *follower : work_->implicit_stepper();
    const bool finite = stepper.step(t_, h, path_, *values_, s_, s1_, error_);
    const double ratio = finite ? error_ratio(tolerance) : infinite;
    const auto factor = [&] { return 0.9 * std::pow(std::clamp(ratio, 1e-8, 1e8), -1.0 / stepper.error_exponent()); };
    if (ratio <= 1.0) {
      nodes_.push_back({t_, follower == nullptr});
      kept_.insert(kept_.end(), s_.begin(), s_.end());
      if (steps() > most_steps) return fmt::format("they need more than {} steps", most_steps);
      t_ = whole ? end : t_ + h;
      s_.swap(s1_);
      failures = 0;
      ++parts;
      if (t_ != end || !follower) suggested = std::abs(h) * std::min(factor(), 8.0);
      if (t_ != end) continue;
      long_steps = parts > many_parts ? long_steps + 1 : 0;
      parts = 0;
      if (follower) suggested = infinite;
    } else {
      suggested = std::abs(h) * std::max(factor(), finite ? 0.1 : 0.25);
      parts = std::max(parts, 1);
      if (++failures > 60 || t_ + sign * suggested == t_)
        return "a step is too small, or a derivative is not a finite number";
    }
    if (follower && (long_steps >= 2 || parts > 4 * many_parts || failures >= 4)) {
      follower = nullptr;
      work_->stiff = true;
      failures = 0;
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
  const std::size_t size = s_.size();
  const auto first = kept_.begin() + (node - nodes_.begin()) * static_cast<std::ptrdiff_t>(size);
  const std::vector<double> start(first, first + static_cast<std::ptrdiff_t>(size));
  if (node->t == t) return start;
  std::vector<double> result(size), error(size);
  TangentStepper& stepper = node->implicit ? work_->implicit_stepper() : *work_->explicit_stepper(*tableau_);
  stepper.step(node->t, t - node->t, path_, *values_, start, result, error);
  return result;
}

std::vector<double> TangentFlow::observed(double t, std::size_t block) const {
  const std::size_t n = work_->lanes().n;
  std::vector<double> x(n), f(n);
  path_.step(t).polynomial.evaluate(t, x);
  const std::vector<double> s_here = at(t);
  std::vector<double> sp(s_here.size());
  work_->slopes(t, x, *values_, s_here, f, sp);
  if (block == 0) return work_->observe_time(t, x, f, work_->bend(t, x, f, *values_), *values_);
  return work_->observe(t, x, f, *values_, s_here, sp)[block - 1];
}

}  // namespace saltus
