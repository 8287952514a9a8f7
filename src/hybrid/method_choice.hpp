// Which stepper integrates which mode.
#pragma once

#include <saltus/hybrid/simulator.hpp>
#include <saltus/step/stepper.hpp>

#include <map>
#include <memory>
#include <string>

namespace saltus {

/// Keeps one stepper of each kind that the run needs, so that returning to a mode costs nothing.
class MethodChoice {
 public:
  explicit MethodChoice(const SimulateOptions& options);

  /// The stepper for a mode. Null if the method that was asked for cannot solve it; then `problem` says why.
  Stepper* choose(const System& system, std::string& problem);
  /// Counters of all steppers together.
  StepStatistics statistics() const;
  /// The methods used so far, with the reason for each.
  std::string description() const;

 private:
  Method kind_for(const System& system, std::string& problem) const;

  Method wanted_;
  StepOptions options_;
  std::map<Method, std::unique_ptr<Stepper>> steppers_;
  std::map<Method, std::string> reasons_;
};

}  // namespace saltus
