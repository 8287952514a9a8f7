// A run for co-simulation: the solver inside of the FMU goes from one communication point to the next.
#pragma once

#include <saltus/hybrid/simulator.hpp>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fmi/exported_model.hpp"
#include "fmi/run_settings.hpp"

namespace saltus {

/// How a step ended.
struct CommunicationStep {
  double t = 0.0;           ///< the time that was reached
  bool terminated = false;  ///< the model ended the run
  bool event = false;       ///< the step ended early, at an event
};

/// Options of the runs of an FMU: tolerance of the importer, or that of the experiment; no memory of the past.
SimulateOptions run_options(const ExportedModel& model, const RunSettings& settings);

class SteppedRun {
 public:
  /// Begins: initial values, initial events. Throws Error, with the text of the status, if there are none.
  SteppedRun(const ExportedModel& model, const CompiledModel& compiled, const RunSettings& settings,
             const std::map<std::string, double>& inputs);
  /// Goes on from a saved state.
  SteppedRun(const ExportedModel& model, const CompiledModel& compiled, const RunSettings& settings,
             const SimulatorState& from);

  double t() const { return simulator_->t(); }
  SimulatorState state() const;
  /// All observed variables.
  std::vector<double> values() const { return simulator_->values(); }
  /// Goes on to a time. With `return_at_events` the step ends right behind the first event. Throws Error if the run
  /// fails, and UsageError for times before now or behind the stop time that the importer has given.
  CommunicationStep step_to(double t, bool return_at_events);
  void set_inputs(std::span<const InputChange> changes);
  /// Goes on with other values of parameters.
  void change_model(const CompiledModel& compiled);

 private:
  void check_status() const;
  void extend_to(double t);
  void go_on(double stop);

  std::shared_ptr<CompiledModel> compiled_;
  SimulateOptions options_;
  bool stop_given_;
  std::unique_ptr<Simulator> simulator_;
};

}  // namespace saltus
