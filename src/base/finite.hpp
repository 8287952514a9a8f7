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

/// One by one where there are few: they may just have been written one by one, and could not be read as vectors before
/// they have reached the cache. Otherwise integer arithmetic that vectorises: adding one to an exponent of all ones
/// sets the sign bit.
inline bool all_finite(std::span<const double> v) {
  if (v.size() <= 8) {
    for (const double value : v)
      if (!std::isfinite(value)) return false;
    return true;
  }
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
