// Where the values of observed variables come from in a flight.
#pragma once

#include <saltus/model/compiled_model.hpp>

#include <algorithm>
#include <vector>

#include "model/model_access.hpp"

namespace saltus {

struct ObservedPlace {
  enum class Kind { state, discrete, eliminated } kind = Kind::state;
  std::size_t place = 0;
};

class ObservedPlaces {
 public:
  explicit ObservedPlaces(const CompiledModel& model)
      : places_(ModelAccess::places(model)), discretes_(ModelAccess::observed_discretes(model)) {}

  std::size_t size() const { return places_.size() + discretes_.size(); }
  /// Of the observed variable with this number. Eliminated variables are added to the list of those that are wanted.
  ObservedPlace find(std::size_t variable, std::vector<int>& eliminated) const {
    using Kind = ObservedPlace::Kind;
    if (variable >= places_.size())
      return {Kind::discrete, static_cast<std::size_t>(discretes_[variable - places_.size()])};
    if (places_[variable] >= 0) return {Kind::state, static_cast<std::size_t>(places_[variable])};
    const auto number =
        static_cast<int>(std::count(places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(variable), -1));
    const auto found = std::ranges::find(eliminated, number);
    const auto at = static_cast<std::size_t>(found - eliminated.begin());
    if (found == eliminated.end()) eliminated.push_back(number);
    return {Kind::eliminated, at};
  }

 private:
  const std::vector<int>& places_;
  const std::vector<int>& discretes_;
};

}  // namespace saltus
