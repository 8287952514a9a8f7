// The loop of a run: step, look for the earliest event, settle the discrete state, go on.
#include "hybrid/simulator_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "hybrid/large_modes.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

namespace {
constexpr double eps = std::numeric_limits<double>::epsilon();

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
      methods(options, options.keep_steps || !hybrid->guards().empty()),
      instant(*hybrid, direction, options.max_mode_changes, options.stop_if_non_unique),
      t(options.start),
      pause(options.stop),
      asked(options.start),
      equations(options, hybrid->variables()),
      bounds(hybrid->observed(), *std::ranges::max_element(relative_tolerances()), options.atol),
      chatter(std::abs(options.stop - options.start)) {
  check_options(options, hybrid->variables().size());
  instant.doubt().tolerance = std::max(*std::ranges::max_element(relative_tolerances()), options.atol);
  instant.doubt().sizes = options.atol_each.empty() ? std::vector{options.atol} : options.atol_each;
  for (double& size : instant.doubt().sizes) size /= options.rtol > 0.0 ? options.rtol : 1e-6;
  x.reserve(hybrid->variables().size());
  for (const auto& v : hybrid->variables()) x.push_back(v.start);
  xp.assign(x.size(), 0.0);
  touches_wanted = std::any_of(hybrid->guards().begin(), hybrid->guards().end(), [](const GuardInfo& g) { return g.record_touch; });
  observed = hybrid->observed().size();
  derived_variables = hybrid->derives_variables();
  has_time_guards = std::any_of(hybrid->guards().begin(), hybrid->guards().end(), [](const GuardInfo& g) { return g.time_only; });
  next_time = direction * std::numeric_limits<double>::infinity();
  mode = hybrid->initial_mode();
  if (from)
    resume(*from);
  else
    initialise();
}

void Simulator::Impl::initialise() {
  const Transition& transition = instant.transition;
  instant.doubt().time_scale = time_scale();
  instant.consistency().look_behind_start(options.stop - options.start);
  keep_state();
  if (!find_start()) {
    Failure failure = instant.failure();
    if (!start_by_homotopy()) {
      restore_state();
      return end(std::move(failure));
    }
  }
  give_back(x.size(), state_before, slope_before);
  add_remark(instant.consistency().remark());
  if (transition.terminate) return end({StatusCode::terminated, ended_by_model(), {}});
  if (!enter_mode()) return;
  result.initial_values_ = observe_refined();
  bounds.check(hybrid->observed(), t, result.initial_values_);
  if (!transition.fired.empty() || !mode.sliding.empty() || !transition.message.empty() || !transition.notes.empty()) {
    const std::string message = message_of_settled();
    find_weights();
    record({.kind = mode.sliding.empty() ? EventKind::initial : EventKind::slide_enter,
            .mode_before = &mode,
            .mode_after = &mode,
            .actions = transition.fired,
            .message = message},
           {.t = t, .before = result.initial_values_, .after = result.initial_values_, .weights = weights});
  }
  if (!equations_hold(t, time_scale())) return;
  if (options.start == options.stop)
    return end({StatusCode::success, "start and stop coincide: only initialised", {}});
  instant.end();
  leave_singular_start();
  restart(options.initial_step);
}

void Simulator::Impl::leave_singular_start() {
  const double regular = system->structure().explicit_ode ? t : instant.consistency().regular_time(*system, t);
  if (regular == t) return;
  rest = {t, regular - t, 1, static_cast<int>(x.size()), x};
  copy(xp, slope_before);
  for (std::size_t j = 0; j < x.size(); ++j)
    if (system->structure().differentiated(static_cast<int>(j))) x[j] += (regular - t) * xp[j];
  if (!instant.consistency().polish(*system, regular, x, xp)) {  // the limit itself is as near
    copy(rest.c, x);
    copy(slope_before, xp);
  }
  for (std::size_t j = 0; j < x.size(); ++j) rest.c.push_back(x[j] - rest.c[j]);
  if (options.keep_steps) {
    begin_segment();
    result.segments_.back().steps.push_back({rest, regular, true});
  }
  t = result.t_end_ = regular;
}

bool Simulator::Impl::find_start() {
  instant.begin(mode_before);
  return instant.settle({.t = t, .mode = &mode_before, .x = state_before, .xp = slope_before, .initial = true});
}

bool Simulator::Impl::enter_mode() {
  system = &instant.system();
  if (helped) end_help();
  if (mode.on_surfaces() && system->project(t, x) && !instant.find_values(t)) {
    end(instant.failure());
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
    Stepper* chosen = choose_stepper(problem);
    if (!chosen) {
      end({StatusCode::singular_mode, problem, {}});
      return false;
    }
    use(chosen);
  }
  in_rest = false;
  set_watch();
  return true;
}

[[gnu::hot]] bool Simulator::Impl::enter_mode_again() {
  system = &instant.system();
  if (helped || system->structure().id.number() != known_structure || !known->stepper || methods.per_mode()) return enter_mode();
  in_rest = false;
  const auto given = edges.sides();
  const GuardSides& sides = instant.sides();
  watching = false;
  for (std::size_t k = 0; k < given.size(); ++k) {
    const int guard = static_cast<int>(k), root = sides.multiplicity(guard);
    const bool by_time = has_time_guards && hybrid->guards()[k].time_only;
    watch[k] = by_time ? GuardWatch{} : GuardWatch{given[k], static_cast<unsigned char>(root), root > 0 ? sides.noise(guard) : 0.0};
    watching = watching || watch[k].side != 0;
    instant.doubt().noise[k] = 0.0;
  }
  plan_time_events();
  return true;
}

void Simulator::Impl::set_watch() {
  resize(watch, static_cast<std::size_t>(system->structure().guards));
  if (!watch.empty()) instant.look(t);
  const GuardSides& sides = instant.sides();
  watching = false;
  bool any_rests = false;  // guards that vanish with all derivatives that were looked at
  const auto begin_watch = [&](int guard, int side) {
    GuardWatch& w = watch[static_cast<std::size_t>(guard)];
    w.side = static_cast<signed char>(side);
    w.known_root = static_cast<unsigned char>(sides.multiplicity(guard));
    w.noise = w.known_root > 0 ? sides.noise(guard) : 0.0;
    watching = watching || side != 0;
  };
  std::fill(watch.begin(), watch.end(), GuardWatch{});
  hybrid->positions(mode, positions);
  for (int k = 0; k < std::min(instant.family_guards, static_cast<int>(watch.size())); ++k) {
    if (has_time_guards && hybrid->guards()[static_cast<std::size_t>(k)].time_only) continue;
    const int side = side_of(positions[static_cast<std::size_t>(k)]);
    begin_watch(k, side);
    any_rests = any_rests || (side != 0 && sides.side(k) == 0);
  }
  if (mode.on_surfaces()) hybrid->exit_guards(mode, exits);
  for (std::size_t k = 0; k < mode.sliding.size(); ++k)
    for (const int above : {0, 1}) begin_watch(exits[k] + above, +1);
  for (std::size_t k = 0; k < mode.contacts.size(); ++k) {
    const int force = exits[mode.sliding.size() + k];
    begin_watch(force, +1);
    any_rests = any_rests || sides.side(force) == 0;
  }
  bands.clear();
  if (any_rests || !instant.doubt().slope_error.empty()) find_bands(any_rests);
  for (double& noise : instant.doubt().noise) noise = 0.0;
  instant.doubt().slope_error.clear();
  instant.doubt().alternative_state.clear();
  plan_time_events();
}

void Simulator::Impl::plan_time_events() {
  if (!has_time_guards) return;
  time_guards.clear();
  next_time = hybrid->next_time_event(mode, t, direction, time_guards);
  // a time that agrees with the end within rounding errors (3 * 0.1 and 0.3) is the end
  if (t != options.stop && std::abs(next_time - options.stop) <= 4.0 * eps * std::abs(options.stop)) next_time = options.stop;
}

/// Forces of contacts may vanish as guards do, weights may not.
bool Simulator::Impl::may_rest(int guard) const {
  return guard < instant.family_guards ||
         std::find(exits.begin() + static_cast<std::ptrdiff_t>(mode.sliding.size()), exits.end(), guard) != exits.end();
}

void Simulator::Impl::find_bands(bool resting) {
  constexpr double errors_of_many_steps = 1e3, error_of_one = 1.0;  // in tolerances
  resting = resting && system->structure().taylor;  // otherwise only the first derivative has been looked at
  const std::vector<double>& denied = instant.doubt().slope_error;
  if (!resting && denied.empty()) return;
  const std::vector<double> tolerance =
      GuardSides::uncertainty(*system, t, x, xp, relative_tolerances(), absolute_tolerances());
  bands.assign(watch.size(), {});
  for (std::size_t k = 0; k < bands.size(); ++k) {
    if (watch[k].side == 0 || !may_rest(static_cast<int>(k))) continue;
    if (resting && instant.sides().side(static_cast<int>(k)) == 0)
      bands[k] = {std::max(watch[k].noise, errors_of_many_steps * tolerance[k])};
    else if (k < denied.size() && denied[k] != 0.0)
      bands[k] = {std::max(watch[k].noise, error_of_one * tolerance[k]), true};
    if (bands[k].width > 0.0) watch[k].noise = bands[k].width;
    if (bands[k].until_left) watch[k].known_root = 0;
  }
}

void Simulator::Impl::arm_guards(double begin) {
  const auto family = static_cast<std::size_t>(instant.family_guards);
  const auto at_zero = [&](std::size_t k) { return k < family && watch[k].side != 0 && watch[k].known_root > 0; };
  bool any = false;
  for (std::size_t k = 0; k < watch.size(); ++k) any = any || at_zero(k);
  if (any) {
    resize(g_then, watch.size());
    system->guards(t, x, xp, g_then);
    any = false;
    for (std::size_t k = 0; k < watch.size(); ++k) any = any || (at_zero(k) && watch[k].side * g_then[k] <= 0.0);
  }
  if (any) find_slopes();
  const bool no_time = std::abs(t - begin) <= unresolved_interval();
  for (std::size_t k = 0; k < watch.size(); ++k) {
    GuardWatch& w = watch[k];
    const double out = any && at_zero(k) ? -w.side * g_then[k] : -1.0;
    if (out >= 0.0 && (no_time || (out <= w.noise && w.side * guard_slopes[k] * direction > 0.0)))
      w.noise = std::max(w.noise, out);
    else
      w.known_root = 0, w.noise = 0.0;
  }
  if (!bands.empty()) keep_bands();
}

void Simulator::Impl::keep_bands() {
  if (std::any_of(bands.begin(), bands.end(), [](const Band& band) { return band.until_left; })) {
    g_then.resize(watch.size());
    system->guards(t, x, xp, g_then);
    for (std::size_t k = 0; k < bands.size(); ++k)
      if (bands[k].until_left && watch[k].side * g_then[k] > bands[k].width) bands[k] = {};
  }
  for (std::size_t k = 0; k < bands.size(); ++k) watch[k].noise = std::max(watch[k].noise, bands[k].width);
}

void Simulator::Impl::keep_state() {
  copy(mode, mode_before);
  mode_left = &mode_before;
  copy(x, state_before);
  copy(xp, slope_before);
}

void Simulator::Impl::restore_state() {
  copy(mode_before, mode);
  copy(state_before, x);
  copy(slope_before, xp);
}

[[gnu::hot]] void Simulator::Impl::start_stepper(double step) {
  const bool explicit_ode = system->structure().explicit_ode;
  stepped = system;
  stepper->start(explicit_ode || stepper->takes_hidden_constraints() ? *system : instant.consistency().integrable(*system),
                 {.t = t, .x = x, .xp = xp, .direction = direction, .step = step, .xp_is_rhs = explicit_ode});
}

[[gnu::hot]] void Simulator::Impl::restart(double step) {
  in_rest = false;
  start_stepper(std::min({step, known->guards, known->first}));
  first_step = true;
  rejected_before = stepper->statistics().rejected;
  if (system->structure().explicit_ode) {
    regularity.stop();
    redundancy.stop();
  } else {
    Consistency& consistency = instant.consistency();
    const CharacteristicValues* values = consistency.values(*system);
    regularity.begin(*system, values, consistency.reduced(*system), t, x, xp);
    redundancy.begin(*system, values, t, x);
    if (values && (*values)->u > 0) tell_undetermined(*values);
  }
  ++result.statistics_.restarts;
  if (options.keep_steps) begin_segment();
}

void Simulator::Impl::begin_segment() {
  auto& segments = result.segments_;
  if (!segments.empty() && segments.back().steps.empty()) segments.pop_back();  // a mode that lasted for no time
  segments.push_back({result.events_->modes().keep(mode), !mode.sliding.empty(), !mode.contacts.empty(), {}});
  if (!options.keep_event_values) observe(result.final_values_);  // no event tells what holds from here on
}

[[gnu::hot]] void Simulator::Impl::observe(std::vector<double>& values) const {
  resize(values, observed);
  hybrid->observe(mode, t, x, xp, values);
}

void Simulator::Impl::refine() {
  // (a run that ends while a mode is being entered has the values of another one)
  if (!system || system->structure().explicit_ode || x.size() != static_cast<std::size_t>(system->structure().variables)) return;
  if (stepper) stepper->forget_dense();
  instant.consistency().refine(*system, t, x, xp);
}

std::vector<double> Simulator::Impl::observe_refined() {
  std::vector<double> values(observed), state = x, slope = xp;
  if (system && state.size() == static_cast<std::size_t>(system->structure().variables)) instant.consistency().refine(*system, t, state, slope);
  hybrid->observe(mode, t, state, slope, values);
  return values;
}

[[gnu::hot]] bool Simulator::Impl::advance() {
  double limit = next_stop();
  if (reached(limit, t + direction * known->guards)) limit = t + direction * known->guards;
  if (shortened > 0.0 && reached(limit, t + direction * shortened)) limit = t + direction * shortened;
  const StepOutcome outcome = stepper->advance(limit);
  if (!outcome.ok()) {
    if (!outcome_of_series(outcome) && !get_help()) report_failure(outcome);
    return false;
  }
  if (first_step) learn_first_step();
  if (++steps_made <= options.max_steps) return true;
  take_step(stepper->t());
  end({StatusCode::too_many_steps,
       fmt::format("{} steps were not enough: at t = {:.9g} a step has the size {:.3g}; raise max_steps (--max-steps), loosen the "
                   "tolerance or use an implicit method",
                   options.max_steps, t, std::abs(current().h)), {}});
  return false;
}

void Simulator::Impl::forget_systems() {
  constexpr int interval = 64;
  steps_until_forgetting = interval;
  if (!alone) return;
  const System* const used[] = {system, stepped, &instant.system()};
  hybrid->forget_systems(used);
}

[[gnu::hot]] void Simulator::Impl::step() {
  if (--steps_until_forgetting < 0) forget_systems();
  if (in_rest && !reached(pause, stepper->t())) {  // somebody wants to stop earlier than the stepper has gone
    in_rest = false;
    start_stepper(stepper->next_step());
  }
  if (!in_rest && !advance()) return;
  bool found = watching && locator.earliest(*system, current(), watch, located, system->linear_guards());
  if (!found && watching && locator.not_finite()) return shorten();
  proved = !watching || locator.proved();
  const double t1 = stepper->t(), resolution = 8.0 * eps * std::max(std::abs(t1), std::abs(t));
  // in a step of some units in the last place no guard leaves the zero of the event before
  const auto at_zero = [&](int k) { return watch[static_cast<std::size_t>(k)].known_root > 0; };
  if (found && std::abs(t1 - t) <= unresolved_interval() && std::all_of(located.guards.begin(), located.guards.end(), at_zero)) found = false;
  if (found && denies_start()) return;
  if (watching && (locator.fineness() > 8.0 || known->guards < std::numeric_limits<double>::infinity())) follow_guards();
  if (!proved && ++result.statistics_.unproved == 1) first_unproved = t;
  shortened = 0.0;
  if (regularity.watches())
    if (Failure change = regularity.check(current(), found ? located.t_after : t1)) {
      take_step(regularity.time());
      return end(std::move(change));
    }
  // (an event may lie a rounding error behind a surface that they do not cross)
  if (derived_variables && !found && !derived_are_finite(t1)) return end_where_derived_are_finite(t1);
  if (touches_wanted && watching) record_touches(found);
  if (found && (t1 - located.t_after) * direction > resolution) {
    const bool at_once = std::abs(located.t_after - t) <= 16.0 * resolution;  // no room for a step of its own
    if (!at_once && !dense_is_accurate()) return approach_event();
    return event_at(located.t_after, true);
  }
  if (found || t1 == next_time) return event_at(t1, found);
  accept_step(t1);
}

void Simulator::Impl::accept_step(double end) {
  constexpr double short_step = 1e-6;  // compared with t: the last digits of guards may not change
  const double begin = t;
  take_step(end);
  if (equations.step_is_due(system->structure().explicit_ode) && !equations_hold(begin + equations.place() * (t - begin), std::abs(t - begin))) return;
  in_rest = false;
  if (mode.on_surfaces() && system->project(t, x)) {  // back onto the surface, and on from there
    find_derivatives();
    start_stepper(stepper->next_step());
  }
  arm_guards(begin);
  if (bounds.watches()) check_bounds();
  if (t == options.stop) {
    finish();
  } else if (watching && std::abs(end - begin) < short_step * std::abs(t) && at_the_last_digit() && cross_edge()) {
    return;
  } else if (helped) {
    if (--helping_steps == 0) {
      const double step = stepper->next_step();
      end_help();
      start_stepper(step);
    }
  } else if (stepper->stiff() && methods.note_stiff(*system)) {
    change_method();
  }
  if (!over) progress();
}

bool Simulator::Impl::at_the_last_digit() const {
  for (const LinearGuard& guard : system->linear_guards()) {
    const GuardWatch& w = watch[static_cast<std::size_t>(guard.guard)];
    if (w.side == 0 || w.known_root > 0 || vanishes(static_cast<std::size_t>(guard.guard))) continue;
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

void Simulator::Impl::follow_guards() {
  const double fineness = locator.fineness();
  const double h = std::abs(stepper->dense().h);
  const bool cheap = fineness > 8.0 && dense_is_accurate();  // implicit steps cost more than a finer look
  if (cheap && stepper->error() < 0.01)
    known->guards = h * 8.0 / fineness;
  else if (fineness <= 8.0 && h >= 0.9 * known->guards)
    known->guards *= 1.1;
}

[[gnu::hot]] void Simulator::Impl::learn_first_step() {
  first_step = false;
  const bool too_long = stepper->statistics().rejected > rejected_before;
  if (too_long)
    known->first = std::abs(stepper->t() - t);
  else if (stepper->error() < 0.1)
    known->first *= 1.5;
}

[[gnu::hot]] void Simulator::Impl::take_step(double end) {
  if (options.keep_steps) result.segments_.back().steps.push_back({current(), end, proved});
  if (!mode.sliding.empty()) ++result.statistics_.sliding_steps;
  t = end;
  result.t_end_ = t;
  result.final_values_.clear();
  state_at(end, x, xp);
  if (!redundancy.watches()) return;
  add_remark(redundancy.check(t, x));
}

bool Simulator::Impl::equations_hold(double when, double length) {
  resize(x_then, x.size());
  resize(xp_then, x.size());
  if (when == t) {
    copy(x, x_then);
    copy(xp, xp_then);
  } else {
    state_at(when, x_then, xp_then);
  }
  if (!system->structure().explicit_ode) instant.consistency().refine(*system, when, x_then, xp_then);
  resize(values_after, observed);
  hybrid->observe(mode, when, x_then, xp_then, values_after);
  Failure failure = equations.check(*hybrid, mode, when, values_after, x_then, xp_then, length);
  give_back(x.size(), x_then, xp_then, values_after);
  if (!failure) return true;
  end(std::move(failure));
  return false;
}

bool Simulator::Impl::derived_are_finite(double when) {
  x_then.resize(x.size());
  xp_then.resize(x.size());
  state_at(when, x_then, xp_then);
  values_after.resize(hybrid->observed().size());
  hybrid->observe(mode, when, x_then, xp_then, values_after);
  for (std::size_t k = 0; k < values_after.size(); ++k)
    if (!std::isfinite(values_after[k])) {
      not_finite_at = static_cast<int>(k);
      return false;
    }
  return true;
}

void Simulator::Impl::end_where_derived_are_finite(double end_of_step) {
  double good = t, bad = end_of_step;
  for (int k = 0; k < 60 && std::abs(bad - good) > 4.0 * eps * std::max(std::abs(bad), std::abs(good)); ++k) {
    const double middle = 0.5 * (good + bad);
    (derived_are_finite(middle) ? good : bad) = middle;
  }
  const std::string name = hybrid->observed()[static_cast<std::size_t>(not_finite_at)].name;
  if (good != t) take_step(good);
  const SourceLocation& where = hybrid->observed()[static_cast<std::size_t>(not_finite_at)].details->where;
  end({StatusCode::not_finite,
       fmt::format("'{}'{} cannot be evaluated beyond t = {:.12g}", name,
                   where.known() ? " (" + to_string(where) + ")" : "", t),
       {name}});
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
    const std::vector<std::string> names = undefined_guards();
    return end({StatusCode::not_finite,
                fmt::format("the guard{} cannot be evaluated beyond t = {:.12g}",
                            names.empty() ? "" : " '" + names.front() + "'", t0),
                names});
  }
  start_stepper(shortened);
}

std::vector<std::string> Simulator::Impl::undefined_guards() {
  const DensePolynomial& step = stepper->dense();
  std::vector<double> there(x.size()), slope(x.size()), values(static_cast<std::size_t>(system->structure().guards));
  std::vector<int> undefined;
  for (double part = 1.0; part > eps && undefined.empty(); part *= 0.5) {
    const double when = step.t0 + part * step.h;
    step.evaluate(when, there);
    step.derivative(when, slope);
    system->guards(when, there, slope, values);
    for (std::size_t k = 0; k < std::min(values.size(), hybrid->guards().size()); ++k)
      if (!std::isfinite(values[k])) undefined.push_back(static_cast<int>(k));
  }
  return names_of(*hybrid, undefined);
}

[[gnu::hot]] bool Simulator::Impl::denies_start() {
  const double length = std::abs(stepper->t() - t);
  if (std::abs(located.t_after - t) > 128.0 * eps * std::max(std::abs(stepper->t()), std::abs(t)) || 0.25 * length < unresolved_interval())
    return false;
  const auto rests = [&](int k) { return static_cast<std::size_t>(k) < bands.size() && bands[static_cast<std::size_t>(k)].width > 0.0; };
  if (std::none_of(located.guards.begin(), located.guards.end(), [&](int k) { return watch[k].known_root > 0 && !rests(k); })) return false;
  in_rest = false;
  shortened = 0.25 * length;
  start_stepper(shortened);
  return true;
}

void Simulator::Impl::regain_mode() {
  if (over || alone) return;
  System* const own = &hybrid->system(mode);
  if (own == system) return;
  system = own;
  in_rest = false;
  start_stepper(stepper->next_step());
}

bool Simulator::Impl::report_progress() {
  const bool go_on = options.progress({t, options.start, options.stop, methods.statistics().steps, result.statistics_.events});
  regain_mode();
  if (go_on) return true;
  end({StatusCode::cancelled, fmt::format("cancelled at t = {:.9g}", t), {}});
  return false;
}

Simulator::Simulator(std::shared_ptr<HybridSystem> system, SimulateOptions options)
    : impl_(std::make_unique<Impl>(std::move(system), std::move(options))) {}
Simulator::~Simulator() = default;
Simulator::Simulator(Simulator&&) noexcept = default;
Simulator& Simulator::operator=(Simulator&&) noexcept = default;

[[gnu::hot]] bool Simulator::step() {
  impl_->regain_mode();
  if (!impl_->over) impl_->step();
  impl_->asked = impl_->t;
  return !impl_->over;
}

bool Simulator::advance_to(double t) {
  // times that agree within rounding errors are one, and an event at the last one may lie some more of them behind it
  const auto same = [](double a, double b) { return std::abs(a - b) <= 4.0 * eps * std::max(std::abs(a), std::abs(b)); };
  if (same(t, impl_->options.stop)) t = impl_->options.stop;
  const bool passed = impl_->reached(impl_->t, t) && impl_->reached(t, impl_->asked);
  if (passed || (same(t, impl_->t) && t != impl_->options.stop)) return true;
  if (!std::isfinite(t) || !impl_->reached(t, impl_->t) || !impl_->reached(impl_->options.stop, t))
    throw UsageError(fmt::format("advance_to: {} does not lie between the current time {} and the stop time {}", t, impl_->t,
                                 impl_->options.stop));
  impl_->regain_mode();
  impl_->pause = impl_->asked = t;
  while (!impl_->over && !impl_->reached(impl_->t, t)) impl_->step();
  impl_->pause = impl_->options.stop;
  return impl_->reached(impl_->t, t);
}

void Simulator::run() {
  impl_->regain_mode();
  while (!impl_->over) impl_->step();
  impl_->asked = impl_->t;
}

double Simulator::t() const { return impl_->t; }
const Mode& Simulator::mode() const { return impl_->mode; }
std::span<const double> Simulator::x() const { return impl_->x; }
std::vector<double> Simulator::values() const { return impl_->observe_refined(); }
const Status& Simulator::status() const { return impl_->result.status(); }
bool Simulator::finished() const { return impl_->over; }
const Trajectory& Simulator::trajectory() const { return impl_->result; }

Trajectory Simulator::take() {
  if (!impl_->over) impl_->end({StatusCode::cancelled, fmt::format("ended at t = {:.9g} on request", impl_->t), {}});
  return std::exchange(impl_->result, Trajectory(impl_->hybrid, impl_->options.start));
}

}  // namespace saltus
