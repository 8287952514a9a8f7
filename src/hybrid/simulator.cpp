// The loop of a run: step, look for the earliest event, settle the discrete state, go on.
#include "hybrid/simulator_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/finite.hpp"
#include "hybrid/large_modes.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

namespace {
/// One for the run alone, or the system itself if it has none.
std::shared_ptr<HybridSystem> instance_of(const std::shared_ptr<HybridSystem>& system) {
  std::shared_ptr<HybridSystem> own = system->instance();
  return own ? own : system;
}
}  // namespace

Simulator::Impl::Impl(std::shared_ptr<HybridSystem> h, SimulateOptions o, const SimulatorState* from)
    : hybrid(instance_of(h)),
      alone(hybrid != h),
      options(with_nominal_values(std::move(o), hybrid->variables())),
      result(hybrid, from ? from->t : options.start),
      direction(options.stop >= (from ? from->t : options.start) ? +1 : -1),
      inputs(*hybrid, options, direction),
      methods(options, options.keep_steps || !hybrid->guards().empty()),
      instant(*hybrid, direction, options.max_mode_changes, options.stop_if_non_unique),
      t(options.start),
      pause(options.stop),
      asked(options.start),
      guard_errors(hybrid->guards(), options.rtol, options.atol),
      equations(options, hybrid->variables()),
      bounds(hybrid->observed(), *std::ranges::max_element(relative_tolerances()), options.atol),
      chatter(std::abs(options.stop - options.start)) {
  check_options(options, hybrid->variables().size());
  instant.consistency().keep_with(*hybrid);
  instant.doubt().tolerance = std::max(*std::ranges::max_element(relative_tolerances()), options.atol);
  instant.doubt().sizes = options.atol_each.empty() ? std::vector{options.atol} : options.atol_each;
  instant.doubt().relative = options.rtol > 0.0 ? options.rtol : 1e-6;
  for (double& size : instant.doubt().sizes) size /= instant.doubt().relative;
  x.reserve(hybrid->variables().size());
  for (const auto& v : hybrid->variables()) x.push_back(v.start);
  xp.assign(x.size(), 0.0);
  touches_wanted =
      std::any_of(hybrid->guards().begin(), hybrid->guards().end(), [](const GuardInfo& g) { return g.record_touch; });
  observed = hybrid->observed().size();
  derived_variables = hybrid->derives_variables();
  has_time_guards =
      std::any_of(hybrid->guards().begin(), hybrid->guards().end(), [](const GuardInfo& g) { return g.time_only; });
  next_time = direction * std::numeric_limits<double>::infinity();
  mode = hybrid->initial_mode();
  if (from) {
    saved.resume(*from);
  } else {
    inputs.begin(mode, t);
    beginning.begin();
  }
}

bool Simulator::Impl::enter_mode() {
  if (!enter_system()) return false;
  guarding.set_watch();
  return true;
}

bool Simulator::Impl::enter_system() {
  system = &instant.system();
  if (helped) steppers.end_help();
  if (mode.on_surfaces() && system->project(t, x) && !instant.find_values(t)) {
    ending.end(instant.failure());
    return false;
  }
  if (const std::uint64_t structure = system->structure().id.number(); structure != known_structure) {
    known = &known_steps[structure];
    if (known->number < 0) {
      known->number = static_cast<int>(known_steps.size()) - 1;
      known->mode = mode;
    }
    known_structure = structure;
  }
  if (known->stepper && !methods.per_mode()) {
    stepper = known->stepper;
  } else {
    std::string problem;
    Stepper* chosen = steppers.choose_stepper(problem);
    if (!chosen) {
      ending.end({StatusCode::singular_mode, problem, {}});
      return false;
    }
    steppers.use(chosen);
  }
  in_rest = false;
  return true;
}

[[gnu::hot]] bool Simulator::Impl::enter_mode_again() {
  system = &instant.system();
  if (helped || system->structure().id.number() != known_structure || !known->stepper || methods.per_mode())
    return enter_mode();
  in_rest = false;
  const auto given = edges.sides();
  const GuardSides& sides = instant.sides();
  watching = false;
  for (std::size_t k = 0; k < given.size(); ++k) {
    const int guard = static_cast<int>(k), root = sides.multiplicity(guard);
    const bool by_time = has_time_guards && hybrid->guards()[k].time_only;
    watch[k] = by_time ? GuardWatch{}
                       : GuardWatch{given[k], static_cast<unsigned char>(root), root > 0 ? sides.noise(guard) : 0.0};
    watching = watching || watch[k].side != 0;
    instant.doubt().noise[k] = 0.0;
  }
  guarding.plan_time_events();
  return true;
}

bool Simulator::Impl::go_to(double time, const Mode& at, std::span<const double> state, double step) {
  over = false;
  t = asked = time;
  pause = options.stop;
  copy(at, mode);
  x.assign(state.begin(), state.end());
  xp.assign(x.size(), 0.0);
  result.segments_.clear();
  result.events_->forget();
  result.status_ = {};
  result.t_end_ = time;
  edges.forget();
  zeno = {};
  switchings = {};
  chatter = ChatterWatch(std::abs(options.stop - options.start));
  near_events = close_events = 0;
  last_event = -std::numeric_limits<double>::infinity();
  last_interval = shortened = 0.0;
  pending_touches.clear();
  steps_made = 0;
  instant.doubt().time_scale = step;
  return go_on_in_mode(step);
}

bool Simulator::Impl::go_on_in_mode(double step, std::span<const GuardWatch> known_watch) {
  keep_state();
  instant.begin(mode_before);
  if (!instant.find_values(t)) {
    ending.end(instant.failure());
    return false;
  }
  if (!enter_system()) return false;
  if (known_watch.empty())
    guarding.set_watch();
  else
    guarding.take_watch(known_watch);
  instant.end();
  restart(step);
  return !over;
}

bool Simulator::Impl::settle_outside_change(double step) {
  keep_state();
  instant.begin(mode_before);
  instant.doubt().time_scale = step;
  system = &hybrid->system(mode);
  observation.observe(values_before);
  instant.place_dormant(t);
  if (!instant.settle({.t = t, .mode = &mode_before, .x = state_before, .xp = slope_before})) {
    ending.end(instant.failure());
    return false;
  }
  if (instant.transition.terminate) {
    ending.end({StatusCode::terminated, ending.ended_by_model(), {}});
    return false;
  }
  if (!enter_mode()) return false;
  if (!instant.transition.fired.empty() || !same_but_conditions(mode, mode_before)) {
    approach.find_slopes();
    recorder.record_settled(false);
  }
  instant.end();
  restart(step);
  return !over;
}

void Simulator::Impl::keep_state() {
  copy(mode, mode_before);
  mode_left = &mode_before;
  copy(x, state_before);
  copy(xp, slope_before);
}

[[gnu::hot]] void Simulator::Impl::restart(double step) {
  in_rest = false;
  steppers.start_stepper(std::min({step, known->guards, known->first}));
  first_step = true;
  rejected_before = stepper->statistics().rejected;
  if (system->structure().explicit_ode) {
    regularity.stop();
    redundancy.stop();
    algebraic.begin(*system, nullptr);
    undetermined = false;
  } else {
    Consistency& consistency = instant.consistency();
    const CharacteristicValues* values = consistency.values(*system);
    regularity.begin(*system, values, consistency.reduced(*system), t, x, xp);
    redundancy.begin(*system, values, t, x);
    algebraic.begin(*system, values ? &values->structure : nullptr);
    undetermined = values && (*values)->u > 0;
    if (undetermined) ending.tell_undetermined(*values);
  }
  ++result.statistics_.restarts;
  if (options.keep_steps) begin_segment();
}

void Simulator::Impl::begin_segment() {
  auto& segments = result.segments_;
  if (!segments.empty() && segments.back().steps.empty()) segments.pop_back();  // a mode that lasted for no time
  const int number = event_sink ? 0 : result.events_->modes().keep(mode);
  segments.push_back({number, !mode.sliding.empty(), !mode.contacts.empty(), {}});
  if (!options.keep_event_values && !event_sink)
    observation.observe(result.final_values_);  // no event tells what holds from here on
}

[[gnu::hot]] bool Simulator::Impl::advance() {
  stepped_beyond_events = locals.active();
  double limit = stepped_beyond_events ? (reached(options.stop, pause) ? pause : options.stop) : next_stop();
  if (reached(limit, t + direction * known->guards)) limit = t + direction * known->guards;
  if (shortened > 0.0 && reached(limit, t + direction * shortened)) limit = t + direction * shortened;
  if (guard_errors.any() && reached(limit, t + direction * guard_errors.longest()))
    limit = t + direction * guard_errors.longest();
  const double begin = stepper->t(), wanted = stepper->next_step();
  const std::int64_t rejected = stepper->statistics().rejected;
  if (limit == options.stop && wanted == 0.0) saved.note_first_step();
  const StepOutcome outcome = stepper->advance(limit);
  if (limit == options.stop) {
    // Runge-Kutta methods try what they wanted; others may want more now, and shorten it to a sixteenth at most
    const std::int64_t rejections = stepper->tableau() ? 0 : stepper->statistics().rejected - rejected;
    const double tried = std::abs(stepper->t() - begin) * std::pow(16.0, static_cast<double>(rejections));
    saved.history.note_attempt(t, std::abs(limit - begin), std::max(wanted, tried));
  }
  if (!outcome.ok()) {
    if (!steppers.try_another_method(outcome) && !steppers.get_help()) ending.report_failure(outcome);
    return false;
  }
  if (first_step) steppers.learn_first_step();
  if (++steps_made <= options.max_steps) return true;
  take_step(stepper->t());
  ending.end({StatusCode::too_many_steps,
              fmt::format("{} steps were not enough: at t = {:.9g} a step has the size {:.3g}; raise max_steps "
                          "(--max-steps), loosen the "
                          "tolerance or use an implicit method",
                          options.max_steps, t, std::abs(current().h)),
              {}});
  return false;
}

void Simulator::Impl::forget_systems() {
  constexpr int interval = 64;
  steps_until_forgetting = interval;
  if (!alone) return;
  const System* const used[] = {system, stepped, &instant.system(), flights.system()};
  hybrid->forget_systems(used);
}

[[gnu::hot]] void Simulator::Impl::step() {
  if (--steps_until_forgetting < 0) forget_systems();
  if (flights.flying() && flights.step()) return;
  if (in_rest && !reached(pause, stepper->t())) {  // somebody wants to stop earlier than the stepper has gone
    in_rest = false;
    steppers.start_stepper(stepper->next_step());
  }
  if (!in_rest && !advance()) return;
  if (!in_rest && stepped_beyond_events) return locals.take_step();
  if (guard_errors.any() && watching && !in_rest && !guards_are_accurate()) return;
  bool found = watching && locator.earliest(*system, current(), watch, located, system->linear_guards());
  if (found && located.at_start && begins_elsewhere())
    found = locator.earliest(*system, current(), watch, located, system->linear_guards());
  if (!found && watching && locator.not_finite()) return shorten();
  proved = !watching || locator.proved();
  const double t1 = stepper->t(), resolution = 8.0 * eps * std::max(std::abs(t1), std::abs(t));
  // in a step of some units in the last place no guard leaves the zero of the event before
  const auto at_zero = [&](int k) { return watch[static_cast<std::size_t>(k)].known_root > 0; };
  if (found && std::abs(t1 - t) <= unresolved_interval() &&
      std::all_of(located.guards.begin(), located.guards.end(), at_zero))
    found = false;
  if (found && (denies_start() || steppers.repeat_unstable_step())) return;
  if (watching && algebraic.needed() && !in_rest && !algebraic_follow(found)) return;
  if (watching && (locator.fineness() > 8.0 || known->guards < std::numeric_limits<double>::infinity()))
    steppers.follow_guards();
  if (!proved && ++result.statistics_.unproved == 1) first_unproved = t;
  shortened = 0.0;
  if (regularity.watches())
    if (Failure change = regularity.check(current(), found ? located.t_after : t1)) {
      take_step(regularity.time());
      return ending.end(std::move(change));
    }
  // (an event may lie a rounding error behind a surface that they do not cross)
  if (derived_variables && !found && !observation.derived_are_finite(t1))
    return ending.end_where_derived_are_finite(t1);
  if (touches_wanted && watching) recorder.record_touches(found);
  if (found && (t1 - located.t_after) * direction > resolution) {
    const bool at_once = std::abs(located.t_after - t) <= 16.0 * resolution;  // no room for a step of its own
    if (!at_once && !dense_is_accurate()) return approach.approach_event();
    return event_at(located.t_after, true);
  }
  if (found || t1 == next_time) return event_at(t1, found);
  accept_step(t1);
}

void Simulator::Impl::accept_step(double end) {
  constexpr double short_step = 1e-6;  // compared with t: the last digits of guards may not change
  const double begin = t;
  take_step(end);
  if (!contradiction.empty())
    return ending.end(
        {StatusCode::equation_violated, contradiction + "; least squares are taken of linear equations only", {}});
  if (equations.step_is_due(system->structure().explicit_ode) &&
      !(observation.equations_hold(begin + equations.place() * (t - begin), std::abs(t - begin)) &&
        observation.relations_hold(std::abs(t - begin))))
    return;
  in_rest = false;
  if (mode.on_surfaces() && system->project(t, x)) {  // back onto the surface, and on from there
    find_derivatives();
    steppers.start_stepper(stepper->next_step());
  }
  if (undetermined && instant.consistency().choose_constant_anew(*system, t, x))
    steppers.start_stepper(stepper->next_step());
  guarding.arm_guards(begin);
  if (bounds.watches()) ending.check_bounds();
  if (hybrid->complete_step(mode, t, x) && times_due()) return handle_due_times();
  if (t == options.stop) {
    // a guard may be zero here, within rounding errors: its relation still becomes true in the run
    if (!watching || !approach.cross_edge()) ending.finish();
  } else if (watching && std::abs(end - begin) < short_step * std::abs(t) && at_the_last_digit() &&
             approach.cross_edge()) {
    return;
  } else if (helped) {
    if (--helping_steps == 0) {
      const double step = stepper->next_step();
      steppers.end_help();
      steppers.start_stepper(step);
    }
  } else if (stepper->stiff() && methods.note_stiff(*system)) {
    steppers.change_method();
  }
  if (!over && progress()) flights.consider();
}

bool Simulator::Impl::at_the_last_digit() const {
  for (const LinearGuard& guard : system->linear_guards()) {
    const GuardWatch& w = watch[static_cast<std::size_t>(guard.guard)];
    if (w.side == 0 || w.known_root > 0 || guarding.vanishes(static_cast<std::size_t>(guard.guard))) continue;
    double value = guard.constant + guard.time * t, size = std::abs(guard.constant) + std::abs(guard.time * t);
    for (std::size_t i = 0; i < guard.variables.size(); ++i) {
      const double term = guard.coefficients[i] * x[static_cast<std::size_t>(guard.variables[i])];
      value += term;
      size += std::abs(term);
    }
    if (std::abs(value) <= 4.0 * eps * size) return true;
  }
  return false;
}

[[gnu::hot]] void Simulator::Impl::take_step(double end) {
  if (options.keep_steps) result.segments_.back().steps.push_back({current(), end, proved, steppers.method()});
  if (!mode.sliding.empty()) ++result.statistics_.sliding_steps;
  t = end;
  result.t_end_ = t;
  result.final_values_.clear();
  approach.state_at(end, x, xp);
  if (!redundancy.watches()) return;
  std::string text = redundancy.check(t, x);
  if (!redundancy.ends_run()) return add_remark(text);
  if (contradiction.empty()) contradiction = std::move(text);
}

void Simulator::Impl::find_derivatives() {
  if (system->structure().explicit_ode)
    system->rhs(t, x, xp);
  else if (t != stepper->t())
    stepper->dense().derivative(t, xp);
}

void Simulator::Impl::shorten() {
  const double t0 = current().t0;
  in_rest = false;
  shortened = 0.5 * std::abs(locator.finite_until() - t0);
  if (shortened < 16.0 * eps * std::max(std::abs(t0), 1e-300)) {
    const std::vector<std::string> names = ending.undefined_guards();
    return ending.end({StatusCode::not_finite,
                       fmt::format("the guard{} cannot be evaluated beyond t = {:.12g}",
                                   names.empty() ? "" : " '" + names.front() + "'", t0),
                       names});
  }
  steppers.start_stepper(shortened);
}

/// A stepper that keeps hidden constraints moves its start onto them, by errors far below the tolerance. A guard within
/// these errors of zero may have another sign there than at the state, which counts: the difference is noise of the
/// guard. Returns whether there is such a guard among those that were found.
bool Simulator::Impl::begins_elsewhere() {
  if (system->structure().explicit_ode) return false;
  const DensePolynomial& polynomial = current();
  resize(x_then, x.size());
  resize(xp_then, x.size());
  polynomial.evaluate(t, x_then);
  polynomial.derivative(t, xp_then);
  std::vector<double> at_state(watch.size()), at_begin(watch.size());
  system->guards(t, x, xp, at_state);
  system->guards(t, x_then, xp_then, at_begin);
  bool any = false;
  for (const int guard : located.guards) {
    const auto k = static_cast<std::size_t>(guard);
    if (!(watch[k].side * at_state[k] > 0.0) || watch[k].side * at_begin[k] > 0.0) continue;
    watch[k].noise = std::max(watch[k].noise, 2.0 * std::abs(at_begin[k] - at_state[k]));
    any = true;
  }
  return any;
}

[[gnu::hot]] bool Simulator::Impl::denies_start() {
  const double length = std::abs(stepper->t() - t);
  if (std::abs(located.t_after - t) > 128.0 * eps * std::max(std::abs(stepper->t()), std::abs(t)) ||
      0.25 * length < unresolved_interval())
    return false;
  const auto rests = [&](int k) {
    return static_cast<std::size_t>(k) < bands.size() && bands[static_cast<std::size_t>(k)].width > 0.0;
  };
  if (std::none_of(located.guards.begin(), located.guards.end(),
                   [&](int k) { return watch[k].known_root > 0 && !rests(k); }))
    return false;
  in_rest = false;
  shortened = 0.25 * length;
  steppers.start_stepper(shortened);
  return true;
}

bool Simulator::Impl::algebraic_follow(bool found) {
  constexpr double part = 0.25;
  const std::span<const double> rtol = relative_tolerances(), atol = absolute_tolerances();
  std::vector<double> same(x.size());
  for (std::size_t j = 0; j < x.size(); ++j)
    same[j] = Resolution::same_point * (rtol[rtol.size() > 1 ? j : 0] * std::abs(x[j]) + atol[atol.size() > 1 ? j : 0]);
  const double end = found ? located.t_before : stepper->t();
  const AlgebraicProof::Outcome outcome = algebraic.check(*system, current(), end, watch, same);
  if (outcome == AlgebraicProof::Outcome::proved) return true;
  if (outcome == AlgebraicProof::Outcome::missed && repeat_step(part * std::abs(stepper->t() - t))) return false;
  proved = located.proved = false;
  return true;
}

bool Simulator::Impl::repeat_step(double length) {
  if (!(length > unresolved_interval())) return false;
  in_rest = false;
  shortened = length;
  steppers.start_stepper(shortened);
  return true;
}

bool Simulator::Impl::guards_are_accurate() {
  return guard_errors.accept(*system, watch, *stepper, t, x, xp, relative_tolerances(), absolute_tolerances()) ||
         !repeat_step(guard_errors.longest());
}

void Simulator::Impl::regain_mode() {
  if (over || alone) return;
  System* const own = &hybrid->system(mode);
  if (own == system) return;
  system = own;
  in_rest = false;
  steppers.start_stepper(stepper->next_step());
}

bool Simulator::Impl::report_progress() {
  const bool go_on = options.progress({t, options.start, options.stop, all_steps().steps, result.statistics_.events});
  regain_mode();
  if (go_on) return true;
  ending.end({StatusCode::cancelled, fmt::format("cancelled at t = {:.9g}", t), {}});
  return false;
}

Simulator::Simulator(std::shared_ptr<HybridSystem> system, SimulateOptions options)
    : impl_(std::make_unique<Impl>(std::move(system), std::move(options))) {}
Simulator::~Simulator() = default;
Simulator::Simulator(Simulator&&) noexcept = default;
Simulator& Simulator::operator=(Simulator&&) noexcept = default;

[[gnu::hot]] bool Simulator::step() {
  impl_->regain_mode();
  if (impl_->saved.shown)
    impl_->saved.pass_shown();
  else if (!impl_->over)
    impl_->step();
  impl_->saved.look();
  impl_->flights.show();
  impl_->asked = impl_->t;
  return !impl_->over;
}

bool Simulator::advance_to(double t) {
  return impl_->advance_to(t, std::numeric_limits<std::int64_t>::max());
}

bool Simulator::advance_to_event(double t) {
  return impl_->advance_to(t, 1);
}

bool Simulator::Impl::advance_to(double end, std::int64_t most_events) {
  // times that agree within rounding errors are one, and an event at the last one may lie some more of them behind it
  const auto same = [](double a, double b) {
    return std::abs(a - b) <= 4.0 * eps * std::max(std::abs(a), std::abs(b));
  };
  if (same(end, options.stop)) end = options.stop;
  const double now = saved.shown ? saved.shown->t : t;
  const bool has_passed = reached(now, end) && reached(end, asked);
  if (has_passed || (same(end, now) && end != options.stop)) return true;
  if (!std::isfinite(end) || !reached(end, now) || !reached(options.stop, end))
    throw UsageError(fmt::format("advance_to: {} does not lie between the current time {} and the stop time {}", end,
                                 now, options.stop));
  regain_mode();
  pause = asked = end;
  if (end != options.stop) saved.history.note_pause(end, most_events == 1);
  const std::int64_t events_before = result.statistics_.events;
  const auto enough = [&] { return result.statistics_.events - events_before >= most_events; };
  if (saved.shown) saved.pass_shown();
  while (!over && !reached(t, end) && !enough()) {
    step();
    saved.look();
  }
  pause = options.stop;
  flights.show();
  if (over || reached(t, end)) return reached(t, end);
  asked = t;
  return true;
}

void Simulator::run() {
  impl_->regain_mode();
  if (impl_->saved.shown) impl_->saved.pass_shown();
  while (!impl_->over) {
    impl_->step();
    impl_->saved.look();
  }
  impl_->asked = impl_->t;
}

void Simulator::forget_past() {
  if (impl_->saved.shown) return;
  impl_->result.events_->forget();
  forget_steps();
  impl_->result.t_start_ = impl_->t;
}

void Simulator::forget_steps() {
  if (impl_->saved.shown) return;
  Trajectory& past = impl_->result;
  if (past.segments_.size() > 1) past.segments_.erase(past.segments_.begin(), std::prev(past.segments_.end()));
  if (!past.segments_.empty()) past.segments_.back().steps.clear();
  past.initial_values_ = values();
  past.values_from_ = impl_->t;
}

void Simulator::set_input(const std::string& name, double value, double slope) {
  const InputChange change{name, value, slope};
  set_inputs(std::span(&change, 1));
}

void Simulator::set_inputs(std::span<const InputChange> changes) {
  if (impl_->over) throw UsageError("set_input: the run is over");
  Impl::SavedRun::begin_at_shown(impl_);
  impl_->regain_mode();
  impl_->saved.history.repeatable = false;
  impl_->input_events.set(changes);
  impl_->asked = impl_->t;
}

double Simulator::t() const {
  return impl_->saved.shown ? impl_->saved.shown->t : impl_->t;
}
const Mode& Simulator::mode() const {
  return impl_->saved.shown ? impl_->saved.shown->mode : impl_->mode;
}
std::span<const double> Simulator::x() const {
  return impl_->saved.shown ? impl_->saved.shown->x : impl_->x;
}
std::vector<double> Simulator::values() const {
  return impl_->saved.shown ? impl_->result.initial_values_ : impl_->observation.observe_refined();
}
const Status& Simulator::status() const {
  return impl_->result.status();
}
bool Simulator::finished() const {
  return impl_->over;
}
const Trajectory& Simulator::trajectory() const {
  return impl_->result;
}

Trajectory Simulator::take() {
  Impl::SavedRun::begin_at_shown(impl_);
  if (!impl_->over)
    impl_->ending.end({StatusCode::cancelled, fmt::format("ended at t = {:.9g} on request", impl_->t), {}});
  return std::exchange(impl_->result, Trajectory(impl_->hybrid, impl_->options.start));
}

}  // namespace saltus
