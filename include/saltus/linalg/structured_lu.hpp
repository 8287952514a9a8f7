// StructuredLu: factors of a sparse matrix by the means that its structure makes cheapest.
#pragma once

#include <saltus/linalg/lu.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace saltus {

struct BandOrder;
template <class Scalar>
class BasicGmres;
template <class Scalar>
class BasicSupernodalLu;

/// sparse: KLU; supernodal: SuperLU, where the build has it; iterative: GMRES, where it is allowed.
enum class MatrixKind { dense, banded, sparse, supernodal, iterative };
std::string_view to_string(MatrixKind kind);

/// First, variables with a simple equation of their own are eliminated: pivots in the marked rows that dominate their
/// row and bring no more entries than they take away, chosen so that none depends on another. What remains is
/// factorised dense, banded (after reordering) or sparse, whichever the measured costs predict to be fastest; of the
/// sparse ways KLU is for little work, SuperLU for much. All this is decided with the first values of a pattern, and
/// once more if later values make an eliminated pivot too small.
///
/// Where it is allowed, large systems whose factors would be dearer are solved by GMRES, to an accuracy that is asked
/// for. If it does not converge, the matrix is factorised after all; after two such failures all later ones are.
///
/// Scalar is double or std::complex<double>. Nothing allocates once two matrices of a pattern have been factorised,
/// except by SuperLU.
template <class Scalar>
class BasicStructuredLu {
 public:
  BasicStructuredLu();
  ~BasicStructuredLu();
  BasicStructuredLu(BasicStructuredLu&&) noexcept;
  BasicStructuredLu& operator=(BasicStructuredLu&&) noexcept;

  /// A square pattern; `simple[i]` marks the rows whose pivots may be eliminated (empty: none).
  void set_pattern(SparsePattern pattern, std::vector<char> simple = {});
  const SparsePattern& pattern() const { return pattern_; }
  /// Factorises the matrix with these values at the places of the pattern; false if it is singular or not finite.
  [[nodiscard]] bool factorise(std::span<const Scalar> values);
  /// b := A^{-1} b; NaN if there are no factors. A workspace of the size of b, if given, saves as much memory.
  void solve(std::span<Scalar> b, std::span<Scalar> workspace = {});

  /// Before the first values of a pattern: GMRES may be used; about so many systems are solved with each matrix. 0: no.
  void allow_iteration(int solutions) { solutions_ = solutions; }
  /// Whether the matrix factorised last is solved with iteratively. Then set_accuracy must be called before solve.
  bool iterates() const { return iterating_; }
  /// Solutions by iteration may have errors of about `tolerance` times these weights, one for each variable.
  void set_accuracy(std::span<const double> weights, double tolerance);

  bool analysed() const { return analysed_; }
  // --- what was decided; before the first factorisation: dense, nothing eliminated
  MatrixKind kind() const { return kind_; }
  int eliminated() const { return static_cast<int>(pivot_row_.size()); }
  /// Entries of the factors, as the ordering of KLU predicts them; 0 for dense and banded ones.
  double fill_per_unknown() const { return fill_per_unknown_; }
  /// Predicted nanoseconds of one factorisation and of one solution with sparse factors; 0 for dense and banded ones.
  double factor_cost() const { return factor_cost_; }
  double solve_cost() const { return solve_cost_; }
  /// For reports: "banded (1 + 1), 50000 of 100000 eliminated", "sparse (41 entries per unknown)".
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
  bool worth_iterating(const SparsePattern& rest, double cost);
  void choose_sparse(const SparsePattern& rest);
  bool eliminate(std::span<const Scalar> values);
  [[nodiscard]] bool factorise_all(std::span<const Scalar> values);
  [[nodiscard]] bool factorise_rest();
  [[nodiscard]] bool factorise_sparse();
  void give_up_iteration();
  void solve_rest(std::span<Scalar> b);

  SparsePattern pattern_;
  std::vector<char> simple_;
  bool analysed_ = false, regular_ = false;  // regular_: there are factors of the last values
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
  std::unique_ptr<BasicSupernodalLu<Scalar>> supernodal_;  // null: KLU is better
  std::unique_ptr<BasicGmres<Scalar>> gmres_;              // null: not used, or given up
  SparsePattern rest_pattern_;                             // while gmres_ or supernodal_ is to be made
  int solutions_ = 0, most_iterations_ = 0, iteration_failures_ = 0;
  bool iterating_ = false;
  double tolerance_ = 0.0, fill_per_unknown_ = 0.0, factor_cost_ = 0.0, solve_cost_ = 0.0;
  std::int64_t systems_ = 0, iterations_ = 0;  // solved by GMRES
  std::vector<double> rest_weights_;
  std::vector<Scalar> workspace_;  // where none is given
};

using StructuredLu = BasicStructuredLu<double>;
using ComplexStructuredLu = BasicStructuredLu<std::complex<double>>;

}  // namespace saltus
