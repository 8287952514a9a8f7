#include "study/member_run.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/work_limit.hpp"

namespace saltus {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr int longest_period = 64;

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
  if (plan_.sampling.at == SampleAt::section) o.local_events_from = -1;  // the run may end at any event
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
  windows_ = Windows(layout_.dense.size());
  counts_.assign(plan_.collect.size(), 0.0);
  firsts_.assign(plan_.collect.size(), nan);
  samples_.resize(plan_.collect.size());
  simulator_ = std::make_unique<Simulator>(model_, simulate_);
}

void MemberRun::run(MemberOutcome& outcome) {
  const WorkLimit limit(plan_.member_seconds, stop_);
  try {
    run_to_end(outcome);
  } catch (const WorkStopped&) {  // inside a search
    outcome.stopped = stop_;
    outcome.status = member_out_of_time;
    outcome.message =
        fmt::format("not ended after {} s; it was searching for consistent values{}", plan_.member_seconds,
                    simulator_ ? fmt::format(" at t = {:.9g}", simulator_->t()) : "");
    outcome.t = simulator_ ? simulator_->t() : simulate_.start;
    outcome.columns[layout_.place(FixedArray::status)].front() = member_out_of_time;
  }
}

void MemberRun::run_to_end(MemberOutcome& outcome) {
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
        if (layout_.integrates && steps[step_].t_end > begin) see_piece(steps[step_], begin);
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
  const auto counts = [](const Collector& c) { return c.what == Collect::count || c.what == Collect::first; };
  const std::vector<double>*from = &event.before, *to = &event.after;
  if (plan_.sampling.at != SampleAt::section && std::ranges::none_of(plan_.collect, counts)) return;
  if (event.t == seen_whole_) return;
  std::vector<double> before, after;
  if (from->empty()) {  // an event in a part of a large model: the first one at a time shows all of them
    seen_whole_ = event.t;
    before = simulator_->trajectory().before(event.t);
    after = simulator_->trajectory().at(event.t);
    from = &before;
    to = &after;
  }
  const auto growth = [&](std::size_t variable) { return (*to)[variable] - (*from)[variable]; };
  for (std::size_t k = 0; k < plan_.collect.size(); ++k) {
    if (!counts(plan_.collect[k]) || !in_window(event.t)) continue;
    const double more = growth(layout_.variables[k]);
    counts_[k] += more;
    if (more != 0.0 && std::isnan(firsts_[k])) firsts_[k] = event.t;
  }
  if (plan_.sampling.at != SampleAt::section || growth(static_cast<std::size_t>(layout_.sampling_variable)) == 0.0)
    return;
  ++seen_;
  if (seen_ > plan_.sampling.transient) keep_sample(*to);
  if (seen_ == plan_.sampling.transient) window_ = event.t;
}

void MemberRun::see_piece(const Trajectory::Step& step, double begin) {
  const Trajectory& past = simulator_->trajectory();
  windows_.see(begin, step.t_end, step.polynomial.degree, [&](double t, bool last, std::span<double> values) {
    const std::vector<double> all = last ? past.before(t) : past.at(t);
    for (std::size_t d = 0; d < values.size(); ++d) values[d] = all[layout_.dense[d]];
  });
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
    const Windows::Window* window = found == layout_.dense.end() || !(length > 0.0)
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
