// A run as a value: where it stands, and how another one goes on from there.
//
// In modes that are explicit, and with explicit methods, everything that later steps depend on is part of the state, so
// that a run that was saved and one that was not have the same bits. In other modes the run is repeated from an earlier
// point (run_history.cpp), and where that takes too many steps the method begins anew at the state. What is known about
// guards is part of the state in all modes: after an event a guard may be zero up to errors that only the event knows.
#include <fmt/format.h>

#include "base/fingerprint.hpp"
#include "hybrid/saved_memory.hpp"
#include "hybrid/short_lists.hpp"
#include "hybrid/simulator_impl.hpp"

namespace saltus {
namespace {

void persist(StateArchive& archive, Mode& mode) {
  archive(mode.automaton, mode.discrete, mode.locks, mode.conditions, mode.sees, mode.sliding, mode.contacts,
          mode.contact_sides);
}

void persist(StateArchive& archive, DensePolynomial& p) {
  archive(p.t0, p.h, p.degree, p.variables, p.c);
}

void resize_as_saved(StateArchive& archive, auto& list) {
  std::size_t size = list.size();
  archive(size);
  if (!archive.writes() && size > archive.numbers().size()) throw UsageError("the saved state is damaged");
  list.resize(size);
}

/// What identifies the variables and guards of a hybrid system.
std::uint64_t identify(const HybridSystem& hybrid) {
  Fingerprint all;
  for (const auto* list : {&hybrid.variables(), &hybrid.observed()})
    for (const VariableInfo& variable : *list) all.add(std::string_view(variable.name));
  for (const GuardInfo& guard : hybrid.guards()) all.add(std::string_view(guard.name));
  const Mode mode = hybrid.initial_mode();
  for (const std::size_t size : {mode.discrete.size(), mode.locks.size(), mode.conditions.size()})
    all.add(static_cast<std::uint64_t>(size));
  return all.value();
}

/// What identifies the values of a state and the parameters.
std::uint64_t identify(const SimulatorState& state, const HybridSystem& hybrid) {
  Fingerprint all;
  all.add(state.t);
  all.add(static_cast<double>(state.mode.automaton));
  for (const auto* list : {&state.mode.discrete, &state.mode.locks, &state.mode.conditions, &state.x, &state.xp})
    all.add_all(*list);
  all.add_all(state.mode.sees);
  for (const auto* list : {&state.mode.sliding, &state.mode.contacts, &state.mode.contact_sides}) all.add_all(*list);
  all.add(hybrid.values_key());
  return all.value();
}

/// A memory is numbers that only the run itself understands: they are taken as they were written, or not at all. The
/// last four are a seal of the others.
void seal(std::vector<double>& memory) {
  constexpr std::uint64_t version = 5;  // of what memories hold
  Fingerprint all;
  all.add(version);
  for (const double number : memory)
    all.add(std::isnan(number) ? std::uint64_t{1} : std::bit_cast<std::uint64_t>(number));
  for (int k = 0; k < 4; ++k) memory.push_back(static_cast<double>(all.value() >> (16 * k) & 0xffffU));
}
void require_fitting(const SimulatorState& state, HybridSystem& hybrid) {
  if (state.model != hybrid.name())
    throw UsageError(fmt::format("the saved state is one of the model '{}', not of '{}'", state.model, hybrid.name()));
  if (state.variables != identify(hybrid))
    throw UsageError(fmt::format(
        "the saved state is one of another version of the model '{}': variables or conditions differ", state.model));
  const Mode mode = hybrid.initial_mode();
  const auto count = static_cast<int>(hybrid.guards().size());
  const auto fits = [&](const std::vector<int>& guards) {
    return std::all_of(guards.begin(), guards.end(), [&](int k) { return k >= 0 && k < count; }) &&
           std::is_sorted(guards.begin(), guards.end());
  };
  if (!std::isfinite(state.t) || state.mode.discrete.size() != mode.discrete.size() ||
      state.mode.locks.size() != mode.locks.size() || state.mode.conditions.size() != mode.conditions.size() ||
      state.mode.sees.size() != mode.sees.size() || state.mode.automaton < 0 || !fits(state.mode.sliding) ||
      !fits(state.mode.contacts) || state.mode.contact_sides.size() != state.mode.contacts.size() ||
      !std::ranges::all_of(state.mode.contact_sides, [](int side) { return side == 1 || side == -1; }) ||
      !std::ranges::all_of(state.mode.sees, [](int side) { return side >= -1 && side <= 1; }) ||
      state.x.size() < hybrid.variables().size() || state.xp.size() != state.x.size())
    throw UsageError(fmt::format("the saved state of '{}' is damaged: its numbers do not fit the model", state.model));
  if (state.mode.automaton == mode.automaton) return;
  Mode off_surfaces = state.mode;
  off_surfaces.sliding.clear();
  off_surfaces.contacts.clear();
  off_surfaces.contact_sides.clear();
  hybrid.system(off_surfaces);  // throws UsageError if there is no such mode
}

/// A change of values has moved the state away from surfaces: the mode no longer stays there, and their guards are on
/// the side of their values. `far`: by guard, values beyond this are not zero.
void leave_surfaces(HybridSystem& hybrid, std::span<const double> g, std::span<const double> far, Mode& mode) {
  const auto left = [&](int k) { return std::abs(g[static_cast<std::size_t>(k)]) > far[static_cast<std::size_t>(k)]; };
  std::vector<int> guards;
  for (const auto* surfaces : {&mode.sliding, &mode.contacts})
    for (const int k : *surfaces)
      if (left(k)) guards.push_back(k);
  for (const int k : guards) {
    if (contains(mode.contacts, k)) hybrid.end_contact(mode, k);
    std::erase(mode.sliding, k);
    hybrid.set_side(mode, k, g[static_cast<std::size_t>(k)] > 0.0 ? +1 : -1);
  }
}

}  // namespace

void close_memory(std::vector<double>& memory, std::span<const double> history) {
  memory.insert(memory.end(), history.begin(), history.end());
  memory.push_back(static_cast<double>(history.size()));
  seal(memory);
}

OpenMemory open_memory(const SimulatorState& state) {
  constexpr std::size_t seals = 4;
  std::vector<double> memory = state.memory;
  if (memory.empty()) return {};
  if (memory.size() > seals) {
    memory.resize(memory.size() - seals);
    std::vector<double> again = memory;
    seal(again);
    const double size = memory.back();
    memory.pop_back();
    if (std::equal(again.end() - seals, again.end(), state.memory.end() - seals) && size >= 0.0 &&
        size <= static_cast<double>(memory.size())) {
      const auto history = memory.end() - static_cast<std::ptrdiff_t>(size);
      OpenMemory open{.run = {memory.begin(), history}, .history = {history, memory.end()}};
      return open;
    }
  }
  throw UsageError(fmt::format("the saved state of '{}' is damaged: what the run had learned is not as it was written",
                               state.model));
}

void forget_history(SimulatorState& state) {
  if (state.memory.empty()) return;
  state.memory = open_memory(state).run;
  close_memory(state.memory, {});
}

std::uint64_t identify_options(const SimulateOptions& options, int direction) {
  Fingerprint all;
  for (const double value :
       {static_cast<double>(direction), options.rtol, options.atol, options.max_step, options.initial_step,
        static_cast<double>(options.method), static_cast<double>(options.max_order), options.keep_steps ? 1.0 : 0.0,
        static_cast<double>(options.flights_after)})
    all.add(value);
  all.add_all(options.rtol_each);
  all.add_all(options.atol_each);
  return all.value();
}

/// What is known about guards and events, in all modes and with all methods.
void Simulator::Impl::SavedRun::persist_events(StateArchive& archive) {
  archive(run.near_events, run.first_step, run.rejected_before, run.shortened, run.steps_made, run.last_event,
          run.last_interval, run.close_events, run.in_rest, run.zeno, run.small_resets, run.switchings, run.chatter,
          run.instant.doubt().force_noise, run.guard_errors);
  persist(archive, run.rest);
  const auto resized = [&](auto& list) { resize_as_saved(archive, list); };
  resized(run.watch);
  for (GuardWatch& w : run.watch) archive(w.side, w.known_root, w.noise);
  resized(run.bands);
  for (Band& band : run.bands) archive(band.width, band.until_left);
  resized(run.pending_touches);
  for (PendingTouch& touch : run.pending_touches) archive(touch.guard, touch.t);
}

/// What the method has learned. False: it cannot be saved, and the method begins anew.
bool Simulator::Impl::SavedRun::persist_steps(StateArchive& archive) {
  if (archive.writes() && (run.helped || run.methods.per_mode() || !run.alone || !run.system->structure().explicit_ode))
    return false;
  const auto resized = [&](auto& list) { resize_as_saved(archive, list); };
  std::vector<KnownSteps> modes(archive.writes() ? run.known_steps.size() : 0);
  if (archive.writes())
    for (const auto& [structure, steps] : run.known_steps) modes[static_cast<std::size_t>(steps.number)] = steps;
  resized(modes);
  for (std::size_t k = 0; k < modes.size(); ++k) {
    KnownSteps& steps = modes[k];
    steps.number = static_cast<int>(k);
    persist(archive, steps.mode);
    archive(steps.guards, steps.first);
    const System& system_then = run.hybrid->system(steps.mode);
    run.methods.persist(system_then, archive);
    if (!archive.writes()) run.known_steps[system_then.structure().id.number()] = steps;
  }
  if (!run.methods.persist_steppers(*run.system, run.stepper, archive)) return false;
  run.flights.persist(archive);
  run.locals.persist(archive);
  return true;
}

SimulatorState Simulator::Impl::SavedRun::point(bool& remembers_steps) {
  SimulatorState s{.model = run.hybrid->name(),
                   .variables = identify(*run.hybrid),
                   .origin = run.options.start,
                   .t = run.t,
                   .mode = run.mode,
                   .x = run.x,
                   .xp = run.xp};
  remembers_steps = false;
  if (run.stepper) s.step = run.flights.flying() ? run.flights.next_step() : run.stepper->next_step();
  s.as_left = identify(s, *run.hybrid);
  StateArchive archive;
  std::uint64_t key = identify_options(run.options, run.direction);
  auto low = static_cast<std::uint32_t>(key), high = static_cast<std::uint32_t>(key >> 32);
  archive(low, high);
  if (!run.system || !run.stepper) return s;
  persist_events(archive);
  s.memory = archive.numbers();
  // a run that has failed stands inside of the step before
  const bool between_steps = run.flights.flying() || run.in_rest || run.stepper->t() == run.t;
  remembers_steps = between_steps && persist_steps(archive);
  if (remembers_steps) s.memory = archive.numbers();
  return s;
}

SimulatorState Simulator::Impl::SavedRun::state() {
  if (shown) return *shown;
  bool remembers_steps = false;
  SimulatorState s = point(remembers_steps);
  if (!s.memory.empty()) {
    StateArchive archive;
    if (auto saved = saved_history(remembers_steps)) persist_history(archive, *saved);
    close_memory(s.memory, archive.numbers());
  }
  return s;
}

void Simulator::Impl::SavedRun::resume(const SimulatorState& from) {
  require_fitting(from, *run.hybrid);
  run.mode = from.mode;
  run.x = from.x;
  run.xp = from.xp;
  run.t = run.asked = run.result.t_end_ = from.t;
  run.instant.consistency().look_behind_start(run.options.stop - run.options.start);
  run.instant.doubt().time_scale = from.step > 0.0 ? from.step : run.time_scale();
  run.inputs.resume(run.mode, run.t);
  SimulatorState with_inputs = from;
  with_inputs.mode = run.mode;
  as_left_ = identify(with_inputs, *run.hybrid) == from.as_left;
  if (!as_left_ && run.mode.on_surfaces()) {
    System& on_surfaces = run.hybrid->system(run.mode);
    std::vector<double> g(static_cast<std::size_t>(on_surfaces.structure().guards));
    on_surfaces.guards(run.t, run.x, run.xp, g);
    std::vector<double> far = GuardSides::uncertainty(on_surfaces, run.t, run.x, run.xp, run.relative_tolerances(),
                                                      run.absolute_tolerances());
    for (double& value : far) value *= Resolution::same_point;
    leave_surfaces(*run.hybrid, g, far, run.mode);
    if (!run.mode.on_surfaces()) {  // the weights of slides end with them
      run.x.resize(run.hybrid->variables().size());
      run.xp.resize(run.x.size());
    }
  }
  run.keep_state();
  run.instant.begin(run.mode_before);
  if (as_left_)
    go_on_as_left(from);
  else
    go_on_changed(from);
  history.begin = from;
  forget_history(*history.begin);
  history.steps_before = run.steps_made;
  history.next_look = run.steps_made + 256;
}

void Simulator::Impl::SavedRun::go_on_as_left(const SimulatorState& from) {
  if (!run.instant.find_values(run.t)) return run.ending.end(run.instant.failure());
  run.system = &run.instant.system();
  StateArchive archive(open_memory(from).run);
  std::uint32_t low = 0, high = 0;
  if (!from.memory.empty()) archive(low, high);
  const bool remembers = (static_cast<std::uint64_t>(high) << 32 | low) == identify_options(run.options, run.direction);
  // what the mode needs is made first: memory takes the place of what entering the mode finds out
  if (!run.enter_mode()) return;
  if (remembers) {
    std::vector<GuardWatch> of_mode = run.watch;
    persist_events(archive);
    // in flight the watch is that of the mode in which the run took off; it is set anew when the run lands
    if (run.watch.size() != of_mode.size()) run.watch = std::move(of_mode);
    run.watching = std::any_of(run.watch.begin(), run.watch.end(), [](const GuardWatch& w) { return w.side != 0; });
  }
  const bool knows_steps = remembers && !archive.at_end();
  if (knows_steps) {
    std::ranges::copy(from.x, run.x.begin());  // entering a slide has moved it onto the surface, which flights do not
    persist_steps(archive);
    run.known = &run.known_steps[run.system->structure().id.number()];
    run.steppers.use(run.stepper);
    copy(run.state_before, run.x);
    copy(run.slope_before, run.xp);
    run.stepped = run.system;
  } else {
    run.steps_made = 0;
  }
  run.result.initial_values_ = run.observation.observe_refined();
  run.bounds.check(run.hybrid->observed(), run.t, run.result.initial_values_);
  if (run.t == run.options.stop)
    return run.ending.end({StatusCode::success, "the state is at the stop time: nothing was done", {}});
  run.instant.end();
  if (knows_steps) {
    if (run.options.keep_steps) run.begin_segment();
  } else {
    run.restart(from.step);
  }
}

void Simulator::Impl::SavedRun::go_on_changed(const SimulatorState& from) {
  run.system = &run.hybrid->system(run.mode);
  run.observation.observe(run.values_before);
  run.instant.place_dormant(run.t);
  if (run.times_due())
    for (const int k : run.time_guards) run.instant.fire(k);
  if (!run.instant.settle({.t = run.t, .mode = &run.mode_before, .x = run.state_before, .xp = run.slope_before}))
    return run.ending.end(run.instant.failure());
  const Transition& transition = run.instant.transition;
  if (transition.terminate) return run.ending.end({StatusCode::terminated, run.ending.ended_by_model(), {}});
  if (!run.enter_mode()) return;
  run.result.initial_values_ = run.observation.observe_refined();
  run.bounds.check(run.hybrid->observed(), run.t, run.result.initial_values_);
  if (!transition.fired.empty() || !same(run.mode, run.mode_before) || !transition.notes.empty()) {
    run.recorder.find_weights();
    run.recorder.record(
        {.kind = run.recorder.kind_of_settled(true),
         .mode_before = &run.mode_before,
         .mode_after = &run.mode,
         .guards = run.instant.fired(),
         .directions = run.instant.fired_direction(),
         .actions = transition.fired,
         .message = run.recorder.message_of_settled()},
        {.t = run.t, .before = run.values_before, .after = run.result.initial_values_, .weights = run.weights});
  }
  if (!run.observation.equations_hold(run.t, run.time_scale())) return;
  if (run.t == run.options.stop)
    return run.ending.end({StatusCode::success, "the state is at the stop time: only the change was settled", {}});
  run.instant.end();
  run.restart(from.step);
}

SimulatorState Simulator::state() const {
  return impl_->saved.state();
}

Simulator::Simulator(std::shared_ptr<HybridSystem> system, SimulateOptions options, const SimulatorState& from) {
  options.start = from.origin;
  impl_ = Impl::SavedRun::resumed(system, options, from);
}

Simulator Simulator::fork() const {
  if (!impl_->alone)
    throw UsageError(
        "Simulator::fork: the hybrid system has no instances (HybridSystem::instance), so one run at a time evaluates "
        "it");
  return Simulator(impl_->hybrid, impl_->options, impl_->saved.state());
}

}  // namespace saltus
