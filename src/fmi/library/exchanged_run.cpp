#include "fmi/library/exchanged_run.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/dae/initialisation.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "fmi/exchange_limits.hpp"
#include "fmi/library/stepped_run.hpp"

namespace saltus {

namespace {

SimulateOptions event_options(const ExportedModel& model, const RunSettings& settings, double t) {
  SimulateOptions options = run_options(model, settings);
  if (options.stop <= t) options.stop = t + 1.0;
  return options;
}

void require_running(const Simulator& simulator) {
  if (simulator.finished() && !simulator.status().ok())
    throw Error(fmt::format("{} at t = {:.9g}: {}", to_string(simulator.status().code), simulator.status().t,
                            simulator.status().message));
}

/// The value of one guard.
double guard_value(System& system, double t, std::span<const double> x, std::span<const double> xp, int guard) {
  std::vector<double> g(static_cast<std::size_t>(system.structure().guards));
  system.guards(t, x, xp, g);
  return g[static_cast<std::size_t>(guard)];
}

/// Its time derivative along the solution, by a central difference.
double guard_speed(System& system, double t, std::span<const double> x, std::span<const double> xp, int guard) {
  const double h = std::cbrt(std::numeric_limits<double>::epsilon()) * std::max(std::abs(t), 1.0);
  std::vector<double> behind(x.begin(), x.end()), ahead(x.begin(), x.end());
  for (std::size_t j = 0; j < x.size(); ++j) {
    behind[j] -= h * xp[j];
    ahead[j] += h * xp[j];
  }
  return (guard_value(system, t + h, ahead, xp, guard) - guard_value(system, t - h, behind, xp, guard)) / (2.0 * h);
}

}  // namespace

ExchangedRun::ExchangedRun(const ExportedModel& model, const CompiledModel& compiled, const RunSettings& settings,
                           const std::map<std::string, double>& inputs)
    : model_(model), compiled_(std::make_shared<CompiledModel>(compiled)), settings_(settings) {
  SimulateOptions options = event_options(model, settings, settings.start);
  for (const auto& [name, value] : inputs) options.inputs.emplace(name, InputSignal::constant(value));
  const Simulator simulator(compiled_, options);
  require_running(simulator);
  take(simulator);
}

ExchangedRun::ExchangedRun(const ExportedModel& model, const CompiledModel& compiled, const RunSettings& settings,
                           const SimulatorState& from, const ZenoWatch& resets)
    : model_(model),
      compiled_(std::make_shared<CompiledModel>(compiled)),
      settings_(settings),
      point_(from),
      resets_(resets) {
  enter_mode();
}

void ExchangedRun::take(const Simulator& simulator) {
  point_ = simulator.state();
  point_.memory.clear();
  enter_mode();
}

void ExchangedRun::enter_mode() {
  held_.assign(model_.state_positions().begin(), model_.state_positions().end());
  const System* const kept[] = {system_};
  if (system_) compiled_->forget_systems(kept);
  system_ = &compiled_->system(point_.mode);
  const auto size = static_cast<std::size_t>(system_->structure().variables);
  point_.x.resize(size, 0.0);
  point_.xp.resize(size, 0.0);
  evaluated_ = false;
  const Structure& structure = system_->structure();
  const CharacteristicValues* values = nullptr;
  if (!structure.explicit_ode) {
    const auto known = analyses_.find(structure.id.number());
    values = known != analyses_.end()
                 ? &known->second
                 : &analyses_.emplace(structure.id.number(), characteristic_values(*system_, point_.t, point_.x))
                        .first->second;
  }
  if (const std::string why = exchange_problem(structure, values, held_); !why.empty()) refuse_mode(why);
  raised_.assign(model_.indicators().size(), 0.0);
  if (!point_.mode.on_surfaces()) return;
  constexpr double least = 1e-8;
  std::vector<double> now(raised_.size());
  std::vector<Position> positions;
  raw_indicators(now);
  compiled_->positions(point_.mode, positions);
  for (std::size_t k = 0; k < now.size(); ++k)
    if (on_surface(positions[static_cast<std::size_t>(model_.indicators()[k])]))
      raised_[k] = std::max(0.0, least - now[k]);
}

void ExchangedRun::refuse_mode(const std::string& why) const {
  throw Error(fmt::format("model exchange ends at t = {:.9g}: in the mode '{}' {}; use the FMU for co-simulation",
                          point_.t, compiled_->describe(point_.mode), why));
}

void ExchangedRun::put_back(const SimulatorState& point) {
  point_ = point;
  system_ = &compiled_->system(point_.mode);
  evaluated_ = false;
}

void ExchangedRun::set_time(double t) {
  if (t != point_.t) evaluated_ = false;
  point_.t = t;
}

void ExchangedRun::set_states(std::span<const double> values) {
  for (std::size_t k = 0; k < held_.size(); ++k) point_.x[static_cast<std::size_t>(held_[k])] = values[k];
  evaluated_ = false;
}

void ExchangedRun::set_input(std::size_t observed, double value) {
  for (const InputInfo& input : compiled_->inputs()) {
    if (static_cast<std::size_t>(input.variable) != observed) continue;
    auto& numbers = point_.mode.discrete;
    for (const int place : input.coefficients) numbers[static_cast<std::size_t>(place)] = 0.0;
    numbers[static_cast<std::size_t>(input.coefficients.front())] = value;
    if (input.since >= 0) numbers[static_cast<std::size_t>(input.since)] = point_.t;
    system_ = &compiled_->system(point_.mode);
    evaluated_ = false;
  }
}

void ExchangedRun::change_model(const CompiledModel& compiled) {
  compiled_ = std::make_shared<CompiledModel>(compiled);
  analyses_.clear();
  system_ = nullptr;
  enter_mode();
}

void ExchangedRun::states(std::span<double> values) const {
  for (std::size_t k = 0; k < held_.size(); ++k) values[k] = point_.x[static_cast<std::size_t>(held_[k])];
}

void ExchangedRun::evaluate() {
  if (evaluated_) return;
  if (system_->structure().explicit_ode) {
    system_->rhs(point_.t, point_.x, point_.xp);
  } else {
    const CharacteristicValues& values = analyses_.at(system_->structure().id.number());
    if (!refine_in_place(*system_, point_.t, values, point_.x, point_.xp)) {
      const Initialisation found = initialise(*system_, point_.t, point_.x, values, {.fixed = held_});
      if (!found.ok()) throw Error(fmt::format("no values at t = {:.9g}: {}", point_.t, found.message));
      std::vector<double> kept(held_.size());
      states(kept);
      point_.x = found.x;
      point_.xp = found.xp;
      for (std::size_t k = 0; k < held_.size(); ++k) point_.x[static_cast<std::size_t>(held_[k])] = kept[k];
    }
  }
  evaluated_ = true;
}

void ExchangedRun::derivatives(std::span<double> values) {
  evaluate();
  for (std::size_t k = 0; k < held_.size(); ++k) values[k] = point_.xp[static_cast<std::size_t>(held_[k])];
}

void ExchangedRun::indicators(std::span<double> values) {
  raw_indicators(values);
  for (std::size_t k = 0; k < values.size(); ++k) values[k] += raised_[k];
}

void ExchangedRun::raw_indicators(std::span<double> values) {
  evaluate();
  std::vector<double> g(static_cast<std::size_t>(system_->structure().guards));
  system_->guards(point_.t, point_.x, point_.xp, g);
  const Mode& mode = point_.mode;
  std::vector<Position> positions;
  compiled_->positions(mode, positions);
  std::vector<int> exits;
  if (mode.on_surfaces()) compiled_->exit_guards(mode, exits);
  const auto exit_of = [&](const std::vector<int>& surfaces, int guard, std::size_t offset) {
    const auto place = static_cast<std::size_t>(std::ranges::find(surfaces, guard) - surfaces.begin());
    return static_cast<std::size_t>(exits[offset + place]);
  };
  for (std::size_t k = 0; k < model_.indicators().size(); ++k) {
    const int guard = model_.indicators()[k];
    switch (positions[static_cast<std::size_t>(guard)]) {
      case Position::unwatched:
        values[k] = 1.0;
        break;
      case Position::sliding: {  // the slide ends where one of the two weights becomes negative
        const std::size_t place = exit_of(mode.sliding, guard, 0);
        values[k] = std::min(g[place], g[place + 1]);
        break;
      }
      case Position::contact:
        values[k] = g[exit_of(mode.contacts, guard, mode.sliding.size())];
        break;
      default:
        values[k] = g[static_cast<std::size_t>(guard)];
    }
  }
}

std::vector<double> ExchangedRun::observed() {
  evaluate();
  std::vector<double> values(compiled_->observed().size());
  compiled_->observe(point_.mode, point_.t, point_.x, point_.xp, values);
  return values;
}

std::optional<double> ExchangedRun::next_time() {
  std::vector<int> guards;
  const double next = compiled_->next_time_event(point_.mode, point_.t, +1, guards);
  return std::isfinite(next) ? std::optional(next) : std::nullopt;
}

std::vector<ExchangedRun::Crossing> ExchangedRun::crossed() {
  std::vector<double> values(model_.indicators().size());
  std::vector<Crossing> found;
  try {
    indicators(values);
  } catch (const Error&) {  // the equations have no values here: what has crossed is found when the event is settled
    return found;
  }
  std::vector<Position> positions;
  compiled_->positions(point_.mode, positions);
  for (std::size_t k = 0; k < values.size(); ++k) {
    const int guard = model_.indicators()[k];
    const Position position = positions[static_cast<std::size_t>(guard)];
    if ((position == Position::above && values[k] < 0.0) || (position == Position::below && values[k] > 0.0))
      found.push_back(
          {guard, position == Position::above ? +1 : -1, guard_speed(*system_, point_.t, point_.x, point_.xp, guard)});
  }
  return found;
}

bool ExchangedRun::too_low(const Crossing& crossing, double speed) const {
  // height of a parabola from the speed at its beginning and its duration
  const double height = 0.25 * resets_.next_interval(crossing.guard) * std::abs(speed);
  const SimulateOptions options = run_options(model_, settings_);
  const double here = guard_value(*system_, point_.t, point_.x, point_.xp, crossing.guard);
  double tolerance = 0.0;
  std::vector<double> beside = point_.x;
  for (const int position : held_) {
    const auto j = static_cast<std::size_t>(position);
    beside[j] += options.atol + options.rtol * std::abs(beside[j]);
    tolerance += std::abs(guard_value(*system_, point_.t, beside, point_.xp, crossing.guard) - here);
    beside[j] = point_.x[j];
  }
  return height <= tolerance;
}

bool ExchangedRun::rest_on(const Crossing& crossing, std::span<const double> x_before) {
  evaluate();
  const double speed = guard_speed(*system_, point_.t, point_.x, point_.xp, crossing.guard);
  if (!(speed * crossing.speed < 0.0) || !too_low(crossing, speed)) return false;
  SimulatorState contact = point_;
  compiled_->begin_contact(contact.mode, crossing.guard, crossing.side);
  if (!compiled_->can_stay_on_surfaces(contact.mode)) return false;
  // Between the states before and after the reset lies the one without a speed: all the resets that are left lead
  // there, and what they conserve is conserved.
  const double part = crossing.speed / (crossing.speed - speed);
  for (const int position : held_) {
    const auto j = static_cast<std::size_t>(position);
    contact.x[j] = x_before[j] + part * (point_.x[j] - x_before[j]);
  }
  System& system = compiled_->system(contact.mode);
  const auto size = static_cast<std::size_t>(system.structure().variables);
  contact.x.resize(size, 0.0);
  contact.xp.resize(size, 0.0);
  system.project(contact.t, contact.x);
  contact.as_left = 0;
  const Simulator simulator(compiled_, event_options(model_, settings_, contact.t), contact);
  if (simulator.finished() || !std::ranges::binary_search(simulator.state().mode.contacts, crossing.guard))
    return false;
  take(simulator);
  resets_.forget(crossing.guard);
  return true;
}

SettledEvent ExchangedRun::settle() {
  std::vector<double> before(held_.size()), after(held_.size());
  states(before);
  const std::vector<Crossing> crossings = crossed();
  const std::vector<double> x_before = point_.x;
  // what the importer has found has fired, as in a run: the search begins on the other side, and the equations of this
  // one need no values there
  for (const Crossing& c : crossings) compiled_->set_side(point_.mode, c.guard, -c.side);
  // importers drift away from surfaces, along which only the field leads them
  if (point_.mode.on_surfaces()) system_->project(point_.t, point_.x);
  point_.as_left = 0;  // what has changed is settled, whatever it is
  const Simulator simulator(compiled_, event_options(model_, settings_, point_.t), point_);
  SettledEvent result;
  if (simulator.finished() && simulator.status().code == StatusCode::terminated) {
    result.terminated = true;
    return result;
  }
  require_running(simulator);
  take(simulator);
  states(after);
  if (before != after)
    for (const Crossing& c : crossings) {
      resets_.note(c.guard, point_.t);
      if (resets_.accumulates(c.guard) && rest_on(c, x_before)) break;
    }
  states(after);
  result.states_changed = before != after;
  result.next_time = next_time();
  return result;
}

}  // namespace saltus
