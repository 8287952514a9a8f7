// Directions side by side: blocks of 1 or 4 of them, in which the values of one variable stand beside each other, as
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
  Lanes(std::size_t variables, std::size_t count) : Lanes(variables, count, count == 1 ? 1 : 4) {}
  Lanes(std::size_t variables, std::size_t count, int lanes) : n(variables), directions(count), width(lanes) {}

  std::size_t lanes() const { return static_cast<std::size_t>(width); }
  std::size_t blocks() const { return (directions + lanes() - 1) / lanes(); }
  /// Numbers in a block of one value per variable.
  std::size_t block() const { return n * lanes(); }
  std::size_t size() const { return blocks() * block(); }
  std::size_t place(std::size_t direction, std::size_t variable) const {
    return direction / lanes() * block() + variable * lanes() + direction % lanes();
  }
};

/// The lanes of one value as one operand. (Vectors of GCC and Clang: wider ones than the processor has are taken
/// apart.)
template <int Width>
struct LaneVector {
  using type [[gnu::vector_size(8 * Width), gnu::aligned(8), gnu::may_alias]] = double;
};
template <int Width>
typename LaneVector<Width>::type& lanes_at(double* values) {
  return *reinterpret_cast<typename LaneVector<Width>::type*>(values);
}
template <int Width>
const typename LaneVector<Width>::type& lanes_at(const double* values) {
  return *reinterpret_cast<const typename LaneVector<Width>::type*>(values);
}

/// Each value repeated in all lanes.
inline void spread(std::span<const double> values, int lanes, double* out) {
  for (const double v : values) out = std::fill_n(out, lanes, v);
}

}  // namespace saltus
