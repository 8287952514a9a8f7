// The largest value of a variable over a part of a run, located on its dense output.
#pragma once

#include <saltus/hybrid/trajectory.hpp>

#include <cstddef>

namespace saltus {

/// Times closer together, as a share of the largest of them, are one instant.
inline constexpr double instant_share = 1e-12;

struct Extremum {
  enum class At : unsigned char {
    inside,  ///< its time does not count for first derivatives
    left,    ///< just before an event or the end of the part
    right,   ///< just behind an event or the begin of the part
  };
  double t = 0.0;
  double value = 0.0;
  double slope = 0.0;  ///< of the variable, on that side; 0 inside
  At at = At::inside;
  bool resolved = true;  ///< false: the variable is not smooth somewhere between two events
};

/// The largest value of sign * variable between two times. Between steps and events the variable is replaced by
/// Chebyshev polynomials that agree with it to rounding errors, and all maxima of these are found.
Extremum largest(const Trajectory& run, std::size_t variable, int sign, double from, double to);

}  // namespace saltus
