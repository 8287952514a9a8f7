// Watches, while a mode with redundant equations is being integrated, whether these begin to contradict the others.
#pragma once

#include <saltus/dae/characteristic_values.hpp>

#include <span>
#include <string>

namespace saltus {

/// The integrators solve as many equations as there are variables to find. Those left out hold by themselves as long as
/// they follow from the others, which the analysis sees at one point only.
class RedundancyWatch {
 public:
  /// Begins at a point of a mode. values: null for explicit modes, which have nothing to watch. Keeps references.
  void begin(System& system, const CharacteristicValues* values, double t, std::span<const double> x);
  /// Whether there is anything to check.
  bool watches() const { return system_ != nullptr; }
  void stop() { system_ = nullptr; }
  /// After an accepted step: what to tell the user if there is a contradiction now and was none before, otherwise "".
  std::string check(double t, std::span<const double> x);
  /// Whether the last contradiction ends the run: least squares are taken of linear equations only.
  bool ends_run() const { return system_ && contradictory_ && !system_->structure().linear; }

 private:
  std::string contradiction(double t, std::span<const double> x) const;

  System* system_ = nullptr;
  const CharacteristicValues* values_ = nullptr;
  bool contradictory_ = false;
  int interval_ = 1, steps_ = 0;
};

}  // namespace saltus
