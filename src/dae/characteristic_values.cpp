// P. Kunkel, V. Mehrmann, Differential-Algebraic Equations: Analysis and Numerical Solution, EMS 2006, Hypothesis 4.2
// and section 4.1, checked level by level at a point that satisfies the derivative array.
#include <saltus/dae/characteristic_values.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>

#include <fmt/format.h>

#include <saltus/dae/staged_series.hpp>
#include <saltus/linalg/decomposition.hpp>

#include "base/finite.hpp"
#include "dae/array_newton.hpp"
#include "dae/block_analysis.hpp"
#include "dae/index_one.hpp"
#include "dae/level_analysis.hpp"
#include "dae/preference.hpp"
#include "dae/redundant_analysis.hpp"
#include "dae/structured_array.hpp"
#include "dae/undetermined.hpp"

namespace saltus {

std::string_view to_string(AnalysisStatus status) {
  switch (status) {
    case AnalysisStatus::clear:
      return "clear";
    case AnalysisStatus::grey:
      return "grey";
    case AnalysisStatus::singular_point:
      return "singular_point";
    case AnalysisStatus::undecided:
      return "undecided";
  }
  return "";
}

std::string to_string(const CharacteristicNumbers& c) {
  return fmt::format("mu={} d={} a={} u={} v={} r={}", c.mu, c.d, c.a, c.u, c.v, c.r);
}

std::vector<double> correction_preference(const Structure& structure, const StructuralAnalysis& analysis) {
  // 1e-4 per order of differentiation, but not more than ten orders of magnitude altogether
  const auto& d = analysis.variable_offset;
  const int highest = d.empty() ? 1 : std::max(1, *std::ranges::max_element(d));
  const double reluctance = std::pow(10.0, -std::min(4.0, 10.0 / highest));
  std::vector<double> preference(static_cast<std::size_t>(structure.variables));
  for (int j = 0; j < structure.variables; ++j)
    preference[j] = std::pow(reluctance, d.empty() ? static_cast<int>(structure.differentiated(j)) : d[j]);
  return preference;
}

namespace {

// The decisions at one point, without neighbours and certificate.
class PointAnalysis {
 public:
  PointAnalysis(System& system, const StructuralAnalysis& structure, const CharacteristicOptions& options,
                const ScalingRule& rule = ordinary_units)
      : array_(system), options_(options), n_(system.structure().variables), m_(system.structure().equations) {
    newton_.preference = correction_preference(system.structure(), structure);
    newton_.scaling = rule;
    project_ = options.project && !system.structure().linear;
  }

  void run(double t, std::span<const double> x, CharacteristicValues& result) {
    t_ = t;
    X_.assign(x.begin(), x.end());
    int corank = 0, candidate = -1;
    bool grey = false;
    for (int k = 0; k <= options_.max_level + 1; ++k) {
      if (k > array_.highest_level() && k > 0) {
        // nothing more can be known: accept what level 0 says, with a doubt
        grey = true;
        break;
      }
      X_.resize(static_cast<std::size_t>(k + 2) * static_cast<std::size_t>(n_), 0.0);
      if (!prepare(k)) return;
      grey |= doubtful_;
      LevelResult level = analyse_level(array_, scaling_, t, k, X_);
      if (!level.finite) return;
      grey |= level.grey();
      if (!solved_ && level.analysis.v == 0) {
        // An array of full rank has a solution. Contradictory equations are nearly satisfied far away, where a factor that
        // should be zero is small and another one large; scaled there, they look regular.
        result.status = AnalysisStatus::undecided;
        result.reason = "no consistent point was found near the guess";
        return;
      }
      const int vanishing = level.analysis.v;
      level.analysis.v -= corank;
      corank = vanishing;
      level.analysis.satisfied = level.analysis.d == m_ - level.analysis.a - level.analysis.v;
      note_margins(level.analysis, result);
      result.levels.push_back(level.analysis);
      if (candidate >= 0 && confirms(result.levels[candidate], level.analysis)) {
        result.status = grey ? AnalysisStatus::grey : AnalysisStatus::clear;
        return;
      }
      candidate = level.analysis.satisfied ? k : -1;
      if (candidate >= 0) accept(k, level, result);
    }
    if (candidate >= 0 && array_.highest_level() == 0) {
      result.status = result.numbers.d + result.numbers.a == n_ && result.numbers.v == 0 && !result.levels[0].v
                          ? AnalysisStatus::clear
                          : AnalysisStatus::grey;
      return;
    }
    result.status = AnalysisStatus::undecided;
  }

  // The numbers at a point near which X is known: one projection at its highest level, then all levels. False if no
  // consistent point is found there.
  bool run_near(double t, std::span<const double> X, CharacteristicValues& result) {
    t_ = t;
    X_.assign(X.begin(), X.end());
    if (!prepare(static_cast<int>(X.size()) / n_ - 2) || doubtful_ || !solved_) return false;
    // an iteration that ran away says nothing about the neighbourhood
    const std::vector<double> column = column_factors(scaling_, static_cast<int>(X.size()) / n_ - 2);
    double before = 1.0, after = 0.0;
    for (std::size_t k = 0; k < X.size(); ++k) {
      before = std::max(before, std::abs(X[k] / column[k]));
      after = std::max(after, std::abs(X_[k] / column[k]));
    }
    return after <= 100.0 * before && run_levels(result);
  }

  // The same at a consistent X, where nothing has to be projected.
  bool run_at(double t, std::span<const double> X, CharacteristicValues& result) {
    t_ = t;
    X_.assign(X.begin(), X.end());
    scaling_ = scale_array(array_.system(), t, X_, newton_.scaling);
    return run_levels(result);
  }

  // Projectors of a level at a consistent X, where the ranks are known.
  bool run_known(double t, std::span<const double> X, int level, KnownRanks ranks, CharacteristicValues& result) {
    t_ = t;
    scaling_ = scale_array(array_.system(), t, X, newton_.scaling);
    X_.assign(X.begin(), X.begin() + static_cast<std::ptrdiff_t>(level + 2) * n_);
    LevelResult found = analyse_level(array_, scaling_, t, level, X_, ranks);
    if (!found.finite) return false;
    found.analysis.satisfied = true;
    accept(level, found, result);
    return true;
  }

 private:
  static bool confirms(const LevelAnalysis& a, const LevelAnalysis& b) {
    return b.satisfied && a.a == b.a && a.d == b.d && a.v == b.v;
  }

  // All levels of X_ until one is confirmed by the next; the status says whether that happened.
  bool run_levels(CharacteristicValues& result) {
    const std::vector<double> all = X_;
    const int last = static_cast<int>(all.size()) / n_ - 2;
    int corank = 0;
    bool grey = false;
    for (int k = 0; k <= last; ++k) {
      X_.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(k + 2) * n_);
      LevelResult level = analyse_level(array_, scaling_, t_, k, X_);
      if (!level.finite) return false;
      grey |= level.grey();
      const int vanishing = level.analysis.v;
      level.analysis.v -= corank;
      corank = vanishing;
      level.analysis.satisfied = level.analysis.d == m_ - level.analysis.a - level.analysis.v;
      note_margins(level.analysis, result);
      result.levels.push_back(level.analysis);
      if (k > 0 && result.levels[k - 1].satisfied && confirms(result.levels[k - 1], level.analysis)) {
        result.status = grey ? AnalysisStatus::grey : AnalysisStatus::clear;
        return true;
      }
      accept(k, level, result);
    }
    return true;
  }

  bool prepare(int k) {
    doubtful_ = false;
    solved_ = true;
    if (!project_) {
      scaling_ = scale_array(array_.system(), t_, X_, newton_.scaling);
      return true;
    }
    const ArrayNewtonResult newton = solve_array(array_, scaling_, t_, k, X_, newton_);
    if (!newton.finite) return false;
    // contradictory equations have no solution set; the nearest point is as good as any
    solved_ = newton.residual <= 1e-8 * (1.0 + newton.reference);
    doubtful_ = !newton.converged && !solved_;
    return true;
  }

  void accept(int k, const LevelResult& level, CharacteristicValues& result) {
    const LevelAnalysis& found = level.analysis;
    result.numbers = {k, found.d, found.a, n_ - found.a - found.d, found.v, found.r};
    result.X = X_;
    result.variable_scale = scaling_.variable;
    result.equation_scale = scaling_.equation;
    result.time_scale = scaling_.time;
    result.Z2 = level.Z2;
    result.T2 = level.T2;
    result.Z1 = level.Z1;
  }

  static void note_margins(const LevelAnalysis& level, CharacteristicValues& result) {
    for (const RankDecision* decision : {&level.derivatives, &level.algebraic, &level.differential}) {
      result.kept = std::min(result.kept, decision->kept);
      result.dropped = std::max(result.dropped, decision->dropped);
    }
  }

  DerivativeArray array_;
  const CharacteristicOptions& options_;
  ArrayNewtonOptions newton_;
  ArrayScaling scaling_;
  int n_, m_;
  double t_ = 0.0;
  bool project_ = true, doubtful_ = false, solved_ = true;
  std::vector<double> X_;
};

// A point in the given direction at which no row of the scaled Jacobian has changed by more than a tenth: the scale of
// a variable says little about how far one may go (an exponential, a length in other units).
std::vector<double> neighbour(System& system, double t, std::span<const double> direction,
                              const CharacteristicValues& result) {
  const Structure& s = system.structure();
  const auto n = static_cast<std::size_t>(s.variables);
  const std::span<const double> start = std::span(result.X).first(n), derivative = std::span(result.X).subspan(n, n);
  std::vector<double> Fx(s.state_pattern.row.size()), Fxp(s.derivative_pattern.row.size()), Gx(Fx.size()),
      Gxp(Fxp.size());
  system.jacobian(t, start, derivative, Fx, Fxp);
  std::vector<double> x(n);
  double length = 1.0;
  for (int attempt = 0; attempt < 30; ++attempt, length *= 0.25) {
    for (std::size_t j = 0; j < n; ++j) x[j] = start[j] + length * direction[j];
    system.jacobian(t, x, derivative, Gx, Gxp);
    double change = 0.0;
    const auto note = [&](const SparsePattern& p, const std::vector<double>& a, const std::vector<double>& b,
                          double factor) {
      for (int j = 0; j < p.columns; ++j)
        for (int k = p.start[j]; k < p.start[j + 1]; ++k) {
          const double entry =
              std::abs(a[k] - b[k]) * factor * result.variable_scale[j] * result.equation_scale[p.row[k]];
          change = std::isfinite(entry) ? std::max(change, entry) : 1.0;
        }
    };
    note(s.state_pattern, Fx, Gx, 1.0);
    note(s.derivative_pattern, Fxp, Gxp, 1.0 / result.time_scale);
    if (change <= 0.1) break;
  }
  return x;
}

// Repeats the analysis near the point (for linear systems: near the time) and notes what differs.
void examine_neighbours(System& system, double t, const CharacteristicOptions& options, const ScalingRule& rule,
                        CharacteristicValues& result) {
  const Structure& s = system.structure();
  if (s.constant_jacobian) return;
  std::mt19937 generator(12345);
  const auto normal = [&generator] {  // sum of uniform numbers: the same on every platform
    double sum = -6.0;
    for (int k = 0; k < 12; ++k) sum += static_cast<double>(generator()) / 4294967296.0;
    return sum;
  };
  bool differs = false;
  for (int k = 0; k < 4; ++k) {
    std::vector<double> direction(static_cast<std::size_t>(s.variables));
    const double shift = s.linear ? 1e-2 * result.time_scale * normal() : 0.0;
    for (int j = 0; j < s.variables; ++j) direction[j] = 1e-2 * result.variable_scale[j] * normal();
    const std::vector<double> x = neighbour(system, t + shift, direction, result);
    std::vector<double> X = result.X;
    std::ranges::copy(x, X.begin());
    X.resize(X.size() + x.size(), 0.0);
    CharacteristicValues other;
    if (!PointAnalysis(system, result.structure, options, rule).run_near(t + shift, X, other)) continue;
    result.neighbours.push_back(other.numbers);
    differs |= !(other.numbers == result.numbers);
  }
  if (differs) result.status = AnalysisStatus::singular_point;
}

// Rank decisions alone.
void decide_by_ranks(System& system, double t, std::span<const double> x, const CharacteristicOptions& options,
                     CharacteristicValues& result) {
  PointAnalysis(system, result.structure, options, any_units).run(t, x, result);
  if (options.neighbours && result.status != AnalysisStatus::undecided)
    examine_neighbours(system, t, options, any_units, result);
}

// Derivatives to begin with. They are zero; where the equations have no value then (100/v with v = der(x)), they are
// those that the equations with a value give, and the derivatives of those without derivatives; 1 or -1 where nothing
// is known about them.
std::vector<double> first_derivatives(System& system, double t, std::span<const double> x) {
  const Structure& s = system.structure();
  const auto n = static_cast<std::size_t>(s.variables), m = static_cast<std::size_t>(s.equations);
  constexpr int largest = 500;
  std::vector<double> xp(n, 0.0), F(m);
  system.residual(t, x, xp, F);
  if (s.variables > largest || all_finite(F)) return xp;
  std::vector<double> Fx(s.state_pattern.row.size()), Fxp(s.derivative_pattern.row.size()), later(m);
  system.jacobian(t, x, xp, Fx, Fxp);
  const double soon = 1e-6 * std::max(1.0, std::abs(t));
  system.residual(t + soon, x, xp, later);
  std::vector<char> usable(m), has_derivative(m, 0);
  for (std::size_t i = 0; i < m; ++i) usable[i] = std::isfinite(F[i]) && std::isfinite(later[i]);
  for (const int row : s.derivative_pattern.row) has_derivative[static_cast<std::size_t>(row)] = 1;
  Matrix A(s.equations, s.variables);
  const auto fill = [&](const SparsePattern& p, const std::vector<double>& entries, char wanted) {
    for (int j = 0; j < p.columns; ++j)
      for (int k = p.start[j]; k < p.start[j + 1]; ++k) {
        const auto row = static_cast<std::size_t>(p.row[k]);
        if (usable[row] && has_derivative[row] == wanted && std::isfinite(entries[static_cast<std::size_t>(k)]))
          A(p.row[k], j) = entries[static_cast<std::size_t>(k)];
      }
  };
  fill(s.derivative_pattern, Fxp, 1);
  fill(s.state_pattern, Fx, 0);
  std::vector<double> b(m, 0.0);
  for (std::size_t i = 0; i < m; ++i)
    if (usable[i]) b[i] = has_derivative[i] ? -F[i] : -(later[i] - F[i]) / soon;
  LeastSquares solver(A);  // of equations that leave a derivative free the least one
  int rank = 0;
  for (const double pivot : solver.pivots()) rank += pivot > 1e-8 * solver.pivots().front();
  solver.truncate(rank);
  const std::vector<double> found = solver.solve(b);
  for (const double free : {0.0, 1.0, -1.0}) {  // for derivatives that these equations leave at zero
    for (std::size_t j = 0; j < n; ++j) xp[j] = found[j] != 0.0 ? found[j] : free;
    system.residual(t, x, xp, F);
    if (all_finite(F)) return xp;
  }
  return std::vector<double>(n, 0.0);
}

// The analysis of systems whose structure has a certificate at a consistent point near the guess: differential and
// algebraic dimensions are known, and X follows from linear systems, so that only mu has to be found. False if there is
// no certificate.
bool analyse_certified(System& system, double t, std::span<const double> x, const CharacteristicOptions& options,
                       CharacteristicValues& result) {
  const StructuralAnalysis& structure = result.structure;
  const Structure& s = system.structure();
  const auto n = static_cast<std::size_t>(s.variables);
  if (structure.singular() || n == 0) return false;
  const int deepest = *std::ranges::max_element(structure.equation_offset);
  if (deepest > 0 && !s.taylor) return false;
  const bool dense = s.variables <= std::min(options.dense_limit, options.certified_dense_limit);
  std::optional<StructuredArray> array;  // large modes without hidden constraints mostly do without it
  if (dense || deepest > 0) array.emplace(system, structure);
  const std::vector<double> slopes = first_derivatives(system, t, x);
  std::vector<double> X;
  const auto begin_anew = [&] {
    X.assign(static_cast<std::size_t>((array ? array->level() : 0) + 2) * n, 0.0);
    std::ranges::copy(x, X.begin());
    std::ranges::copy(slopes, X.begin() + static_cast<std::ptrdiff_t>(n));
  };
  begin_anew();
  StructuredOptions solve;
  ArrayScaling scaling;
  if (dense) {
    scaling = scale_array(system, t, X, any_units);
    solve.scale = scaling.variable;
    solve.time_scale = scaling.time;
  } else {
    for (int j = 0; deepest > 0 && j < s.variables; ++j) solve.scale.push_back(std::abs(system.nominal(j)));
  }
  StructuredResult point;
  if (!dense && deepest == 0) {
    result.index_one = std::make_shared<IndexOneSolver>(s, structure);
    point.converged = point.finite = result.index_one->solve(system, structure, t, std::span(X).first(n), std::span(X).subspan(n, n), {}, solve.time_scale).solved;
    // otherwise: with nothing to differentiate, the differentiated variables are free to choose
    for (int j = 0; !point.converged && j < s.variables; ++j) {
      solve.scale.push_back(std::abs(system.nominal(j)));
      solve.fixed.push_back(structure.variable_offset[j] > 0);
    }
  }
  // keeps a point that is consistent, whatever its derivatives are; moves others as an impulse does
  const auto solve_by_stages = [&] {
    StagedSeries staged(s, structure, 1);
    std::vector<double> stages(static_cast<std::size_t>(staged.coefficients()) * n, 0.0);
    std::ranges::copy(x, stages.begin());
    std::ranges::copy(slopes, stages.begin() + static_cast<std::ptrdiff_t>(n));
    point.converged = point.finite =
        staged.project(system, t, stages, solve.scale, solve.time_scale, 1e-9) == StagedSeries::Result::good &&
        staged.extend(system, stages);
    point.singular = false;
    if (!point.converged) return;
    begin_anew();
    std::copy_n(stages.begin(), std::min(stages.size(), X.size()), X.begin());
  };
  if (!dense && deepest > 0) solve_by_stages();
  if (!point.converged) {
    if (!array) array.emplace(system, structure);
    solve.preference = correction_preference(s, structure);
    begin_anew();
    point = array->solve(t, X, solve);
  }
  if (dense && !point.converged && deepest > 0) solve_by_stages();
  if (dense && !point.converged) {
    // another metric: the sizes of the guess itself
    for (std::size_t j = 0; j < n; ++j)
      if (x[j] != 0.0) solve.scale[j] = std::abs(x[j]);
    begin_anew();
    point = array->solve(t, X, solve);
  }
  if (!point.converged || !point.finite || point.singular) return false;
  result.certificate = certify(system, structure, t, std::span(X).first(n), std::span(X).subspan(n, n));
  if (!result.certificate.valid) return false;

  const int d = structure.degrees_of_freedom, a = s.variables - d, bound = std::max(0, structure.index - 1);
  const CharacteristicNumbers from_structure{bound, d, a, 0, 0, (bound + 1) * s.equations};
  if (!dense || !s.taylor) {
    result.numbers = from_structure;
    result.decided_by_structure = true;
    result.status = AnalysisStatus::clear;
    if (!dense) {
      result.X = std::move(X);
      return true;
    }
    result.X = X;
    X.resize(2 * n);
    return bound > 0 || PointAnalysis(system, structure, options, sized).run_known(t, X, 0, {d, a}, result);
  }
  X.resize(static_cast<std::size_t>(bound + 3) * n, 0.0);
  if (!array->extend(t, bound + 1, X)) return false;
  remove_noise(column_factors(scaling, bound + 1), x, 1e-13, X);
  CharacteristicValues found;
  const CharacteristicNumbers& c = found.numbers;
  const bool mu_is_clear = PointAnalysis(system, structure, options, any_units).run_at(t, X, found) &&
                           found.status == AnalysisStatus::clear && c.d == d && c.a == a && c.v == 0;
  found.decided_by_structure = !mu_is_clear;
  // ranks must not depend on units; what is near, and with it the projectors, is to be measured in round ones
  if (!PointAnalysis(system, structure, options, sized).run_known(t, X, mu_is_clear ? c.mu : bound, {d, a}, found))
    return false;
  found.status = AnalysisStatus::clear;
  found.structure = std::move(result.structure);
  found.certificate = result.certificate;
  result = std::move(found);
  return true;
}

}  // namespace

CharacteristicValues characteristic_values(System& system, double t, std::span<const double> x,
                                           const CharacteristicOptions& options) {
  const Structure& s = system.structure();
  if (static_cast<int>(x.size()) != s.variables)
    throw UsageError(fmt::format("characteristic_values: the system has {} variables, but {} values were given",
                                 s.variables, x.size()));
  CharacteristicValues result;
  result.structure = analyse_structure(s);
  if (options.use_structure && analyse_certified(system, t, x, options, result)) return result;
  if (s.variables > options.dense_limit && result.structure.singular())
    analyse_redundant(system, t, x, options, result);
  else if (s.variables > options.dense_limit)
    analyse_blocks(system, t, x, options, result);
  else
    decide_by_ranks(system, t, x, options, result);
  if (result.status != AnalysisStatus::undecided)
    result.constant_components = choose_constant_components(undetermined_directions(system, t, result));
  return result;
}

}  // namespace saltus
