// Models that keep a promise of docs/developer/architecture.md each, with the exact answers.
#pragma once

#include <saltus/base/status.hpp>

#include <functional>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace saltus::executors {

/// The ways in which a run can be executed.
enum class Executor {
  loop,     ///< the loop of the simulator
  flight,   ///< code for known modes and events
  lanes,    ///< eight members side by side
  device,   ///< the text for devices, compiled for this processor
  parts,    ///< each event in the part of the model in which it happens
  cells,    ///< kept loops
  exchange  ///< an FMU for model exchange, imported again
};
inline constexpr Executor all_executors[] = {Executor::loop,  Executor::flight, Executor::lanes,   Executor::device,
                                             Executor::parts, Executor::cells,  Executor::exchange};
inline const char* name_of(Executor executor) {
  constexpr const char* names[] = {"Loop", "Flight", "Lanes", "Device", "Parts", "Cells", "Exchange"};
  return names[static_cast<int>(executor)];
}

using Values = std::map<std::string, double>;

struct Promise {
  int number = 0;
  std::string name;
  std::string text;              ///< declarations and equations of a Modelica model with the parameter p
  double low = 1.0, high = 1.0;  ///< of p
  double stop = 1.0;
  std::function<Values(double p)> exact;  ///< some variables at the end
  double tolerance = 1e-6;                ///< of them: a hundred times that of the runs
  StatusCode status = StatusCode::success;
  std::set<Executor> refused_by = {};   ///< these do not take the model, and tell so
  std::set<Executor> known_issue = {};  ///< these take too long, see docs/known-issues.md
  std::set<Executor> unproved_by = {};  ///< these may miss events, and tell so

  friend void PrintTo(const Promise& promise, std::ostream* out) { *out << promise.name; }
};

std::vector<Promise> promises();

}  // namespace saltus::executors
