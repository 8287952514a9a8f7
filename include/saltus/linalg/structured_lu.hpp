// StructuredLu: factors of a sparse matrix by the means that its structure makes cheapest.
#pragma once

#include <saltus/linalg/lu.hpp>

#include <string>
#include <string_view>

namespace saltus {

struct BandOrder;

enum class MatrixKind { dense, banded, sparse };
std::string_view to_string(MatrixKind kind);

/// First, variables with a simple equation of their own are eliminated: pivots in the marked rows that dominate their
/// row and bring no more entries than they take away, chosen so that none depends on another. What remains is
/// factorised dense, banded (after reordering) or by KLU, whichever the measured costs predict to be fastest. All this
/// is decided with the first values of a pattern, and once more if later values make an eliminated pivot too small.
///
/// Scalar is double or std::complex<double>. Nothing allocates once two matrices of a pattern have been factorised.
template <class Scalar>
class BasicStructuredLu {
 public:
  /// A square pattern; `simple[i]` marks the rows whose pivots may be eliminated (empty: none).
  void set_pattern(SparsePattern pattern, std::vector<char> simple = {});
  const SparsePattern& pattern() const { return pattern_; }
  /// Factorises the matrix with these values at the places of the pattern; false if it is singular or not finite.
  bool factorise(std::span<const Scalar> values);
  /// b := A^{-1} b. A workspace of the size of b, if given, saves as much memory.
  void solve(std::span<Scalar> b, std::span<Scalar> workspace = {}) const;

  bool analysed() const { return analysed_; }
  // --- what was decided; before the first factorisation: dense, nothing eliminated
  MatrixKind kind() const { return kind_; }
  int eliminated() const { return static_cast<int>(pivot_row_.size()); }
  /// For reports: "banded (1 + 1), 50000 of 100000 eliminated".
  std::string description() const;

 private:
  /// A sparse matrix by rows that is only multiplied; rows of nearly equal length are filled up with zeros and need no
  /// beginnings.
  struct Rows {
    int width = 0;           // of every row, or -1: row i stands between start[i] and start[i + 1]
    std::vector<int> start;  // empty if the width is known
    std::vector<int> index;
    std::vector<Scalar> value;

    void set_shape(std::span<const int> counts);
    std::size_t place(std::size_t row, int k) const {
      return static_cast<std::size_t>(width < 0 ? start[row] : static_cast<int>(row) * width) + static_cast<std::size_t>(k);
    }
    /// out(i, base(i) - row i times x) for all rows.
    template <class Base, class Out>
    void subtract(std::size_t rows, const Scalar* x, Base base, Out out) const;
  };
  struct Pivot {
    int row, column, value;  // value: place in the pattern
  };

  /// visit(place) for the entries in the column of pivot q but itself.
  template <class Visit>
  void for_each_in_column(std::size_t q, Visit visit) const {
    const int j = pivot_column_[q], pivot = pivot_value_[q];
    for (int k = pattern_.start[j]; k < pattern_.start[j + 1]; ++k)
      if (k != pivot) visit(k);
  }
  void analyse(std::span<const Scalar> values);
  std::vector<Pivot> choose_pivots(std::span<const Scalar> values) const;
  void collect_parts(const std::vector<Pivot>& pivots);
  BandOrder choose_kind(const SparsePattern& rest);
  bool eliminate(std::span<const Scalar> values);

  SparsePattern pattern_;
  std::vector<char> simple_;
  bool analysed_ = false;
  int failures_ = 0;  // analyses that later values have refuted

  // Pivot q stands in pivot_row_[q], pivot_column_[q]. The other entries of its row, by places in the pattern, become
  // rows of row_parts_; those of all columns are sorted by the rows of the remaining system into column_parts_.
  std::vector<int> pivot_row_, pivot_column_, pivot_value_;
  std::vector<int> row_start_, row_value_;
  std::vector<int> column_slot_;           // where each of the latter stands in column_parts_
  Rows row_parts_, column_parts_;          // in columns of the remaining system, and in pivots
  std::vector<int> fill_;                  // where products of the parts go
  std::vector<int> target_;                // where each entry goes, or -1
  std::vector<int> rest_row_, rest_col_;   // rows and columns of the remaining system, in its order
  std::vector<Scalar> inverse_;

  MatrixKind kind_ = MatrixKind::dense;
  bool direct_ = true;  // nothing to permute or eliminate
  int rest_ = 0;        // size of the remaining system
  std::vector<Scalar> rest_values_;
  BasicDenseLu<Scalar> dense_;
  BasicBandedLu<Scalar> banded_;
  BasicSparseLu<Scalar> sparse_;
  mutable std::vector<Scalar> workspace_;  // where none is given
};

using StructuredLu = BasicStructuredLu<double>;
using ComplexStructuredLu = BasicStructuredLu<std::complex<double>>;

}  // namespace saltus
