// SequentialJacobian: the system Jacobian of a mode whose equations can be solved one after the other.
#pragma once

#include <saltus/dae/structural_analysis.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace saltus {

/// 2^exponent, for scale factors.
inline double power_of_two(std::int8_t exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

/// Without hidden constraints the system Jacobian G consists of columns of F_x' for differentiated variables and of F_x for the others;
/// where it is triangular in some order of its equations, each with the variable that is matched to it, substitution solves G z = b. That
/// needs no factors and no copy, and is what consistent values of large modes and the watch on their regularity cost least with.
class SequentialJacobian {
 public:
  /// The equations in such an order; empty if there is none.
  static std::vector<int> order(const Structure& structure, const StructuralAnalysis& analysis);

  /// The values of F_x and F_x' at the places of the structure's patterns. Everything is looked at, not copied.
  SequentialJacobian(const Structure& structure, const StructuralAnalysis& analysis, std::span<const int> order, std::span<const double> Fx,
                     std::span<const double> Fxp)
      : analysis_(analysis), order_(order), state_{structure.state_pattern, Fx}, derivative_{structure.derivative_pattern, Fxp} {}
  /// The same of values that stand at the places of the system Jacobian's own pattern.
  SequentialJacobian(const StructuralAnalysis& analysis, std::span<const int> order, const SparsePattern& pattern,
                     std::span<const double> values)
      : analysis_(analysis), order_(order), state_{pattern, values}, derivative_{pattern, values} {}

  /// visit(i, j, value) for all entries, by columns.
  template <class Visit>
  void for_each(Visit visit) const {
    for (int j = 0; j < state_.pattern.columns; ++j) {
      const Part& part = part_of(j);
      for (int k = part.pattern.start[j]; k < part.pattern.start[j + 1]; ++k) visit(part.pattern.row[k], j, part.values[k]);
    }
  }

  /// G z = b: take(j, z_j) for all variables in turn. Uses b up. False if G is singular or not finite.
  template <class Take>
  bool solve(std::span<double> b, Take take) const {
    for (const int i : order_) {
      const int j = analysis_.matched_variable[i];
      const double pivot = entry(i, j), z = b[i] / pivot;
      if (pivot == 0.0 || !std::isfinite(pivot)) return false;
      take(j, z);
      if (z == 0.0) continue;
      const Part& part = part_of(j);
      for (int p = part.pattern.start[j]; p < part.pattern.start[j + 1]; ++p) b[part.pattern.row[p]] -= part.values[p] * z;
    }
    return true;
  }

  /// The sign of the product of the pivots, which is that of the determinant up to a sign that never changes; 0: singular or not finite.
  int determinant_sign() const;

  /// An estimate of the 1-norm of A^-1, A = diag(2^rows) G diag(2^columns), G regular (N. J. Higham, ACM Trans. Math. Softw. 14
  /// (1988) 381-396, algorithm 4.1). The workspace gets two values for each variable.
  double inverse_norm(std::span<const std::int8_t> rows, std::span<const std::int8_t> columns, std::vector<double>& workspace) const;

 private:
  struct Part {
    const SparsePattern& pattern;
    std::span<const double> values;
  };
  const Part& part_of(int j) const { return analysis_.variable_offset[j] > 0 ? derivative_ : state_; }
  double entry(int i, int j) const {
    const Part& part = part_of(j);
    int k = part.pattern.start[j];
    while (k < part.pattern.start[j + 1] && part.pattern.row[k] != i) ++k;
    return k < part.pattern.start[j + 1] ? part.values[k] : 0.0;
  }
  void solve_transposed(std::span<const double> c, std::span<double> y) const;

  const StructuralAnalysis& analysis_;
  std::span<const int> order_;
  Part state_, derivative_;
};

}  // namespace saltus
