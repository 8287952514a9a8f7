// Simulator: a run in steps, for users who embed the solver in their own loop.
#pragma once

#include <saltus/hybrid/input_signal.hpp>
#include <saltus/hybrid/methods.hpp>
#include <saltus/hybrid/simulator_state.hpp>
#include <saltus/hybrid/trajectory.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace saltus {

/// What a run reports while it goes on.
struct Progress {
  double t, start, stop;
  std::int64_t steps, events;
};

struct SimulateOptions {
  double start = 0.0;
  double stop = 1.0;  ///< may lie before start: then time runs backwards
  double rtol = 1e-6;
  std::vector<double> rtol_each = {};  ///< one per variable, instead of rtol
  double atol = 1e-9;                  ///< of variables with nominal value 1; others have it times their nominal value
  std::vector<double> atol_each = {};  ///< one per variable, instead of atol; nominal values do not count then
  Method method = Method::automatic;
  /// Methods of single modes, by the name of the explicit mode (or the whole description of a mode, as events show it);
  /// `method` for all others.
  std::map<std::string, Method> mode_methods = {};
  /// Values of inputs, by their names. An input without values keeps its start value, and the status says so.
  std::map<std::string, InputSignal> inputs = {};
  double max_step = std::numeric_limits<double>::infinity();
  double initial_step = 0.0;  ///< after the start; 0: chosen by the method
  int max_order = 0;          ///< of `bdf`, `radau` and `taylor`; 0: no limit
  std::int64_t max_steps = 10'000'000;
  int max_mode_changes = 100;  ///< at one instant
  std::int64_t max_events = std::numeric_limits<std::int64_t>::max();  ///< of the run; one more ends it
  /// Chattering: the run ends where two intervals in a row between events of guards are shorter than this; 0: never.
  double shortest_interval = 0.0;
  /// After so many steps, events that are like earlier ones are made by code for them, where modes are explicit and
  /// guards linear. It is faster, differs by rounding errors, and begins a step at every event. Negative: never.
  std::int64_t flights_after = 1000;
  /// From so many variables on, a model whose parts see only values of each other's variables settles an event in the
  /// part in which it happens, if modes are explicit and the method is an explicit Runge-Kutta method. Such events keep
  /// no values of variables: Trajectory::before and at() give them. Negative: never.
  std::int64_t local_events_from = 200;
  bool stop_if_non_unique = false;  ///< where several continuations are possible; otherwise one is chosen and the event says so
  bool stop_if_chattering = false;  ///< where guards switch to and fro in short intervals; otherwise the result names them
  bool keep_steps = true;      ///< keep dense output; without it the trajectory has its events and its two ends only
  bool keep_event_values = true;  ///< keep the values of all variables before and after each event
  /// Called now and then; return false to end the run with what it has.
  std::function<bool(const Progress&)> progress = {};
};

class Simulator {
 public:
  /// Initialises: modes, consistent values, events at the start. Throws UsageError for options that make no sense. A
  /// start that fails shows in status(). The run evaluates an instance of its own, if the system has instances
  /// (HybridSystem::instance), and otherwise the system itself.
  Simulator(std::shared_ptr<HybridSystem> system, SimulateOptions options);
  /// Goes on from where another run of the same model stood: in the same mode, slides and contacts included, without
  /// events of a start. `options.start` does not count. The trajectory begins there, and has the bits of a run that was
  /// not interrupted. Where the state cannot hold the memory of the method, the run is repeated from an earlier point,
  /// over 10 000 steps at most; beyond that it agrees within the tolerance. Throws UsageError for states of other models.
  Simulator(std::shared_ptr<HybridSystem> system, SimulateOptions options, const SimulatorState& from);
  ~Simulator();
  Simulator(Simulator&&) noexcept;
  Simulator& operator=(Simulator&&) noexcept;

  /// One accepted step, or the part of it up to an event, and the event. Returns false when the run is over.
  bool step();
  /// Goes on to a time between here and the stop time. One that agrees with the present time within rounding errors has been reached. Returns false
  /// if the run ended before.
  bool advance_to(double t);
  /// The same, but ends behind the first event on the way: then t() is its time. Returns false if the run ended before t.
  bool advance_to_event(double t);
  /// Goes on to the end.
  void run();

  /// Gives back the steps and events that the trajectory has so far: it then begins at the present time. The run goes on
  /// as before. For long runs that are looked at step by step.
  void forget_past();
  /// Gives back the steps only: the trajectory has its events, and values from the present time on. For large models,
  /// whose steps take more memory than there is; TableRows reads them before.
  void forget_steps();

  /// From now on an input has this value, and moves along a line of this slope. It follows no signal of the options any
  /// more. What the change means is settled at once, as at a time event at the present time. Throws UsageError for
  /// names that are no inputs, for values that the type of the input does not have, for a slope of an input that is
  /// held, and if the run is over.
  void set_input(const std::string& name, double value, double slope = 0.0);
  /// Several inputs at one instant.
  void set_inputs(std::span<const InputChange> changes);

  /// Where the run stands, between two steps or at its end.
  SimulatorState state() const;
  /// Another run that goes on from here by itself. Throws UsageError if the hybrid system has no instances.
  Simulator fork() const;

  double t() const;
  const Mode& mode() const;
  /// The variables that the systems carry.
  std::span<const double> x() const;
  /// All observed variables.
  std::vector<double> values() const;
  const Status& status() const;
  bool finished() const;
  const Trajectory& trajectory() const;
  /// Ends the run and hands over the result.
  Trajectory take();

 private:
  friend struct RunAccess;  // what other layers read of a run beside its trajectory
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace saltus
