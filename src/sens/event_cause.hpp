// Which guards made an event happen where it did.
#pragma once

#include <saltus/hybrid/trajectory.hpp>
#include <saltus/model/compiled_model.hpp>

#include <functional>
#include <string>
#include <vector>

#include "sens/run_record.hpp"

namespace saltus {

/// How a guard moves at a point.
struct GuardRate {
  double value = 0.0, slope = 0.0;
  double bend = 0.0;          ///< how the slope changes, as far as it is due to x''
  double size = 0.0;          ///< of the terms of which the value is the sum
  std::vector<double> along;  ///< each direction, at a fixed time

  /// How far, in time, the zero is.
  double distance() const;
  /// The slope, in units of the slope with which the guard would return to zero after a change by its own size.
  double steepness() const;
};

struct GuardCause {
  int guard = -1;  ///< its number in the system of the mode before the event
  std::string name;
  GuardRate rate;
};

struct EventCauses {
  std::string why;                 ///< why the time of the event has no derivative; "" if it has
  std::string remark;              ///< what to think of it
  std::vector<GuardCause> guards;  ///< with which it began, the nearest to zero first; none: the time does not move
};

/// `mode`: before the event; `rate`: of a guard of its system there.
EventCauses find_causes(const CompiledModel& model, const Mode& mode, const RunInstant& instant,
                        const std::function<GuardRate(int)>& rate, double rtol);

/// The size that errors of a guard are relative to at the end of a leg of an explicit mode. Where the leg begins with
/// the guard at zero, that is how far it goes from there, beside rounding errors. `size`: of its terms.
double size_over_leg(System& system, const RunLeg& leg, int guard, double size, double rtol);

/// Whether something happens where a guard of the model is crossed: equations change, or a clause does more than
/// record.
bool crossing_acts(const CompiledModel& model, const Mode& mode, int guard);

/// What a touch is about.
struct TouchedGuard {
  int guard = -1;     ///< of the model
  std::string name;   ///< of it
  bool acts = false;  ///< something would happen if it were crossed: then there is no derivative behind the touch
};

/// `event`: the number of the touch among the events of the run.
TouchedGuard touched_guard(const CompiledModel& model, const Mode& mode, const Trajectory& run, std::size_t event);

}  // namespace saltus
