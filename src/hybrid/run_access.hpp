// What other layers read of a run beside its trajectory.
#pragma once

#include <saltus/hybrid/simulator.hpp>

#include "hybrid/event_log.hpp"

namespace saltus {

struct RunAccess {
  /// What the run has recorded at its events: event k of the trajectory is entry k.
  static const EventLog& events(const Trajectory& trajectory);
};

}  // namespace saltus
