// Sparse matrices in compressed columns: the pattern, and values kept apart so that many matrices can share one
// pattern.
#pragma once

#include <span>
#include <utility>
#include <vector>

namespace saltus {

/// Where a sparse matrix may be non-zero: column j holds the rows row[start[j]] … row[start[j+1]-1], ascending.
struct SparsePattern {
  int rows = 0, columns = 0;
  std::vector<int> start = {0};
  std::vector<int> row;

  int nonzeros() const { return static_cast<int>(row.size()); }
  bool operator==(const SparsePattern&) const = default;
};

/// A pattern from (row, column) pairs in any order. `position`, if given, receives the place of each pair in the
/// pattern. Throws UsageError for a pair outside the matrix.
SparsePattern make_pattern(int rows, int columns, std::span<const std::pair<int, int>> entries,
                           std::vector<int>* position = nullptr);

/// The union of two patterns of equal shape; `from_a[k]` and `from_b[k]`, if given, receive the place of entry k of a
/// and b in it.
SparsePattern unite(const SparsePattern& a, const SparsePattern& b, std::vector<int>* from_a = nullptr,
                    std::vector<int>* from_b = nullptr);

/// y += alpha * A * x.
void multiply_add(const SparsePattern& pattern, std::span<const double> values, std::span<const double> x, double alpha,
                  std::span<double> y);

}  // namespace saltus
