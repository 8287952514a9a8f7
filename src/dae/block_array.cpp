// The array is block lower triangular, so a Gauss-Newton correction is found by forward substitution: each block corrects
// its own unknowns, by minimum norm where its array leaves a choice, after those of earlier blocks are corrected. One
// evaluation of the system serves all blocks.
#include "dae/block_array.hpp"

#include <saltus/linalg/rank.hpp>

#include <algorithm>
#include <cmath>

#include "dae/index_one.hpp"
#include "dae/preference.hpp"
#include "dae/structured_array.hpp"
#include "base/finite.hpp"

namespace saltus {
BlockArray::BlockArray(System& system, const StructuralAnalysis& structure, int largest_dense)
    : system_(system),
      s_(system.structure()),
      n_(static_cast<std::size_t>(s_.variables)),
      preference_(correction_preference(s_, structure)) {
  for (int j = 0; j < s_.variables; ++j) nominal_.push_back(system.nominal(j));
  const BlockTriangularForm& form = structure.blocks;
  std::vector<int> local(static_cast<std::size_t>(s_.equations), -1), block_of(local.size(), -1), own_row(local.size());
  blocks_.resize(static_cast<std::size_t>(form.blocks()));
  for (int b = 0; b < form.blocks(); ++b) {
    Block& block = blocks_[b];
    const auto part = [&](const std::vector<int>& all) {
      return std::vector<int>(all.begin() + form.start[b], all.begin() + form.start[b + 1]);
    };
    block.equations = part(form.equation);
    block.variables = part(form.variable);
    for (std::size_t i = 0; i < block.equations.size(); ++i) {
      local[block.equations[i]] = own_row[block.equations[i]] = static_cast<int>(i);
      block_of[block.equations[i]] = b;
    }
    Structure& s = block.structure;
    s.scaling = s_.scaling;
    s.equations = s.variables = static_cast<int>(block.equations.size());
    s.state_pattern = part_of(s_.state_pattern, local, s.equations, block.variables, block.state_place);
    s.derivative_pattern = part_of(s_.derivative_pattern, local, s.equations, block.variables, block.derivative_place);
    for (const int i : block.equations) local[i] = -1;
    if (s.variables > largest_dense) {
      block.large = std::make_unique<SubSystem>(system, block.equations, block.variables);
      block.offsets = analyse_structure(block.large->structure());
    }
  }
  std::vector<int> block_of_variable(n_, -1);
  for (std::size_t b = 0; b < blocks_.size(); ++b)
    for (const int j : blocks_[b].variables) block_of_variable[j] = static_cast<int>(b);
  const auto couple = [&](const SparsePattern& p, bool derivative) {
    for (int j = 0; j < p.columns; ++j)
      for (int k = p.start[j]; k < p.start[j + 1]; ++k)
        if (const int b = block_of[p.row[k]]; b != block_of_variable[j])
          blocks_[b].couplings.push_back({own_row[p.row[k]], j, k, derivative});
  };
  couple(s_.state_pattern, false);
  couple(s_.derivative_pattern, true);
  for (Block& block : blocks_) {
    for (const Coupling& c : block.couplings) block.inputs.push_back(c.variable);
    std::ranges::sort(block.inputs);
    block.inputs.erase(std::unique(block.inputs.begin(), block.inputs.end()), block.inputs.end());
  }
}

void BlockArray::evaluate_at(double t, std::span<const double> X, Values& values) {
  const auto count = static_cast<std::size_t>(level_) + 1, m = static_cast<std::size_t>(s_.equations);
  values.F.resize(count * m);
  values.Fx.resize(count * s_.state_pattern.row.size());
  values.Fxp.resize(count * s_.derivative_pattern.row.size());
  values.forces.resize(m);
  system_.taylor_jacobian(t, level_, X, values.F, values.Fx, values.Fxp);
  system_.residual(t, X.first(n_), std::vector<double>(n_, 0.0), values.forces);
}

void BlockArray::evaluate(double t, int level, std::span<const double> X) {
  level_ = level;
  X_.assign(X.begin(), X.end());
  evaluate_at(t, X, at_);
  evaluate_at(t, some_ulps_beside(X), beside_);
  finite_ = all_finite(at_.F) && all_finite(at_.Fx) && all_finite(at_.Fxp);
}

Matrix BlockArray::assemble(const Block& block, const Values& values) const {
  const int m = block.structure.equations, n = block.structure.variables;
  Matrix J((level_ + 1) * m, (level_ + 2) * n);
  const auto add = [&](const SparsePattern& p, const std::vector<int>& place, std::span<const double> coefficients,
                       std::size_t entries, int shift, bool derivative) {
    for (int q = derivative ? 1 : 0; q <= level_ + 1; ++q)
      for (int l = std::max(0, q - shift); l <= level_; ++l) {
        const int order = l - q + shift;
        if (order > level_) continue;
        const auto part = coefficients.subspan(static_cast<std::size_t>(order) * entries, entries);
        for (int j = 0; j < n; ++j)
          for (int k = p.start[j]; k < p.start[j + 1]; ++k)
            J(l * m + p.row[k], q * n + j) += (derivative ? q : 1) * part[place[k]];
      }
  };
  add(block.structure.state_pattern, block.state_place, values.Fx, s_.state_pattern.row.size(), 0, false);
  add(block.structure.derivative_pattern, block.derivative_place, values.Fxp, s_.derivative_pattern.row.size(), 1, true);
  return J;
}

PointEntries BlockArray::entries(const Block& block, const Values& values) const {
  PointEntries e;
  for (const int k : block.state_place) e.Fx.push_back(values.Fx[k]);
  for (const int k : block.derivative_place) e.Fxp.push_back(values.Fxp[k]);
  for (const int i : block.equations) e.forces.push_back(values.forces[i]);
  return e;
}

ArrayScaling BlockArray::scaling(const Block& block, const ScalingRule& rule) const {
  std::vector<double> X, nominal;
  for (std::size_t q = 0; q < X_.size(); q += n_)
    for (const int j : block.variables) X.push_back(X_[q + static_cast<std::size_t>(j)]);
  for (const int j : block.variables) nominal.push_back(nominal_[j]);
  return scale_entries(block.structure, entries(block, at_), entries(block, beside_), X, nominal, {}, rule);
}

Matrix BlockArray::jacobian(const Block& block, const ArrayScaling& scaling, bool beside) const {
  Matrix J = assemble(block, beside ? beside_ : at_);
  apply_factors(J, row_factors(scaling, level_), column_factors(scaling, level_));
  return J;
}

Matrix BlockArray::input_jacobian(const Block& block, const ArrayScaling& scaling) const {
  const int m = block.structure.equations, count = static_cast<int>(block.inputs.size());
  Matrix C((level_ + 1) * m, (level_ + 2) * count);
  const std::vector<double> row = row_factors(scaling, level_);
  for (const Coupling& c : block.couplings) {
    const std::size_t entries = (c.derivative ? s_.derivative_pattern : s_.state_pattern).row.size();
    const std::vector<double>& values = c.derivative ? at_.Fxp : at_.Fx;
    const int shift = c.derivative ? 1 : 0;
    const auto input =
        static_cast<int>(std::ranges::lower_bound(block.inputs, c.variable) - block.inputs.begin());
    for (int q = shift; q <= level_ + 1; ++q)
      for (int l = std::max(0, q - shift); l <= level_ && l - q + shift <= level_; ++l) {
        const double value = values[static_cast<std::size_t>(l - q + shift) * entries + static_cast<std::size_t>(c.place)];
        C(l * m + c.row, q * count + input) +=
            (c.derivative ? q : 1) * value * row[l * m + c.row] * std::pow(scaling.time, -q);
      }
  }
  for (int k = 0; k < count; ++k) {
    double largest = 0.0;
    for (int q = 0; q <= level_ + 1; ++q)
      for (const double value : C.column(q * count + k)) largest = std::max(largest, std::abs(value));
    for (int q = 0; q <= level_ + 1 && largest > 0.0; ++q)
      for (double& value : C.column(q * count + k)) value /= largest;
  }
  return C;
}

struct BlockArray::Step {
  LeastSquares solver;
  std::vector<double> row, column;  // factors; those of the free unknowns contain the preference
  std::vector<int> free;            // own numbers of the unknowns
};

// Corrections to be subtracted, from earlier blocks to later ones; the norm of all of them, scaled.
double BlockArray::solve_steps(std::size_t first, std::size_t last, std::span<const double> F,
                               const std::vector<Step>& steps, std::vector<double>& correction) const {
  const auto m_all = static_cast<std::size_t>(s_.equations);
  std::ranges::fill(correction, 0.0);
  double sum = 0.0;
  std::vector<double> f;
  for (std::size_t b = first; b < last; ++b) {
    const Block& block = blocks_[b];
    const std::size_t m = block.equations.size(), n = block.variables.size();
    f.assign((static_cast<std::size_t>(level_) + 1) * m, 0.0);
    for (std::size_t l = 0; l <= static_cast<std::size_t>(level_); ++l)
      for (std::size_t i = 0; i < m; ++i) f[l * m + i] = F[l * m_all + static_cast<std::size_t>(block.equations[i])];
    for (const Coupling& c : block.couplings) {
      const std::size_t entries = (c.derivative ? s_.derivative_pattern : s_.state_pattern).row.size();
      const std::vector<double>& values = c.derivative ? at_.Fxp : at_.Fx;
      for (int q = c.derivative ? 1 : 0; q <= level_ + 1; ++q) {
        const double moved = correction[static_cast<std::size_t>(q) * n_ + static_cast<std::size_t>(c.variable)];
        if (moved == 0.0) continue;
        for (int l = std::max(0, q - (c.derivative ? 1 : 0)); l <= level_; ++l) {
          const auto order = static_cast<std::size_t>(l - q + (c.derivative ? 1 : 0));
          if (order > static_cast<std::size_t>(level_)) continue;
          f[static_cast<std::size_t>(l) * m + static_cast<std::size_t>(c.row)] -=
              (c.derivative ? q : 1) * values[order * entries + static_cast<std::size_t>(c.place)] * moved;
        }
      }
    }
    const Step& step = steps[b - first];
    for (std::size_t i = 0; i < f.size(); ++i) f[i] *= step.row[i];
    const std::vector<double> own = step.solver.solve(f);
    for (std::size_t k = 0; k < own.size(); ++k) {
      const auto place = static_cast<std::size_t>(step.free[k]);
      correction[place / n * n_ + static_cast<std::size_t>(block.variables[place % n])] =
          own[k] * step.column[step.free[k]];
      sum += own[k] * own[k];
    }
  }
  return std::sqrt(sum);
}

bool BlockArray::iterate(std::size_t first, std::size_t last, double t, std::span<double> X,
                         const std::vector<char>& fixed, bool hold_state, int limit) {
  std::vector<double> correction(X.size()), simplified(X.size()), F, start(X.size());
  const double rounding = 1e-15 / (hold_state ? 1.0 : std::ranges::min(preference_));
  bool converged = false, polished = false;
  for (int iteration = 0; iteration <= limit && !polished; ++iteration) {
    polished = converged;
    if (iteration == limit && !polished) break;
    evaluate(t, level_, X);
    if (!finite_) return false;
    std::vector<Step> steps;
    std::vector<double> size(X.size(), 1.0);
    for (std::size_t b = first; b < last; ++b) {
      const Block& block = blocks_[b];
      const std::size_t n = block.variables.size();
      ArrayScaling& scale = scalings_[b];
      scale_rows(block.structure, entries(block, at_), entries(block, beside_), scale);
      std::vector<double> row = row_factors(scale, level_), column = column_factors(scale, level_);
      Matrix J = assemble(block, at_);
      apply_factors(J, row, column);
      std::vector<int> free;
      for (std::size_t k = 0; k < column.size(); ++k) {
        const auto variable = static_cast<std::size_t>(block.variables[k % n]);
        size[k / n * n_ + variable] = column[k];
        if (k >= n || (!hold_state && (fixed.empty() || !fixed[variable]))) free.push_back(static_cast<int>(k));
      }
      const double reference = norm2_estimate(J);
      Matrix active = select_columns(J, free);
      LeastSquares solver(active);
      const int rank = hold_state ? static_cast<int>(std::ranges::count_if(
                                        solver.pivots(), [&](double p) { return p > 1e-6 * reference; }))
                                  : rank_gap(solver.pivots(), J.columns(), reference).rank;
      if (!hold_state) {
        for (std::size_t q = 0; q < free.size(); ++q)
          if (static_cast<std::size_t>(free[q]) < n) {
            const double weight = preference_[block.variables[free[q]]];
            for (double& value : active.column(static_cast<int>(q))) value *= weight;
            column[free[q]] *= weight;
          }
        solver = LeastSquares(active);
      }
      solver.truncate(rank);
      steps.push_back({std::move(solver), std::move(row), std::move(column), std::move(free)});
    }
    const double length = solve_steps(first, last, at_.F, steps, correction);
    std::ranges::copy(X, start.begin());
    F.resize(at_.F.size());
    double damping = 1.0;
    for (int halving = 0;; ++halving, damping *= 0.5) {
      for (std::size_t k = 0; k < X.size(); ++k) X[k] = start[k] - damping * correction[k];
      system_.taylor(t, level_, X, F);
      if (all_finite(F) &&
          solve_steps(first, last, F, steps, simplified) <= (1.0 - damping / 4.0) * length + rounding)
        break;
      if (halving == 12) {
        if (!all_finite(F)) return false;
        break;
      }
    }
    double relative = 0.0;
    for (std::size_t k = 0; k < X.size(); ++k)
      relative = std::max(relative, std::abs(correction[k]) / (size[k] + std::abs(X[k])));
    ++iterations_;
    converged = polished || relative <= 1e-12;
    polished = polished || relative <= 1e-15 || (hold_state && converged);
  }
  return converged;
}

bool BlockArray::solve_large(Block& block, double t, std::span<double> X, const std::vector<char>& fixed) {
  if (block.offsets.singular()) return false;
  const std::size_t n = block.variables.size();
  SubSystem& sub = *block.large;
  sub.set_inputs(X);
  StructuredArray array(sub, block.offsets);
  const int level = std::max(array.level(), level_);
  std::vector<double> own(static_cast<std::size_t>(level + 2) * n, 0.0), scale(n);
  for (std::size_t q = 0; q * n_ < X.size() && q < static_cast<std::size_t>(level + 2); ++q)
    for (std::size_t j = 0; j < n; ++j) own[q * n + j] = X[q * n_ + static_cast<std::size_t>(block.variables[j])];
  for (std::size_t j = 0; j < n; ++j) scale[j] = std::abs(nominal_[block.variables[j]]);
  const auto start = std::span(own).first(static_cast<std::size_t>(array.level() + 2) * n);
  std::vector<char> held(n, 0);
  bool only_differential = true;  // then Newton's method for the others holds them anyway
  for (std::size_t j = 0; j < n && !fixed.empty(); ++j) {
    held[j] = fixed[block.variables[j]];
    only_differential &= !held[j] || block.offsets.variable_offset[j] > 0;
  }
  bool solved = array.level() == 0 && only_differential &&
                IndexOneSolver(sub.structure(), block.offsets)
                    .solve(sub, block.offsets, t, start.first(n), start.subspan(n, n), scale, 1.0)
                    .solved;
  if (!solved) {
    StructuredOptions options;
    options.fixed = std::move(held);
    options.scale = scale;
    options.preference = correction_preference(sub.structure(), block.offsets);
    const StructuredResult result = array.solve(t, start, options);
    solved = result.converged && result.finite;
  }
  if (!solved || !array.extend(t, level, own)) return false;
  for (std::size_t q = 0; q * n_ < X.size(); ++q)
    for (std::size_t j = 0; j < n; ++j) X[q * n_ + static_cast<std::size_t>(block.variables[j])] = own[q * n + j];
  return true;
}

bool BlockArray::project(double t, int level, std::span<double> X, const std::vector<char>& fixed) {
  level_ = level;
  iterations_ = 0;
  for (std::size_t b = 0; b < blocks_.size();) {
    if (blocks_[b].large) {
      if (!solve_large(blocks_[b++], t, X, fixed)) return false;
      continue;
    }
    std::size_t end = b;
    while (end < blocks_.size() && !blocks_[end].large) ++end;
    const std::vector<double> guess(X.begin(), X.end());
    if (!iterate_with(cautious(any_units), b, end, t, X, fixed)) {
      std::ranges::copy(guess, X.begin());
      if (!iterate_with(any_units, b, end, t, X, fixed)) return false;
    }
    b = end;
  }
  return true;
}

// The scales of variables and time stay as they are at the guess.
bool BlockArray::iterate_with(const ScalingRule& rule, std::size_t first, std::size_t last, double t,
                              std::span<double> X, const std::vector<char>& fixed) {
  const std::vector<double> guess(X.begin(), X.end());
  evaluate(t, level_, X);
  if (!finite_) return false;
  scalings_.resize(blocks_.size());
  for (std::size_t b = first; b < last; ++b) scalings_[b] = scaling(blocks_[b], rule);
  iterate(first, last, t, X, fixed, true, 6);
  if (!iterate(first, last, t, X, fixed, false, 30)) return false;
  evaluate(t, level_, X);
  if (!finite_ || !within_rounding(first, last, at_.F)) return false;
  // noise of corrections, which are as wrong as the weights of the preference differ; see array_newton.cpp
  const std::vector<double> found(X.begin(), X.end());
  std::vector<double> size(X.size(), 0.0);
  for (std::size_t b = first; b < last; ++b) {
    const std::vector<double> column = column_factors(scalings_[b], level_);
    const std::size_t n = blocks_[b].variables.size();
    for (std::size_t k = 0; k < column.size(); ++k)
      size[k / n * n_ + static_cast<std::size_t>(blocks_[b].variables[k % n])] = column[k];
  }
  if (remove_noise(size, guess, std::min(1e-13 / std::ranges::min(preference_), 1e-7), X)) {
    iterate(first, last, t, X, fixed, true, 6);
    std::vector<double> F(at_.F.size());
    system_.taylor(t, level_, X, F);
    if (!within_rounding(first, last, F)) std::ranges::copy(found, X.begin());
  }
  remove_noise(size, guess, 1e-13, X);
  return true;
}

// Contradictory equations have a least-squares solution that is none.
bool BlockArray::within_rounding(std::size_t first, std::size_t last, std::span<const double> F) const {
  const auto m_all = static_cast<std::size_t>(s_.equations);
  for (std::size_t b = first; b < last; ++b) {
    const std::vector<double> row = row_factors(scalings_[b], level_);
    const std::vector<int>& equations = blocks_[b].equations;
    const std::size_t m = equations.size();
    for (std::size_t k = 0; k < row.size(); ++k)
      if (!(std::abs(F[k / m * m_all + static_cast<std::size_t>(equations[k % m])]) * row[k] <= 1e-8)) return false;
  }
  return true;
}

StructuralCertificate BlockArray::certificate(const Block& block, double t, std::span<const double> X) {
  std::vector<double> x, xp;
  for (const int j : block.variables) {
    x.push_back(X[j]);
    xp.push_back(X[n_ + static_cast<std::size_t>(j)]);
  }
  block.large->set_inputs(X);
  return certify(*block.large, block.offsets, t, x, xp);
}

}  // namespace saltus
