// S. Trenn, Switched differential algebraic equations, in: Dynamics and Control of Switched Electronic Systems,
// Springer 2012: for a regular pencil R^n = V* + W*, and the consistency projector maps onto V* along W*.
#include <saltus/dae/jump.hpp>
#include <saltus/dae/solution_series.hpp>
#include <saltus/linalg/decomposition.hpp>

#include <algorithm>
#include <cmath>

#include "dae/array_newton.hpp"

namespace saltus {
namespace {

struct Pencil {
  Matrix E, A;  // scaled
};

Pencil scaled_pencil(System& system, double t, std::span<const double> X, const ArrayScaling& scaling) {
  const Structure& s = system.structure();
  const auto n = static_cast<std::size_t>(s.variables);
  std::vector<double> Fx(s.state_pattern.row.size()), Fxp(s.derivative_pattern.row.size());
  system.jacobian(t, X.first(n), X.subspan(n, n), Fx, Fxp);
  Pencil p{Matrix(s.equations, s.variables), Matrix(s.equations, s.variables)};
  const auto fill = [&](const SparsePattern& pattern, std::span<const double> entries, double factor, Matrix& to) {
    for (int j = 0; j < pattern.columns; ++j)
      for (int k = pattern.start[j]; k < pattern.start[j + 1]; ++k)
        to(pattern.row[k], j) = factor * entries[k] * scaling.equation[pattern.row[k]] * scaling.variable[j];
  };
  fill(s.derivative_pattern, Fxp, 1.0 / scaling.time, p.E);
  fill(s.state_pattern, Fx, -1.0, p.A);
  return p;
}

// W*: {x : E x in A W}, repeated until it grows no more. Orthonormal columns in scaled coordinates.
Matrix impulsive_directions(const Pencil& p) {
  const int n = p.E.columns(), dimension = std::max(p.E.rows(), n);
  const double reference = std::max(norm2(p.E), norm2(p.A));
  Matrix W(n, 0);
  for (int step = 0; step <= n; ++step) {
    Matrix rest = p.E;
    if (W.columns() > 0) {
      const Svd image = svd(p.A * W);
      const Matrix S = columns(image.U, 0, rank_gap(image.s, dimension, reference).rank);
      rest = p.E - S * transpose_times(S, p.E);
    }
    const Svd decomposition = svd(rest);
    const int rank = rank_gap(decomposition.s, dimension, reference).rank;
    if (n - rank == W.columns()) break;
    W = columns(decomposition.V, rank, n - rank);
  }
  return W;
}

void fill_result(System& system, std::span<const double> x_before, const CharacteristicValues& values, Jump& result) {
  const Structure& s = system.structure();
  result.x.assign(result.X.begin(), result.X.begin() + s.variables);
  result.xp.assign(result.X.begin() + s.variables, result.X.begin() + 2 * s.variables);
  std::string moved;
  for (int j = 0; j < s.variables; ++j) {
    if (!s.differentiated(j)) continue;
    const double scale = std::max(
        std::abs(x_before[j]), values.variable_scale.empty() ? std::abs(system.nominal(j)) : values.variable_scale[j]);
    const double change = std::abs(result.x[j] - x_before[j]) / scale;
    if (change <= 1e-9) continue;
    result.size = std::max(result.size, change);
    if (!values.structure.variable_offset.empty() && values.certificate.valid &&
        values.structure.variable_offset[j] >= 2) {
      result.positions_moved = true;
      moved += (moved.empty() ? "" : ", ") + system.variable_name(j);
    }
  }
  if (result.positions_moved && result.ok())
    result.message = "the jump moves variables that an impulse cannot move (" + moved +
                     "): they violate constraints of the new mode before it is entered";
}

Jump least_squares_jump(System& system, double t, std::span<const double> x_before, const CharacteristicValues& values,
                        Hold hold, bool& along_impulses) {
  Initialisation found = initialise(system, t, x_before, values, {.hold = hold});
  Jump result;
  result.status = found.status;
  result.rule = hold == Hold::fixed_only ? JumpRule::least_squares : JumpRule::impulsive;
  result.X = std::move(found.X);
  result.message = std::move(found.message);
  result.all_slopes = found.all_slopes;
  along_impulses = found.along_impulses;
  fill_result(system, x_before, values, result);
  return result;
}

// The jump in units that are given, or in those of the point (null).
Jump impulsive_jump(System& system, double t, std::span<const double> x_before, int level, const ArrayScaling* units) {
  const std::size_t n = x_before.size();
  DerivativeArray array(system);
  Jump result;
  result.X.assign(x_before.begin(), x_before.end());
  result.X.resize(static_cast<std::size_t>(level + 2) * n, 0.0);
  std::vector<double> previous(n, std::nan(""));
  // The directions depend on the point; a few rounds settle them. They start from x⁻ each time.
  for (int round = 0; round < 10; ++round) {
    ArrayScaling scaling = units ? *units : scale_array(system, t, result.X);
    const Pencil pencil = scaled_pencil(system, t, result.X, scaling);
    if (!std::isfinite(frobenius_norm(pencil.E) + frobenius_norm(pencil.A))) {
      result.status = InitialisationStatus::not_finite;
      result.message =
          "the derivatives of the equations of the new mode have no finite values at the point of the jump";
      break;
    }
    const Matrix W = impulsive_directions(pencil);
    const std::vector<double> unit = scaling.variable;
    ArrayNewtonOptions options;
    options.subspace = W;
    for (int j = 0; j < W.columns(); ++j)
      for (int i = 0; i < W.rows(); ++i) options.subspace(i, j) *= unit[i];
    std::ranges::copy(x_before, result.X.begin());
    const ArrayNewtonResult newton = solve_array(array, scaling, t, level, result.X, options);
    result.status = !newton.finite ? InitialisationStatus::not_finite
                    : newton.converged && newton.residual <= 1e-8 * (1.0 + newton.reference)
                        ? InitialisationStatus::converged
                        : InitialisationStatus::no_solution;
    if (!result.ok()) {
      result.message =
          "no consistent state of the new mode can be reached by an impulse; give a reset, or ask for least squares";
      break;
    }
    double change = 0.0;
    for (std::size_t j = 0; j < n; ++j)
      change = std::max(change, std::abs(result.X[j] - previous[j]) / (unit[j] + std::abs(result.X[j])));
    std::copy_n(result.X.begin(), n, previous.begin());
    if (round > 0 && change <= 1e-12) break;
  }
  return result;
}

}  // namespace

Jump jump(System& system, double t, std::span<const double> x_before, const CharacteristicValues& values,
          JumpRule rule) {
  const Structure& s = system.structure();
  const auto n = static_cast<std::size_t>(s.variables);
  if (x_before.size() != n) throw UsageError("jump: the number of values is not the number of variables");
  const bool dense = values.T2.rows() == s.variables;
  const bool regular = s.equations == s.variables && values->u == 0 && values->v == 0 &&
                       values.status != AnalysisStatus::undecided && values.status != AnalysisStatus::singular_point;
  if (s.explicit_ode || !dense || !regular || rule == JumpRule::least_squares) {
    // without hidden constraints an impulse moves algebraic variables only, which is what holding the others does
    const bool hold = s.explicit_ode || (rule == JumpRule::impulsive && regular);
    bool along_impulses = false;
    Jump result =
        least_squares_jump(system, t, x_before, values, hold ? Hold::differential : Hold::fixed_only, along_impulses);
    // of modes with hidden constraints, stages alone follow the directions of impulses
    if (!s.explicit_ode && values->mu > 0 && !along_impulses) result.rule = JumpRule::least_squares;
    return result;
  }
  const ArrayScaling analysed{values.variable_scale, values.equation_scale, values.time_scale};
  Jump result = impulsive_jump(system, t, x_before, values->mu, &analysed);
  // the analysis may have been made where all values were tiny, or in another unit of a switch
  if (!result.ok())
    if (Jump here = impulsive_jump(system, t, x_before, values->mu, nullptr); here.ok()) result = std::move(here);
  if (result.ok()) result.all_slopes = extend_series(system, t, values, 1, result.X);
  fill_result(system, x_before, values, result);
  return result;
}

Jump jump(System& system, double t, std::span<const double> x_before, JumpRule rule) {
  return jump(system, t, x_before, characteristic_values(system, t, x_before), rule);
}

}  // namespace saltus
