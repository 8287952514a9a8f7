// Whether values have changed.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace saltus {

/// Whether the values are the same, down to the sign of zero; both lists have the same length.
inline bool same_bits(std::span<const double> a, std::span<const double> b) {
  for (std::size_t k = 0; k < a.size(); ++k)
    if (std::bit_cast<std::uint64_t>(a[k]) != std::bit_cast<std::uint64_t>(b[k])) return false;
  return true;
}

}  // namespace saltus
