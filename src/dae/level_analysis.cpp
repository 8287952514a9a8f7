// With the scaled Jacobian [N M] of the array, N for x and M for the derivatives:
//   Z2 spans the left null space of M, T2 the null space of Z2ᵀ N, and Z1 the range of F_x' T2.
// Every rank is decided relative to the norm of the whole scaled array, and nothing is scaled anew between the
// decompositions.
#include "dae/level_analysis.hpp"

#include <saltus/linalg/decomposition.hpp>

#include <algorithm>
#include <cmath>

namespace saltus {
namespace {

struct LeftNullSpace {
  RankDecision decision;
  Matrix basis;
};

// QR with column pivoting is several times cheaper and gives the same decisions; the SVD has the last word in doubt.
LeftNullSpace left_null_space(const Matrix& M, int dimension, double reference, std::optional<int> rank) {
  constexpr int small = 100;
  const auto split = [&](const Matrix& orthogonal, std::span<const double> values) {
    LeftNullSpace result;
    result.decision = rank_gap(values, dimension, reference);
    if (rank && *rank != result.decision.rank) {
      result.decision.rank = *rank;
      result.decision.status = RankStatus::grey;
      if (*rank > 0) result.decision.kept = values[*rank - 1] / reference;
      result.decision.dropped = static_cast<std::size_t>(*rank) < values.size() ? values[*rank] / reference : 0.0;
    }
    result.basis = columns(orthogonal, result.decision.rank, orthogonal.columns() - result.decision.rank);
    return result;
  };
  if (M.rows() > small) {
    const PivotedQr qr = pivoted_qr(M);
    LeftNullSpace result = split(qr.Q, qr.pivots);
    if (result.decision.status == RankStatus::clear) return result;
  }
  const Svd decomposition = svd(M);
  return split(decomposition.U, decomposition.s);
}

}  // namespace

LevelResult analyse_level(DerivativeArray& array, const ArrayScaling& scaling, double t, int level,
                          std::span<const double> X, std::optional<KnownRanks> known) {
  const Structure& s = array.system().structure();
  const int m = s.equations, n = s.variables;
  LevelResult result;
  Matrix J;
  std::vector<double> f(static_cast<std::size_t>(array.rows(level)));
  array.evaluate(t, level, X, f, J);
  const std::vector<double> row = row_factors(scaling, level), column = column_factors(scaling, level);
  apply_factors(J, row, column);
  result.finite = std::ranges::all_of(f, [](double v) { return std::isfinite(v); }) && std::isfinite(frobenius_norm(J));
  if (!result.finite) return result;
  const double reference = norm2(J);
  result.reference = reference;
  const int dimension = std::max(J.rows(), J.columns());
  LevelAnalysis& found = result.analysis;

  const auto rank_of_derivatives = known ? std::optional(J.rows() - known->a) : std::nullopt;
  LeftNullSpace null = left_null_space(columns(J, n, J.columns() - n), dimension, reference, rank_of_derivatives);
  found.derivatives = null.decision;

  const Svd constraints = svd(transpose_times(null.basis, columns(J, 0, n)));
  found.algebraic = rank_gap(constraints.s, dimension, reference);
  found.a = known ? known->a : found.algebraic.rank;
  result.Z2 = null.basis * columns(constraints.U, 0, found.a);
  result.T2 = columns(constraints.V, found.a, n - found.a);
  found.r = found.derivatives.rank + found.a;
  found.v = J.rows() - found.r;

  Matrix E(m, n);  // F_x', scaled as the first derivatives in the array are
  const SparsePattern& p = s.derivative_pattern;
  const auto values = array.derivative_coefficients();
  for (int j = 0; j < n; ++j)
    for (int k = p.start[j]; k < p.start[j + 1]; ++k) E(p.row[k], j) = values[k] * (row[p.row[k]] * column[n + j]);
  const Svd differential = svd(E * result.T2);
  found.differential = rank_gap(differential.s, dimension, reference);
  found.d = known ? known->d : found.differential.rank;
  result.Z1 = columns(differential.U, 0, found.d);
  return result;
}

}  // namespace saltus
