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
  /// The states have changed, or their derivatives: the importer has to start its integrator anew.
  bool states_changed = false;
  std::optional<double> next_time = {};  ///< of the next event that is known in advance
};

class ExchangedRun {
 public:
  /// What is added to an indicator that an event leaves at zero, or beyond it by rounding errors: importers look for
  /// changes of signs, and zero has none. It goes back to zero when the solution has left, so that the next crossing is
  /// where the indicator itself is zero.
  struct Lift {
    double amount = 0.0, since = 0.0, until = 0.0;
    double at(double t) const;
    void persist(StateArchive& archive) { archive(amount, since, until); }
  };
  /// What a saved state holds beside the point.
  struct Memory {
    std::vector<Lift> lifts;
    ZenoWatch resets;  ///< when indicators have caused resets
    void persist(StateArchive& archive) { archive(lifts, resets); }
  };

  ExchangedRun(const ExportedModel& model, const CompiledModel& compiled, const RunSettings& settings,
               const std::map<std::string, double>& inputs);
  /// Goes on from a saved state.
  ExchangedRun(const ExportedModel& model, const CompiledModel& compiled, const RunSettings& settings,
               const SimulatorState& from, const Memory& memory);

  double t() const { return point_.t; }
  const SimulatorState& state() const { return point_; }
  Memory memory() const { return {lifts_, resets_}; }

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
  void extend_field();
  /// Guards as indicators, without their lifts.
  void raw_indicators(std::span<double> values);
  void lift_indicators();
  void indicator_noise(std::span<double> noise);
  bool indicators_after(double h, std::span<double> values);
  /// An indicator that has crossed zero since the last event.
  struct Crossing {
    int guard = 0;
    int side = 0;        ///< from which it came
    double speed = 0.0;  ///< its time derivative there
  };
  std::vector<Crossing> crossed();
  void return_to_surfaces(std::span<const Crossing> crossings);
  /// Resets accumulate: goes on in contact, as a run does, if the next flight is too low. `x_before`: the variables
  /// before the last reset. False: not yet, or there is no such mode.
  bool rest_on(const Crossing& crossing, std::span<const double> x_before);
  /// Whether the next flight, which begins with a speed, is lower than what errors of the importer do to the guard.
  bool too_low(const Crossing& crossing, double speed) const;
  [[noreturn]] void refuse_mode(const std::string& why) const;

  const ExportedModel& model_;
  std::shared_ptr<CompiledModel> compiled_;
  RunSettings settings_;
  SimulatorState point_;            ///< where the importer stands, in the mode after the last event
  System* system_ = nullptr;        ///< of that mode
  bool evaluated_ = false;          ///< x and xp of the point are consistent
  std::vector<double> last_field_;  ///< of an explicit mode: the last derivatives that were finite
  std::map<std::uint64_t, CharacteristicValues> analyses_;  ///< of implicit modes, by their structure
  /// The mode after the last event; none: the states or parameters were changed since.
  std::optional<Mode> settled_;
  std::vector<Lift> lifts_;  ///< by indicator
  std::vector<int> held_;    ///< positions of the states
  ZenoWatch resets_;         ///< by guard
};

}  // namespace saltus
