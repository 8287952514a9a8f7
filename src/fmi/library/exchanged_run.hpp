// A run for model exchange: the importer integrates, the FMU evaluates and settles events.
//
// Between events the mode is fixed, with its slides and contacts. At an event a simulator takes the state of the
// importer, settles what has changed there, and gives the new mode and values.
#pragma once

#include <saltus/dae/characteristic_values.hpp>
#include <saltus/hybrid/simulator.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fmi/exported_model.hpp"
#include "fmi/run_settings.hpp"
#include "hybrid/zeno_watch.hpp"

namespace saltus {

/// What an event has changed.
struct SettledEvent {
  bool terminated = false;
  bool states_changed = false;
  std::optional<double> next_time = {};  ///< of the next event that is known in advance
};

class ExchangedRun {
 public:
  ExchangedRun(const ExportedModel& model, const CompiledModel& compiled, const RunSettings& settings,
               const std::map<std::string, double>& inputs);
  /// Goes on from a saved state.
  ExchangedRun(const ExportedModel& model, const CompiledModel& compiled, const RunSettings& settings,
               const SimulatorState& from, const ZenoWatch& resets);

  double t() const { return point_.t; }
  const SimulatorState& state() const { return point_; }
  /// When indicators have caused resets: a part of the state.
  const ZenoWatch& resets() const { return resets_; }

  /// Back to a point that `state` gave in the same mode; inputs may have changed since.
  void put_back(const SimulatorState& point);
  void set_time(double t);
  void set_states(std::span<const double> values);
  /// An input has this value from now on; what follows from it is settled at the next event.
  void set_input(std::size_t observed, double value);
  /// Goes on with other values of parameters; settled at the next event.
  void change_model(const CompiledModel& compiled);

  // Values at the present time and states. Each throws Error where the equations have no solution.
  void states(std::span<double> values) const;
  void derivatives(std::span<double> values);
  void indicators(std::span<double> values);
  std::vector<double> observed();

  /// Settles what happens at the present point.
  SettledEvent settle();
  /// The next event that is known in advance, in the present mode.
  std::optional<double> next_time();

 private:
  void take(const Simulator& simulator);
  void enter_mode();
  void evaluate();
  /// Guards as indicators; see `raised_`.
  void raw_indicators(std::span<double> values);
  /// An indicator that has crossed zero since the last event.
  struct Crossing {
    int guard = 0;
    int side = 0;        ///< from which it came
    double speed = 0.0;  ///< its time derivative there
  };
  std::vector<Crossing> crossed();
  /// Resets accumulate: goes on in contact, as a run does, if the next flight is too low. `x_before`: the variables
  /// before the last reset. False: not yet, or there is no such mode.
  bool rest_on(const Crossing& crossing, std::span<const double> x_before);
  /// Whether the next flight, which begins with a speed, is lower than what errors of the importer do to the guard.
  bool too_low(const Crossing& crossing, double speed) const;
  [[noreturn]] void refuse_mode(const std::string& why) const;

  const ExportedModel& model_;
  std::shared_ptr<CompiledModel> compiled_;
  RunSettings settings_;
  SimulatorState point_;      ///< where the importer stands, in the mode after the last event
  System* system_ = nullptr;  ///< of that mode
  bool evaluated_ = false;    ///< x and xp of the point are consistent
  std::map<std::uint64_t, CharacteristicValues> analyses_;  ///< of implicit modes, by their structure
  /// What is added to each indicator until the next event. An indicator of a slide or contact that is about to end has
  /// no sign that could change; so it is positive at first.
  std::vector<double> raised_;
  std::vector<int> held_;  ///< positions of the states
  ZenoWatch resets_;       ///< by guard
};

}  // namespace saltus
