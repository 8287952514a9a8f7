// FMUs for model exchange as hybrid systems.
//
// In continuous-time mode an FMU keeps its discrete state, so that its equations and indicators can be evaluated beyond
// the surface of an indicator: that is what a mode is here. At an event the run gives the FMU the point, the FMU finds
// its new discrete state, and the result is a new mode. Modes name saved states of the FMU, where it can save them.
#include <fmt/format.h>
#include <saltus/base/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "fmi/exchanged_fmu.hpp"
#include "fmi/fmu_inputs.hpp"

namespace saltus {

namespace {

constexpr int most_event_rounds = 1000;

using Role = DescribedVariable::Role;

bool all_finite(std::span<const double> values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

}  // namespace

ExchangedFmu::Impl::Impl(const std::string& path, const ImportOptions& given)
    : files(path), about(read_description(files.description())) {
  settings = {.start = given.start.value_or(about.experiment.start.value_or(0.0)),
              .stop = given.stop,
              .tolerance = given.tolerance ? given.tolerance : about.experiment.tolerance};
  if (settings.stop && *settings.stop <= settings.start) settings.stop.reset();
  states = about.states.size();
  indicators = about.indicators;
  start_values = apply_values(about, given.values);
  for (const DescribedVariable& v : about.variables)
    if (v.role == Role::parameter) parameters.push_back(v.info);
  fmu = load_exchange_fmu(files, about);
  declare_states();
  declare_inputs();
  declare_guards();
  declare_observed();
  initialise(default_inputs());
}

ExchangedFmu::Impl::~Impl() {
  if (!fmu) return;
  for (const SavedFmuState& s : saved)
    for (void* state : {s.state, s.latest})
      if (state) fmu->release(state);
}

void ExchangedFmu::Impl::declare_states() {
  for (const std::size_t place : about.states) {
    VariableInfo info = about.variables[place].info;
    info.fixed = true;
    variables.push_back(std::move(info));
  }
  if (variables.empty()) variables.push_back({.name = "(nothing is integrated)", .fixed = true});
}

void ExchangedFmu::Impl::declare_inputs() {
  for (const DescribedVariable& v : about.variables)
    if (v.role == Role::input) input_from.push_back(&v);
}

void ExchangedFmu::Impl::declare_guards() {
  for (std::size_t k = 0; k < indicators; ++k) {
    const bool named = k < about.indicator_names.size();
    guards.push_back({.name = named ? about.indicator_names[k] : fmt::format("event indicator {}", k + 1),
                      .rule = about.saves_states ? SurfaceRule::filippov : SurfaceRule::crossing});
  }
  guards.push_back({.name = "time event", .time_only = true, .rule = SurfaceRule::crossing, .slides = false});
  for (const DescribedVariable* v : input_from)
    guards.push_back({.name = "input " + v->info.name,
                      .time_only = true,
                      .of_input = true,
                      .rule = SurfaceRule::crossing,
                      .slides = false});
}

void ExchangedFmu::Impl::declare_observed() {
  for (const DescribedVariable& v : about.variables) {
    const bool shown = v.role == Role::output || v.role == Role::local || v.role == Role::input;
    const auto place = static_cast<std::size_t>(&v - about.variables.data());
    const auto state = std::ranges::find(about.states, place);
    const bool known = state != about.states.end() || v.role == Role::input;
    if (!shown || (!about.saves_states && !known)) continue;
    if (v.role == Role::input) {
      const int next = inputs.empty() ? static_cast<int>(first_input_number()) : inputs.back().following + 1;
      inputs.push_back(place_input(v, static_cast<int>(observed.size()), next));
    }
    observed.push_back(v.info);
    observed_from.push_back(known ? nullptr : &v);
    observed_state.push_back(state != about.states.end() ? static_cast<std::size_t>(state - about.states.begin())
                                                         : states + inputs.size() - 1);
  }
  if (!about.saves_states)
    notes.push_back(
        "the FMU cannot save its state: only continuous states and inputs are shown, and solutions do not "
        "slide along its indicators");
  if (!about.left_out.empty())
    notes.push_back(fmt::format("{} variables are not shown (texts, binary values), the first is '{}'",
                                about.left_out.size(), about.left_out.front()));
}

std::vector<double> ExchangedFmu::Impl::default_inputs() const {
  std::vector<double> values;
  for (const DescribedVariable* v : input_from) values.push_back(v->info.start);
  return values;
}

std::size_t ExchangedFmu::Impl::initialise(const std::vector<double>& input_values) {
  for (const auto& [variable, value] : start_values) fmu->set(*variable, value);
  fmu->begin_initialization(settings);
  for (std::size_t k = 0; k < input_from.size(); ++k) fmu->set(*input_from[k], input_values[k]);
  fmu->end_initialization();
  SavedFmuState first;
  const EventOutcome outcome = settle();
  if (outcome.terminate) throw UsageError("the FMU ends the run at its start");
  first.next_time = outcome.next_time;
  start_x.assign(variables.size(), 0.0);
  if (states > 0) {
    fmu->states(start_x);
    std::vector<double> nominals(states, 1.0);
    fmu->nominals(nominals);
    for (std::size_t j = 0; j < states; ++j)
      if (std::isfinite(nominals[j]) && nominals[j] > 0.0) variables[j].nominal = nominals[j];
  }
  for (std::size_t j = 0; j < variables.size(); ++j)
    if (!std::isfinite(start_x[j]))
      throw UsageError(fmt::format("the initial value of the state '{}' is {}", variables[j].name, start_x[j]));
  if (about.saves_states) {
    first.state = fmu->save();  // results of earlier runs read the states that they have met
  } else {
    saved.clear();
    starts.clear();
  }
  current = saved.size();
  saved.push_back(first);
  starts[input_values] = {current, start_x};
  if (current == 0)
    for (std::size_t j = 0; j < variables.size(); ++j) variables[j].start = start_x[j];
  return current;
}

void ExchangedFmu::Impl::place_at_start(std::size_t number, std::span<const double> x, Mode& mode) {
  std::vector<double> z(indicators, 1.0);
  if (!indicator_values(number, settings.start, x, mode.discrete, z))
    throw UsageError(about.model_name + ": the FMU cannot be evaluated at its start");
  for (std::size_t k = 0; k < indicators; ++k) mode.locks[k] = z[k] > 0.0 ? 1.0 : 0.0;
  for (std::size_t k = 0; k < guards.size(); ++k) mode.discrete[known_side(k)] = mode.locks[k];
  mode.discrete[0] = static_cast<double>(number);
}

bool ExchangedFmu::Impl::begin_with_inputs(Transition& transition) {
  std::vector<double> values;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    values.push_back(input_value(inputs[k], transition.mode.discrete, settings.start));
  if (const auto known = starts.find(values); known == starts.end()) {
    fmu->reset();
    initialise(values);
  } else if (known->second.first == id(transition.mode)) {
    return false;
  }
  const auto& [number, x] = starts.at(values);
  for (std::size_t j = 0; j < states; ++j) {
    if (x[j] != transition.x[j]) transition.reset[j] = 1;
    transition.x[j] = x[j];
  }
  place_at_start(number, x, transition.mode);
  return true;
}

EventOutcome ExchangedFmu::Impl::settle() {
  EventOutcome all;
  for (int round = 0;; ++round) {
    if (round == most_event_rounds)
      throw Error(
          fmt::format("the event mode of the FMU finds no end: its discrete state still changes after {} rounds",
                      most_event_rounds));
    const EventOutcome outcome = fmu->update_discrete_states();
    all.states_changed = all.states_changed || outcome.states_changed;
    all.next_time = outcome.next_time;
    if (all.next_time && std::isnan(*all.next_time)) throw Error("the FMU says that its next event is at the time NaN");
    all.terminate = outcome.terminate;
    if (!outcome.again || outcome.terminate) break;
  }
  fmu->enter_continuous_mode();  // also at the end of the run: values behind the event are read there
  return all;
}

void ExchangedFmu::Impl::activate(std::size_t number) {
  if (number == current || !about.saves_states) return;
  const SavedFmuState& s = saved.at(number);
  fmu->restore(s.latest ? s.latest : s.state);
  current = number;
}

void ExchangedFmu::Impl::keep_latest(std::size_t number) {
  if (!about.saves_states) return;
  void*& latest = saved.at(number).latest;
  if (latest) fmu->release(std::exchange(latest, nullptr));
  latest = fmu->save();
}

void ExchangedFmu::Impl::forget_latest() {
  for (SavedFmuState& s : saved)
    if (s.latest) fmu->release(std::exchange(s.latest, nullptr));
  if (!about.needs_completed_step || !about.saves_states) return;
  fmu->restore(saved.at(current).state);
}

void ExchangedFmu::Impl::set_inputs(double t, std::span<const double> numbers, bool all) {
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (all || input_from[k]->continuous) fmu->set(*input_from[k], input_value(inputs[k], numbers, t));
}

void ExchangedFmu::Impl::set_point(double t, std::span<const double> x, std::span<const double> numbers) {
  fmu->set_time(t);
  fmu->set_states(x.first(states));
  set_inputs(t, numbers, false);
}

bool ExchangedFmu::Impl::evaluate(std::size_t number, double t, std::span<const double> x,
                                  std::span<const double> numbers, std::span<double> xp) {
  if (states == 0) {
    std::ranges::fill(xp, 0.0);
    return true;
  }
  if (!all_finite(x)) return false;
  activate(number);
  set_point(t, x, numbers);
  if (!fmu->derivatives(xp) || !all_finite(xp)) return false;
  last_field.assign(xp.begin(), xp.end());
  return true;
}

bool ExchangedFmu::Impl::indicator_values(std::size_t number, double t, std::span<const double> x,
                                          std::span<const double> numbers, std::span<double> z) {
  if (indicators == 0) return true;
  if (!all_finite(x)) return false;
  activate(number);
  set_point(t, x, numbers);
  return fmu->indicators(z);
}

std::size_t ExchangedFmu::Impl::field_id(const Mode& mode) const {
  const std::size_t number = id(mode);
  for (const auto& [guard, other] : saved.at(number).other_side) {
    const auto k = static_cast<std::size_t>(guard);
    if (mode.locks[k] != mode.discrete[known_side(k)]) return other;
  }
  return number;
}

bool ExchangedFmu::Impl::pending(const Mode& mode) const {
  for (std::size_t k = 0; k < indicators; ++k)
    if (mode.locks[k] != mode.discrete[known_side(k)]) return true;
  return false;
}

std::optional<std::pair<std::size_t, std::size_t>> ExchangedFmu::Impl::both_sides(const Mode& mode, int guard) const {
  const std::size_t number = id(mode);
  const auto other = saved.at(number).other_side.find(guard);
  if (other == saved.at(number).other_side.end()) return {};
  const bool above = mode.discrete[known_side(static_cast<std::size_t>(guard))] > 0.0;
  return above ? std::pair(number, other->second) : std::pair(other->second, number);
}

void ExchangedFmu::Impl::time_guards(std::size_t number, double t, std::span<const double> numbers,
                                     std::span<double> g) const {
  constexpr double never = 1.0;
  const std::optional<double>& next = saved.at(number).next_time;
  g[0] = next ? *next - t : never;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const double change = numbers[static_cast<std::size_t>(inputs[k].next)];
    g[1 + k] = change < InputInfo::never ? change - t : never;
  }
}

bool ExchangedFmu::Impl::change_inputs(Mode& mode) const {
  bool changed = false;
  std::vector<double>& numbers = mode.discrete;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const std::size_t guard = indicators + 1 + k;
    if (mode.locks[guard] == numbers[known_side(guard)]) continue;
    change_input(inputs[k], numbers);
    mode.locks[guard] = numbers[known_side(guard)];
    changed = true;
  }
  return changed;
}

ExchangedFmu::ExchangedFmu(const std::string& file, const ImportOptions& options)
    : impl_(std::make_unique<Impl>(file, options)) {}
ExchangedFmu::~ExchangedFmu() = default;

const Experiment& ExchangedFmu::experiment() const {
  return impl_->about.experiment;
}
const std::string& ExchangedFmu::description() const {
  return impl_->about.description;
}
const std::vector<VariableInfo>& ExchangedFmu::parameters() const {
  return impl_->parameters;
}
const std::vector<std::string>& ExchangedFmu::notes() const {
  return impl_->notes;
}
const std::string& ExchangedFmu::name() const {
  return impl_->about.model_name;
}
const std::vector<VariableInfo>& ExchangedFmu::variables() const {
  return impl_->variables;
}
const std::vector<GuardInfo>& ExchangedFmu::guards() const {
  return impl_->guards;
}
const std::vector<InputInfo>& ExchangedFmu::inputs() const {
  return impl_->inputs;
}
const std::vector<VariableInfo>& ExchangedFmu::observed() const {
  return impl_->observed;
}
std::optional<double> ExchangedFmu::start_time() const {
  return impl_->settings.start;
}

Mode ExchangedFmu::initial_mode() const {
  Impl& i = *impl_;
  const std::lock_guard turn(i.turn);
  if (!i.about.saves_states && (i.saved[0].t || i.knows_steps || !i.starts.contains(i.default_inputs()))) {
    i.fmu->reset();  // a run has changed it: begin again
    i.initialise(i.default_inputs());
    i.knows_steps = false;
  }
  i.forget_latest();
  Mode mode;
  const std::size_t numbers =
      i.inputs.empty() ? i.first_input_number() : static_cast<std::size_t>(i.inputs.back().following) + 1;
  mode.discrete.assign(numbers, 0.0);
  mode.locks.assign(i.guards.size(), 1.0);
  for (std::size_t k = 0; k < i.inputs.size(); ++k)
    begin_input(i.inputs[k], i.input_from[k]->info.start, mode.discrete);
  const auto& [number, x] = i.starts.at(i.default_inputs());
  i.place_at_start(number, x, mode);
  return mode;
}

std::string ExchangedFmu::describe(const Mode& mode) const {
  std::string text;
  for (std::size_t k = 0; k < impl_->indicators; ++k) text += mode.locks[k] > 0.0 ? '+' : '-';
  return text.empty() ? "" : "indicators " + text;
}

System& ExchangedFmu::system(const Mode& mode) {
  const std::lock_guard turn(impl_->turn);
  // what decides the functions: the state of the FMU, its field, the numbers of the inputs, the surface
  std::vector<double> key(mode.discrete);
  key.push_back(static_cast<double>(impl_->field_id(mode)));
  key.push_back(impl_->pending(mode) ? 1.0 : 0.0);
  for (const int guard : mode.sliding) key.push_back(guard);
  auto& system = impl_->systems[key];
  if (!system) system = make_fmu_system(*impl_, mode);
  return *system;
}

int ExchangedFmu::side(const Mode& mode, int guard) const {
  return mode.locks[static_cast<std::size_t>(guard)] > 0.0 ? +1 : -1;
}

void ExchangedFmu::set_side(Mode& mode, int guard, int side) const {
  mode.locks[static_cast<std::size_t>(guard)] = side > 0 ? 1.0 : 0.0;
}

bool ExchangedFmu::can_stay_on_surfaces(const Mode& mode) {
  return impl_->about.saves_states && impl_->states > 0 && mode.contacts.empty() && mode.sliding.size() == 1 &&
         impl_->both_sides(mode, mode.sliding.front()).has_value();
}

double ExchangedFmu::next_time_event(const Mode& mode, double t, int direction, std::vector<int>& guards) {
  if (direction < 0)
    throw UsageError(name() + ": the time of an FMU runs forwards only; choose a stop time after the start");
  double next = std::numeric_limits<double>::infinity();
  if (const auto& own = impl_->saved.at(impl_->id(mode)).next_time; own && *own > t) next = *own;
  for (const InputInfo& input : impl_->inputs)
    if (const double change = mode.discrete[static_cast<std::size_t>(input.next)];
        change > t && change < InputInfo::never)
      next = std::min(next, change);
  if (!std::isfinite(next)) return next;
  if (const auto& own = impl_->saved.at(impl_->id(mode)).next_time; own && *own == next)
    guards.push_back(impl_->time_guard());
  for (std::size_t k = 0; k < impl_->inputs.size(); ++k)
    if (mode.discrete[static_cast<std::size_t>(impl_->inputs[k].next)] == next)
      guards.push_back(impl_->time_guard() + 1 + static_cast<int>(k));
  return next;
}

bool ExchangedFmu::complete_step(const Mode& mode, double t, std::span<const double> x) {
  Impl& i = *impl_;
  if (!i.about.needs_completed_step) return false;
  const std::lock_guard turn(i.turn);
  const std::size_t number = i.id(mode);
  SavedFmuState& now = i.saved.at(number);
  i.activate(number);
  i.set_point(t, x, mode.discrete);
  i.knows_steps = true;
  const bool event = i.fmu->completed_step(now.ends_run) || now.ends_run;
  i.keep_latest(number);  // what the FMU remembers of its steps is a part of its state
  if (event) now.next_time = t;
  return event;
}

bool ExchangedFmu::transition(const EventInput& input, Transition& transition) {
  static constexpr std::string_view event_mode = "event mode of the FMU";
  if (input.probe) return false;  // what its event mode would do is known after it has done so
  Impl& i = *impl_;
  const std::lock_guard turn(i.turn);
  Mode& mode = transition.mode;
  // while the solution slides along an indicator its side means nothing
  const auto slides = [&](std::size_t k) {
    return std::ranges::find(mode.sliding, static_cast<int>(k)) != mode.sliding.end();
  };
  const auto acknowledge = [&] {
    for (std::size_t k = 0; k < i.guards.size(); ++k)
      if (!slides(k)) mode.discrete[Impl::known_side(k)] = mode.locks[k];
  };
  const auto known = [&](std::size_t k) { return slides(k) || mode.locks[k] == mode.discrete[Impl::known_side(k)]; };
  if (input.initial && i.begin_with_inputs(transition)) return true;
  if (input.initial || input.terminal || input.quiet) {
    acknowledge();
    return false;
  }
  const bool inputs_changed = i.change_inputs(mode);
  const bool time = !known(i.indicators);
  std::vector<int> crossed;
  for (std::size_t k = 0; k < i.indicators; ++k)
    if (!known(k)) crossed.push_back(static_cast<int>(k));
  if (!inputs_changed && !time && crossed.empty()) return false;
  mode.locks[i.indicators] = mode.discrete[Impl::known_side(i.indicators)];
  const std::size_t before = i.id(mode);
  if (!inputs_changed && !time && i.saved[before].t == input.t) {
    for (const int k : crossed)
      if (const auto found = i.saved[before].rebounds.find(k);
          found != i.saved[before].rebounds.end() && found->second == mode.locks[static_cast<std::size_t>(k)] &&
          !i.rebounds(before, k, input.t, transition.x, mode)) {
        transition.failed = true;
        transition.message = fmt::format(
            "the resets of the FMU at '{}' accumulate: the rebound is smaller than rounding errors, and the FMU would "
            "go on through its surface. End the run before, or ask for an FMU that comes to rest by itself",
            i.guards[static_cast<std::size_t>(k)].name);
        return true;
      }
    acknowledge();  // the FMU has settled this instant: an indicator leaves zero
    return false;
  }
  double t = input.t;
  std::vector<double> x(transition.x.begin(), transition.x.begin() + static_cast<std::ptrdiff_t>(i.states));
  const std::vector<double> depth = i.cross(input, mode, t, x);
  i.activate(before);
  i.set_point(t, x, mode.discrete);
  bool terminate = i.saved[before].ends_run;
  if (i.about.needs_completed_step && !terminate) i.fmu->completed_step(terminate);
  i.fmu->enter_event_mode();
  i.set_inputs(t, mode.discrete, true);
  const EventOutcome outcome = i.settle();
  transition.fired.push_back(event_mode);
  transition.recorded = true;
  if (outcome.terminate || terminate) {
    transition.terminate = true;
    transition.message = "the FMU has ended the run";
  }
  // FMUs say that states have changed also where only their derivatives have
  bool states_changed = false;
  if (outcome.states_changed && i.states > 0) {
    const std::vector<double> given = x;
    i.fmu->states(x);
    states_changed = x != given;
  }
  if (states_changed) {
    for (std::size_t j = 0; j < i.states; ++j) {
      if (!std::isfinite(x[j]))
        throw Error(fmt::format("the FMU sets the state '{}' to {} at t = {:.9g}", i.variables[j].name, x[j], input.t));
      if (x[j] != transition.x[j]) transition.reset[j] = 1;
      transition.x[j] = x[j];
    }
  }
  SavedFmuState after{.t = input.t, .next_time = outcome.next_time};
  if (i.about.saves_states) after.state = i.fmu->save();
  const std::size_t number = i.about.saves_states ? i.saved.size() : 0;
  i.saved.push_back(after);
  i.current = number;
  // an indicator that was crossed without a reset stays crossed, unless another function has taken its place
  std::vector<char> same(i.indicators, 0), stays(i.indicators, 0);
  for (const int k : crossed) {
    const auto place = static_cast<std::size_t>(k);
    same[place] = !i.about.saves_states || i.same_indicator(before, number, k, input.t, transition.x, mode.discrete);
    stays[place] = !states_changed && same[place];
  }
  if (crossed.size() == 1 && i.about.saves_states && stays[static_cast<std::size_t>(crossed.front())] &&
      i.switches_back(before, number, input, transition.x, mode)) {
    i.saved[number].other_side[crossed.front()] = before;
    i.saved[before].other_side[crossed.front()] = number;
  }
  if (!i.about.saves_states) i.saved[0] = after;
  mode.discrete[0] = static_cast<double>(number);
  const std::vector<double> sides_before = mode.locks;
  i.place_indicators(number, input.t, transition.x, depth, stays, mode);
  if (states_changed)
    for (const int k : crossed)
      if (const auto place = static_cast<std::size_t>(k); same[place] && mode.locks[place] != sides_before[place])
        i.saved[number].rebounds[k] = sides_before[place];
  acknowledge();
  return true;
}

bool ExchangedFmu::same_decisions(const Mode& a, const Mode& b) const {
  return a.locks == b.locks && a.sliding == b.sliding;
}

void ExchangedFmu::identify(const Mode& mode, std::vector<double>& key) const {
  key.insert(key.end(), mode.locks.begin(), mode.locks.end());
  for (const int guard : mode.sliding) key.push_back(guard);
}

void ExchangedFmu::observe(const Mode& mode, double t, std::span<const double> x, std::span<const double>,
                           std::span<double> values) {
  Impl& i = *impl_;
  const std::lock_guard turn(i.turn);
  bool placed = false;
  for (std::size_t k = 0; k < i.observed.size(); ++k) {
    if (!i.observed_from[k]) {
      const std::size_t place = i.observed_state[k];
      values[k] = place < i.states ? x[place] : input_value(i.inputs[place - i.states], mode.discrete, t);
      continue;
    }
    if (!placed) {
      i.activate(i.id(mode));
      i.set_point(t, x, mode.discrete);
      placed = true;
    }
    values[k] = i.fmu->get(*i.observed_from[k]);
  }
}

}  // namespace saltus
