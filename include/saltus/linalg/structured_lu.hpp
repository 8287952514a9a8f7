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
  /// b := A^{-1} b.
  void solve(std::span<Scalar> b) const;

  bool analysed() const { return analysed_; }
  // --- what was decided; before the first factorisation: dense, nothing eliminated
  MatrixKind kind() const { return kind_; }
  int eliminated() const { return static_cast<int>(pivots_.size()); }
  /// For reports: "banded (1 + 1), 50000 of 100000 eliminated".
  std::string description() const;

 private:
  struct Pivot {
    int row, column, value;    // value: place in the pattern
    int row_start, row_end;    // its other columns in row_parts_
    int col_start, col_end;    // its other rows in column_parts_
    int fill_start;            // products of both, in fill_
  };
  struct Part {
    int position;  // in the remaining system
    int value;     // place in the pattern
  };

  void analyse(std::span<const Scalar> values);
  void choose_pivots(std::span<const Scalar> values);
  BandOrder choose_kind(const SparsePattern& rest);
  bool eliminate(std::span<const Scalar> values);

  SparsePattern pattern_;
  std::vector<char> simple_;
  bool analysed_ = false;
  int failures_ = 0;  // analyses that later values have refuted

  std::vector<Pivot> pivots_;
  std::vector<Part> row_parts_, column_parts_;
  std::vector<int> fill_;                  // where products of the parts go
  std::vector<int> target_;                // where each entry goes, or -1
  std::vector<int> rest_row_, rest_col_;   // rows and columns of the remaining system, in its order
  std::vector<Scalar> inverse_, row_values_, column_values_;

  MatrixKind kind_ = MatrixKind::dense;
  bool direct_ = true;  // nothing to permute or eliminate
  int rest_ = 0;        // size of the remaining system
  std::vector<Scalar> rest_values_;
  BasicDenseLu<Scalar> dense_;
  BasicBandedLu<Scalar> banded_;
  BasicSparseLu<Scalar> sparse_;
  mutable std::vector<Scalar> work_, saved_;
};

using StructuredLu = BasicStructuredLu<double>;
using ComplexStructuredLu = BasicStructuredLu<std::complex<double>>;

}  // namespace saltus
