// Solutions with A + u_1 v_1' + … + u_k v_k', where factors of A are there and k is small:
//   (A + U V')^{-1} b = y - W (I + V' W)^{-1} V' y,   y = A^{-1} b,  W = A^{-1} U
// (M. A. Woodbury; N. J. Higham, Accuracy and Stability of Numerical Algorithms, section 26.1). It costs one solution
// with A for each term, once. Whether it is accurate must be tried: the small matrix is ill-conditioned where A is
// nearly singular, or where the sum is.
#pragma once

#include <saltus/linalg/lu.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace saltus {

/// A vector of few entries, in the order of their places.
struct SparseVector {
  std::vector<int> place;
  std::vector<double> value;

  bool operator==(const SparseVector&) const = default;
};

/// u v'.
struct RankOne {
  SparseVector u, v;
};

/// An entry by which two matrices differ. Of `change` anything below `uncertainty` is a rounding error.
struct ChangedEntry {
  int row = 0, column = 0;
  double change = 0.0, uncertainty = 0.0;
};

/// A matrix with these entries, and zeros elsewhere, as a sum of at most `most` terms, up to rounding errors; nothing
/// if it has a higher rank, or too many entries to find out. Places may occur twice. Changes that share no row and no
/// column have terms of their own, which do not depend on the other changes.
std::optional<std::vector<RankOne>> low_rank_terms(std::span<const ChangedEntry> entries, int most);

class LowRankUpdate {
 public:
  using Solve = std::function<void(std::span<double>)>;

  /// Prepares for A + terms; `solve` is b := A^{-1} b. Solutions for left factors that occur again are kept until
  /// `forget`. False if the small matrix is singular; then there are no terms.
  bool set_terms(int n, std::vector<RankOne> terms, const Solve& solve);
  /// Prepares for A itself.
  void clear_terms() { terms_.clear(); }
  /// The factors are those of another matrix.
  void forget();
  bool empty() const { return terms_.empty(); }
  int rank() const { return static_cast<int>(terms_.size()); }

  /// From A^{-1} b to the solution of (A + terms) x = b.
  void correct(std::span<double> b);
  /// y += terms x.
  void multiply_add(std::span<const double> x, std::span<double> y) const;

 private:
  struct Solution {
    SparseVector u;
    std::vector<double> w;
    std::int64_t used = 0;
  };
  std::size_t solution_for(int n, const SparseVector& u, const Solve& solve);

  std::vector<RankOne> terms_;
  std::vector<std::size_t> column_;  // of each term, in solutions_
  std::vector<Solution> solutions_;
  std::vector<double> products_, small_;
  DenseLu lu_;
  std::int64_t clock_ = 0;
};

}  // namespace saltus
