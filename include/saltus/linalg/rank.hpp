// Rank decisions that say how sure they are.
#pragma once

#include <limits>
#include <span>

namespace saltus {

/// `clear`: no value lies between "surely zero" and "surely not zero". `grey`: some do, and the largest gap among them
/// decided.
enum class RankStatus { clear, grey };

/// A decided rank with its margins, relative to the reference norm.
struct RankDecision {
  int rank = 0;
  RankStatus status = RankStatus::clear;
  double kept =
      std::numeric_limits<double>::infinity();  ///< the smallest value that counts / reference; infinity for rank 0
  double dropped = 0.0;                         ///< the largest value that does not count / reference
};

/// The rank of a part of a larger matrix from its singular values (or pivots of a QR), descending.
///
/// `reference` is the norm of the *whole* scaled matrix from which the part comes, not of the part: rounding errors of
/// the part have that size. `dimension` is the larger size of the whole matrix; `noise` an absolute bound of errors
/// that are not rounding. Values below max(32 dimension eps reference, 10 noise) are zero, values above 1e-6 reference
/// (at least ten times that bound) are not; between the two the largest ratio of neighbours decides and the status is
/// grey.
RankDecision rank_gap(std::span<const double> values, int dimension, double reference, double noise = 0.0);

}  // namespace saltus
