#include "fmi/library/stepped_run.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>

#include <algorithm>
#include <cmath>

#include "hybrid/saved_memory.hpp"

namespace saltus {

SimulateOptions run_options(const ExportedModel& model, const RunSettings& settings) {
  const Experiment& experiment = model.experiment();
  SimulateOptions options;
  options.start = settings.start;
  options.stop = settings.stop.value_or(std::max(experiment.stop.value_or(0.0), settings.start + 1.0));
  options.rtol = settings.tolerance.value_or(experiment.tolerance.value_or(1e-6));
  options.atol = options.rtol;
  options.keep_steps = false;
  options.keep_event_values = false;
  return options;
}

SteppedRun::SteppedRun(const ExportedModel& model, const CompiledModel& compiled, const RunSettings& settings,
                       const std::map<std::string, double>& inputs)
    : compiled_(std::make_shared<CompiledModel>(compiled)),
      options_(run_options(model, settings)),
      stop_given_(settings.stop.has_value()) {
  for (const auto& [name, value] : inputs) options_.inputs.emplace(name, InputSignal::constant(value));
  simulator_ = std::make_unique<Simulator>(compiled_, options_);
  options_.inputs.clear();
  check_status();
}

SteppedRun::SteppedRun(const ExportedModel& model, const CompiledModel& compiled, const RunSettings& settings,
                       const SimulatorState& from)
    : compiled_(std::make_shared<CompiledModel>(compiled)),
      options_(run_options(model, settings)),
      stop_given_(settings.stop.has_value()) {
  if (!stop_given_) options_.stop = std::max(options_.stop, from.t + 1.0);
  simulator_ = std::make_unique<Simulator>(compiled_, options_, from);
  check_status();
}

void SteppedRun::check_status() const {
  if (simulator_->finished() && !simulator_->status().ok())
    throw Error(fmt::format("{} at t = {:.9g}: {}", to_string(simulator_->status().code), simulator_->status().t,
                            simulator_->status().message));
}

/// Importers may return to a state at each step: a run that goes on from it is not repeated from an earlier point.
SimulatorState SteppedRun::state() const {
  SimulatorState state = simulator_->state();
  forget_history(state);
  return state;
}

void SteppedRun::go_on(double stop) {
  const SimulatorState from = simulator_->state();
  options_.stop = stop;
  simulator_ = std::make_unique<Simulator>(compiled_, options_, from);
  check_status();
}

/// Makes a time reachable. Without a stop time of the importer the run must not end there: it may go on.
void SteppedRun::extend_to(double t) {
  const bool over = t > options_.stop;
  if (stop_given_ && over)
    throw UsageError(fmt::format("the step ends at {}, behind the stop time {} of the experiment", t, options_.stop));
  if (!stop_given_ && (over || t == options_.stop)) go_on(t + std::max(1.0, t - options_.start));
}

CommunicationStep SteppedRun::step_to(double t, bool return_at_events) {
  constexpr double rounding = 1e-9;
  if (stop_given_ && t > options_.stop && t - options_.stop <= rounding * (options_.stop - options_.start))
    t = options_.stop;  // sums of step sizes have rounding errors
  if (simulator_->finished() && t > simulator_->t()) {
    if (simulator_->status().code == StatusCode::terminated) return {.t = simulator_->t(), .terminated = true};
    if (stop_given_) extend_to(t);
  }
  extend_to(t);
  CommunicationStep result;
  simulator_->forget_past();
  if (return_at_events)
    simulator_->advance_to_event(t);
  else
    simulator_->advance_to(t);
  check_status();
  result.t = simulator_->t();
  result.event = return_at_events && !simulator_->finished() && t - result.t > rounding * std::max(1.0, std::abs(t));
  result.terminated = simulator_->finished() && simulator_->status().code == StatusCode::terminated;
  return result;
}

void SteppedRun::set_inputs(std::span<const InputChange> changes) {
  if (simulator_->finished()) return;  // nothing follows any more
  simulator_->set_inputs(changes);
  check_status();
}

void SteppedRun::change_model(const CompiledModel& compiled) {
  compiled_ = std::make_shared<CompiledModel>(compiled);
  if (!simulator_->finished()) go_on(options_.stop);
}

}  // namespace saltus
