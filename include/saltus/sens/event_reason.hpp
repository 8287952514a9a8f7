// Why an event happens, and when: what its guards read, which earlier events and which parameters move its time, what
// would prevent it, and which guards have come near to zero without firing.
//
//   const EventReason reason = explain_event(compiled, options, 17);   // events are counted from 1
#pragma once

#include <saltus/hybrid/simulator.hpp>
#include <saltus/model/compiled_model.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace saltus {

/// A guard that came near to zero, and turned round before it fired.
struct NearMiss {
  std::string guard;
  double t = 0.0;
  double distance = 0.0;  ///< of its function from zero, by the largest size of the function in the run
};

struct EventReason {
  std::size_t event = 0;  ///< its number, from 1
  double t = 0.0;
  std::string text;  ///< what happened
  /// A variable or parameter that the guards read: its value at the event, and its derivative by time before it.
  struct Reading {
    std::string name;
    double value = 0.0, slope = 0.0;
    bool parameter = false;
  };
  std::vector<Reading> reads;
  /// An earlier event, and by how much later this one would be for each unit of time by which that one were later.
  struct Cause {
    std::size_t event = 0;
    double t = 0.0;
    std::string text;
    double derivative = 0.0;
  };
  std::vector<Cause> earlier;  ///< the last first
  /// A parameter or start value, and the derivative of the event time by it.
  struct Influence {
    std::string name;
    double value = 0.0, derivative = 0.0;
    double per_percent = 0.0;  ///< by how much later the event is if the value grows by 1 %
    bool by_differences = false;
  };
  std::vector<Influence> parameters;  ///< the largest effect of 1 % first
  /// The smallest change of one parameter, by its value, that lets the event not happen.
  struct Prevention {
    std::string name;
    double from = 0.0, to = 0.0;
  };
  std::optional<Prevention> prevention;
  std::vector<NearMiss> near_misses;  ///< up to the event
  std::vector<std::string> notes;     ///< what could not be found, and why
};

struct ReasonOptions {
  std::size_t most_causes = 8;       ///< earlier events that are looked at
  std::size_t most_parameters = 40;  ///< that are differentiated by; models may have thousands
  std::size_t most_preventions = 6;  ///< parameters that are changed to prevent the event, those of the largest effect
  double largest_change = 1.0;       ///< of a parameter, by its value
  double near = 0.01;                ///< distance of a near miss
  std::function<bool(double share)> progress = {};  ///< of the work; false ends it with what there is
};

/// Explains one event of the run with these options, by further runs of the model. The same event of another run is the
/// one that has the same first guard, in the same direction, the same number of times. Throws UsageError if there is no
/// such event, or if it is one of the start.
EventReason explain_event(const CompiledModel& model, const SimulateOptions& options, std::size_t event,
                          const ReasonOptions& reason = {});

/// Near misses of a whole run: at least three points of each step are looked at.
std::vector<NearMiss> near_misses(const CompiledModel& model, const Trajectory& run, double near = 0.01);

}  // namespace saltus
