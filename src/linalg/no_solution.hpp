// What a solution is where there are no factors.
#pragma once

#include <algorithm>
#include <limits>
#include <span>

namespace saltus {

/// NaN in every component: callers treat values that are not finite as a failure from which they recover.
template <class Scalar>
void no_solution(std::span<Scalar> b) {
  std::fill(b.begin(), b.end(), Scalar(std::numeric_limits<double>::quiet_NaN()));
}

}  // namespace saltus
