#include "sens/run_record.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "hybrid/run_access.hpp"
#include "sens/run_pieces.hpp"

namespace saltus {

namespace {

/// Goes through the events and rounds of a run in their order.
class Reader {
 public:
  /// `sign`: -1 where time runs backwards.
  Reader(const Trajectory& run, const std::vector<Act>& acts, double sign)
      : log_(RunAccess::events(run)), events_(run.events()), acts_(acts), sign_(sign) {}

  /// Those at a time. Touches before it are passed by.
  RunInstant at(double t, std::size_t& first_touch) {
    first_touch = event_;
    while (event_ < events_.size() && events_[event_].kind == EventKind::touch && missed(t)) ++event_;
    RunInstant result{.t = t, .first_event = event_, .last_event = event_, .first_act = act_, .last_act = act_};
    for (; event_ < events_.size() && events_[event_].t == t; result.last_event = ++event_) {
      const EventLog::Stored event = log_.stored(event_);
      if (event.kind != EventKind::touch && !event.guards.empty()) result.fired = true;
      if (event.causes.empty()) continue;
      result.more_causes = !result.causes.empty();
      if (!result.more_causes) result.causes.assign(event.causes.begin(), event.causes.end());
    }
    while (act_ < acts_.size() && acts_[act_].t == t) result.last_act = ++act_;
    return result;
  }
  /// The next event that is no touch; null if there is none.
  const Event* next() const {
    const auto it = std::find_if(events_.begin() + static_cast<std::ptrdiff_t>(event_), events_.end(),
                                 [](const Event& e) { return e.kind != EventKind::touch; });
    return it == events_.end() ? nullptr : &*it;
  }
  /// Whether an event before this time has been passed by.
  bool missed(double t) const { return event_ < events_.size() && (t - events_[event_].t) * sign_ > 0.0; }

 private:
  const EventLog& log_;
  const std::vector<Event>& events_;
  const std::vector<Act>& acts_;
  double sign_;
  std::size_t event_ = 0, act_ = 0;
};

/// Null: the method is implicit.
const Tableau* tableau_of(Method method) {
  switch (method) {
    case Method::dopri5:
      return &dormand_prince_5();
    case Method::tsit5:
      return &tsitouras_5();
    case Method::bs3:
      return &bogacki_shampine_3();
    case Method::dop853:
    case Method::taylor:
      return &dormand_prince_8();
    default:
      return nullptr;
  }
}

}  // namespace

std::vector<double> value_at(const Trajectory::Step& step, double t) {
  std::vector<double> x(static_cast<std::size_t>(step.polynomial.variables));
  step.polynomial.evaluate(t, x);
  return x;
}

const Tableau* tableau_of(std::span<const Trajectory::Step> steps) {
  const Tableau* found = nullptr;
  for (const Trajectory::Step& step : steps) {
    const Tableau* const tableau = tableau_of(step.method);
    if (!tableau) return nullptr;
    if (!found || tableau->order > found->order) found = tableau;
  }
  return found;
}

RunRecord::RunRecord(const CompiledModel& model, const SimulateOptions& options)
    : RunRecord(model, [&] {
        WatchedRun run(model, options, {});
        run.simulator().run();
        return run;
      }()) {}

RunRecord::RunRecord(const CompiledModel& model, const SimulateOptions& options, const RunPiece& piece)
    : RunRecord(model, [&] {
        SimulateOptions again = options;
        again.progress = {};
        WatchedRun run(model, again, piece);
        for (std::int64_t k = 0; k < piece.steps; ++k) run.simulator().step();
        return run;
      }()) {}

RunRecord::RunRecord(const CompiledModel& model, WatchedRun&& run)
    : trajectory(std::make_shared<CompiledModel>(model), 0.0) {
  final_mode = run.simulator().mode();
  final_x.assign(run.simulator().x().begin(), run.simulator().x().end());
  trajectory = run.simulator().take();
  acts = run.take_acts();
  find_legs();
}

void RunRecord::find_legs() {
  const double sign = trajectory.t_end() >= trajectory.t_start() ? 1.0 : -1.0;
  Reader reader(trajectory, acts, sign);
  std::size_t touches = 0;
  start = reader.at(trajectory.t_start(), touches);
  const std::vector<Trajectory::Segment>& segments = trajectory.segments();
  problem_time = trajectory.t_start();
  if (segments.empty() || segments.front().steps.empty()) {
    problem = trajectory.status().message.empty() ? "the run made no steps" : trajectory.status().message;
    return;
  }
  for (std::size_t i = 0; i < segments.size() && !segments[i].steps.empty(); ++i) {
    const std::vector<Trajectory::Step>& steps = segments[i].steps;
    const bool last = i + 1 == segments.size() || segments[i + 1].steps.empty();
    // (an event may lie some rounding errors behind the step that leads to it)
    const double from = steps.front().polynomial.t0, before_tail = steps.back().polynomial.t0;
    const double to = last ? trajectory.t_end() : segments[i + 1].steps.front().polynomial.t0;
    const Event* const next = reader.next();
    const bool tail = steps.size() > 1 && next && next->t == before_tail && before_tail != to;
    RunLeg leg{.mode = trajectory.mode(segments[i]), .from = from, .to = tail ? before_tail : to, .steps = &steps};
    leg.end = reader.at(leg.to, leg.first_touch);
    leg.end.time_scale = std::max(std::abs(leg.to - from), legs.empty() ? 0.0 : legs.back().end.time_scale);
    if (reader.missed(leg.to)) {
      problem = "the record of the run has an event that no step leads to";
      problem_time = from;
      return;
    }
    if (tail) leg.contact = reader.at(to, touches);
    legs.push_back(std::move(leg));
  }
}

}  // namespace saltus
