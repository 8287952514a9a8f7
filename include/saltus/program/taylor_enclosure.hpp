// Taylor coefficients in interval arithmetic: enclosures over a piece of a curve.
//
// If the inputs enclose the coefficients of a curve at every expansion point of a piece, the outputs enclose those of
// the functions at every such point: coefficient 0 all values, coefficient 1 all slopes, coefficient k all derivatives
// of order k over k!.
#pragma once

#include <saltus/base/interval.hpp>
#include <saltus/program/taylor.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace saltus {

/// Evaluates a TaylorProgram with intervals: set coefficient k of the inputs, call advance(k), read the outputs.
/// Relations and roundings that are not inputs may switch within a piece: what depends on one that does has unbounded
/// coefficients. Functions outside of their domain are unbounded, too.
class TaylorEnclosure {
 public:
  TaylorEnclosure() = default;
  explicit TaylorEnclosure(TaylorProgram program);

  /// Restricts the work to these outputs of group 0, in increasing order; all others become meaningless.
  void select(std::span<const int> outputs);
  /// Makes room for coefficients 0 … order; allocates only if the order is larger than ever before, and forgets the
  /// inputs then. Inputs keep their coefficients otherwise; those that have never been set are zero.
  void start(int order);
  /// Sets coefficient k of one input.
  void set(int group, int index, int k, Interval value) { *row(first_input(group) + index, k) = value; }
  /// Computes coefficient k of the outputs; k = 0, 1, 2, … in this order.
  void advance(int k);
  /// Coefficient k of one output.
  Interval get(int group, int index, int k) const;

 private:
  std::size_t first_input(int group) const;
  Interval* row(std::size_t slot, int k) {
    return series_.data() + slot * static_cast<std::size_t>(order_ + 1) + static_cast<std::size_t>(k);
  }

  TaylorProgram program_;
  int order_ = -1;  // there is room for so many coefficients and one more
  std::vector<Interval> series_;
  std::vector<int> selected_;
  std::vector<char> used_;
  std::vector<std::uint32_t> needed_;  // instructions that the selected outputs depend on
  bool all_ = true;
};

}  // namespace saltus
