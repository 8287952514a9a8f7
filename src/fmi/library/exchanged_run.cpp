#include "fmi/library/exchanged_run.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/dae/initialisation.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "fmi/exchange_limits.hpp"
#include "fmi/library/stepped_run.hpp"
#include "hybrid/reset_limit.hpp"

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
                           const SimulatorState& from, const Memory& memory)
    : model_(model),
      compiled_(std::make_shared<CompiledModel>(compiled)),
      settings_(settings),
      point_(from),
      lifts_(memory.lifts),
      resets_(memory.resets) {
  lifts_.resize(model.indicators().size());
  enter_mode();
}

void ExchangedRun::take(const Simulator& simulator) {
  point_ = simulator.state();
  point_.memory.clear();
  settled_ = point_.mode;
  enter_mode();
  lift_indicators();
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
  last_field_.clear();
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
  settled_.reset();
  enter_mode();
}

void ExchangedRun::states(std::span<double> values) const {
  for (std::size_t k = 0; k < held_.size(); ++k) values[k] = point_.x[static_cast<std::size_t>(held_[k])];
}

void ExchangedRun::evaluate() {
  if (evaluated_) return;
  if (system_->structure().explicit_ode) {
    system_->rhs(point_.t, point_.x, point_.xp);
    if (std::ranges::all_of(point_.xp, [](double v) { return std::isfinite(v); }))
      last_field_ = point_.xp;
    else
      extend_field();
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

/// Importers evaluate beyond an indicator before they find its event, also where the equations of the mode end there:
/// the last derivatives before that hold then.
void ExchangedRun::extend_field() {
  std::vector<double> g(static_cast<std::size_t>(system_->structure().guards));
  if (last_field_.size() == point_.xp.size()) {
    point_.xp = last_field_;
    system_->guards(point_.t, point_.x, point_.xp, g);
    std::vector<Position> positions;
    compiled_->positions(point_.mode, positions);
    for (const int guard : model_.indicators())
      if (side_of(positions[static_cast<std::size_t>(guard)]) * g[static_cast<std::size_t>(guard)] < 0.0) return;
  }
  throw Error(fmt::format("the derivatives are not finite at t = {:.9g}", point_.t));
}

void ExchangedRun::derivatives(std::span<double> values) {
  evaluate();
  for (std::size_t k = 0; k < held_.size(); ++k) values[k] = point_.xp[static_cast<std::size_t>(held_[k])];
}

void ExchangedRun::indicators(std::span<double> values) {
  raw_indicators(values);
  for (std::size_t k = 0; k < values.size(); ++k) values[k] += lifts_[k].at(point_.t);
}

double ExchangedRun::Lift::at(double t) const {
  if (amount == 0.0 || !std::isfinite(until)) return amount;
  return amount * std::clamp(2.0 - 2.0 * (t - since) / (until - since), 0.0, 1.0);
}

void ExchangedRun::lift_indicators() {
  const std::size_t count = model_.indicators().size();
  lifts_.assign(count, {});
  if (count == 0) return;
  std::vector<double> now(count), noise(count);
  try {
    raw_indicators(now);
  } catch (const Error&) {  // the equations have no values here: the importer will hear of it
    return;
  }
  std::vector<Position> positions;
  compiled_->positions(point_.mode, positions);
  const auto side = [&](std::size_t k) {
    const Position position = positions[static_cast<std::size_t>(model_.indicators()[k])];
    return on_surface(position) ? 1 : side_of(position);
  };
  indicator_noise(noise);
  bool waiting = false;
  for (std::size_t k = 0; k < count; ++k) {
    const double beyond = side(k) * now[k];  // how far it is on the side that was taken
    if (side(k) == 0 || beyond > noise[k]) continue;
    const double amount = noise[k] + 2.0 * std::max(0.0, -beyond);
    lifts_[k] = {.amount = side(k) * amount, .since = point_.t, .until = std::numeric_limits<double>::infinity()};
    waiting = true;
  }
  // as long as the solution needs to leave zero by more than was added
  constexpr double first = 1e4 * std::numeric_limits<double>::epsilon(), last = 1e-3;
  const double scale = std::max({std::abs(point_.t), run_options(model_, settings_).stop - settings_.start, 1e-3});
  std::vector<double> ahead(count);
  for (double h = first * scale; waiting && h <= last * scale; h *= 2.0) {
    if (!indicators_after(h, ahead)) return;
    waiting = false;
    for (std::size_t k = 0; k < count; ++k) {
      if (lifts_[k].amount == 0.0 || std::isfinite(lifts_[k].until)) continue;
      if (side(k) * ahead[k] >= 2.0 * std::abs(lifts_[k].amount))
        lifts_[k].until = point_.t + 2.0 * h;  // it is whole until then, and decreases when the solution is away
      else
        waiting = true;
    }
  }
}

/// Rounding errors of the indicators: changes with relative ones of the states and the time, in some directions.
void ExchangedRun::indicator_noise(std::span<double> noise) {
  constexpr double shift = 1e-8, roundings = 1e3;
  constexpr double rounding = roundings * std::numeric_limits<double>::epsilon();
  const SimulatorState here = point_;
  std::vector<double> now(noise.size()), beside(noise.size());
  raw_indicators(now);
  std::ranges::fill(noise, rounding * std::numeric_limits<double>::min());
  constexpr double irrational[] = {0.6180339887498949, 0.4142135623730951, 0.7320508075688772};
  for (std::size_t pattern = 0; pattern < std::size(irrational); ++pattern) {
    for (std::size_t j = 0; j < held_.size(); ++j) {
      const auto place = static_cast<std::size_t>(held_[j]);
      const double size = std::max(std::abs(here.x[place]), std::abs(system_->nominal(held_[j])));
      const double part = std::fmod(static_cast<double>(j + 1) * irrational[pattern], 1.0);  // even between 0 and 1
      point_.x[place] = here.x[place] + shift * (2.0 * part - 1.0) * size;
    }
    point_.t = here.t + shift * std::abs(here.t);
    evaluated_ = false;
    try {
      raw_indicators(beside);
      for (std::size_t k = 0; k < now.size(); ++k)
        noise[k] = std::max(noise[k], rounding * std::abs(beside[k] - now[k]) / shift);
    } catch (const Error&) {  // the equations have no values there
    }
    put_back(here);
  }
}

/// Indicators on the solution, a moment later, by the midpoint rule. False: the equations have no values there.
bool ExchangedRun::indicators_after(double h, std::span<double> values) {
  const SimulatorState here = point_;
  const auto shift_to = [&](double duration, const std::vector<double>& xp) {
    for (const int position : held_) {
      const auto j = static_cast<std::size_t>(position);
      point_.x[j] = here.x[j] + duration * xp[j];
    }
    point_.t = here.t + duration;
    evaluated_ = false;
  };
  bool valid = true;
  try {
    evaluate();
    shift_to(0.5 * h, std::vector<double>(point_.xp));
    evaluate();
    shift_to(h, std::vector<double>(point_.xp));
    raw_indicators(values);
  } catch (const Error&) {
    valid = false;
  }
  put_back(here);
  return valid;
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
      case Position::sliding: {  // the slide ends where one of the two weights, with the sum 1, becomes negative
        const std::size_t place = exit_of(mode.sliding, guard, 0);
        values[k] = g[place] * g[place + 1];
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
  std::vector<double> values(model_.indicators().size()), noise(values.size());
  std::vector<Crossing> found;
  try {
    indicators(values);
  } catch (const Error&) {  // the equations have no values here: what has crossed is found when the event is settled
    return found;
  }
  indicator_noise(noise);
  constexpr double at_zero = 0.25;  // lifted indicators are farther from zero
  std::vector<Position> positions;
  compiled_->positions(point_.mode, positions);
  for (std::size_t k = 0; k < values.size(); ++k) {
    const int guard = model_.indicators()[k], side = side_of(positions[static_cast<std::size_t>(guard)]);
    const double beyond = -side * values[k];
    if (side == 0 || beyond < -at_zero * noise[k]) continue;
    const double speed = guard_speed(*system_, point_.t, point_.x, point_.xp, guard);
    if (beyond > at_zero * noise[k] || side * speed < 0.0) found.push_back({guard, side, speed});
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
  const SimulateOptions options = run_options(model_, settings_);
  std::vector<double> tolerance(contact.x.size());
  for (std::size_t j = 0; j < tolerance.size(); ++j)
    tolerance[j] = options.atol + options.rtol * std::abs(contact.x[j]);
  const ResetLimit limit = limit_of_resets(*compiled_, point_.mode, crossing.guard, crossing.side, point_.t, contact.x,
                                           point_.xp, tolerance);
  if (limit.unknown >= 0)
    throw Error(
        fmt::format("resets by '{}' accumulate at t = {:.9g}, and '{}', which each of them changes, has no limit "
                    "that is known",
                    compiled_->guards()[static_cast<std::size_t>(crossing.guard)].name, point_.t,
                    compiled_->variables()[static_cast<std::size_t>(limit.unknown)].name));
  contact.x = limit.x;
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

/// An importer arrives a little beyond a surface. Where the field there leads back, the solution stays on the surface
/// (or touches it): what the importer has gone too far, within its tolerance, would be taken for a crossing.
void ExchangedRun::return_to_surfaces(std::span<const Crossing> crossings) {
  const SimulateOptions options = run_options(model_, settings_);
  for (const Crossing& c : crossings) {
    System& beyond = compiled_->system(point_.mode);
    if (!beyond.structure().explicit_ode || !(c.side * c.speed < 0.0)) continue;
    std::vector<double> x = point_.x, xp = point_.xp;
    beyond.rhs(point_.t, x, xp);
    if (!(c.side * guard_speed(beyond, point_.t, x, xp, c.guard) > 0.0)) continue;
    const double value = guard_value(beyond, point_.t, x, xp, c.guard);
    double tolerance = 0.0, square = 0.0;
    std::vector<double> gradient(x.size(), 0.0);
    for (const int position : held_) {
      const auto j = static_cast<std::size_t>(position);
      const double error = options.atol + options.rtol * std::abs(x[j]);
      x[j] += error;
      gradient[j] = (guard_value(beyond, point_.t, x, xp, c.guard) - value) / error;
      x[j] = point_.x[j];
      tolerance += std::abs(gradient[j]) * error;
      square += gradient[j] * gradient[j];
    }
    if (!(square > 0.0) || std::abs(value) > tolerance) continue;
    for (const int position : held_) {
      const auto j = static_cast<std::size_t>(position);
      point_.x[j] -= value * gradient[j] / square;
    }
  }
}

SettledEvent ExchangedRun::settle() {
  std::vector<double> before(held_.size()), after(held_.size());
  states(before);
  const std::optional<Mode> mode_before = settled_;
  const std::vector<Crossing> crossings = crossed();
  const std::vector<double> x_before = point_.x;
  // what the importer has found has fired, as in a run: the search begins on the other side, and the equations of this
  // one need no values there
  for (const Crossing& c : crossings) compiled_->set_side(point_.mode, c.guard, -c.side);
  if (!point_.mode.on_surfaces()) return_to_surfaces(crossings);
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
  // importers start their integrators anew only where this is true
  result.states_changed = before != after || !mode_before || !compiled_->same_equations(*mode_before, point_.mode);
  result.next_time = next_time();
  return result;
}

}  // namespace saltus
