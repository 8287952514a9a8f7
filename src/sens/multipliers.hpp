// Floquet multipliers of a cycle.
#pragma once

#include <complex>
#include <vector>

#include "sens/period_map.hpp"

namespace saltus {

struct Multipliers {
  std::vector<std::complex<double>> values;  ///< the largest first
  double trivial_error = 0.0;                ///< of the one along the cycle, which is left out
};

/// `autonomous`: one of them is 1, and left out.
Multipliers multipliers_of(const PeriodMap::Point& point, bool autonomous, double rtol);

}  // namespace saltus
