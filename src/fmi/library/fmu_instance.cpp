#include "fmi/library/fmu_instance.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/base/state_archive.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "fmi/files.hpp"

namespace saltus {

namespace {

using Of = FmuVariable::Kind;

/// Sixty-four bits as two numbers, which an archive keeps.
void persist_bits(StateArchive& archive, std::uint64_t& bits) {
  auto low = static_cast<std::uint32_t>(bits), high = static_cast<std::uint32_t>(bits >> 32);
  archive(low, high);
  bits = static_cast<std::uint64_t>(high) << 32 | low;
}

void persist_optional(StateArchive& archive, std::optional<double>& value) {
  bool there = value.has_value();
  double number = value.value_or(0.0);
  archive(there, number);
  value = there ? std::optional(number) : std::nullopt;
}

void persist_run(StateArchive& archive, SimulatorState& s) {
  archive(s.model, s.origin, s.t, s.x, s.xp, s.step, s.memory);
  persist_bits(archive, s.variables);
  persist_bits(archive, s.as_left);
  Mode& m = s.mode;
  archive(m.automaton, m.discrete, m.locks, m.conditions, m.sees, m.sliding, m.contacts, m.contact_sides);
}

/// Writes or reads all of a snapshot.
void persist_snapshot(StateArchive& archive, FmuInstance::Snapshot& s) {
  constexpr double mark = 20251;  // tells snapshots from other numbers
  double first = mark;
  archive(first);
  if (first != mark) throw UsageError("these bytes are not a state of this FMU");
  auto phase = static_cast<unsigned>(s.phase);
  archive(phase, s.settings.start);
  s.phase = static_cast<FmuInstance::Phase>(phase);
  persist_optional(archive, s.settings.stop);
  persist_optional(archive, s.settings.tolerance);
  std::vector<std::size_t> places, inputs;
  std::vector<double> values, input_values, slopes;
  for (const auto& [place, value] : s.given) {
    places.push_back(place);
    values.push_back(value);
  }
  for (const auto& [place, change] : s.inputs) {
    inputs.push_back(place);
    input_values.push_back(change.value);
    slopes.push_back(change.slope);
  }
  archive(places, values, inputs, input_values, slopes);
  if (values.size() != places.size() || input_values.size() != inputs.size() || slopes.size() != inputs.size())
    throw UsageError("the state of the FMU is damaged");
  s.given.clear();
  s.inputs.clear();
  for (std::size_t k = 0; k < places.size(); ++k) s.given[places[k]] = values[k];
  for (std::size_t k = 0; k < inputs.size(); ++k) s.inputs[inputs[k]] = {"", input_values[k], slopes[k]};
  bool runs = s.run.has_value();
  archive(runs);
  if (!runs) return;
  if (!s.run) s.run.emplace();
  persist_run(archive, *s.run);
  archive(s.memory);
}

std::string text_or_nothing(const std::string& file) {
  try {
    return read_whole_file(file);
  } catch (const UsageError&) {
    return "";
  }
}

}  // namespace

std::vector<double> FmuInstance::Snapshot::numbers() const {
  StateArchive archive;
  Snapshot copy = *this;
  persist_snapshot(archive, copy);
  return archive.numbers();
}

FmuInstance::Snapshot FmuInstance::Snapshot::from_numbers(std::vector<double> numbers) {
  StateArchive archive(std::move(numbers));
  Snapshot snapshot;
  persist_snapshot(archive, snapshot);
  if (!archive.at_end()) throw UsageError("the state of the FMU is damaged: it is too long");
  return snapshot;
}

FmuInstance::FmuInstance(Kind kind, const std::string& resources, const std::string& token)
    : kind_(kind),
      model_(read_whole_file(resources + "/" + model_file), text_or_nothing(resources + "/" + fixed_parameters_file)) {
  if (token != model_.token())
    throw UsageError(
        fmt::format("the description belongs to another model: it has the token '{}', the model in '{}' "
                    "has '{}'",
                    token, resources, model_.token()));
  settings_.start = model_.experiment().start.value_or(0.0);
}

void FmuInstance::setup(const RunSettings& settings) {
  const auto refuse = [](const std::string& what) { throw UsageError("the experiment cannot be run: " + what); };
  if (!std::isfinite(settings.start)) refuse("its start time is not finite");
  if (settings.stop && !(*settings.stop > settings.start)) refuse("it stops before it starts");
  if (settings.tolerance && !(*settings.tolerance > 0.0 && *settings.tolerance < 1.0))
    refuse(fmt::format("its tolerance {} does not lie between 0 and 1", *settings.tolerance));
  settings_ = settings;
}

void FmuInstance::exit_initialization() {
  ensure_run();
}

void FmuInstance::reset() {
  run_ = std::monostate();
  given_.clear();
  inputs_.clear();
  new_inputs_.clear();
  observed_.clear();
  derivatives_.clear();
  indicators_.clear();
  parameters_changed_ = false;
  settings_ = {.start = model_.experiment().start.value_or(0.0)};
  phase_ = instantiated;
}

CompiledModel FmuInstance::with_given() const {
  std::vector<std::pair<std::string, double>> changes;
  for (const auto& [place, value] : given_) changes.emplace_back(variable(place).info.name, value);
  return changes.empty() ? model_.compiled() : model_.compiled().with_values(changes);
}

void FmuInstance::ensure_run() {
  if (has_run()) return;
  std::map<std::string, double> inputs;
  for (const FmuVariable& v : model_.variables())
    if (v.is_input()) inputs[v.info.name] = v.info.start;
  for (const auto& [place, change] : inputs_) inputs[change.name] = change.value;
  if (kind_ == Kind::co_simulation)
    run_.emplace<SteppedRun>(model_, with_given(), settings_, inputs);
  else
    run_.emplace<ExchangedRun>(model_, with_given(), settings_, inputs);
  new_inputs_.clear();
  for (const auto& [place, change] : inputs_)
    if (change.slope != 0.0) new_inputs_[place] = change;
  parameters_changed_ = false;
}

/// Tells the run what the importer has set since the last time.
void FmuInstance::apply_changes() {
  if (parameters_changed_) {
    const CompiledModel changed = with_given();
    if (auto* stepped = std::get_if<SteppedRun>(&run_)) stepped->change_model(changed);
    if (auto* exchanged = std::get_if<ExchangedRun>(&run_)) exchanged->change_model(changed);
    parameters_changed_ = false;
    observed_.clear();
    derivatives_.clear();
    indicators_.clear();
  }
  if (new_inputs_.empty()) return;
  if (auto* stepped = std::get_if<SteppedRun>(&run_)) {
    std::vector<InputChange> changes;
    for (const auto& [place, change] : new_inputs_) changes.push_back(change);
    stepped->set_inputs(changes);
  }
  if (auto* exchanged = std::get_if<ExchangedRun>(&run_))
    for (const auto& [place, change] : new_inputs_) exchanged->set_input(variable(place).index, change.value);
  new_inputs_.clear();
  observed_.clear();
  derivatives_.clear();
  indicators_.clear();
}

/// Values of everything that is computed, at the present point.
void FmuInstance::refresh_values() {
  if (phase_ == initialization) ensure_run();
  if (!has_run()) throw UsageError("values are not known before the initialisation");
  apply_changes();
  if (!observed_.empty() || !derivatives_.empty()) return;
  derivatives_.resize(model_.states().size());
  indicators_.resize(model_.indicators().size());
  if (auto* stepped = std::get_if<SteppedRun>(&run_)) {
    observed_ = stepped->values();
    const SimulatorState state = stepped->state();
    for (std::size_t k = 0; k < derivatives_.size(); ++k) derivatives_[k] = state.xp[model_.state_positions()[k]];
    CompiledModel own(model_.compiled());
    System& system = own.system(state.mode);
    std::vector<double> g(static_cast<std::size_t>(system.structure().guards));
    system.guards(state.t, state.x, state.xp, g);
    for (std::size_t k = 0; k < indicators_.size(); ++k)
      indicators_[k] = g[static_cast<std::size_t>(model_.indicators()[k])];
  } else {
    auto& run = std::get<ExchangedRun>(run_);
    observed_ = run.observed();
    run.derivatives(derivatives_);
    run.indicators(indicators_);
  }
}

const FmuVariable& FmuInstance::variable(std::size_t reference) const {
  if (reference >= model_.variables().size())
    throw UsageError(fmt::format("there is no variable with the value reference {}", reference));
  return model_.variables()[reference];
}

double FmuInstance::value(std::size_t reference) {
  const FmuVariable& v = variable(reference);
  if (v.kind == Of::time) return time();
  if (v.kind == Of::constant) return v.info.start;
  if (const auto found = given_.find(reference);
      found != given_.end() && (v.kind == Of::parameter || phase_ == instantiated))
    return found->second;
  if (const auto found = inputs_.find(reference); found != inputs_.end() && found->second.slope == 0.0)
    return found->second.value;
  if (v.kind == Of::parameter || (phase_ == instantiated && v.kind == Of::observed)) return v.info.start;
  refresh_values();
  if (v.kind == Of::derivative) return derivatives_[v.index];
  if (v.kind == Of::indicator) return indicators_[v.index];
  return observed_[v.index];
}

void FmuInstance::set_value(std::size_t reference, double value) {
  const FmuVariable& v = variable(reference);
  if (!std::isfinite(value)) throw UsageError(fmt::format("'{}' cannot be {}", v.info.name, value));
  const auto refuse = [&](const char* why) {
    throw UsageError(fmt::format("'{}' cannot be set: {}", v.info.name, why));
  };
  const bool before = (phase_ & (instantiated | initialization)) != 0;
  if (v.is_input()) {
    const InputChange change{v.info.name, value, 0.0};
    const auto known = inputs_.find(reference);
    const bool same = known != inputs_.end() && known->second.value == value && known->second.slope == 0.0;
    inputs_[reference] = change;
    if (!same) new_inputs_[reference] = change;
  } else if (v.kind == Of::parameter) {
    const auto known = given_.find(reference);
    if ((known == given_.end() ? v.info.start : known->second) != value) parameters_changed_ = true;
    given_[reference] = value;
  } else if (v.has_start()) {
    if (!before) refuse("its start value has been used; it follows from the equations now");
    given_[reference] = value;
  } else {
    refuse(v.kind == Of::constant ? "it has decided the structure of the model" : "it follows from the model");
  }
  if (before) {  // the initial values are found anew
    run_ = std::monostate();
    observed_.clear();
    derivatives_.clear();
  }
}

void FmuInstance::set_slope(std::size_t reference, double slope) {
  const FmuVariable& v = variable(reference);
  if (!v.is_input() || v.variability != Variability::continuous || !std::isfinite(slope))
    throw UsageError(
        fmt::format("'{}' cannot be given the slope {}: it is not a continuous input, or this is not a number",
                    v.info.name, slope));
  InputChange change{v.info.name, v.info.start, 0.0};
  if (const auto known = inputs_.find(reference); known != inputs_.end()) change = known->second;
  change.slope = slope;
  inputs_[reference] = new_inputs_[reference] = change;
}

FmuInstance::Snapshot FmuInstance::snapshot() {
  Snapshot result{phase_, settings_, given_, inputs_, {}, {}};
  if (!has_run()) return result;
  apply_changes();
  if (auto* stepped = std::get_if<SteppedRun>(&run_)) result.run = stepped->state();
  if (auto* exchanged = std::get_if<ExchangedRun>(&run_)) {
    result.run = exchanged->state();
    result.memory = exchanged->memory();
  }
  return result;
}

void FmuInstance::restore(const Snapshot& snapshot) {
  for (const auto& [place, value] : snapshot.given) variable(place);  // throws for those of another model
  for (const auto& [place, change] : snapshot.inputs) variable(place);
  phase_ = snapshot.phase;
  settings_ = snapshot.settings;
  given_ = snapshot.given;
  inputs_ = snapshot.inputs;
  for (auto& [place, change] : inputs_) change.name = variable(place).info.name;
  new_inputs_.clear();
  parameters_changed_ = false;
  observed_.clear();
  derivatives_.clear();
  indicators_.clear();
  run_ = std::monostate();
  if (!snapshot.run) return;
  if (kind_ == Kind::co_simulation)
    run_.emplace<SteppedRun>(model_, with_given(), settings_, *snapshot.run);
  else
    run_.emplace<ExchangedRun>(model_, with_given(), settings_, *snapshot.run, snapshot.memory);
}

double FmuInstance::time() const {
  if (const auto* stepped = std::get_if<SteppedRun>(&run_)) return stepped->t();
  if (const auto* exchanged = std::get_if<ExchangedRun>(&run_)) return exchanged->t();
  return settings_.start;
}

CommunicationStep FmuInstance::do_step(double t, double h, bool return_at_events) {
  constexpr double rounding = 1e-9;
  auto& run = std::get<SteppedRun>(run_);
  if (!std::isfinite(t) || !(h > 0.0) || !std::isfinite(h))
    throw UsageError(fmt::format("a step of the length {} from {} cannot be made", h, t));
  if (std::abs(t - run.t()) > rounding * std::max({1.0, std::abs(t), h}))
    throw UsageError(fmt::format("the step begins at {}, and the run stands at {}", t, run.t()));
  apply_changes();
  observed_.clear();
  derivatives_.clear();
  indicators_.clear();
  const CommunicationStep result = run.step_to(t + h, return_at_events);
  return result;
}

ExchangedRun& FmuInstance::exchanged() {
  if (phase_ == initialization) ensure_run();
  apply_changes();
  observed_.clear();
  derivatives_.clear();
  indicators_.clear();
  return std::get<ExchangedRun>(run_);
}

SettledEvent FmuInstance::settle() {
  return exchanged().settle();
}

namespace {

/// Values of a run for model exchange, by value reference. Other variables do not change with states and inputs.
std::vector<double> values_of(ExchangedRun& run, const ExportedModel& model, std::span<const std::size_t> references) {
  const std::vector<double> observed = run.observed();
  std::vector<double> derivatives(model.states().size()), indicators(model.indicators().size()), values;
  run.derivatives(derivatives);
  run.indicators(indicators);
  for (const std::size_t r : references) {
    const FmuVariable& v = model.variables()[r];
    values.push_back(v.kind == Of::observed     ? observed[v.index]
                     : v.kind == Of::derivative ? derivatives[v.index]
                     : v.kind == Of::indicator  ? indicators[v.index]
                     : v.kind == Of::time       ? run.t()
                                                : v.info.start);
  }
  return values;
}

/// Sets a state, an input or the time for a difference quotient.
void set_known(ExchangedRun& run, const ExportedModel& model, std::size_t reference, double value) {
  const FmuVariable& v = model.variables()[reference];
  if (v.kind == Of::time) return run.set_time(value);
  if (v.is_input()) return run.set_input(v.index, value);
  const auto found = std::ranges::find(model.states(), reference);
  if (found == model.states().end())
    throw UsageError(fmt::format(
        "derivatives with respect to '{}' are not available: it is neither a state nor an input", v.info.name));
  std::vector<double> states(model.states().size());
  run.states(states);
  states[static_cast<std::size_t>(found - model.states().begin())] = value;
  run.set_states(states);
}

}  // namespace

/// The instance as another one would find it after it has been set up with a value moved: the initialisation is solved
/// anew.
std::vector<double> FmuInstance::initial_values(std::span<const std::size_t> unknowns,
                                                std::span<const std::size_t> knowns, std::span<const double> values) {
  const auto given = given_;
  const auto inputs = inputs_;
  const auto forget = [&] {
    given_ = given;
    inputs_ = inputs;
    run_ = std::monostate();
    observed_.clear();
    derivatives_.clear();
    indicators_.clear();
  };
  std::vector<double> found;
  try {
    for (std::size_t k = 0; k < knowns.size(); ++k) set_value(knowns[k], values[k]);
    for (const std::size_t u : unknowns) found.push_back(value(u));
  } catch (...) {
    forget();
    throw;
  }
  forget();
  return found;
}

void FmuInstance::directional(std::span<const std::size_t> unknowns, std::span<const std::size_t> knowns,
                              std::span<const double> seed, std::span<double> sensitivity) {
  for (const auto& list : {unknowns, knowns})
    for (const std::size_t r : list) variable(r);  // throws for those that are not there
  std::vector<double> at;
  std::optional<ExchangedRun> beside;  // the present mode of a run for co-simulation, with its point
  ExchangedRun* run = nullptr;
  if (phase_ == initialization) {
    for (const std::size_t k : knowns) at.push_back(value(k));
  } else {
    apply_changes();
    if (const auto* stepped = std::get_if<SteppedRun>(&run_)) {
      beside.emplace(model_, with_given(), settings_, stepped->state(), ExchangedRun::Memory{});
      run = &*beside;
    } else {
      run = &exchanged();
    }
    at = values_of(*run, model_, knowns);
  }
  // The cube root of the rounding error balances it with the error of the difference.
  const double small = std::cbrt(std::numeric_limits<double>::epsilon());
  double scale = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < knowns.size(); ++k) {
    if (seed[k] == 0.0) continue;
    const double size = std::max(std::abs(at[k]), std::abs(variable(knowns[k]).info.nominal));
    scale = std::min(scale, small * size / std::abs(seed[k]));
  }
  if (!std::isfinite(scale)) {
    std::ranges::fill(sensitivity, 0.0);
    return;
  }
  const auto values_at = [&](double shift) {
    std::vector<double> moved;
    for (std::size_t k = 0; k < knowns.size(); ++k) moved.push_back(at[k] + shift * seed[k]);
    if (!run) return initial_values(unknowns, knowns, moved);
    const SimulatorState before = run->state();
    for (std::size_t k = 0; k < knowns.size(); ++k) set_known(*run, model_, knowns[k], moved[k]);
    std::vector<double> values;
    try {
      values = values_of(*run, model_, unknowns);
    } catch (...) {
      run->put_back(before);
      throw;
    }
    run->put_back(before);
    return values;
  };
  const std::vector<double> plus = values_at(+scale), minus = values_at(-scale);
  for (std::size_t k = 0; k < sensitivity.size(); ++k) sensitivity[k] = (plus[k] - minus[k]) / (2.0 * scale);
}

void FmuInstance::adjoint(std::span<const std::size_t> unknowns, std::span<const std::size_t> knowns,
                          std::span<const double> seed, std::span<double> sensitivity) {
  std::vector<double> column(unknowns.size());
  for (std::size_t k = 0; k < knowns.size(); ++k) {
    const double one = 1.0;
    directional(unknowns, knowns.subspan(k, 1), std::span(&one, 1), column);
    sensitivity[k] = std::inner_product(seed.begin(), seed.end(), column.begin(), 0.0);
  }
}

}  // namespace saltus
