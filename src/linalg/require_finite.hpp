// Decompositions of values that are not finite would go on for ever, or give nonsense.
#pragma once

#include <saltus/base/error.hpp>
#include <saltus/linalg/matrix.hpp>

#include <algorithm>
#include <cmath>

namespace saltus {

inline void require_finite(const Matrix& a) {
  for (int j = 0; j < a.columns(); ++j)
    if (!std::ranges::all_of(a.column(j), [](double v) { return std::isfinite(v); }))
      throw UsageError("decomposition: the matrix has entries that are not finite; check the values before calling");
}

}  // namespace saltus
