// The loop of a run: step, look for the earliest event, settle the discrete state, go on.
#include <fmt/format.h>
#include <saltus/event/event_locator.hpp>
#include <saltus/hybrid/simulator.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "hybrid/chatter_watch.hpp"
#include "hybrid/method_choice.hpp"
#include "hybrid/mode_controller.hpp"
#include "hybrid/redundancy_watch.hpp"
#include "hybrid/regularity_watch.hpp"
#include "hybrid/simulate_options.hpp"
#include "hybrid/zeno_watch.hpp"

namespace saltus {

namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();

/// "v1 > v2" as a surface: "v1 = v2".
std::string surface_name(std::string relation) {
  for (const char* sign : {" >= ", " > "})
    if (const auto place = relation.find(sign); place != std::string::npos)
      return relation.replace(place, std::string_view(sign).size(), " = ");
  return relation;
}

bool contains(const std::vector<int>& list, int value) { return std::find(list.begin(), list.end(), value) != list.end(); }

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

  MethodChoice methods;
  ModeController controller;
  Stepper* stepper = nullptr;
  EventLocator locator;
  RegularityWatch regularity;
  RedundancyWatch redundancy;
  ZenoWatch zeno;
  ChatterWatch chatter;
  std::vector<GuardWatch> watch;
  bool watching = false;
  LocatedEvent located;
  bool proved = true;  // of the last search
  GuardSlopes slopes;
  struct PendingTouch {
    int guard;
    double t;
  };
  std::vector<PendingTouch> pending_touches;  // zeros at the end of the last step: the next one tells whether they touch or cross
  bool touches_wanted = false;
  std::vector<int> time_guards;
  double next_time = 0.0;
  double shortened = 0.0;  // > 0: a step had to be cut because guards could not be evaluated

  // closeness of events
  double last_event = -std::numeric_limits<double>::infinity(), last_interval = 0.0;
  int close_events = 0;

  // workspace of events
  std::vector<double> state_before, slope_before, x_then, xp_then, g_then, guard_slopes;
  Mode mode_before;
  std::string mode_text;  // describes the mode as it was after the last event

  std::string remark;  // about start values and contradictions, for the status of a run that succeeds

  Impl(std::shared_ptr<HybridSystem> h, SimulateOptions o)
      : hybrid(std::move(h)),
        options(std::move(o)),
        result(hybrid, options.start),
        direction(options.stop >= options.start ? +1 : -1),
        t(options.start),
        pause(options.stop),
        methods(options, options.keep_steps || !hybrid->guards().empty()),
        controller(*hybrid, direction, options.max_mode_changes),
        chatter(std::abs(options.stop - options.start)) {
    check_options(options, hybrid->variables().size());
    controller.stop_if_non_unique = options.stop_if_non_unique;
    controller.tolerance = std::max(options.rtol, options.atol);
    for (const auto& v : hybrid->variables()) x.push_back(v.start);
    xp.assign(x.size(), 0.0);
    touches_wanted = std::any_of(hybrid->guards().begin(), hybrid->guards().end(), [](const GuardInfo& g) { return g.record_touch; });
    mode = hybrid->initial_mode();
    initialise();
  }

  // --- start and end

  void initialise() {
    Transition& transition = controller.transition;
    transition.mode = mode;
    transition.x = x;
    controller.time_scale = time_scale();
    if (!controller.prepare(t)) return end(controller.failure());
    const std::vector<double> before = transition.x, before_xp = controller.xp;
    if (!controller.settle({.t = t, .x_before = before, .xp_before = before_xp, .initial = true}))
      return end(controller.failure());
    remark = controller.consistency().remark();
    mode = transition.mode;
    x = transition.x;
    if (transition.terminate) return end({StatusCode::terminated, ended_by_model(), {}});
    if (!enter_mode()) return;
    mode_text = hybrid->describe(mode);
    result.initial_values_ = observe();
    if (!transition.fired.empty() || !mode.sliding.empty() || !transition.message.empty()) {
      Event event;
      event.t = t;
      event.kind = mode.sliding.empty() ? EventKind::initial : EventKind::slide_enter;
      event.actions = transition.fired;
      event.message = transition.message;
      describe_surfaces(event);
      event.mode_before = event.mode_after = hybrid->describe(mode);
      event.before = event.after = result.initial_values_;
      record(std::move(event));
    }
    if (options.start == options.stop)
      return end({StatusCode::success, "start and stop coincide: only initialised", {}});
    restart(options.initial_step);
  }

  void end(Failure outcome) {
    over = true;
    static_cast<StepStatistics&>(result.statistics_) = methods.statistics();
    result.statistics_.method = methods.description();
    result.t_end_ = t;
    result.final_values_ = observe();
    for (const auto& e : chatter.episodes())
      result.chattering_.push_back({e.from, e.to, e.events, controller.guard_names(e.guards)});
    if (!result.chattering_.empty() && remark.empty()) remark = describe(result.chattering_.front());
    if (result.initial_values_.empty()) result.initial_values_ = result.final_values_;
    if (outcome.code == StatusCode::success && outcome.message.empty()) outcome.message = remark;
    result.status_ = {outcome.code, std::move(outcome.message), t, hybrid->describe(mode), std::move(outcome.culprits)};
    result.statistics_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }

  static std::string describe(const Chattering& episode) {
    std::string text = "chattering: '" + episode.guards.front() + "'";
    if (episode.guards.size() > 1) text += " and '" + episode.guards[1] + "'";
    return text + fmt::format(" switched {} times between t = {:.9g} and {:.9g}", episode.events, episode.from, episode.to);
  }

  std::string ended_by_model() const {
    const std::string& text = controller.transition.message;
    return text.empty() ? "the model ended the run" : "the model ended the run: " + text;
  }

  double time_scale() const {
    const double h = stepper ? stepper->next_step() : 0.0;
    return h > 0.0 && std::isfinite(h) ? h : 1e-3 * std::abs(options.stop - options.start) + 1e-300;
  }

  /// The state is now `mode`, `x`: makes its system current, chooses a stepper and sets the watch on its guards.
  bool enter_mode() {
    Transition& transition = controller.transition;
    transition.mode = mode;
    transition.x = x;
    system = &controller.system();
    if (mode.on_surfaces() && system->project(t, transition.x) && !controller.find_values(t, Cause::mode_change)) {
      end(controller.failure());
      return false;
    }
    x = transition.x;
    xp = controller.xp;
    std::string problem;
    stepper = methods.choose(controller.consistency().integrable(*system), hybrid->describe(mode), problem);
    if (!stepper) {
      end({StatusCode::singular_mode, problem, {}});
      return false;
    }
    watch.assign(static_cast<std::size_t>(system->structure().guards), {});
    if (!watch.empty()) controller.look(t);
    watching = false;
    for (std::size_t k = 0; k < watch.size(); ++k) {
      const int guard = static_cast<int>(k);
      const bool of_family = guard < controller.family_guards();
      if (of_family && hybrid->guards()[k].time_only) continue;
      watch[k].side = of_family ? static_cast<signed char>(hybrid->side(mode, guard)) : static_cast<signed char>(+1);
      watch[k].known_root = static_cast<unsigned char>(controller.sides().multiplicity(guard));
      watch[k].noise = watch[k].known_root > 0 ? controller.sides().noise(guard) : 0.0;
      watching = watching || watch[k].side != 0;
    }
    controller.bracket_noise.clear();
    controller.twin.clear();
    time_guards.clear();
    next_time = hybrid->next_time_event(mode, t, direction, time_guards);
    return true;
  }

  void start_stepper(double step) {
    stepper->start(controller.consistency().integrable(*system),
                   {.t = t, .x = x, .xp = xp, .direction = direction, .step = step});
  }

  void restart(double step) {
    start_stepper(step);
    Consistency& consistency = controller.consistency();
    regularity.begin(*system, consistency.values(*system), consistency.reduced(*system), t, x, xp);
    redundancy.begin(*system, consistency.values(*system), t, x);
    ++result.statistics_.restarts;
    if (!options.keep_steps) return;
    auto& segments = result.segments_;
    if (!segments.empty() && segments.back().steps.empty()) segments.pop_back();  // a mode that lasted for no time
    segments.push_back({mode, {}});
  }

  std::vector<double> observe() const {
    std::vector<double> values(result.variables_.size());
    hybrid->observe(mode, t, x, xp, values);
    return values;
  }

  // --- steps

  bool reached(double a, double b) const { return (a - b) * direction >= 0.0; }

  void step() {
    double limit = reached(options.stop, next_time) ? next_time : options.stop;
    if (reached(limit, pause)) limit = pause;
    if (shortened > 0.0 && reached(limit, t + direction * shortened)) limit = t + direction * shortened;
    const StepOutcome outcome = stepper->advance(limit);
    if (!outcome.ok()) return report_failure(outcome);
    if (methods.statistics().steps > options.max_steps) {
      take_step(stepper->t());
      return end({StatusCode::too_many_steps,
                  fmt::format("{} steps were not enough; raise max_steps, loosen the tolerance or use an implicit method",
                              options.max_steps), {}});
    }
    const bool found = watching && locator.earliest(*system, stepper->dense(), watch, located, system->linear_guards());
    if (!found && watching && locator.not_finite()) return shorten();
    proved = !watching || locator.proved();
    if (!proved) ++result.statistics_.unproved;
    shortened = 0.0;
    const double t1 = stepper->t();
    if (Failure change = regularity.check(stepper->dense(), found ? located.t_after : t1)) {
      take_step(regularity.time());
      return end(std::move(change));
    }
    if (touches_wanted && watching) record_touches(found);
    const double resolution = 8.0 * eps * std::max(std::abs(t1), std::abs(t));
    if (found && (t1 - located.t_after) * direction > resolution) {
      const bool at_once = std::abs(located.t_after - t) <= 16.0 * resolution;  // no room for a step of its own
      if (!at_once && !methods.dense_is_accurate(*stepper)) return approach_event();
      return event_at(located.t_after, true);
    }
    if (found || t1 == next_time) return event_at(t1, found);
    take_step(t1);
    if (mode.on_surfaces() && system->project(t, x)) {  // back onto the surface, and on from there
      find_derivatives();
      start_stepper(stepper->next_step());
    }
    for (GuardWatch& w : watch) w.known_root = 0, w.noise = 0.0;
    if (t == options.stop)
      finish();
    else if (stepper->stiff() && methods.note_stiff(*system))
      change_method();
    if (!over) progress();
  }

  /// The mode turned out to be stiff: goes on with another stepper.
  void change_method() {
    std::string problem;
    Stepper* other = methods.choose(controller.consistency().integrable(*system), hybrid->describe(mode), problem);
    if (!other) return;
    stepper = other;
    start_stepper(0.0);
  }

  /// Accepts the solution up to `end`.
  void take_step(double end) {
    if (options.keep_steps) result.segments_.back().steps.push_back({stepper->dense(), end, proved});
    t = end;
    result.t_end_ = t;
    if (end == stepper->t()) {
      std::copy(stepper->x().begin(), stepper->x().end(), x.begin());
      if (!system->structure().explicit_ode) std::copy(stepper->xp().begin(), stepper->xp().end(), xp.begin());
    } else {
      stepper->dense().evaluate(end, x);
    }
    find_derivatives();
    if (const std::string text = redundancy.check(t, x); !text.empty()) remark += (remark.empty() ? "" : "; ") + text;
  }

  void find_derivatives() {
    if (system->structure().explicit_ode)
      system->rhs(t, x, xp);
    else if (t != stepper->t())
      stepper->dense().derivative(t, xp);
  }

  /// Guards are not finite in part of the step: try again with half of what was good.
  void shorten() {
    const double t0 = stepper->dense().t0;
    shortened = 0.5 * std::abs(locator.finite_until() - t0);
    if (shortened < 16.0 * eps * std::max(std::abs(t0), 1e-300))
      return end({StatusCode::not_finite,
                  fmt::format("a guard cannot be evaluated beyond t = {:.12g}; its equations may need a condition that "
                              "switches before", t0), {}});
    start_stepper(shortened);
  }

  void report_failure(const StepOutcome& outcome) {
    if (outcome.result == StepResult::not_finite && cross_edge()) return;
    const std::string name = outcome.worst >= 0 ? system->variable_name(outcome.worst) : "";
    const std::string where = name.empty() ? "" : fmt::format(", worst for '{}'", name);
    std::vector<std::string> culprits;
    if (!name.empty()) culprits.push_back(name);
    if (Failure reason = regularity.explain(t, x, xp)) {
      reason.culprits = std::move(culprits);
      return end(std::move(reason));
    }
    switch (outcome.result) {
      case StepResult::not_finite:
        return end({StatusCode::not_finite,
                    fmt::format("the equations give values that are not finite beyond t = {:.12g}{}", t, where), culprits});
      case StepResult::singular:
        return end({StatusCode::singular_mode, fmt::format("the equations are singular at t = {:.12g}{}", t, where), culprits});
      default:
        return end({StatusCode::step_too_small,
                    fmt::format("the step size fell below the resolution of time at t = {:.12g}{}: a singularity, or an "
                                "error tolerance that cannot be met", t, where), culprits});
    }
  }

  /// The stop time is reached: clauses that wait for terminal() act.
  void finish() {
    Transition& transition = controller.transition;
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
    if (transition.failed) return end({StatusCode::assertion_failed, transition.message, {}});
    end({StatusCode::success, "", {}});
  }

  bool progress() {
    if (!options.progress) return true;
    if (options.progress({t, options.start, options.stop, methods.statistics().steps, result.statistics_.events})) return true;
    end({StatusCode::cancelled, fmt::format("cancelled at t = {:.9g}", t), {}});
    return false;
  }

  // --- events

  /// The dense output of implicit methods is less accurate than the ends of their steps: goes to the event by a step that ends there,
  /// and corrects its time by Newton's method on the guard.
  void approach_event() {
    double target = located.t_after;
    const int guard = located.guards.front();
    std::vector<double> g(watch.size()), there(x.size()), slope(x.size());
    double overshoot = 4.0;  // in units of the last place: the new side is wanted, and the ends of steps have rounding errors
    for (int iteration = 0; iteration < 5; ++iteration, overshoot *= 4.0) {
      start_stepper(std::abs(target - t));
      for (const double begin = t; stepper->t() != target;) {
        if (stepper->t() != begin) take_step(stepper->t());  // a part of the way: it stays
        const StepOutcome outcome = stepper->advance(target);
        if (!outcome.ok()) return report_failure(outcome);
      }
      std::copy(stepper->x().begin(), stepper->x().end(), there.begin());
      std::copy(stepper->xp().begin(), stepper->xp().end(), slope.begin());
      controller.consistency().polish(*system, target, there, slope);
      system->guards(target, there, slope, g);
      slopes.find(*system, target, there, slope, std::abs(target - t), guard_slopes);
      const double correction = -g[guard] / guard_slopes[guard];
      const double unit = eps * std::max(std::abs(target), std::abs(t));
      const bool beyond = watch[guard].side * g[guard] < 0.0;
      if (!std::isfinite(correction) || (beyond && std::abs(correction) <= 16.0 * unit)) break;
      const double next = target + correction + direction * overshoot * unit;
      if (!reached(next, t) || next == t) break;
      target = next;
    }
    located.t_before = located.t_after = stepper->t();
    event_at(stepper->t(), true);
  }

  /// A guard is known to the event's bracket only: what it changes from t_before to t_after (at least a few units in the last place
  /// of time), in the old mode, is noise.
  void measure_bracket(double t_before, double t_after, bool by_guard) {
    const auto count = static_cast<std::size_t>(system->structure().guards);
    const double width = 4.0 * eps * std::max({std::abs(t_before), std::abs(t_after), 1e-300});
    if (std::abs(t_after - t_before) < width) t_before = t_after - direction * width;
    std::vector<double>& noise = controller.bracket_noise;
    noise.resize(count);
    std::vector<double>& earlier = g_then;
    earlier.resize(count);
    x_then.resize(x.size());
    xp_then.resize(x.size());
    const auto guards_at = [&](double when, std::span<double> g) {
      stepper->dense().evaluate(when, x_then);
      if (system->structure().explicit_ode)
        system->rhs(when, x_then, xp_then);
      else
        stepper->dense().derivative(when, xp_then);
      system->guards(when, x_then, xp_then, g);
    };
    guards_at(t_before, earlier);
    guards_at(t_after, noise);
    for (std::size_t k = 0; k < count; ++k) {
      const double change = 4.0 * std::abs(noise[k] - earlier[k]);
      noise[k] = std::isfinite(change) ? change : 0.0;
    }
    if (by_guard && t_after == stepper->t()) {  // the event was reached by a step of its own: what is left of its guards is noise
      system->guards(t_after, stepper->x(), stepper->xp(), earlier);
      for (const int k : located.guards) noise[k] = std::max(noise[k], 4.0 * std::abs(earlier[k]));
    }
    noise.resize(hybrid->guards().size());  // the weights of a sliding mode end with it
  }

  /// On surfaces, the state at an event is moved onto them; the point before that is as good as the one after.
  void project_event_state() {
    if (!mode.on_surfaces()) return;
    controller.twin = x;
    if (system->project(t, x))
      find_derivatives();
    else
      controller.twin.clear();
  }

  void event_at(double when, bool by_guard) {
    const bool by_time = when == next_time;
    const double step_size = stepper->next_step();
    measure_bracket(by_guard && !by_time ? located.t_before : when, when, by_guard);
    take_step(when);
    controller.consistency().polish(*system, t, x, xp);
    if (by_guard) push_across(located.guards);
    project_event_state();
    handle_event(by_guard, by_time, step_size);
  }

  /// The equations cannot be evaluated beyond a surface, and steps have come as near to it as they can: the event is there, where the
  /// tangent reaches the other side. False: no guard is about to change its side here.
  bool cross_edge() {
    located.guards.clear();
    double nearest = unresolved_interval();
    for (std::size_t k = 0; k < watch.size(); ++k) {
      if (watch[k].side == 0) continue;
      const double speed = GuardSides::speed(*system, controller.consistency(), t, x, static_cast<int>(k));
      std::vector<double> g(watch.size());
      system->guards(t, x, xp, g);
      const double left = -g[k] / speed * direction;
      if (!(watch[k].side * speed * direction < 0.0) || !(left <= nearest)) continue;
      if (left < 0.5 * nearest) located.guards.clear();
      nearest = left;
      located.guards.push_back(static_cast<int>(k));
    }
    if (located.guards.empty()) return false;
    controller.bracket_noise.assign(hybrid->guards().size(), 0.0);
    push_across(located.guards);
    if (options.keep_steps) {
      auto& steps = result.segments_.back().steps;
      if (steps.empty())
        result.segments_.pop_back();
      else
        steps.back().t_end = t;
    }
    handle_event(true, t == next_time, stepper->next_step());
    return true;
  }

  /// The state lies on guards that fire, within rounding: moves it on along the solution, by units in the last place of time, until it is on
  /// the side that the new mode needs.
  void push_across(std::span<const int> guards) {
    std::vector<double> g(watch.size());
    for (double step = eps * std::max(std::abs(t), 1e-300); step <= unresolved_interval(); step *= 2.0) {
      system->guards(t, x, xp, g);
      if (std::all_of(guards.begin(), guards.end(),
                      [&](int k) { return k >= controller.family_guards() || !(watch[k].side * g[k] >= 0.0); }))
        return;
      t += direction * step;
      for (std::size_t j = 0; j < x.size(); ++j) x[j] += direction * step * xp[j];
      result.t_end_ = t;
    }
  }

  /// The state before an event is `mode`, `t`, `x`, `xp`.
  void handle_event(bool by_guard, bool by_time, double step_size) {
    Event event;
    event.t = t;
    event.mode_before = mode_text;
    event.before = observe();
    state_before = x;
    slope_before = xp;
    mode_before = mode;
    controller.begin_instant();
    controller.time_scale = time_scale();
    event.proved = proved;
    slopes.find(*system, t, x, xp, controller.time_scale, guard_slopes);
    Transition& transition = controller.transition;
    transition.mode = mode;
    transition.x = x;
    // weights of sliding modes last: firing them changes the numbering
    if (by_guard)
      for (std::size_t k = located.guards.size(); k-- > 0;) controller.fire(located.guards[k]);
    if (by_time)
      for (const int k : time_guards) controller.fire(k);
    if (!controller.settle({.t = t, .x_before = state_before, .xp_before = slope_before})) return end(controller.failure());
    mode = transition.mode;
    const bool reset = std::any_of(transition.reset.begin(), transition.reset.end(), [](char c) { return c != 0; });
    if (reset && !controller.twin.empty()) {  // the other point is no longer near
      controller.twin.clear();
      controller.forget_view();
    }
    x = transition.x;
    if (!transition.terminate && !enter_mode()) return;
    complete(event, mode_before, by_time);
    record(std::move(event));
    if (transition.terminate) return end({StatusCode::terminated, ended_by_model(), {}});
    if (reset && !come_to_rest(state_before)) return;
    if (!by_time && chatter.note(t, controller.fired()) && options.stop_if_chattering) {
      const auto& episode = chatter.episodes().back();
      const Chattering found{episode.from, episode.to, episode.events, controller.guard_names(episode.guards)};
      return end({StatusCode::chattering, describe(found), found.guards});
    }
    if (too_close()) return;
    if (t == options.stop) return finish();
    restart(step_size);
    progress();
  }

  /// Fills in what is known once the event has been settled.
  void complete(Event& event, const Mode& before, bool by_time) {
    const Transition& transition = controller.transition;
    if (mode != before) mode_text = hybrid->describe(mode);
    event.mode_after = mode_text;
    event.after = observe();
    for (std::size_t k = 0; k < event.after.size(); ++k)
      event.jump = std::max(event.jump, std::abs(event.after[k] - event.before[k]));
    for (const int k : controller.fired()) {
      event.guards.push_back(hybrid->guards()[k].name);
      event.where.push_back(hybrid->guards()[k].where);
      event.slope_before.push_back(guard_slopes[static_cast<std::size_t>(k)]);
      std::erase_if(pending_touches, [k](const PendingTouch& touch) { return touch.guard == k; });
    }
    event.direction = controller.fired_direction();
    if (!event.guards.empty() && !transition.terminate) {
      slopes.find(*system, t, x, xp, controller.time_scale, guard_slopes);
      for (const int k : controller.fired()) event.slope_after.push_back(guard_slopes[static_cast<std::size_t>(k)]);
    }
    event.actions = transition.fired;
    event.message = transition.message;
    describe_surfaces(event);
    const bool reset = std::any_of(transition.reset.begin(), transition.reset.end(), [](char c) { return c != 0; });
    if (event.jump > 0.0) event.cause = reset ? JumpCause::reset : JumpCause::consistency;
    const bool entered =
        std::any_of(mode.sliding.begin(), mode.sliding.end(), [&](int k) { return !contains(before.sliding, k); });
    const bool left =
        std::any_of(before.sliding.begin(), before.sliding.end(), [&](int k) { return !contains(mode.sliding, k); });
    const bool opened =
        std::any_of(before.contacts.begin(), before.contacts.end(), [&](int k) { return !contains(mode.contacts, k); });
    event.kind = transition.terminate                   ? EventKind::terminal
                 : mode.automaton != before.automaton   ? EventKind::transition
                 : reset                                ? EventKind::reset
                 : entered                              ? EventKind::slide_enter
                 : left                                 ? EventKind::slide_exit
                 : opened                               ? EventKind::release
                 : transition.recorded                  ? EventKind::record
                 : by_time                              ? EventKind::time
                                                        : EventKind::crossing;
  }

  /// Zeros of the last step that touched without crossing become events where the guard asks for it. `found`: the step ends with an event.
  void record_touches(bool found) {
    const auto wanted = [&](int k) { return k < controller.family_guards() && hybrid->guards()[k].record_touch; };
    const auto crosses_at = [&](const PendingTouch& touch) {
      return found && contains(located.guards, touch.guard) && std::abs(located.t_after - touch.t) <= 1e-6 * std::abs(stepper->t() - t);
    };
    std::vector<PendingTouch> touches;
    for (const PendingTouch& touch : pending_touches)
      if (!crosses_at(touch)) touches.push_back(touch);
    pending_touches.clear();
    for (const GuardTouch& touch : locator.touches()) {
      if (!wanted(touch.guard)) continue;
      if (touch.kind == RootKind::zero_at_end)
        pending_touches.push_back({touch.guard, touch.t_high});
      else if (touch.kind == RootKind::even)
        touches.push_back({touch.guard, 0.5 * (touch.t_low + touch.t_high)});
    }
    std::stable_sort(touches.begin(), touches.end(),
                     [&](const PendingTouch& a, const PendingTouch& b) { return (b.t - a.t) * direction > 0.0; });
    for (const PendingTouch& touch : touches) record_touch(touch);
  }

  void record_touch(const PendingTouch& touch) {
    Event event;
    event.t = touch.t;
    event.kind = EventKind::touch;
    event.guards = {hybrid->guards()[touch.guard].name};
    event.where = {hybrid->guards()[touch.guard].where};
    event.direction = {0};
    event.slope_before = event.slope_after = {0.0};
    event.mode_before = event.mode_after = hybrid->describe(mode);
    event.proved = proved;
    x_then.resize(x.size());
    xp_then.resize(x.size());
    stepper->dense().evaluate(touch.t, x_then);
    if (system->structure().explicit_ode)
      system->rhs(touch.t, x_then, xp_then);
    else
      stepper->dense().derivative(touch.t, xp_then);
    event.before.resize(result.variables_.size());
    hybrid->observe(mode, touch.t, x_then, xp_then, event.before);
    event.after = event.before;
    record(std::move(event));
  }

  void describe_surfaces(Event& event) {
    for (const int k : mode.contacts) event.contacts.push_back(surface_name(hybrid->guards()[k].name));
    if (mode.sliding.empty()) return;
    std::vector<double> g(static_cast<std::size_t>(system->structure().guards));
    system->guards(t, x, xp, g);
    for (std::size_t k = 0; k < mode.sliding.size(); ++k) {
      event.surfaces.push_back(surface_name(hybrid->guards()[mode.sliding[k]].name));
      event.weights.push_back(g[static_cast<std::size_t>(controller.family_guards()) + 2 * k]);
    }
  }

  void record(Event event) {
    ++result.statistics_.events;
    if (!options.keep_event_values) event.before = std::vector<double>(), event.after = std::vector<double>();
    result.events_.push_back(std::move(event));
  }

  /// Resets that accumulate, and whose jumps have become smaller than the tolerance: what is left of them is a contact. False: the run
  /// has ended.
  bool come_to_rest(std::span<const double> x_before) {
    double jump = 0.0;  // in tolerances
    for (std::size_t j = 0; j < x_before.size() && j < x.size(); ++j) {
      const double atol = options.atol_each.empty() ? options.atol : options.atol_each[j];
      jump = std::max(jump, std::abs(x[j] - x_before[j]) / (atol + options.rtol * std::abs(x[j])));
    }
    const std::vector<int> fired = controller.fired();
    for (const int guard : fired) {
      zeno.note(guard, t);
      if (!zeno.accumulates(guard)) continue;
      // a flight that is too short for the clock, or too low for the digits of the guard
      const double speed = std::abs(GuardSides::speed(*system, controller.consistency(), t, x, guard));
      const bool unresolved = zeno.interval(guard) < unresolved_interval() ||
                              0.25 * zeno.interval(guard) * speed < 16.0 * controller.sides().noise(guard);
      if (jump > 1.0 && !unresolved) continue;
      Event event;
      event.t = t;
      event.kind = EventKind::contact;
      event.mode_before = hybrid->describe(mode);
      event.before = observe();
      if (!controller.rest_on(guard, t, x_before)) {
        if (!unresolved) continue;
        end({StatusCode::zeno, fmt::format("resets accumulate at t = {:.12g}, and no contact mode goes on from there", zeno.limit(guard)),
             {hybrid->guards()[guard].name}});
        return false;
      }
      mode = controller.transition.mode;
      x = controller.transition.x;
      if (!enter_mode()) return false;
      event.mode_after = mode_text = hybrid->describe(mode);
      event.after = observe();
      describe_surfaces(event);
      event.message = fmt::format("infinitely many resets accumulate at t = {:.12g}; the solution goes on in contact", zeno.limit(guard));
      record(std::move(event));
      zeno.forget(guard);
      close_events = 0;
    }
    return true;
  }

  /// Intervals below this have fewer than three digits.
  double unresolved_interval() const {
    return 1e3 * eps * std::max(std::abs(t), 1e-6 * std::abs(options.stop - options.start));
  }

  /// Events that accumulate where no contact takes over would never end: stop when the intervals cannot be resolved any more.
  bool too_close() {
    const double interval = std::abs(t - last_event);
    close_events = interval < unresolved_interval() && interval <= last_interval ? close_events + 1 : 0;
    last_interval = interval;
    last_event = t;
    if (close_events < 10) return false;
    end({StatusCode::zeno, fmt::format("events accumulate at t = {:.12g}: the intervals between them shrink towards zero", t),
         controller.guard_names(controller.fired())});
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
  if (!impl_->over) impl_->end({StatusCode::cancelled, fmt::format("ended at t = {:.9g} on request", impl_->t), {}});
  return std::move(impl_->result);
}

}  // namespace saltus
