// Factors of a sparse matrix that are applied to several right-hand sides side by side (lanes.hpp). The rows are
// exchanged once so that large entries stand on the diagonal, which then gives the pivots, in an order of minimum
// degree. Where a pivot is small in its column, all that is done anew; if that does not help, factors with pivots of
// their own take over, for one right-hand side at a time.
#pragma once

#include <saltus/linalg/lu.hpp>

#include <span>
#include <vector>

#include "sens/lane_kernels.hpp"

namespace saltus {

class LaneLu {
 public:
  /// A square pattern by columns.
  void set_pattern(const SparsePattern& pattern);
  const SparsePattern& pattern() const { return pattern_; }
  /// False: singular, or not finite.
  [[nodiscard]] bool factorise(std::span<const double> values);
  /// NaN without factors, else b := A^{-1} b for `width` (1, 4, 8 or 16) right-hand sides: value i of lane l at i*width
  /// + l.
  void solve(double* b, int width) const;
  /// b := A^{-T} b for two right-hand sides: value i of them at 2i and 2i + 1.
  void solve_transposed(std::span<double> b) const;

 private:
  struct Column {
    int begin, middle, end;  // of its entries: above the diagonal, then below it
  };
  bool match(std::span<const double> values);
  void find_fill();
  bool eliminate(std::span<const double> values);

  enum class State { fresh, analysed, other };
  SparsePattern pattern_;
  State state_ = State::fresh;
  std::vector<int> row_of_;  // by column: the row of its diagonal
  std::vector<int> pivot_of_row_;
  std::vector<Column> columns_;  // by pivot
  std::vector<int> position_;    // of each entry: its row, as a number of a pivot
  std::vector<int> place_;       // of each entry: in the values of factors_.upper, or lower
  std::vector<double> value_, work_;
  LaneFactors factors_;
  SparseLu other_;
  mutable std::vector<double> buffer_;
};

}  // namespace saltus
