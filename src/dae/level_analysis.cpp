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
LeftNullSpace left_null_space(const Matrix& M, int dimension, double reference, double noise,
                             std::optional<int> rank) {
  constexpr int small = 100;
  const auto split = [&](const Matrix& orthogonal, std::span<const double> values) {
    LeftNullSpace result;
    result.decision = rank_gap(values, dimension, reference, noise);
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

// Entries that change by more than 1/50 of themselves when X changes by some ulp are rounding errors of terms that cancel
// each other, and are zero. Returns how much the others change, all together.
double clear_noise(Matrix& J, const Matrix& beside) {
  constexpr double noise_factor = 50.0;
  double sum = 0.0;
  for (int j = 0; j < J.columns(); ++j)
    for (int i = 0; i < J.rows(); ++i) {
      const double change = std::abs(J(i, j) - beside(i, j));
      if (std::abs(J(i, j)) < noise_factor * change)
        J(i, j) = 0.0;
      else
        sum += change * change;
    }
  return std::sqrt(sum);
}

}  // namespace

LevelResult decide_level(Matrix J, Matrix beside, int m, int n, std::optional<KnownRanks> known) {
  LevelResult result;
  const double noise = clear_noise(J, beside);
  const double size = frobenius_norm(J);
  result.finite = std::isfinite(size * size) && std::isfinite(noise);  // decompositions add squares
  if (!result.finite) return result;
  const double reference = norm2_estimate(J);
  result.reference = reference;
  const int dimension = std::max(J.rows(), J.columns());
  LevelAnalysis& found = result.analysis;

  const auto rank_of_derivatives = known ? std::optional(J.rows() - known->a) : std::nullopt;
  LeftNullSpace null = left_null_space(columns(J, n, J.columns() - n), dimension, reference, noise,
                                       rank_of_derivatives);
  found.derivatives = null.decision;

  const Svd constraints = svd(transpose_times(null.basis, columns(J, 0, n)));
  found.algebraic = rank_gap(constraints.s, dimension, reference, noise);
  found.a = known ? known->a : found.algebraic.rank;
  result.Z2 = null.basis * columns(constraints.U, 0, found.a);
  result.T2 = columns(constraints.V, found.a, n - found.a);
  found.r = found.derivatives.rank + found.a;
  found.v = J.rows() - found.r;

  Matrix E(m, n);  // F_x'
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) E(i, j) = J(i, n + j);
  const Svd differential = svd(E * result.T2);
  found.differential = rank_gap(differential.s, dimension, reference, noise);
  found.d = known ? known->d : found.differential.rank;
  result.Z1 = columns(differential.U, 0, found.d);
  return result;
}

LevelResult analyse_level(DerivativeArray& array, const ArrayScaling& scaling, double t, int level,
                          std::span<const double> X, std::optional<KnownRanks> known) {
  const Structure& s = array.system().structure();
  Matrix J, beside;
  std::vector<double> f(static_cast<std::size_t>(array.rows(level)));
  array.evaluate(t, level, some_ulps_beside(X), f, beside);
  array.evaluate(t, level, X, f, J);
  const std::vector<double> row = row_factors(scaling, level), column = column_factors(scaling, level);
  apply_factors(J, row, column);
  apply_factors(beside, row, column);
  if (!std::ranges::all_of(f, [](double v) { return std::isfinite(v); })) {
    LevelResult result;
    result.finite = false;
    return result;
  }
  return decide_level(std::move(J), std::move(beside), s.equations, s.variables, known);
}

}  // namespace saltus
