// The unit of rounding errors, and numbers that are none.
#pragma once

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <span>

namespace saltus {

inline constexpr double eps = std::numeric_limits<double>::epsilon();
inline constexpr double inf = std::numeric_limits<double>::infinity();

/// Integer arithmetic that vectorises: adding one to an exponent of all ones sets the sign bit.
inline bool all_finite(std::span<const double> v) {
  std::uint64_t seen = 0;
  for (const double value : v)
    seen |= (std::bit_cast<std::uint64_t>(value) & 0x7ff0000000000000ULL) + 0x0010000000000000ULL;
  return (seen >> 63) == 0;
}
inline bool all_finite(std::span<const std::complex<double>> v) {
  return all_finite({reinterpret_cast<const double*>(v.data()), 2 * v.size()});
}

/// The first entry that is NaN or infinite, or -1.
inline int first_not_finite(std::span<const double> v) {
  if (all_finite(v)) return -1;
  for (std::size_t j = 0; j < v.size(); ++j)
    if (!std::isfinite(v[j])) return static_cast<int>(j);
  return -1;
}

}  // namespace saltus
