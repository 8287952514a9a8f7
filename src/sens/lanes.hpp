// Directions side by side: blocks of 1, 4 or 8 of them, in which the values of one variable stand beside each other, as
// programs with lanes read them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace saltus {

struct Lanes {
  std::size_t n = 0;           ///< variables
  std::size_t directions = 0;  ///< at least one
  int width = 1;               ///< of a block

  Lanes() = default;
  Lanes(std::size_t variables, std::size_t count)
      : n(variables),
        directions(count),
        width(count == 1   ? 1
              : count <= 4 ? 4
                           : 8) {}

  std::size_t lanes() const { return static_cast<std::size_t>(width); }
  std::size_t blocks() const { return (directions + lanes() - 1) / lanes(); }
  /// Numbers in a block of one value per variable.
  std::size_t block() const { return n * lanes(); }
  std::size_t size() const { return blocks() * block(); }
  std::size_t place(std::size_t direction, std::size_t variable) const {
    return direction / lanes() * block() + variable * lanes() + direction % lanes();
  }
};

/// Each value repeated in all lanes.
inline void spread(std::span<const double> values, int lanes, double* out) {
  for (const double v : values) out = std::fill_n(out, lanes, v);
}

}  // namespace saltus
