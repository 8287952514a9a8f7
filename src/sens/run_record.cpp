#include "sens/run_record.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "sens/run_pieces.hpp"

namespace saltus {

namespace {

/// Goes through the events and rounds of a run in their order.
class Reader {
 public:
  /// `sign`: -1 where time runs backwards.
  Reader(const std::vector<Event>& events, const std::vector<Act>& acts, double sign)
      : events_(events), acts_(acts), sign_(sign) {}

  /// Those at a time. Touches before it are passed by.
  RunInstant at(double t, std::size_t& first_touch) {
    first_touch = event_;
    while (event_ < events_.size() && events_[event_].kind == EventKind::touch && missed(t)) ++event_;
    RunInstant result{.t = t, .first_event = event_, .last_event = event_, .first_act = act_, .last_act = act_};
    while (event_ < events_.size() && events_[event_].t == t) result.last_event = ++event_;
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
  const std::vector<Event>& events_;
  const std::vector<Act>& acts_;
  double sign_;
  std::size_t event_ = 0, act_ = 0;
};

}  // namespace

std::vector<double> value_at(const Trajectory::Step& step, double t) {
  std::vector<double> x(static_cast<std::size_t>(step.polynomial.variables));
  step.polynomial.evaluate(t, x);
  return x;
}

const Tableau* tableau_of(Method method, const Trajectory::Step& step) {
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
    case Method::automatic:  // an implicit one where it has found the mode to be stiff
      return step.polynomial.degree == dormand_prince_8().dense_degree ? &dormand_prince_8() : &dormand_prince_5();
    default:
      return nullptr;
  }
}

bool too_long_for(const Tableau& tableau, RecordedSystem& system, std::span<const Trajectory::Step> steps,
                  double rtol) {
  const Trajectory::Step& longest =
      *std::ranges::max_element(steps, {}, [](const auto& s) { return std::abs(s.t_end - s.polynomial.t0); });
  const std::vector<double> x = value_at(longest, longest.polynomial.t0), end = value_at(longest, longest.t_end);
  const std::size_t n = x.size(), width = tableau.c.size(), stages = static_cast<std::size_t>(tableau.stages);
  const double h = longest.t_end - longest.polynomial.t0;
  std::vector<double> k(n * stages), y = x;
  for (std::size_t i = 0; i < stages; ++i) {
    for (std::size_t j = 0; j < n && i > 0; ++j) {
      double sum = 0.0;
      for (std::size_t l = 0; l < i; ++l) sum += tableau.a[i * width + l] * k[l * n + j];
      y[j] = x[j] + h * sum;
    }
    system.rhs(longest.polynomial.t0 + tableau.c[i] * h, y, std::span(k).subspan(i * n, n));
  }
  // (the last stage has the values at the end)
  for (std::size_t j = 0; j < n; ++j)
    if (!(std::abs(y[j] - end[j]) <= 1e3 * rtol * (std::abs(end[j]) + system.nominal(static_cast<int>(j)))))
      return true;
  return false;
}

const Tableau* series_tableau_of(Method method, const Trajectory::Step& step) {
  constexpr int least_degree = 10;  // no implicit method has steps of this degree
  const bool series =
      method == Method::taylor || (method == Method::automatic && step.polynomial.degree >= least_degree);
  return series ? &dormand_prince_8() : nullptr;
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
  Reader reader(trajectory.events(), acts, sign);
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
