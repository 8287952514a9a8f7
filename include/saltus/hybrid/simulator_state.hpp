// SimulatorState: where a run stands, as a value.
#pragma once

#include <saltus/dae/hybrid_system.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace saltus {

/// What Simulator::state gives, and from which another Simulator goes on. Values may be changed in between: then, and
/// where the system has other parameters, what the change means is settled when the run goes on, as at an event.
struct SimulatorState {
  std::string model;            ///< name of the hybrid system
  std::uint64_t variables = 0;  ///< identifies its variables and guards: states of other models are refused
  double origin = 0.0;          ///< where the first run began
  double t = 0.0;
  Mode mode;                  ///< discrete variables, sides of guards, slides and contacts
  std::vector<double> x, xp;  ///< of the system of the mode: weights of slides may follow the variables
  double step = 0.0;          ///< the next step size
  std::uint64_t as_left = 0;  ///< identifies the values above and the parameters when the state was taken
  /// What the run had learned: guards that are being left, counters of accumulating events, step sizes, the memory of
  /// the method. The last two are missing where the method begins anew, at this point and with this step size.
  std::vector<double> memory;

  bool operator==(const SimulatorState&) const = default;
};

}  // namespace saltus
