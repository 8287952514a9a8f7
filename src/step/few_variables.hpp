// Loops over a few variables. They are compiled without vectorisation: two values that have just been written one by
// one cannot be read as one vector before they have reached the cache, which costs more than all arithmetic.
#pragma once

#include <cstddef>

namespace saltus {

constexpr bool few_variables(std::size_t n) {
  return n <= 6;
}

/// v := a - v.
void subtract_from(const double* a, double* v, std::size_t n);

}  // namespace saltus
