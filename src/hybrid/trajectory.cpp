#include <fmt/format.h>
#include <saltus/base/names.hpp>
#include <saltus/hybrid/event_text.hpp>
#include <saltus/hybrid/trajectory.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>
#include <unordered_map>

#include "base/ridders.hpp"
#include "hybrid/event_log.hpp"
#include "hybrid/result_readers.hpp"

namespace saltus {

std::string_view to_string(EventKind kind) {
  switch (kind) {
    case EventKind::initial: return "initial";
    case EventKind::crossing: return "crossing";
    case EventKind::reset: return "reset";
    case EventKind::transition: return "transition";
    case EventKind::slide_enter: return "slide_enter";
    case EventKind::slide_exit: return "slide_exit";
    case EventKind::contact: return "contact";
    case EventKind::release: return "release";
    case EventKind::time: return "time";
    case EventKind::record: return "record";
    case EventKind::touch: return "touch";
    case EventKind::terminal: return "terminal";
  }
  return "unknown";
}

std::string_view to_string(JumpCause cause) {
  switch (cause) {
    case JumpCause::none: return "none";
    case JumpCause::reset: return "reset";
    case JumpCause::consistency: return "consistency";
  }
  return "unknown";
}

std::string Event::describe() const {
  std::string text(to_string(kind));
  for (std::size_t k = 0; k < guards.size(); ++k)
    text += (k == 0 ? ": " : ", ") + guard_change(guards[k], direction[k], k < becomes.size() ? becomes[k] : 0);
  for (std::size_t k = 0; k < actions.size(); ++k) text += (k == 0 ? "; " : ", ") + actions[k];
  for (std::size_t k = 0; k < surfaces.size(); ++k)
    text += fmt::format("{} {} with weight {:.6g}", k == 0 ? "; slides on" : ",", surfaces[k], weights[k]);
  for (std::size_t k = 0; k < contacts.size(); ++k) text += (k == 0 ? "; in contact with " : ", ") + contacts[k];
  double size = 1.0;  // a change within rounding is not worth a word
  for (const double v : before) size = std::max(size, std::abs(v));
  if (jump > 1e-12 * size) text += fmt::format("; jump {:.6g}", jump);
  if (!message.empty()) text += "; " + message;
  return text;
}

Trajectory::Trajectory(std::shared_ptr<HybridSystem> system, double t_start)
    : readers_(std::make_shared<ResultReaders>(std::move(system))),
      t_start_(t_start),
      t_end_(t_start),
      values_from_(t_start),
      events_(std::make_unique<EventLog>()) {}
Trajectory::~Trajectory() = default;
Trajectory::Trajectory(Trajectory&&) noexcept = default;
Trajectory& Trajectory::operator=(Trajectory&&) noexcept = default;
Trajectory& Trajectory::operator=(const Trajectory& other) { return *this = Trajectory(other); }
Trajectory::Trajectory(const Trajectory& other)
    : readers_(other.readers_),
      t_start_(other.t_start_),
      t_end_(other.t_end_),
      values_from_(other.values_from_),
      initial_values_(other.initial_values_),
      final_values_(other.final_values_),
      segments_(other.segments_),
      events_(std::make_unique<EventLog>(*other.events_)),
      chattering_(other.chattering_),
      status_(other.status_),
      statistics_(other.statistics_) {}

const std::vector<Event>& Trajectory::events() const {
  return events_->read(readers_->system());
}
void Trajectory::for_each_event(const std::function<void(const Event&)>& visit) const {
  events_->for_each(readers_->system(), visit);
}
const std::vector<VariableInfo>& Trajectory::variables() const {
  return readers_->system().observed();
}

namespace {

/// "m/s" of "m", "(m/s)/s" of "m/s".
std::string rate_unit(const std::string& unit) {
  if (unit.empty()) return "";
  return (unit.find_first_of("/.* ") == std::string::npos ? unit : "(" + unit + ")") + "/s";
}

}  // namespace

std::size_t Trajectory::index(const std::string& name) const {
  const NameTable names(variables(), [](const VariableInfo& v) -> std::string_view { return v.name; });
  if (const auto place = names.find(name)) return *place;
  if (const NameSpelling spelling = read_name(name); spelling.of == NameSpelling::Of::derivative)
    if (const auto place = names.find(spelling.name)) return variables().size() + *place;
  throw UsageError("there is no variable '" + name + "' in the result" + names.hint(name));
}

VariableInfo Trajectory::variable(std::size_t position) const {
  const std::size_t count = variables().size();
  if (position < count) return variables()[position];
  const VariableInfo& of = variables().at(position - count);
  VariableDetails details;
  details.unit = rate_unit(of.details->unit);
  if (!of.details->description.empty()) details.description = "derivative of: " + of.details->description;
  return {.name = "der(" + of.name + ")", .nominal = of.nominal, .details = details};
}

Mode Trajectory::mode(const Segment& segment) const {
  return events_->modes().mode(segment.mode);
}

namespace {

/// Evaluates the steps of a result, one after the other, with memory of its own.
class StepReader {
 public:
  StepReader(HybridSystem& hybrid, Consistency& consistency)
      : hybrid_(hybrid), consistency_(consistency), values_(hybrid.observed().size()) {}

  /// All variables. `mode` is asked for the mode of the segment, if that is another one than before.
  template <class FindMode>
  std::span<const double> read(const Trajectory::Segment& segment, const Trajectory::Step& step, double t,
                               FindMode&& mode) {
    if (segment_ != &segment) {
      segment_ = &segment;
      mode_ = mode(segment);
      system_ = &hybrid_.system(mode_);
    }
    x_.resize(static_cast<std::size_t>(step.polynomial.variables));
    xp_.resize(x_.size());
    step.polynomial.evaluate(t, x_);
    if (system_->structure().explicit_ode) {
      system_->rhs(t, x_, xp_);
    } else {  // the polynomial follows the differential variables; all others are what the equations make of them
      step.polynomial.derivative(t, xp_);
      consistency_.refine(*system_, t, x_, xp_);
    }
    hybrid_.observe(mode_, t, x_, xp_, values_);
    return values_;
  }

  /// Derivatives of all variables by time. Differences are taken along the line through the point with the slope of the
  /// solution, on which the derivative is the same.
  template <class FindMode>
  std::span<const double> slopes(const Trajectory::Segment& segment, const Trajectory::Step& step, double t,
                                 FindMode&& mode) {
    read(segment, step, t, mode);
    const Structure& structure = system_->structure();
    const std::vector<double> x = x_, along = slope_at_point(step, t);
    const double length = std::abs(step.t_end - step.polynomial.t0);
    const auto on = [&](double h, std::vector<double>& values) { return on_line(step, x, along, t, h, values); };
    slopes_ = differentiate_at_zero(values_.size(), 0.02 * (length > 0.0 ? length : 1.0), on).derivatives;
    find_places();
    for (std::size_t j = 0; j < places_.size(); ++j)
      if (places_[j] >= 0 && (structure.explicit_ode || structure.differentiated(static_cast<int>(j))))
        slopes_[static_cast<std::size_t>(places_[j])] = along[j];
    return slopes_;
  }

 private:
  /// The derivatives of what the system carries; of algebraic variables those of the dense output, which are guesses.
  std::vector<double> slope_at_point(const Trajectory::Step& step, double t) {
    const Structure& structure = system_->structure();
    if (structure.explicit_ode) return xp_;
    std::vector<double> slope(x_.size());
    step.polynomial.derivative(t, slope);
    for (std::size_t j = 0; j < slope.size(); ++j)
      if (structure.differentiated(static_cast<int>(j))) slope[j] = xp_[j];
    return slope;
  }

  /// All variables at a distance h on the line. False: they have no values there.
  bool on_line(const Trajectory::Step& step, const std::vector<double>& x, const std::vector<double>& along, double t,
               double h, std::vector<double>& values) {
    for (std::size_t j = 0; j < x.size(); ++j) x_[j] = x[j] + h * along[j];
    if (system_->structure().explicit_ode) {
      system_->rhs(t + h, x_, xp_);
    } else {
      step.polynomial.derivative(t, xp_);
      consistency_.refine(*system_, t + h, x_, xp_);
    }
    hybrid_.observe(mode_, t + h, x_, xp_, values);
    return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
  }

  /// Where the variables of the systems stand among those that are observed; -1: nowhere.
  void find_places() {
    if (!places_.empty()) return;
    std::unordered_map<std::string_view, int> observed;
    for (std::size_t k = 0; k < hybrid_.observed().size(); ++k)
      observed.emplace(hybrid_.observed()[k].name, static_cast<int>(k));
    for (const VariableInfo& v : hybrid_.variables()) {
      const auto found = observed.find(v.name);
      places_.push_back(found == observed.end() ? -1 : found->second);
    }
  }

  HybridSystem& hybrid_;
  Consistency& consistency_;
  const Trajectory::Segment* segment_ = nullptr;
  Mode mode_;
  System* system_ = nullptr;
  std::vector<double> x_, xp_, values_, slopes_;
  std::vector<int> places_;
};

}  // namespace

const std::vector<double>* Trajectory::at_event(double t, bool right) const {
  const double direction = t_end_ >= t_start_ ? 1.0 : -1.0;
  const std::vector<Event>& all = events();
  const auto place = [&](const Event& e) { return e.t * direction; };
  const auto first = std::ranges::lower_bound(all, t * direction, {}, place), last = std::ranges::upper_bound(all, t * direction, {}, place);
  if (first == last) return nullptr;
  return right ? &std::prev(last)->after : &first->before;
}

Trajectory::Place Trajectory::find(double t, bool right) const {
  const double direction = t_end_ >= t_start_ ? 1.0 : -1.0;
  if (!((t - t_start_) * direction >= 0.0 && (t_end_ - t) * direction >= 0.0))
    throw UsageError(fmt::format("the result covers times from {} to {}; there is nothing at {}", t_start_, t_end_, t));
  if ((t - values_from_) * direction < 0.0)
    throw UsageError(fmt::format("the steps before {} were given back; there is nothing at {}", values_from_, t));
  const bool end_known = final_values_.size() == variables().size();  // the run has ended, or has kept only this of the event here
  if (right && t == t_end_ && end_known) return {.values = &final_values_};
  auto end = segments_.end();
  const bool ends_with_event = end != segments_.begin() && std::prev(end)->steps.empty();  // so far, or the run failed right after it
  if (ends_with_event) --end;
  if (end == segments_.begin() || (ends_with_event && right && t == t_end_)) {  // no steps were made or kept, or none yet
    const std::vector<double>* values = at_event(t, right);
    if (values && !values->empty()) return {.values = values};
    if (t == values_from_) return {.values = &initial_values_};
    if (!values && t == t_end_ && end_known) return {.values = &final_values_};
  }
  if (end == segments_.begin())
    throw UsageError(fmt::format("the run kept no steps (keep_steps = false), so that only its ends at {} and {} and the values at its events are "
                                 "known, if those were kept, not {}t = {}", t_start_, t_end_, right ? "" : "what held before ", t));
  // the last segment that begins at or before t (right limit), or strictly before it (left limit)
  const auto begins_later = [&](double value, const Segment& s) {
    const double d = (s.steps.front().polynomial.t0 - value) * direction;
    return right ? d > 0.0 : d >= 0.0;
  };
  auto segment = std::upper_bound(segments_.begin(), end, t, begins_later);
  if (segment != segments_.begin()) --segment;
  const auto ends_later = [&](const Step& s, double value) { return (s.t_end - value) * direction < 0.0; };
  auto step = std::lower_bound(segment->steps.begin(), segment->steps.end(), t, ends_later);
  if (step == segment->steps.end()) --step;
  // an event may lie some rounding errors behind the step that leads to it
  return {&*segment, &*step, (t - step->t_end) * direction > 0.0 ? step->t_end : t};
}

std::vector<double> Trajectory::limit(double t, bool right) const {
  const Place place = find(t, right);
  if (place.values) return *place.values;
  std::vector<double> values;
  readers_->with_system([&](HybridSystem& hybrid, Consistency& consistency) {
    StepReader reader(hybrid, consistency);
    const auto found = reader.read(*place.segment, *place.step, place.t, [&](const Segment& s) { return mode(s); });
    values.assign(found.begin(), found.end());
  });
  return values;
}

const Trajectory::Step* Trajectory::find_step(double t, bool right, const Segment*& segment) const {
  const Place place = find(t, right);
  if (place.step) {
    segment = place.segment;
    return place.step;
  }
  const double direction = t_end_ >= t_start_ ? 1.0 : -1.0;
  const Step* found = nullptr;
  for (const Segment& s : segments_)  // only at the two ends of a run
    for (const Step& step : s.steps)
      if (!found || (step.polynomial.t0 - t) * direction < 0.0) {
        found = &step;
        segment = &s;
      }
  return found;
}

std::vector<double> Trajectory::slope_limit(double t, bool right) const {
  const Segment* segment = nullptr;
  const Step* const step = find_step(t, right, segment);
  std::vector<double> slopes(variables().size(), std::numeric_limits<double>::quiet_NaN());
  if (!step) return slopes;
  readers_->with_system([&](HybridSystem& hybrid, Consistency& consistency) {
    StepReader reader(hybrid, consistency);
    const auto found = reader.slopes(*segment, *step, t, [&](const Segment& s) { return mode(s); });
    slopes.assign(found.begin(), found.end());
  });
  return slopes;
}

std::vector<double> Trajectory::at(double t) const {
  return limit(t, true);
}
double Trajectory::at(double t, const std::string& name) const {
  const std::size_t place = index(name);
  return place < variables().size() ? limit(t, true)[place] : slope_limit(t, true)[place - variables().size()];
}
std::vector<double> Trajectory::slopes(double t) const {
  return slope_limit(t, true);
}
std::vector<double> Trajectory::slopes_before(double t) const {
  return slope_limit(t, false);
}
double Trajectory::slope(double t, const std::string& name) const {
  const std::size_t place = index(name);
  if (place >= variables().size()) throw UsageError("slope: '" + name + "' is a derivative already");
  return slope_limit(t, true)[place];
}
std::vector<double> Trajectory::before(double t) const {
  return limit(t, false);
}

Trajectory::Samples Trajectory::sample(int intervals) const {
  if (intervals < 1) throw UsageError("sample: at least one interval is needed");
  const std::vector<Event>& events = this->events();
  Samples s;
  std::size_t event = 0;
  const double direction = t_end_ >= t_start_ ? 1.0 : -1.0;
  // runs that keep no values at events have their steps, or nothing
  const auto value_before = [&](const Event& e) { return e.before.empty() && !segments_.empty() ? before(e.t) : e.before; };
  const auto value_after = [&](const Event& e) { return e.after.empty() && !segments_.empty() ? at(e.t) : e.after; };
  const auto add_events_before = [&](double t) {
    for (; event < events.size() && (events[event].t - t) * direction < 0.0; ++event) {
      if (events[event].t == t_start_) continue;
      s.t.insert(s.t.end(), 2, events[event].t);
      s.values.push_back(value_before(events[event]));
      s.values.push_back(value_after(events[event]));
    }
  };
  if (t_start_ == t_end_) intervals = 0;  // one time is all there is
  for (int k = 0; k <= intervals; ++k) {
    const double t = k == intervals ? t_end_ : t_start_ + (t_end_ - t_start_) * k / intervals;
    add_events_before(t);
    while (event < events.size() && events[event].t == t && k > 0) {  // both sides, once
      s.t.push_back(t);
      s.values.push_back(value_before(events[event]));
      ++event;
    }
    s.t.push_back(t);
    s.values.push_back(at(t));
  }
  return s;
}

void Trajectory::sample(std::span<const double> times, std::span<const int> variables, std::span<double> out,
                        std::span<const unsigned char> before) const {
  if (out.size() != times.size() * variables.size() || (!before.empty() && before.size() != times.size()))
    throw UsageError(fmt::format("sample: {} variables at {} times need memory for {} numbers, and as many sides as times",
                                 variables.size(), times.size(), times.size() * variables.size()));
  for (const int k : variables)
    if (k < 0 || static_cast<std::size_t>(k) >= 2 * this->variables().size())
      throw UsageError(
          fmt::format("sample: there is no variable number {}; the result has {}", k, this->variables().size()));
  const std::size_t count = this->variables().size();
  const bool of_values = std::ranges::any_of(variables, [&](int k) { return static_cast<std::size_t>(k) < count; });
  const bool of_slopes = std::ranges::any_of(variables, [&](int k) { return static_cast<std::size_t>(k) >= count; });
  constexpr std::size_t piece = 4096;  // a reader keeps the systems of all modes that it meets
  const auto find_mode = [&](const Segment& s) { return mode(s); };
  for (std::size_t first = 0; first < times.size(); first += piece)
    readers_->with_system([&](HybridSystem& hybrid, Consistency& consistency) {
      StepReader reader(hybrid, consistency);
      for (std::size_t i = first; i < std::min(first + piece, times.size()); ++i) {
        const bool right = before.empty() || before[i] == 0;
        if (of_values) {
          const Place place = find(times[i], right);
          const std::span<const double> values = place.values
                                                     ? std::span<const double>(*place.values)
                                                     : reader.read(*place.segment, *place.step, place.t, find_mode);
          for (std::size_t k = 0; k < variables.size(); ++k)
            if (const auto v = static_cast<std::size_t>(variables[k]); v < count) out[k * times.size() + i] = values[v];
        }
        if (!of_slopes) continue;
        const Segment* segment = nullptr;
        const Step* const step = find_step(times[i], right, segment);
        const std::span<const double> slopes =
            step ? reader.slopes(*segment, *step, times[i], find_mode) : std::span<const double>();
        for (std::size_t k = 0; k < variables.size(); ++k)
          if (const auto v = static_cast<std::size_t>(variables[k]); v >= count)
            out[k * times.size() + i] = step ? slopes[v - count] : std::numeric_limits<double>::quiet_NaN();
      }
    });
}

}  // namespace saltus
