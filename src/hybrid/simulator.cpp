// The loop of a run: step, look for the earliest event, settle the discrete state, go on.
#include <fmt/format.h>
#include <saltus/event/event_locator.hpp>
#include <saltus/hybrid/simulator.hpp>
#include <saltus/step/explicit_runge_kutta.hpp>
#include <saltus/step/tableau.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "hybrid/guard_sides.hpp"

namespace saltus {

namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();

void check_options(const SimulateOptions& o, std::size_t variables) {
  const auto positive = [](double v, const char* name) {
    if (!(v > 0.0)) throw UsageError(fmt::format("the option {} must be positive, not {}", name, v));
  };
  if (!std::isfinite(o.start) || !std::isfinite(o.stop)) throw UsageError("start and stop must be finite times");
  positive(o.rtol, "rtol");
  positive(o.max_step, "max_step");
  if (o.rtol < 10.0 * eps) throw UsageError(fmt::format("rtol = {} is below what double precision can reach", o.rtol));
  if (!(o.atol >= 0.0)) throw UsageError("the option atol must not be negative");
  if (!(o.initial_step >= 0.0)) throw UsageError("the option initial_step must not be negative");
  if (!o.atol_each.empty() && o.atol_each.size() != variables)
    throw UsageError(fmt::format("atol_each has {} values for {} variables", o.atol_each.size(), variables));
  if (o.max_steps < 1 || o.max_mode_changes < 1) throw UsageError("max_steps and max_mode_changes must be at least 1");
}

const Tableau& choose_tableau(const SimulateOptions& o, std::string& reason) {
  switch (o.method) {
    case Method::dopri5: reason = "dopri5 (asked for)"; return dormand_prince_5();
    case Method::tsit5: reason = "tsit5 (asked for)"; return tsitouras_5();
    case Method::bs3: reason = "bs3 (asked for)"; return bogacki_shampine_3();
    case Method::dop853: reason = "dop853 (asked for)"; return dormand_prince_8();
    case Method::automatic: break;
  }
  if (o.rtol < 1e-8) {
    reason = "dop853 (explicit equations, tight tolerance)";
    return dormand_prince_8();
  }
  reason = "dopri5 (explicit equations)";
  return dormand_prince_5();
}

}  // namespace

struct Simulator::Impl {
  std::shared_ptr<HybridSystem> hybrid;
  SimulateOptions options;
  Trajectory result;
  int direction;
  bool over = false;
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();

  // the state
  double t;
  double pause;  // where advance_to wants to stop
  Mode mode;
  std::vector<double> x, xp;
  System* system = nullptr;

  std::unique_ptr<Stepper> stepper;
  EventLocator locator;
  GuardSides sides;
  std::vector<GuardWatch> watch;
  LocatedEvent located;
  Transition transition;
  std::vector<int> time_guards;
  double next_time = 0.0;
  double shortened = 0.0;  // > 0: a step had to be cut because guards could not be evaluated

  // what the current event has seen so far
  std::vector<int> fired;
  std::vector<int> fired_direction;

  // closeness of events
  double last_event = -std::numeric_limits<double>::infinity(), last_interval = 0.0;
  int close_events = 0;

  Impl(std::shared_ptr<HybridSystem> h, SimulateOptions o)
      : hybrid(std::move(h)),
        options(std::move(o)),
        result(hybrid, options.start),
        direction(options.stop >= options.start ? +1 : -1),
        t(options.start),
        pause(options.stop) {
    check_options(options, hybrid->variables().size());
    StepOptions s;
    s.rtol = options.rtol;
    s.atol = options.atol_each.empty() ? std::vector{options.atol} : options.atol_each;
    s.max_step = options.max_step;
    s.initial_step = options.initial_step;
    stepper = make_explicit_runge_kutta(choose_tableau(options, result.statistics_.method), s);
    for (const auto& v : hybrid->variables()) x.push_back(v.start);
    xp.assign(x.size(), 0.0);
    mode = hybrid->initial_mode();
    initialise();
  }

  // --- start and end

  void initialise() {
    transition.mode = mode;
    transition.x = x;
    if (!prepare_sides()) return;
    const std::vector<double> before = x;
    if (!settle({.t = t, .x_before = before, .xp_before = xp, .initial = true})) return;
    mode = transition.mode;
    x = transition.x;
    if (!enter_mode()) return;
    result.initial_values_ = observe();
    if (!transition.fired.empty()) {
      Event event;
      event.t = t;
      event.kind = EventKind::initial;
      event.actions = transition.fired;
      event.mode_before = event.mode_after = hybrid->describe(mode);
      event.before = event.after = result.initial_values_;
      record(std::move(event));
    }
    if (transition.terminate) return end(StatusCode::terminated, ended_by_model());
    if (options.start == options.stop) return end(StatusCode::success, "start and stop coincide: only initialised");
    restart(options.initial_step);
  }

  void end(StatusCode code, std::string message, std::vector<std::string> culprits = {}) {
    over = true;
    const StepStatistics& s = stepper->statistics();
    static_cast<StepStatistics&>(result.statistics_) = s;
    result.t_end_ = t;
    result.status_ = {code, std::move(message), t, hybrid->describe(mode), std::move(culprits)};
    result.statistics_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }

  std::string ended_by_model() const {
    return transition.message.empty() ? "the model ended the run" : "the model ended the run: " + transition.message;
  }

  // --- modes and sides

  bool finite(std::span<const double> values) const {
    return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
  }

  /// The system of transition.mode at transition.x, with xp filled in. False (and the run ended) if that is not possible.
  bool evaluate_mode() {
    system = &hybrid->system(transition.mode);
    if (!system->structure().explicit_ode) {
      end(StatusCode::singular_mode,
          "the equations of this mode are not explicit in the derivatives of its variables; the methods for "
          "differential-algebraic equations are not part of this version");
      return false;
    }
    system->rhs(t, transition.x, xp);
    if (finite(xp)) return true;
    std::vector<std::string> names;
    for (std::size_t j = 0; j < xp.size(); ++j)
      if (!std::isfinite(xp[j])) names.push_back(system->variable_name(static_cast<int>(j)));
    end(StatusCode::not_finite, fmt::format("the derivative of '{}' cannot be evaluated at t = {:.9g}", names.front(), t), names);
    return false;
  }

  double time_scale() const {
    const double h = stepper->next_step();
    return h > 0.0 && std::isfinite(h) ? h : 1e-3 * std::abs(options.stop - options.start) + 1e-300;
  }

  /// Before the first call of the discrete part: sides as the start values say, so that no clause sees an edge.
  bool prepare_sides() {
    for (int round = 0; round < options.max_mode_changes; ++round) {
      if (!evaluate_mode()) return false;
      if (!adjust_sides()) return true;
    }
    return true;  // settle() will find and name the cycle
  }

  /// Locks every guard on the side to which the solution goes. Returns whether a side changed; changes are noted as firings.
  bool adjust_sides() {
    sides.look(*system, t, transition.x, xp, direction, time_scale());
    bool changed = false;
    for (int k = 0; k < static_cast<int>(hybrid->guards().size()); ++k) {
      const int now = hybrid->side(transition.mode, k);
      if (now == 0) continue;
      int wanted = sides.side(k);
      if (wanted == 0) wanted = hybrid->resting_side(transition.mode, k);
      if (wanted == now) continue;
      hybrid->set_side(transition.mode, k, wanted);
      note_firing(k, wanted);
      changed = true;
    }
    return changed;
  }

  void note_firing(int guard, int to_side) {
    if (std::find(fired.begin(), fired.end(), guard) != fired.end()) return;
    fired.push_back(guard);
    fired_direction.push_back(to_side);
  }

  /// Runs discrete actions and side decisions alternately until nothing changes. The result is in `transition`.
  bool settle(const EventInput& input) {
    transition.reset.assign(transition.x.size(), 0);
    transition.terminate = transition.failed = transition.recorded = false;
    transition.message.clear();
    transition.fired.clear();
    std::vector<Mode> seen;
    for (int round = 0; round < options.max_mode_changes; ++round) {
      EventInput now = input;
      now.initial = input.initial && round == 0;
      hybrid->transition(now, transition);
      if (transition.failed) {
        const bool assertion = transition.message.starts_with("assertion");
        end(assertion ? StatusCode::assertion_failed : StatusCode::too_many_mode_changes, transition.message, transition.fired);
        return false;
      }
      if (transition.terminate) return true;
      if (!evaluate_mode()) return false;
      if (!adjust_sides()) return true;
      if (std::find(seen.begin(), seen.end(), transition.mode) != seen.end()) {
        report_cycle();
        return false;
      }
      seen.push_back(transition.mode);
    }
    end(StatusCode::too_many_mode_changes,
        fmt::format("more than {} mode changes at t = {:.12g}; raise max_mode_changes if this is meant",
                    options.max_mode_changes, t),
        guard_names(fired));
    return false;
  }

  std::vector<std::string> guard_names(const std::vector<int>& guards) const {
    std::vector<std::string> names;
    for (const int k : guards) names.push_back(hybrid->guards()[k].name);
    return names;
  }

  void report_cycle() {
    std::string text = fmt::format("at t = {:.12g} no side of ", t);
    const auto names = guard_names(fired);
    for (std::size_t k = 0; k < names.size(); ++k) text += (k ? ", " : "") + ("'" + names[k] + "'");
    text += " continues the solution: on each side the equations lead back to the surface (sliding motion)";
    end(StatusCode::no_forward_solution, text, names);
  }

  /// The state is now `mode`, `x`: makes its system current and sets the watch on its guards.
  bool enter_mode() {
    transition.mode = mode;
    transition.x = x;
    if (!evaluate_mode()) return false;
    watch.assign(hybrid->guards().size(), {});
    if (!watch.empty()) sides.look(*system, t, x, xp, direction, time_scale());
    for (std::size_t k = 0; k < watch.size(); ++k) {
      const int guard = static_cast<int>(k);
      if (hybrid->guards()[k].time_only) continue;
      watch[k].side = static_cast<signed char>(hybrid->side(mode, guard));
      watch[k].known_root = static_cast<unsigned char>(sides.multiplicity(guard));
      watch[k].noise = sides.multiplicity(guard) > 0 ? sides.noise(guard) : 0.0;
    }
    time_guards.clear();
    next_time = hybrid->next_time_event(mode, t, direction, time_guards);
    return true;
  }

  void restart(double step) {
    stepper->start(*system, {.t = t, .x = x, .xp = xp, .direction = direction, .step = step});
    ++result.statistics_.restarts;
    if (options.keep_steps) result.segments_.push_back({mode, {}});
  }

  std::vector<double> observe() const {
    std::vector<double> values(result.variables_.size());
    hybrid->observe(mode, t, x, xp, values);
    return values;
  }

  // --- steps

  bool reached(double a, double b) const { return (a - b) * direction >= 0.0; }

  void step() {
    if (result.statistics_.events == 0 && stepper->statistics().steps == 0 && !progress()) return;
    double limit = reached(options.stop, next_time) ? next_time : options.stop;
    if (reached(limit, pause)) limit = pause;
    const double bounded = shortened > 0.0 ? t + direction * shortened : limit;
    const StepOutcome outcome = stepper->advance(reached(bounded, limit) ? limit : bounded);
    if (!outcome.ok()) return report_failure(outcome);
    if (stepper->statistics().steps > options.max_steps) {
      take_step(stepper->t());
      return end(StatusCode::too_many_steps,
                 fmt::format("{} steps were not enough; raise max_steps, loosen the tolerance or use an implicit method",
                             options.max_steps));
    }
    const bool watching = std::any_of(watch.begin(), watch.end(), [](const GuardWatch& w) { return w.side != 0; });
    const bool found = watching && locator.earliest(*system, stepper->dense(), watch, located);
    if (!found && watching && locator.not_finite()) return shorten();
    shortened = 0.0;
    const double t1 = stepper->t();
    const double resolution = 8.0 * eps * std::max(std::abs(t1), std::abs(t));
    if (found && (t1 - located.t_after) * direction > resolution) return event_at(located.t_after, false);
    if (found || t1 == next_time) return event_at(t1, found);
    take_step(t1);
    for (GuardWatch& w : watch) w.known_root = 0, w.noise = 0.0;
    if (t == options.stop) finish();
    if (!over) progress();
  }

  /// Accepts the solution up to `end`.
  void take_step(double end) {
    if (options.keep_steps) result.segments_.back().steps.push_back({stepper->dense(), end});
    if (end == stepper->t())
      std::copy(stepper->x().begin(), stepper->x().end(), x.begin());
    else
      stepper->dense().evaluate(end, x);
    t = end;
    result.t_end_ = t;
    system->rhs(t, x, xp);
  }

  /// Guards are not finite in part of the step: try again with half of what was good.
  void shorten() {
    const DensePolynomial& p = stepper->dense();
    shortened = 0.5 * std::abs(locator.finite_until() - p.t0);
    if (shortened < 16.0 * eps * std::max(std::abs(p.t0), 1e-300)) {
      return end(StatusCode::not_finite,
                 fmt::format("a guard cannot be evaluated beyond t = {:.12g}; its equations may need a condition that "
                             "switches before", p.t0));
    }
    stepper->start(*system, {.t = t, .x = x, .xp = xp, .direction = direction, .step = shortened});
  }

  void report_failure(const StepOutcome& outcome) {
    const std::string name = outcome.worst >= 0 ? system->variable_name(outcome.worst) : "";
    const std::string where = name.empty() ? "" : fmt::format(", worst for '{}'", name);
    std::vector<std::string> culprits;
    if (!name.empty()) culprits.push_back(name);
    switch (outcome.result) {
      case StepResult::not_finite:
        return end(StatusCode::not_finite,
                   fmt::format("the equations give values that are not finite beyond t = {:.12g}{}", t, where), culprits);
      case StepResult::singular:
        return end(StatusCode::singular_mode, fmt::format("the equations are singular at t = {:.12g}{}", t, where), culprits);
      default:
        return end(StatusCode::step_too_small,
                   fmt::format("the step size fell below the resolution of time at t = {:.12g}{}: a singularity, or an error "
                               "tolerance that cannot be met", t, where), culprits);
    }
  }

  void finish() {
    transition.mode = mode;
    transition.x = x;
    transition.reset.assign(x.size(), 0);
    transition.terminate = transition.failed = transition.recorded = false;
    transition.message.clear();
    transition.fired.clear();
    const std::vector<double> before = x;
    hybrid->transition({.t = t, .x_before = before, .xp_before = xp, .terminal = true}, transition);
    if (!transition.fired.empty()) {
      Event event;
      event.t = t;
      event.kind = EventKind::terminal;
      event.actions = transition.fired;
      event.mode_before = hybrid->describe(mode);
      event.before = observe();
      x = transition.x;
      mode = transition.mode;
      event.mode_after = hybrid->describe(mode);
      event.after = observe();
      record(std::move(event));
    }
    end(StatusCode::success, "");
  }

  bool progress() {
    if (!options.progress) return true;
    if (options.progress({t, options.start, options.stop, stepper->statistics().steps, result.statistics_.events})) return true;
    end(StatusCode::cancelled, fmt::format("cancelled at t = {:.9g}", t));
    return false;
  }

  // --- events

  void event_at(double when, bool merged) {
    const bool by_time = when == next_time;
    const double step_size = stepper->next_step();
    take_step(when);
    Event event;
    event.t = t;
    event.mode_before = hybrid->describe(mode);
    event.before = observe();
    const std::vector<double> x_before = x, xp_before = xp;
    fired.clear();
    fired_direction.clear();
    transition.mode = mode;
    transition.x = x;
    if (when != next_time || merged)
      for (std::size_t k = 0; k < located.guards.size(); ++k) fire(located.guards[k]);
    if (by_time)
      for (const int k : time_guards) fire(k);
    const int automaton = mode.automaton;
    if (!settle({.t = t, .x_before = x_before, .xp_before = xp_before})) return;
    mode = transition.mode;
    x = transition.x;
    if (!transition.terminate && !enter_mode()) return;
    event.mode_after = hybrid->describe(mode);
    event.after = observe();
    for (std::size_t k = 0; k < event.after.size(); ++k) event.jump = std::max(event.jump, std::abs(event.after[k] - event.before[k]));
    for (std::size_t k = 0; k < fired.size(); ++k) {
      event.guards.push_back(hybrid->guards()[fired[k]].name);
      event.where.push_back(hybrid->guards()[fired[k]].where);
    }
    event.direction = fired_direction;
    event.actions = transition.fired;
    event.message = transition.message;
    const bool was_reset = std::any_of(transition.reset.begin(), transition.reset.end(), [](char c) { return c != 0; });
    event.kind = transition.terminate             ? EventKind::terminal
                 : mode.automaton != automaton    ? EventKind::transition
                 : was_reset                      ? EventKind::reset
                 : transition.recorded            ? EventKind::record
                 : by_time                        ? EventKind::time
                                                  : EventKind::crossing;
    record(std::move(event));
    if (transition.terminate) return end(StatusCode::terminated, ended_by_model());
    if (too_close()) return;
    if (t == options.stop) return finish();
    restart(step_size);
    progress();
  }

  void fire(int guard) {
    const int to_side = -hybrid->side(mode, guard);
    if (to_side == 0) return;
    hybrid->set_side(transition.mode, guard, to_side);
    note_firing(guard, to_side);
  }

  void record(Event event) {
    ++result.statistics_.events;
    result.events_.push_back(std::move(event));
  }

  /// Events that accumulate (a bouncing ball coming to rest) would never end: stop when intervals have shrunk below what the
  /// clock can resolve with some digits.
  bool too_close() {
    const double interval = std::abs(t - last_event);
    const double tiny = 1e-10 * std::max(1.0, std::abs(t));
    close_events = interval < tiny && interval <= last_interval ? close_events + 1 : 0;
    last_interval = interval;
    last_event = t;
    if (close_events < 10) return false;
    end(StatusCode::zeno, fmt::format("events accumulate at t = {:.12g}: the intervals between them shrink towards zero", t),
        guard_names(fired));
    return true;
  }
};

Simulator::Simulator(std::shared_ptr<HybridSystem> system, SimulateOptions options)
    : impl_(std::make_unique<Impl>(std::move(system), std::move(options))) {}
Simulator::~Simulator() = default;
Simulator::Simulator(Simulator&&) noexcept = default;
Simulator& Simulator::operator=(Simulator&&) noexcept = default;

bool Simulator::step() {
  if (!impl_->over) impl_->step();
  return !impl_->over;
}

bool Simulator::advance_to(double t) {
  if (!std::isfinite(t) || !impl_->reached(t, impl_->t) || !impl_->reached(impl_->options.stop, t))
    throw UsageError(fmt::format("advance_to: {} does not lie between the current time {} and the stop time {}", t, impl_->t,
                                 impl_->options.stop));
  impl_->pause = t;
  while (!impl_->over && !impl_->reached(impl_->t, t)) impl_->step();
  impl_->pause = impl_->options.stop;
  return impl_->reached(impl_->t, t);
}

void Simulator::run() {
  while (!impl_->over) impl_->step();
}

double Simulator::t() const { return impl_->t; }
const Mode& Simulator::mode() const { return impl_->mode; }
std::span<const double> Simulator::x() const { return impl_->x; }
std::vector<double> Simulator::values() const { return impl_->observe(); }
const Status& Simulator::status() const { return impl_->result.status(); }
bool Simulator::finished() const { return impl_->over; }
const Trajectory& Simulator::trajectory() const { return impl_->result; }

Trajectory Simulator::take() {
  if (!impl_->over) impl_->end(StatusCode::cancelled, fmt::format("ended at t = {:.9g} on request", impl_->t));
  return std::move(impl_->result);
}

}  // namespace saltus
