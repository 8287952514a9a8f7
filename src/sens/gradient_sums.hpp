// Sums over the entries of a gradient of a mode (linear_mode.hpp).
#pragma once

#include <vector>

#include "sens/gradient.hpp"
#include "sens/linear_mode.hpp"

namespace saltus {

/// How much a function of the unknowns changes with time along the solution.
inline double rate_of(const Gradient& gradient, const std::vector<double>& rates) {
  double sum = 0.0;
  for (const Gradient::Entry& e : gradient.entries())
    sum += e.value * (e.group == LinearMode::by_time ? 1.0 : e.group == LinearMode::by_unknown ? rates[e.place] : 0.0);
  return sum;
}

inline void add_unknowns(const Gradient& gradient, double weight, std::vector<double>& function) {
  for (const Gradient::Entry& e : gradient.entries())
    if (e.group == LinearMode::by_unknown) function[e.place] += weight * e.value;
}

inline void add_data(const Gradient& gradient, double weight, std::vector<double>& data) {
  for (const Gradient::Entry& e : gradient.entries())
    if (e.group == LinearMode::by_data) data[e.place] += weight * e.value;
}

}  // namespace saltus
