// Factors of a sparse matrix that are applied to several right-hand sides side by side (lanes.hpp). Rows and columns
// are put into one order of minimum degree, and the diagonal gives the pivots. Where a pivot is small in its column,
// factors with other pivots take over, for one right-hand side at a time.
#pragma once

#include <saltus/linalg/structured_lu.hpp>

#include <span>
#include <vector>

namespace saltus {

class LaneLu {
 public:
  /// A square pattern by columns. All entries of the diagonal must be in it.
  void set_pattern(const SparsePattern& pattern);
  /// False: singular, or not finite.
  bool factorise(std::span<const double> values);
  /// b := A^{-1} b for `width` (1 or 4) right-hand sides: value i of lane l at i*width + l.
  void solve(double* b, int width);

 private:
  struct Column {
    int begin, middle, end;  // of its entries: above the diagonal, then below it
  };
  bool eliminate(std::span<const double> values);
  template <int Width>
  void solve_lanes(double* b) const;

  SparsePattern pattern_;
  std::vector<int> order_;       // the pivots, one after the other
  std::vector<Column> columns_;  // by position in the order
  std::vector<int> row_;         // of each entry, as a row of the matrix
  std::vector<int> position_;    // of each entry above the diagonal: position of its pivot in the order
  std::vector<double> value_, inverse_, work_;
  bool diagonal_ = true;  // the pivots are those of the diagonal
  StructuredLu other_;
  mutable std::vector<double> one_;
};

}  // namespace saltus
