#include "fmi/stepped_model.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace saltus {

namespace {

using Role = DescribedVariable::Role;
constexpr double same_time = 1e-9;  // relative: sums of step sizes have rounding errors
constexpr int most_rounds = 1000;

double slack(double t) {
  return same_time * std::max(1.0, std::abs(t));
}

/// Nothing is integrated; the guards are the times to the end of the interval and to the changes of inputs.
class StandingSystem final : public System {
 public:
  explicit StandingSystem(std::vector<double> times) : times_(std::move(times)) {
    structure_.variables = structure_.equations = 1;
    structure_.guards = static_cast<int>(times_.size());
    const std::pair<int, int> diagonal[] = {{0, 0}};
    structure_.state_pattern = make_pattern(1, 1, {});
    structure_.derivative_pattern = make_pattern(1, 1, diagonal);
    structure_.explicit_ode = structure_.constant_mass = true;
    structure_.guards_read_xp = false;
  }
  const Structure& structure() const override { return structure_; }
  void rhs(double, std::span<const double>, std::span<double> xp) override { xp[0] = 0.0; }
  void residual(double, std::span<const double>, std::span<const double> xp, std::span<double> F) override {
    F[0] = xp[0];
  }
  void jacobian(double, std::span<const double>, std::span<const double>, std::span<double>,
                std::span<double> Fxp) override {
    Fxp[0] = 1.0;
  }
  void guards(double t, std::span<const double>, std::span<const double>, std::span<double> g) override {
    for (std::size_t k = 0; k < times_.size(); ++k) g[k] = times_[k] < InputInfo::never ? times_[k] - t : 1.0;
  }

 private:
  std::vector<double> times_;
  Structure structure_;
};

}  // namespace

SteppedModel::SteppedModel(const std::string& file, const ImportOptions& options)
    : files_(file), about_(read_description(files_.description())) {
  const Experiment& e = about_.experiment;
  settings_ = {.start = options.start.value_or(e.start.value_or(0.0)),
               .stop = options.stop,
               .tolerance = options.tolerance ? options.tolerance : e.tolerance};
  if (settings_.stop && *settings_.stop <= settings_.start) settings_.stop.reset();
  constexpr double points = 500.0;
  const double length = settings_.stop.value_or(e.stop.value_or(settings_.start + 1.0)) - settings_.start;
  step_ = options.step.value_or(e.interval.value_or(length > 0.0 ? length / points : 1.0 / points));
  if (!(step_ > 0.0) || !std::isfinite(step_))
    throw UsageError(fmt::format("the communication step {} is not a positive number", step_));
  start_values_ = apply_values(about_, options.values);
  fmu_ = load_stepped_fmu(files_, about_);
  declare_variables();
  initialise(inputs_at(settings_.start, initial_mode().discrete));
}

SteppedModel::~SteppedModel() {
  if (at_begin_) fmu_->release(at_begin_);
}

void SteppedModel::declare_variables() {
  variables_.push_back({.name = "(nothing is integrated)", .fixed = true});
  guards_.push_back({.name = "communication point",
                     .time_only = true,
                     .of_input = true,
                     .rule = SurfaceRule::crossing,
                     .slides = false});
  for (const DescribedVariable& v : about_.variables) {
    if (v.role == Role::parameter) parameters_.push_back(v.info);
    if (v.role != Role::input && v.role != Role::output && v.role != Role::local) continue;
    if (v.role == Role::input) {
      input_from_.push_back(&v);
      guards_.push_back({.name = "input " + v.info.name,
                         .time_only = true,
                         .of_input = true,
                         .rule = SurfaceRule::crossing,
                         .slides = false});
    }
    observed_.push_back(v.info);
    observed_from_.push_back(&v);
  }
  int next = 1 + static_cast<int>(guards_.size());
  for (std::size_t k = 0; k < observed_.size(); ++k) {
    if (observed_from_[k]->role != Role::input) continue;
    inputs_.push_back(place_input(*observed_from_[k], static_cast<int>(k), next));
    next = inputs_.back().following + 1;
  }
  notes_.push_back(fmt::format(
      "the FMU is for co-simulation: its own solver goes from one communication point to the next, every {}. "
      "Events inside of a step are not seen, and values between are straight lines",
      step_));
  if (!about_.left_out.empty())
    notes_.push_back(fmt::format("{} variables are not shown (texts, binary values), the first is '{}'",
                                 about_.left_out.size(), about_.left_out.front()));
}

std::vector<double> SteppedModel::inputs_at(double t, std::span<const double> numbers) const {
  std::vector<double> values;
  for (const InputInfo& info : inputs_) values.push_back(input_value(info, numbers, t));
  return values;
}

void SteppedModel::initialise(const std::vector<double>& input_values) {
  if (current_ != none) fmu_->reset();
  for (const auto& [variable, value] : start_values_) fmu_->set(*variable, value);
  fmu_->begin_initialization(settings_);
  for (std::size_t k = 0; k < input_from_.size(); ++k) fmu_->set(*input_from_[k], input_values[k]);
  fmu_->end_initialization();
  Interval first{.begin = settings_.start, .end = InputInfo::never, .started = false};
  if (about_.event_mode) {
    const EventOutcome outcome = settle();
    first.terminate = outcome.terminate;
    first.next_time = outcome.next_time;
  }
  first.at_begin = first.at_end = read();
  current_ = intervals_.size();
  intervals_.push_back(std::move(first));
  started_with_ = input_values;
  used_ = false;
}

EventOutcome SteppedModel::settle() {
  EventOutcome last;
  for (int round = 0;; ++round) {
    if (round == most_rounds)
      throw Error(fmt::format(
          "the event mode of the FMU finds no end: its discrete state still changes after {} rounds", most_rounds));
    last = fmu_->update_discrete_states();
    if (!last.again || last.terminate) break;
  }
  fmu_->enter_step_mode();
  return last;
}

std::vector<double> SteppedModel::read() {
  std::vector<double> values;
  values.reserve(observed_from_.size());
  for (const DescribedVariable* v : observed_from_) values.push_back(fmu_->get(*v));
  return values;
}

void SteppedModel::set_inputs(double t, std::span<const double> numbers, bool all) {
  for (std::size_t k = 0; k < inputs_.size(); ++k)
    if (all || input_from_[k]->continuous) fmu_->set(*input_from_[k], input_value(inputs_[k], numbers, t));
}

void SteppedModel::set_slopes(double t, double end, std::span<const double> numbers) {
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    if (inputs_[k].since < 0) continue;
    const double rise = input_value(inputs_[k], numbers, end) - input_value(inputs_[k], numbers, t);
    fmu_->set_slope(*input_from_[k], rise / (end - t));
  }
}

double SteppedModel::next_point(double t, std::span<const double> numbers,
                                const std::optional<double>& next_time) const {
  const double from = t - settings_.start;
  double end = settings_.start + (std::floor(from / step_ + same_time) + 1.0) * step_;
  if (!about_.variable_steps) return end;
  for (const InputInfo& info : inputs_)
    if (const double change = numbers[static_cast<std::size_t>(info.next)]; change > t + slack(t))
      end = std::min(end, change);
  if (next_time && *next_time > t + slack(t)) end = std::min(end, *next_time);
  if (settings_.stop && *settings_.stop > t + slack(t)) end = std::min(end, *settings_.stop);
  return end;
}

StepEnd SteppedModel::step(double t, double end) {
  constexpr int most_halvings = 20;
  for (int k = 0; k <= most_halvings; ++k, end = t + 0.5 * (end - t)) {
    const StepEnd outcome = fmu_->do_step(t, end - t);
    if (outcome.made || outcome.terminate) return outcome;
    if (!at_begin_ || !about_.variable_steps) break;
    fmu_->restore(at_begin_);
  }
  throw Error(fmt::format("the FMU refuses the step from {:.9g} to {:.9g}; choose another communication step", t, end));
}

std::size_t SteppedModel::go_on(std::size_t before, double t, std::span<const double> numbers, bool inputs_jump) {
  if (intervals_[before].next != none) return intervals_[before].next;
  if (current_ != before) throw Error(fmt::format("the FMU cannot go back to t = {:.9g}: another run has used it", t));
  bool event = intervals_[before].event;
  std::optional<double> next_time = intervals_[before].next_time;
  for (int round = 0;; ++round) {
    if (round == most_rounds)
      throw Error(fmt::format("the FMU asks for event after event at t = {:.9g} and makes no step", t));
    const bool due = next_time && *next_time <= t + slack(t);
    Interval now{.begin = t};
    if (about_.event_mode && (event || due || inputs_jump)) {
      fmu_->enter_event_mode();
      set_inputs(t, numbers, true);
      const EventOutcome outcome = settle();
      now.terminate = outcome.terminate;
      next_time = outcome.next_time;
    } else {
      set_inputs(t, numbers, !about_.event_mode);
    }
    now.next_time = next_time;
    now.at_begin = read();
    now.end = t;
    if (!now.terminate && settings_.stop && t >= *settings_.stop - slack(t)) {
      now.end = InputInfo::never;  // the FMU may refuse to go on
    } else if (!now.terminate) {
      const double end = next_point(t, numbers, next_time);
      if (about_.interpolates_inputs) set_slopes(t, end, numbers);
      if (about_.saves_states) {
        if (at_begin_) fmu_->release(std::exchange(at_begin_, nullptr));
        at_begin_ = fmu_->save();
      }
      used_ = true;
      const StepEnd outcome = step(t, end);
      if (!(outcome.t >= t) || !(outcome.t <= end + slack(end)))
        throw Error(
            fmt::format("the FMU says that its step from {:.9g} to {:.9g} has ended at {:.9g}", t, end, outcome.t));
      now.terminate = outcome.terminate;
      now.event = event = outcome.event;
      now.end = outcome.t;
      if (!now.terminate && now.end <= t) {
        if (!event) throw Error(fmt::format("the FMU makes no step from t = {:.9g}", t));
        inputs_jump = false;
        continue;  // event mode once more, at the same time
      }
      if (!now.terminate) set_inputs(now.end, numbers, false);  // outputs follow inputs to the end of the interval
    }
    now.at_end = read();
    const std::size_t number = intervals_.size();
    intervals_.push_back(std::move(now));
    intervals_[before].next = number;
    current_ = number;
    return number;
  }
}

void SteppedModel::shorten(std::size_t number, double t) {
  Interval& now = intervals_[number];
  if (current_ != number || !at_begin_)
    throw Error(
        fmt::format("an input changes at t = {:.9g}, inside of a communication step that the FMU has made; it "
                    "cannot go back, because it does not save its state",
                    t));
  fmu_->restore(at_begin_);
  const StepEnd outcome = step(now.begin, t);
  now.end = outcome.t;
  now.event = outcome.event;
  now.terminate = outcome.terminate;
  now.at_end = read();
  if (now.end < t - slack(t) && !now.terminate)
    throw Error(fmt::format("the FMU ends a step at t = {:.9g} that went on when it was made before", now.end));
}

Mode SteppedModel::initial_mode() const {
  Mode mode;
  mode.discrete.assign(inputs_.empty() ? 1 + guards_.size() : static_cast<std::size_t>(inputs_.back().following) + 1,
                       0.0);
  mode.locks.assign(guards_.size(), 1.0);
  for (std::size_t k = 0; k < inputs_.size(); ++k) begin_input(inputs_[k], input_from_[k]->info.start, mode.discrete);
  for (std::size_t k = 0; k < guards_.size(); ++k) mode.discrete[acted_side(k)] = 1.0;
  return mode;
}

System& SteppedModel::system(const Mode& mode) {
  const std::lock_guard turn(turn_);
  auto& system = systems_[mode.discrete];
  if (!system) {
    std::vector<double> times{intervals_[static_cast<std::size_t>(mode.discrete[0])].end};
    for (const InputInfo& info : inputs_) times.push_back(mode.discrete[static_cast<std::size_t>(info.next)]);
    system = std::make_unique<StandingSystem>(std::move(times));
  }
  return *system;
}

void SteppedModel::forget_systems(std::span<const System* const> kept) {
  const std::lock_guard turn(turn_);
  std::erase_if(systems_, [&](const auto& entry) { return std::ranges::find(kept, entry.second.get()) == kept.end(); });
}

int SteppedModel::side(const Mode& mode, int guard) const {
  return mode.locks[static_cast<std::size_t>(guard)] > 0.0 ? +1 : -1;
}

void SteppedModel::set_side(Mode& mode, int guard, int side) const {
  mode.locks[static_cast<std::size_t>(guard)] = side > 0 ? 1.0 : 0.0;
}

double SteppedModel::next_time_event(const Mode& mode, double t, int direction, std::vector<int>& guards) {
  if (direction < 0) return -std::numeric_limits<double>::infinity();
  const std::lock_guard turn(turn_);
  std::vector<double> times{intervals_[static_cast<std::size_t>(mode.discrete[0])].end};
  for (const InputInfo& info : inputs_) times.push_back(mode.discrete[static_cast<std::size_t>(info.next)]);
  double next = std::numeric_limits<double>::infinity();
  for (const double time : times)
    if (time > t && time < InputInfo::never) next = std::min(next, time);
  for (std::size_t k = 0; k < times.size(); ++k)
    if (times[k] == next) guards.push_back(static_cast<int>(k));
  return next;
}

bool SteppedModel::transition(const EventInput& input, Transition& transition) {
  static constexpr std::string_view event_mode = "event mode of the FMU";
  const std::lock_guard turn(turn_);
  Mode& mode = transition.mode;
  const auto take_sides = [&] {
    for (std::size_t k = 0; k < guards_.size(); ++k) mode.discrete[acted_side(k)] = mode.locks[k];
  };
  const auto number = [&] { return static_cast<std::size_t>(mode.discrete[0]); };
  if (!input.initial && (input.terminal || input.quiet)) {
    take_sides();
    return false;
  }
  if (input.initial) {
    take_sides();
    if (intervals_[number()].started) return false;
    const std::vector<double> values = inputs_at(input.t, mode.discrete);
    if (used_ || values != started_with_) initialise(values);
    mode.discrete[0] = static_cast<double>(current_);
  } else {
    bool inputs_jump = false;
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      if (mode.locks[1 + k] == mode.discrete[acted_side(1 + k)]) continue;
      change_input(inputs_[k], mode.discrete);
      mode.locks[1 + k] = mode.discrete[acted_side(1 + k)];
      inputs_jump = true;
    }
    const bool point = mode.locks[0] != mode.discrete[acted_side(0)];
    if (!point && !inputs_jump) return false;
    mode.locks[0] = mode.discrete[acted_side(0)];
    if (!point && std::abs(input.t - intervals_[number()].end) > slack(input.t)) shorten(number(), input.t);
    if (intervals_[number()].event) {
      transition.fired.push_back(event_mode);
      transition.recorded = true;
    }
    if (!intervals_[number()].terminate)
      mode.discrete[0] = static_cast<double>(go_on(number(), input.t, mode.discrete, inputs_jump));
  }
  if (input.initial && !intervals_[number()].terminate)
    mode.discrete[0] = static_cast<double>(go_on(number(), input.t, mode.discrete, false));
  const Interval& now = intervals_[number()];
  if (now.terminate && now.end <= input.t + slack(input.t)) {
    transition.terminate = true;
    transition.message = "the FMU has ended the run";
  }
  return true;
}

void SteppedModel::observe(const Mode& mode, double t, std::span<const double>, std::span<const double>,
                           std::span<double> values) {
  const std::lock_guard turn(turn_);
  const Interval& now = intervals_[static_cast<std::size_t>(mode.discrete[0])];
  const double length = now.end - now.begin;
  const double part = length > 0.0 && now.end < InputInfo::never ? std::clamp((t - now.begin) / length, 0.0, 1.0) : 0.0;
  for (std::size_t k = 0, input = 0; k < observed_.size(); ++k) {
    if (observed_from_[k]->role == Role::input)
      values[k] = input_value(inputs_[input++], mode.discrete, t);
    else if (observed_from_[k]->continuous)
      values[k] = (1.0 - part) * now.at_begin[k] + part * now.at_end[k];
    else
      values[k] = now.at_begin[k];
  }
}

}  // namespace saltus
