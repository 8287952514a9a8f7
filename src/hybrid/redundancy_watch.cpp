#include "hybrid/redundancy_watch.hpp"

#include <fmt/format.h>
#include <saltus/dae/initialisation.hpp>

namespace saltus {

namespace {
// Every look costs a least squares problem with the derivative array: larger modes are looked at now and then only.
constexpr int small_mode = 30, interval_of_larger_modes = 10;
}  // namespace

void RedundancyWatch::begin(System& system, const CharacteristicValues* values, double t, std::span<const double> x) {
  system_ = nullptr;
  if (!values || (*values)->v == 0 || values->status == AnalysisStatus::undecided) return;
  system_ = &system;
  values_ = values;
  interval_ = system.structure().variables > small_mode ? interval_of_larger_modes : 1;
  steps_ = 0;
  contradictory_ = !contradiction(t, x).empty();  // known already, from finding the point
}

std::string RedundancyWatch::contradiction(double t, std::span<const double> x) const {
  const Initialisation result = initialise(*system_, t, x, *values_);
  return result.status == InitialisationStatus::inconsistent_least_squares ? result.message : "";
}

std::string RedundancyWatch::check(double t, std::span<const double> x) {
  if (!system_ || contradictory_ || ++steps_ % interval_ != 0) return {};
  const std::string text = contradiction(t, x);
  contradictory_ = !text.empty();
  return contradictory_ ? fmt::format("equations that were redundant contradict the others at t = {:.6g}: {}", t, text) : "";
}

}  // namespace saltus
