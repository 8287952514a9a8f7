// Minima, maxima and means come from the dense output. A piece of a step is evaluated at Chebyshev-Lobatto nodes, twice
// as many as its polynomial has degrees, so that also squares are integrated exactly: the weights are those of Clenshaw
// and Curtis (1960). Extrema between nodes are found by parabolas through three points.
#include "study/member_run.hpp"

#include <fmt/format.h>
#include <saltus/base/elementary.hpp>
#include <saltus/base/error.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace saltus {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr int longest_period = 64;

struct NodeRule {
  std::vector<double> nodes, weights;  // on [0, 1]
};

NodeRule make_rule(int n) {
  constexpr double pi = 3.141592653589793;
  NodeRule rule;
  for (int k = 0; k <= n; ++k) {
    const double angle = pi * k / n;
    double sum = 1.0;
    for (int j = 1; j <= n / 2; ++j)
      sum -= (2 * j == n ? 1.0 : 2.0) / (4.0 * j * j - 1.0) * elementary::cos(2.0 * j * angle);
    rule.nodes.push_back(0.5 * (1.0 - elementary::cos(angle)));
    rule.weights.push_back((k == 0 || k == n ? 0.5 : 1.0) * sum / n);
  }
  rule.nodes.back() = 1.0;
  return rule;
}

/// Rules with an even number of intervals, from 8 to 32.
const NodeRule& rule_for(int degree) {
  static const std::vector<NodeRule> rules = [] {
    std::vector<NodeRule> all;
    for (int n = 8; n <= 32; n += 2) all.push_back(make_rule(n));
    return all;
  }();
  return rules[static_cast<std::size_t>(std::clamp(degree, 4, 16) - 4)];
}

}  // namespace

int period_of(const std::vector<std::vector<double>>& samples, double tolerance) {
  const auto near = [&](double a, double b) {
    return std::abs(a - b) <= tolerance * std::max({1.0, std::abs(a), std::abs(b)});
  };
  for (std::size_t k = 1; k <= longest_period && 2 * k <= samples.size(); ++k) {
    bool repeats = true;
    for (std::size_t i = 0; repeats && i + k < samples.size(); ++i)
      repeats = std::ranges::equal(samples[i], samples[i + k], near);
    if (repeats) return static_cast<int>(k);
  }
  return 0;
}

MemberRun::MemberRun(const StudyPlan& plan, const StudyLayout& layout, std::shared_ptr<HybridSystem> model,
                     const std::atomic<bool>& stop)
    : plan_(plan), layout_(layout), model_(std::move(model)), stop_(stop) {}

SimulateOptions MemberRun::options() {
  SimulateOptions o = plan_.simulate;
  o.keep_steps = o.keep_event_values = true;
  o.progress = [this](const Progress&) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began_;
    if (passed.count() > plan_.member_seconds) out_of_time_ = true;
    return !out_of_time_ && !stop_;
  };
  if (plan_.sampling.at != SampleAt::period) return o;
  period_ = plan_.sampling.period;
  if (layout_.sampling_variable >= 0) {
    SimulateOptions at_start = o;
    at_start.stop = at_start.start;
    const Simulator initial(model_, at_start);
    if (!initial.status().ok()) return at_start;  // the run ends in the same way
    period_ = initial.trajectory().final()[static_cast<std::size_t>(layout_.sampling_variable)];
    if (!(period_ > 0.0) || !std::isfinite(period_))
      throw UsageError(fmt::format("the period is {} at the start; it must be a positive number", period_));
  }
  o.stop = o.start + static_cast<double>(plan_.sampling.transient + plan_.sampling.keep) * period_;
  return o;
}

void MemberRun::start() {
  simulate_ = options();
  const double none = std::numeric_limits<double>::infinity();
  window_ = plan_.sampling.at == SampleAt::none     ? std::max(simulate_.start, plan_.collect_after)
            : plan_.sampling.transient == 0         ? simulate_.start
            : plan_.sampling.at == SampleAt::period ? sample_time(plan_.sampling.transient)
                                                    : none;
  before_ = simulate_.start;
  windows_.resize(layout_.dense.size());
  counts_.assign(plan_.collect.size(), 0.0);
  firsts_.assign(plan_.collect.size(), nan);
  samples_.resize(plan_.collect.size());
  simulator_ = std::make_unique<Simulator>(model_, simulate_);
}

void MemberRun::run(MemberOutcome& outcome) {
  constexpr std::size_t most_kept = 512;  // steps and events between two times of forgetting
  start();
  bool wanted = look();
  while (wanted && simulator_->step()) {
    wanted = look() && !stop_;
    const Trajectory& past = simulator_->trajectory();
    if (past.segments().size() + step_ + event_ < most_kept) continue;
    simulator_->forget_past();
    segment_ = step_ = event_ = 0;
  }
  if (wanted) look();
  const bool ended = simulator_->finished();
  const Trajectory run = simulator_->take();
  outcome.stopped = stop_;
  outcome.status = out_of_time_ ? member_out_of_time : !ended ? 0 : static_cast<int>(run.status().code);
  outcome.t = run.t_end();
  outcome.message = run.status().message;
  if (out_of_time_)
    outcome.message = fmt::format("not ended after {} s; at t = {:.9g} it had made {} steps", plan_.member_seconds,
                                  run.t_end(), run.statistics().steps);
  const auto set = [&](FixedArray array, double value) { outcome.columns[layout_.place(array)].front() = value; };
  set(FixedArray::status, outcome.status);
  set(FixedArray::path, 0.0);
  set(FixedArray::steps, static_cast<double>(run.statistics().steps));
  set(FixedArray::events, static_cast<double>(run.statistics().events));
  set(FixedArray::t_end, run.t_end());
  if (!member_ok(outcome.status)) return;
  set(FixedArray::kept, static_cast<double>(kept_));
  outcome.end = run.final();
  collect(outcome, run.final());
}

Trajectory MemberRun::run_and_keep() {
  start();
  bool wanted = look();
  while (wanted && simulator_->step()) wanted = look();
  return simulator_->take();
}

bool MemberRun::look() {
  const Trajectory& past = simulator_->trajectory();
  const auto& segments = past.segments();
  const auto& events = past.events();
  const auto see_pieces_until = [&](double limit) {
    while (segment_ < segments.size()) {
      const auto& steps = segments[segment_].steps;
      for (; step_ < steps.size() && steps[step_].t_end <= limit; ++step_) {
        const double begin = std::max(before_, window_);
        if (layout_.integrates && steps[step_].t_end > begin) see_piece(steps[step_], begin, steps[step_].t_end);
        before_ = steps[step_].t_end;
      }
      if (step_ < steps.size() || segment_ + 1 == segments.size()) return;
      ++segment_;
      step_ = 0;
    }
  };
  for (; event_ < events.size(); ++event_) {
    see_pieces_until(events[event_].t);
    see_event(events[event_]);
    if (enough()) {
      ++event_;
      return false;
    }
  }
  see_pieces_until(std::numeric_limits<double>::infinity());
  if (plan_.sampling.at == SampleAt::period) see_samples();
  return true;
}

void MemberRun::see_event(const Event& event) {
  const auto growth = [&](std::size_t variable) {
    return variable < event.after.size() ? event.after[variable] - event.before[variable] : 0.0;
  };
  for (std::size_t k = 0; k < plan_.collect.size(); ++k) {
    const Collect what = plan_.collect[k].what;
    if ((what != Collect::count && what != Collect::first) || !in_window(event.t)) continue;
    const double more = growth(layout_.variables[k]);
    counts_[k] += more;
    if (more != 0.0 && std::isnan(firsts_[k])) firsts_[k] = event.t;
  }
  if (plan_.sampling.at != SampleAt::section || growth(static_cast<std::size_t>(layout_.sampling_variable)) == 0.0)
    return;
  ++seen_;
  if (seen_ > plan_.sampling.transient) keep_sample(event.after);
  if (seen_ == plan_.sampling.transient) window_ = event.t;
}

void MemberRun::see_piece(const Trajectory::Step& step, double begin, double end) {
  const NodeRule& rule = rule_for(step.polynomial.degree);
  const Trajectory& past = simulator_->trajectory();
  std::vector<double> t;
  nodes_.clear();
  for (std::size_t k = 0; k < rule.nodes.size(); ++k) {
    const bool last = k + 1 == rule.nodes.size();
    t.push_back(last ? end : begin + (end - begin) * rule.nodes[k]);
    nodes_.push_back(last ? past.before(end) : past.at(t.back()));
  }
  for (std::size_t d = 0; d < layout_.dense.size(); ++d) {
    const std::size_t variable = layout_.dense[d];
    std::size_t lowest = 0, highest = 0;
    double sum = 0.0;
    for (std::size_t k = 0; k < t.size(); ++k) {
      const double value = nodes_[k][variable];
      sum += rule.weights[k] * value;
      if (value < nodes_[lowest][variable]) lowest = k;
      if (value > nodes_[highest][variable]) highest = k;
    }
    windows_[d].integral += sum * (end - begin);
    see_extremum(t, lowest, d, -1.0);
    see_extremum(t, highest, d, +1.0);
  }
}

void MemberRun::see_extremum(const std::vector<double>& t, std::size_t at, std::size_t dense, double sign) {
  const std::size_t variable = layout_.dense[dense];
  double best = sign * nodes_[at][variable];
  double& limit = sign > 0.0 ? windows_[dense].high : windows_[dense].low;
  if (at > 0 && at + 1 < t.size()) {
    double a = t[at - 1], b = t[at], c = t[at + 1];
    double fa = sign * nodes_[at - 1][variable], fc = sign * nodes_[at + 1][variable];
    for (int round = 0; round < 6; ++round) {
      const double left = (b - a) * (best - fc), right = (b - c) * (best - fa);
      const double below = 2.0 * (left - right);
      const double top = below == 0.0 ? b : b - ((b - a) * left - (b - c) * right) / below;
      if (!(top > a && top < c) || std::abs(top - b) <= 1e-9 * (c - a)) break;
      const double value = sign * simulator_->trajectory().at(top)[variable];
      const bool better = value > best, later = top > b;
      if (better) {
        (later ? a : c) = b;
        (later ? fa : fc) = best;
        b = top;
        best = value;
      } else {
        (later ? c : a) = top;
        (later ? fc : fa) = value;
      }
    }
  }
  limit = sign > 0.0 ? std::max(limit, best) : std::min(limit, -best);
}

void MemberRun::see_samples() {
  const Trajectory& past = simulator_->trajectory();
  while (!enough()) {
    const bool last = seen_ + 1 == plan_.sampling.transient + plan_.sampling.keep;
    const double t = last ? simulate_.stop : sample_time(seen_ + 1);
    if (t > simulator_->t()) return;
    ++seen_;
    if (seen_ > plan_.sampling.transient) keep_sample(past.at(t));
  }
}

void MemberRun::keep_sample(const std::vector<double>& values) {
  ++kept_;
  for (std::size_t k = 0; k < plan_.collect.size(); ++k)
    if (plan_.collect[k].what == Collect::sample || plan_.collect[k].what == Collect::period)
      samples_[k].push_back(values[layout_.variables[k]]);
}

void MemberRun::collect(MemberOutcome& outcome, const std::vector<double>& final) const {
  const double length = before_ - window_;
  for (std::size_t k = 0; k < plan_.collect.size(); ++k) {
    std::vector<double>& place = outcome.columns[layout_.collected + k];
    const std::size_t variable = layout_.variables[k];
    const auto found = std::ranges::find(layout_.dense, variable);
    const Window* window = found == layout_.dense.end() || !(length > 0.0)
                               ? nullptr
                               : &windows_[static_cast<std::size_t>(found - layout_.dense.begin())];
    switch (plan_.collect[k].what) {
      case Collect::final_value:
        place.front() = final[variable];
        break;
      case Collect::sample:
        std::ranges::copy(samples_[k], place.begin());
        break;
      case Collect::minimum:
        place.front() = window ? window->low : final[variable];
        break;
      case Collect::maximum:
        place.front() = window ? window->high : final[variable];
        break;
      case Collect::mean:
        place.front() = window ? window->integral / length : final[variable];
        break;
      case Collect::count:
        place.front() = counts_[k];
        break;
      case Collect::first:
        place.front() = firsts_[k];
        break;
      case Collect::period: {
        std::vector<std::vector<double>> points;
        for (const double value : samples_[k]) points.push_back({value});
        place.front() = period_of(points, plan_.period_tolerance);
        break;
      }
    }
  }
}

}  // namespace saltus
