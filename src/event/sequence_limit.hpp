// The limit of a sequence whose differences shrink, by Aitken's extrapolation: events that accumulate, resets that are
// repeated.
//
// With the last difference Δ and the ratio q of the last two differences,
//   limit = last + Δ q / (1 - q),   error ≈ |Δ| |q - q_before| / (1 - q)².
// Each variable has its own ratio, and time is one of the variables: where events only repeat, that of time tends to
// one, and there is no limit.
//
// Plain arithmetic without a library: the same text is compiled for processors and, at run time, for devices.
#pragma once

#include "event/resolution.hpp"

namespace saltus {

struct SequenceLimit {
  double value, error;  ///< error < 0: the ratio has no limit
  bool known(double tolerance) const { return error >= 0.0 && error <= tolerance; }
};

/// Differences, the last one first.
inline SequenceLimit limit_of_sequence(double last, double difference, double before, double before_that) {
  using flight::Resolution;
  if (difference == 0.0) return {last, 0.0};
  const double q = difference / before, change = q - before / before_that, gap = 1.0 - q;
  const auto size = [](double x) { return x < 0.0 ? -x : x; };
  if (!(size(q) <= Resolution::largest_ratio)) return {last, -1.0};
  const double rounding = 4.0 * Resolution::epsilon * (size(last) + size(difference));
  const double error = (size(difference) * size(change) + rounding) / (gap * gap);
  return {last + difference * q / gap, error >= 0.0 ? error : -1.0};
}

/// The arrivals of one cause: the last value of a variable and its last two differences.
struct Arrivals {
  double last = 0.0, difference = 0.0, before = 0.0;

  template <class Archive>
  void persist(Archive& archive) {
    archive(last, difference, before);
  }

  void add(double value) {
    before = difference;
    difference = value - last;
    last = value;
  }
  /// The limit if the next arrival has this value.
  SequenceLimit limit(double value) const { return limit_of_sequence(value, value - last, difference, before); }
};

}  // namespace saltus
