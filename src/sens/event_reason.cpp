#include <fmt/format.h>
#include <saltus/expr/derivative.hpp>
#include <saltus/hybrid/event_text.hpp>
#include <saltus/hybrid/simulate.hpp>
#include <saltus/sens/event_reason.hpp>
#include <saltus/sens/sensitivities.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>

#include "base/ridders.hpp"
#include "hybrid/consistency.hpp"
#include "model/model_access.hpp"
#include "sens/event_delay.hpp"

namespace saltus {

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
constexpr double tight = 1e-10;  // tolerance of the runs that are compared

/// Tells how far the work is, and whether it goes on.
class Work {
 public:
  Work(const std::function<bool(double)>& progress, std::size_t parts)
      : progress_(progress), parts_(static_cast<double>(parts)) {}
  bool next() {
    if (progress_ && !stopped_) stopped_ = !progress_(std::min(1.0, static_cast<double>(done_) / parts_));
    ++done_;
    return !stopped_;
  }
  bool stopped() const { return stopped_; }

 private:
  const std::function<bool(double)>& progress_;
  double parts_;
  std::size_t done_ = 0;
  bool stopped_ = false;
};

class Explanation {
 public:
  Explanation(const CompiledModel& model, const SimulateOptions& options, const ReasonOptions& how)
      : model_(model), options_(options), how_(how), compiled_(std::make_shared<CompiledModel>(model)) {}

  EventReason find(std::size_t number) {
    const Trajectory run = simulate(compiled_, options_);
    if (number < 1 || number > run.events().size())
      throw UsageError(fmt::format("there is no event {}: the run has {}", number, run.events().size()));
    const Event& e = run.events()[number - 1];
    if (e.guards.empty() || e.kind == EventKind::initial)
      throw UsageError(fmt::format("event {} belongs to the start of the run: no guard has fired", number));
    found_.event = number;
    found_.t = e.t;
    found_.text = event_text(e, run.variables());
    key_ = key_of(run.events(), number - 1);
    options_.rtol = std::min(options_.rtol, tight);
    options_.atol = std::min(options_.atol, 0.01 * tight);
    options_.rtol_each.clear();
    options_.atol_each.clear();
    options_.flights_after = -1;
    const Trajectory exact = simulate(compiled_, options_);
    const std::optional<double> t = time_of(exact.events(), key_);
    if (!t) {
      found_.notes.push_back("with a tighter tolerance the event does not happen");
      return found_;
    }
    place_ = 0;
    while (exact.events()[place_].t != *t) ++place_;
    t_ = *t;
    if (std::abs(t_ - e.t) > 1e-3 * std::abs(run.t_end() - run.t_start()))
      found_.notes.push_back(fmt::format("with a tighter tolerance the event is at t = {:.9g}", t_));
    read_guards(exact);
    find_parameters(exact);
    Work work(how_.progress, how_.most_causes + 30 * how_.most_preventions);
    find_causes(exact, work);
    find_prevention(work);
    if (work.stopped()) found_.notes.push_back("the search was ended early");
    for (NearMiss& miss : near_misses(model_, run, how_.near))
      if ((miss.t - found_.t) * (run.t_end() - run.t_start()) <= 0.0) found_.near_misses.push_back(std::move(miss));
    return std::move(found_);
  }

 private:
  void read_guards(const Trajectory& run) {
    const std::vector<double> values = run.before(t_), slopes = run.slopes_before(t_);
    const auto parameters = model_.parameters();
    for (std::size_t k = 0; k < model_.guards().size(); ++k) {
      const GuardInfo& guard = model_.guards()[k];
      const auto& fired = run.events()[place_].guards;
      if (guard.same_as >= 0 || std::ranges::find(fired, guard.name) == fired.end()) continue;
      for (const std::string& name : ModelAccess::guard_reads(model_, static_cast<int>(k))) {
        if (std::ranges::find(found_.reads, name, &EventReason::Reading::name) != found_.reads.end()) continue;
        const auto parameter = std::ranges::find(parameters, name, &std::pair<std::string, double>::first);
        const auto& variables = run.variables();
        const auto variable = std::ranges::find(variables, name, &VariableInfo::name);
        if (parameter != parameters.end()) {
          found_.reads.push_back({name, parameter->second, 0.0, true});
        } else if (variable != variables.end()) {
          const auto place = static_cast<std::size_t>(variable - variables.begin());
          found_.reads.push_back({name, values[place], slopes[place], false});
        } else if (name == "time") {
          found_.reads.push_back({name, t_, 1.0, false});
        }
      }
    }
  }

  /// Names by which a run can be differentiated, with their values.
  std::vector<std::pair<std::string, double>> names_to_try() const {
    std::vector<std::pair<std::string, double>> names;
    for (const VariableInfo& p : model_.parameter_info())
      if (p.details->type == VariableType::real) names.emplace_back(p.name, p.start);
    for (const VariableInfo& v : model_.observed())
      if (v.fixed && v.details->type == VariableType::real && v.details->causality != Causality::input)
        names.emplace_back(v.name + ".start", v.start);
    return names;
  }

  bool can_differentiate(const std::string& name) const {
    SimulateOptions none = options_;
    none.stop = none.start;
    try {
      simulate_with_sensitivities(model_, {name}, none);
      return true;
    } catch (const UsageError&) {
      return false;
    }
  }

  void find_parameters(const Trajectory& run) {
    std::vector<std::string> names;
    std::vector<double> values;
    for (const auto& [name, value] : names_to_try()) {
      if (names.size() >= how_.most_parameters) {
        found_.notes.push_back(
            fmt::format("only the first {} parameters and start values were looked at", names.size()));
        break;
      }
      if (!can_differentiate(name)) continue;
      names.push_back(name);
      values.push_back(value);
    }
    if (names.empty()) return;
    SimulateOptions up_to = options_;  // a little beyond the event
    up_to.stop = t_ + std::min(1.0, 1e-3) * (run.t_end() - run.t_start());
    if (std::abs(up_to.stop - up_to.start) > std::abs(options_.stop - options_.start)) up_to.stop = options_.stop;
    const SensitivityRun derivatives = simulate_with_sensitivities(model_, names, up_to);
    const std::vector<EventSensitivity>& events = derivatives.events();
    const bool known = place_ < events.size() && events[place_].dt.size() == names.size();
    if (!known)
      found_.notes.push_back(
          fmt::format("derivatives by parameters are differences of runs: {}",
                      derivatives.why().empty() ? "there is none at this event" : derivatives.why()));
    for (std::size_t k = 0; k < names.size(); ++k) {
      EventReason::Influence influence{names[k], values[k]};
      influence.derivative = known ? events[place_].dt[k] : std::numeric_limits<double>::quiet_NaN();
      if (!std::isfinite(influence.derivative)) {
        influence.derivative = by_differences(names[k], values[k]);
        influence.by_differences = true;
      }
      influence.per_percent = 0.01 * values[k] * influence.derivative;
      if (std::isfinite(influence.derivative)) found_.parameters.push_back(influence);
    }
    std::ranges::stable_sort(found_.parameters, [](const auto& a, const auto& b) {
      return std::abs(a.per_percent) != std::abs(b.per_percent) ? std::abs(a.per_percent) > std::abs(b.per_percent)
                                                                : std::abs(a.derivative) > std::abs(b.derivative);
    });
  }

  /// The time of the event with another value of a parameter.
  std::optional<double> time_with(const std::string& name, double value) const {
    try {
      const Trajectory run = simulate(std::make_shared<CompiledModel>(model_.with_values({{name, value}})), options_);
      // a run that fails before the event would have come says nothing
      const std::optional<double> t = time_of(run.events(), key_);
      if (!t && !run.status().ok()) throw RunFailed{};
      return t;
    } catch (const ModelError&) {
      throw RunFailed{};
    }
  }
  struct RunFailed {};

  double by_differences(const std::string& name, double value) const {
    const double size = value != 0.0 ? std::abs(value) : 1.0;
    const auto at = [&](double h, std::vector<double>& out) {
      try {
        const auto t = time_with(name, value + h);
        if (t) out[0] = *t;
        return t.has_value();
      } catch (const RunFailed&) {
        return false;
      }
    };
    constexpr int steps = 6;
    constexpr double clear = 1e-3;  // error of a derivative by its size, above which it is none
    const Differences found = differentiate_at_zero(1, 1e-3 * size, at, steps);
    const double derivative = found.derivatives[0];
    return found.errors[0] <= clear * std::abs(derivative) || derivative == 0.0 ? derivative : no_number;
  }

  void find_causes(const Trajectory& run, Work& work) {
    const std::vector<Event>& events = run.events();
    for (std::size_t k = place_; k-- > 0 && found_.earlier.size() < how_.most_causes && work.next();) {
      const Event& e = events[k];
      if (e.t == t_ || e.t == run.t_start() || e.kind == EventKind::touch) continue;
      if (k + 1 < events.size() && events[k + 1].t == e.t) continue;  // of one instant the last one
      std::optional<double> effect;
      try {
        effect = delay_effect(model_, options_, run, k, place_);
      } catch (const UsageError&) {  // the run cannot go on from there
      }
      found_.earlier.push_back(
          {k + 1, e.t, event_text(e, run.variables()), effect.value_or(std::numeric_limits<double>::quiet_NaN())});
    }
  }

  /// Changes parameters further and further until the event is gone, then halves the last interval.
  void find_prevention(Work& work) {
    double best = std::numeric_limits<double>::infinity();
    std::size_t tried = 0;
    for (const EventReason::Influence& p : found_.parameters) {
      if (p.value == 0.0 || tried++ >= how_.most_preventions) continue;
      for (const double sign : {1.0, -1.0}) {
        double kept = 0.0, gone = 0.0;
        for (const double share : shares)
          if (share <= how_.largest_change && share < best && gone == 0.0) {
            if (!work.next()) return;
            const Answer answer = happens(p, sign * share);
            if (answer == Answer::unknown) break;
            (answer == Answer::no ? gone : kept) = share;
          }
        if (gone == 0.0) continue;
        for (int k = 0; k < halvings; ++k) {
          const double middle = 0.5 * (kept + gone);
          const Answer answer = happens(p, sign * middle);
          if (answer == Answer::unknown) break;
          (answer == Answer::no ? gone : kept) = middle;
        }
        if (gone >= best) continue;
        best = gone;
        found_.prevention = EventReason::Prevention{p.name, p.value, p.value * (1.0 + sign * gone)};
      }
    }
  }

  enum class Answer { yes, no, unknown };
  Answer happens(const EventReason::Influence& p, double share) const {
    try {
      return time_with(p.name, p.value * (1.0 + share)) ? Answer::yes : Answer::no;
    } catch (const RunFailed&) {
      return Answer::unknown;
    }
  }

  static constexpr std::array shares = {0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0};
  static constexpr int halvings = 20;

  const CompiledModel& model_;
  SimulateOptions options_;
  const ReasonOptions& how_;
  std::shared_ptr<CompiledModel> compiled_;
  EventReason found_;
  EventKey key_;
  std::size_t place_ = 0;  // of the event in the exact run
  double t_ = 0.0;
};

/// Values of the guards along a run, point by point.
class GuardCourse {
 public:
  GuardCourse(const CompiledModel& model, const Trajectory& run) : model_(model), run_(run) {}

  void begin(const Trajectory::Segment& segment) {
    mode_ = run_.mode(segment);
    system_ = &model_.system(mode_);
    g_.assign(static_cast<std::size_t>(system_->structure().guards), 0.0);
  }
  std::span<const double> at(const Trajectory::Step& step, double t) {
    x_.resize(static_cast<std::size_t>(step.polynomial.variables));
    xp_.resize(x_.size());
    step.polynomial.evaluate(t, x_);
    if (system_->structure().explicit_ode) {
      if (system_->structure().guards_read_xp) system_->rhs(t, x_, xp_);
    } else {
      step.polynomial.derivative(t, xp_);
      consistency_.refine(*system_, t, x_, xp_);
    }
    system_->guards(t, x_, xp_, g_);
    return g_;
  }
  int side(int guard) const { return model_.side(mode_, guard); }

 private:
  CompiledModel model_;
  const Trajectory& run_;
  Mode mode_;
  System* system_ = nullptr;
  Consistency consistency_;
  std::vector<double> x_, xp_, g_;
};

}  // namespace

EventReason explain_event(const CompiledModel& model, const SimulateOptions& options, std::size_t event,
                          const ReasonOptions& reason) {
  return Explanation(model, options, reason).find(event);
}

// Of three points in a row on one side, the middle one nearest to zero: a minimum is between the outer two, and golden
// sections find it.
std::vector<NearMiss> near_misses(const CompiledModel& model, const Trajectory& run, double near) {
  struct Point {
    const Trajectory::Step* step = nullptr;
    double t = 0.0, g = 0.0;
  };
  struct Candidate {
    const Trajectory::Segment* segment;
    int guard;
    Point a, b, c;
  };
  const std::size_t count = model.guards().size();
  std::vector<double> largest(count, 0.0);
  std::vector<Candidate> candidates;
  GuardCourse course(model, run);
  for (const Trajectory::Segment& segment : run.segments()) {
    if (segment.steps.empty()) continue;
    course.begin(segment);
    std::vector<std::array<Point, 2>> last(count);  // the two points before, by guard
    std::vector<int> side(count);
    for (std::size_t k = 0; k < count; ++k) {
      const GuardInfo& info = model.guards()[k];
      side[k] = info.time_only || info.same_as >= 0 || info.of_input ? 0 : course.side(static_cast<int>(k));
    }
    for (const Trajectory::Step& step : segment.steps)
      for (const double share : {0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0}) {
        if (share == 0.0 && &step != &segment.steps.front()) continue;
        const double t = step.polynomial.t0 + share * (step.t_end - step.polynomial.t0);
        const std::span<const double> g = course.at(step, t);
        for (std::size_t k = 0; k < count; ++k) {
          if (side[k] == 0 || !std::isfinite(g[k])) continue;
          largest[k] = std::max(largest[k], std::abs(g[k]));
          const Point now{&step, t, side[k] * g[k]};
          const auto& [a, b] = last[k];
          if (a.step && b.g < a.g && b.g <= now.g && b.g > 0.0)
            candidates.push_back({&segment, static_cast<int>(k), a, b, now});
          last[k] = {b, now};
        }
      }
  }
  std::vector<NearMiss> misses;
  for (const Candidate& c : candidates) {
    const auto k = static_cast<std::size_t>(c.guard);
    if (!(2.0 * c.b.g - std::max(c.a.g, c.c.g) < near * largest[k])) continue;  // far above zero between them, too
    course.begin(*c.segment);
    const int side = course.side(c.guard);
    const auto value = [&](double t) {
      const Trajectory::Step* const step = (t - c.b.step->polynomial.t0) * (c.c.t - c.a.t) < 0.0 ? c.a.step
                                           : (t - c.b.step->t_end) * (c.c.t - c.a.t) > 0.0       ? c.c.step
                                                                                                 : c.b.step;
      return side * course.at(*step, t)[k];
    };
    constexpr double golden = 0.6180339887498949;
    constexpr int sections = 40;
    double from = c.a.t, to = c.c.t, left = to - golden * (to - from), right = from + golden * (to - from);
    double at_left = value(left), at_right = value(right);
    for (int n = 0; n < sections; ++n) {
      if (at_left < at_right) {
        to = right;
        right = left;
        at_right = at_left;
        left = to - golden * (to - from);
        at_left = value(left);
      } else {
        from = left;
        left = right;
        at_left = at_right;
        right = from + golden * (to - from);
        at_right = value(right);
      }
    }
    const double least = std::min({at_left, at_right, c.b.g});
    const double t = least == c.b.g ? c.b.t : at_left < at_right ? left : right;
    if (least > 0.0 && least < near * largest[k]) misses.push_back({model.guards()[k].name, t, least / largest[k]});
  }
  return misses;
}

}  // namespace saltus
