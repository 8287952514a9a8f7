// N. S. Nedialkov, J. D. Pryce, Solving differential-algebraic equations by Taylor series (I), BIT 45 (2005): the
// stages of the solution scheme. All stages up to order 0 are solved together here, since their unknowns are coupled by
// the choice of the initial values; later stages are linear and are solved one by one.
#include "dae/structured_array.hpp"

#include <saltus/linalg/decomposition.hpp>
#include <saltus/linalg/rank.hpp>

#include <algorithm>
#include <cmath>

#include "base/finite.hpp"

namespace saltus {
namespace {

double power_of_two_near(double value) {
  return value > 0.0 ? std::exp2(std::round(std::log2(value))) : 1.0;
}

}  // namespace

StructuredArray::StructuredArray(System& system, const StructuralAnalysis& analysis)
    : system_(system), analysis_(analysis), n_(system.structure().variables) {
  if (analysis.singular()) throw UsageError("structured array: the system is structurally singular");
  level_ = n_ == 0 ? 0 : *std::ranges::max_element(analysis.equation_offset);
  if (level_ > 0 && !system.structure().taylor)
    throw UsageError(
        "consistent values need derivatives of the equations, but this system has no Taylor coefficients "
        "(structure().taylor is false); write its equations as expressions, or implement System::taylor");
  for (int c : analysis.equation_offset) {
    row_start_.push_back(rows_);
    rows_ += c + 1;
  }
}

void StructuredArray::number_unknowns(const std::vector<char>& fixed) {
  columns_.clear();
  for (int j = 0; j < n_; ++j)
    for (int q = 0; q <= analysis_.variable_offset[j]; ++q)
      if (q > 0 || fixed.empty() || !fixed[j]) columns_.push_back({j, q});
}

int StructuredArray::freedom(int fixed, int conditions) const {
  int count = -fixed - rows_ - conditions;
  for (int d : analysis_.variable_offset) count += d + 1;
  return count;
}

// Entry ((i, l), (j, q)) is (F_x)_[l-q] + q (F_x')_[l-q+1]; conditions have columns of order 0 and 1 only.
void StructuredArray::build_pattern() {
  const Structure& s = system_.structure();
  pattern_ = {rows_ + extra(), unknowns(), {0}, {}};
  place_state_.clear();
  place_derivative_.clear();
  factor_.clear();
  struct Entry {
    int row, state, derivative;
  };
  std::vector<Entry> entries;
  for (const auto& [j, q] : columns_) {
    entries.clear();
    const auto add = [&, j = j, q = q](const SparsePattern& p, int shift, bool derivative) {
      for (int k = p.start[j]; k < p.start[j + 1]; ++k) {
        const int i = p.row[k], nonzeros = p.nonzeros();
        for (int l = std::max(0, q - shift); l <= analysis_.equation_offset[i]; ++l) {
          const int place = (l - q + shift) * nonzeros + k;
          entries.push_back({row_start_[i] + l, derivative ? -1 : place, derivative ? place : -1});
        }
      }
    };
    add(s.state_pattern, 0, false);
    if (q > 0) add(s.derivative_pattern, 1, true);
    if (conditions_ && q <= 1) {
      const SparsePattern &own = q == 0 ? s.state_pattern : s.derivative_pattern,
                          &p = q == 0 ? conditions_->state_pattern() : conditions_->derivative_pattern();
      for (int k = p.start[j]; k < p.start[j + 1]; ++k) {
        const int place = (level_ + 1) * own.nonzeros() + k;
        entries.push_back({rows_ + p.row[k], q == 0 ? place : -1, q == 0 ? -1 : place});
      }
    }
    std::ranges::stable_sort(entries, {}, &Entry::row);
    for (const Entry& e : entries) {
      if (pattern_.nonzeros() > pattern_.start.back() && pattern_.row.back() == e.row) {
        place_derivative_.back() = e.derivative;
        continue;
      }
      pattern_.row.push_back(e.row);
      place_state_.push_back(e.state);
      place_derivative_.push_back(e.derivative);
      factor_.push_back(static_cast<double>(q));
    }
    pattern_.start.push_back(pattern_.nonzeros());
  }
}

void StructuredArray::evaluate(double t, std::span<const double> X, bool jacobian) {
  const Structure& s = system_.structure();
  const auto n = static_cast<std::size_t>(n_), count = static_cast<std::size_t>(level_) + 1;
  const std::span<const double> x = X.first(n), xp = X.subspan(n, n);
  F_.resize(n * count + static_cast<std::size_t>(extra()));
  const std::span<double> F = std::span(F_).first(n * count);
  if (conditions_) conditions_->residual(t, x, xp, std::span(F_).subspan(n * count));
  if (!jacobian) {
    if (s.taylor && level_ > 0)
      system_.taylor(t, level_, X, F);
    else
      system_.residual(t, x, xp, F);
    return;
  }
  const std::size_t in_x = s.state_pattern.row.size() * count, in_xp = s.derivative_pattern.row.size() * count;
  Fx_.resize(in_x + (conditions_ ? conditions_->state_pattern().row.size() : 0));
  Fxp_.resize(in_xp + (conditions_ ? conditions_->derivative_pattern().row.size() : 0));
  const std::span<double> Fx = std::span(Fx_).first(in_x), Fxp = std::span(Fxp_).first(in_xp);
  if (conditions_) conditions_->jacobian(t, x, xp, std::span(Fx_).subspan(in_x), std::span(Fxp_).subspan(in_xp));
  if (s.taylor && level_ > 0) {
    system_.taylor_jacobian(t, level_, X, F, Fx, Fxp);
  } else {
    system_.residual(t, x, xp, F);
    system_.jacobian(t, x, xp, Fx, Fxp);
  }
}

void StructuredArray::assemble(std::span<double> values) const {
  for (std::size_t k = 0; k < values.size(); ++k)
    values[k] = (place_state_[k] >= 0 ? Fx_[place_state_[k]] : 0.0) +
                (place_derivative_[k] >= 0 ? factor_[k] * Fxp_[place_derivative_[k]] : 0.0);
}

namespace {

// Solves A delta = b for delta, square or of minimum norm in the variables delta / scale:
//   [ -I  A_sᵀ ; A_s  0 ] (delta_s, multiplier) = (0, b_s),  A_s = rows * A * scale.
class MinimumNormSystem {
 public:
  MinimumNormSystem(const SparsePattern& a, bool square) : a_(a), square_(square) {
    row_.assign(static_cast<std::size_t>(a.rows), 1.0);
    if (square_) {
      regular_pattern_ = lu_.analyse(a);
      return;
    }
    const int n = a.columns;
    std::vector<std::pair<int, int>> places;
    places.reserve(static_cast<std::size_t>(n) + 2 * a.row.size());
    for (int j = 0; j < n; ++j) places.emplace_back(j, j);
    for (int j = 0; j < n; ++j)
      for (int k = a.start[j]; k < a.start[j + 1]; ++k) {
        places.emplace_back(n + a.row[k], j);
        places.emplace_back(j, n + a.row[k]);
      }
    augmented_ = make_pattern(n + a.rows, n + a.rows, places, &position_);
    regular_pattern_ = lu_.analyse(augmented_);
  }

  bool factorise(std::span<const double> values, std::span<const double> scale) {
    if (!regular_pattern_) return false;
    scale_.assign(scale.begin(), scale.end());
    scaled_.resize(values.size());
    std::ranges::fill(row_, 0.0);
    for (int j = 0; j < a_.columns; ++j)
      for (int k = a_.start[j]; k < a_.start[j + 1]; ++k) {
        scaled_[k] = values[k] * scale[j];
        row_[a_.row[k]] = std::max(row_[a_.row[k]], std::abs(scaled_[k]));
      }
    for (double& r : row_) r = 1.0 / power_of_two_near(r);
    for (std::size_t k = 0; k < scaled_.size(); ++k) scaled_[k] *= row_[a_.row[k]];
    bool regular = false;
    if (square_) {
      regular = lu_.factorise(scaled_);
    } else {
      full_.assign(augmented_.row.size(), 0.0);
      const auto n = static_cast<std::size_t>(a_.columns);
      for (std::size_t j = 0; j < n; ++j) full_[position_[j]] = -1.0;
      for (std::size_t k = 0; k < scaled_.size(); ++k)
        full_[position_[n + 2 * k]] = full_[position_[n + 2 * k + 1]] = scaled_[k];
      regular = lu_.factorise(full_);
    }
    // preference weights make the augmented matrix look ill-conditioned by themselves
    return regular && (!square_ || lu_.reciprocal_condition() > 1e-15);
  }

  // The scaled correction; multiply by the scale for the true one.
  std::vector<double> solve(std::span<const double> b) {
    std::vector<double> x;
    if (!square_) x.assign(static_cast<std::size_t>(a_.columns), 0.0);
    for (std::size_t i = 0; i < b.size(); ++i) x.push_back(b[i] * row_[i]);
    lu_.solve(x);
    x.resize(static_cast<std::size_t>(a_.columns));
    return x;
  }

 private:
  const SparsePattern& a_;
  bool square_, regular_pattern_ = false;
  SparsePattern augmented_;
  std::vector<int> position_;
  std::vector<double> row_, scale_, scaled_, full_;
  SparseLu lu_;
};

}  // namespace

/// Whether the conditions contain no derivative of which the array knows nothing.
bool StructuredArray::conditions_fit() const {
  if (!conditions_) return true;
  const SparsePattern& p = conditions_->derivative_pattern();
  for (int j = 0; j < n_; ++j)
    if (p.start[j] < p.start[j + 1] && analysis_.variable_offset[j] == 0) return false;
  return true;
}

StructuredResult StructuredArray::solve(double t, std::span<double> X, const StructuredOptions& options) {
  StructuredResult result;
  conditions_ = options.conditions;
  number_unknowns(options.fixed);
  build_pattern();
  const auto finish = [&] {
    evaluate(t, X, false);
    result.residual.assign(F_.begin(), F_.begin() + n_);
    result.finite = all_finite(result.residual);
  };
  const int rows = rows_ + extra();
  if (unknowns() < rows || !conditions_fit()) {
    result.singular = true;
    finish();
    return result;
  }
  MinimumNormSystem linear(pattern_, unknowns() == rows);
  std::vector<double> values(pattern_.row.size()), b(static_cast<std::size_t>(rows)), scale(columns_.size());
  const auto gather = [&] {
    for (int i = 0; i < n_; ++i)
      for (int l = 0; l <= analysis_.equation_offset[i]; ++l) b[row_start_[i] + l] = F_[l * n_ + i];
    std::copy_n(F_.end() - extra(), extra(), b.end() - extra());
  };
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    const auto& [j, q] = columns_[k];
    scale[k] = (options.scale.empty() ? 1.0 : options.scale[j]) * std::pow(options.time_scale, -q);
    if (q == 0 && !options.preference.empty()) scale[k] *= options.preference[j];
  }
  std::vector<double> start(X.size());
  bool polished = false;
  for (int iteration = 0; iteration <= options.iterations && !polished; ++iteration) {
    polished = result.converged;
    if (iteration == options.iterations && !polished) break;
    evaluate(t, X, true);
    result.finite = all_finite(F_) && all_finite(Fx_) && all_finite(Fxp_);
    if (!result.finite) break;
    gather();
    assemble(values);
    if (!linear.factorise(values, scale)) {
      result.singular = true;
      break;
    }
    const std::vector<double> step = linear.solve(b);
    const double length = norm(step);
    std::ranges::copy(X, start.begin());
    double damping = 1.0;
    for (int halving = 0;; ++halving, damping *= 0.5) {
      for (std::size_t k = 0; k < columns_.size(); ++k) {
        const std::size_t place = static_cast<std::size_t>(columns_[k].order * n_ + columns_[k].variable);
        X[place] = start[place] - damping * step[k] * scale[k];
      }
      evaluate(t, X, false);
      if (all_finite(F_)) {
        gather();
        if (polished || norm(linear.solve(b)) <= (1.0 - damping / 4.0) * length + 1e-15) break;
      }
      if (halving == 12) break;
    }
    double relative = 0.0;
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      const double value = X[static_cast<std::size_t>(columns_[k].order * n_ + columns_[k].variable)];
      relative = std::max(relative, damping * std::abs(step[k]) * scale[k] / (scale[k] + std::abs(value)));
    }
    ++result.iterations;
    result.corrections.push_back(length);
    result.step = damping * length;
    result.converged = polished || relative <= options.tolerance;
    polished |= relative <= 1e-15;
  }
  finish();
  return result;
}

std::optional<Matrix> StructuredArray::directions(double t, std::span<const double> X, std::span<const double> scale,
                                                  double time_scale) {
  conditions_ = nullptr;
  number_unknowns({});
  build_pattern();
  evaluate(t, X, true);
  if (!all_finite(Fx_) || !all_finite(Fxp_)) return std::nullopt;
  std::vector<double> values(pattern_.row.size());
  assemble(values);
  Matrix transposed(unknowns(), rows_);  // equations are columns here: the null space is what Q has beside their range
  for (int k = 0; k < unknowns(); ++k) {
    const auto& [j, q] = columns_[static_cast<std::size_t>(k)];
    const double unit = scale[static_cast<std::size_t>(j)] * std::pow(time_scale, -q);
    for (int e = pattern_.start[k]; e < pattern_.start[k + 1]; ++e)
      transposed(k, pattern_.row[e]) = values[static_cast<std::size_t>(e)] * unit;
  }
  for (int i = 0; i < rows_; ++i) {
    const std::span<double> row = transposed.column(i);
    const double size = norm(row);
    if (!(size > 0.0) || !std::isfinite(size)) return std::nullopt;
    for (double& entry : row) entry /= size;
  }
  const PivotedQr equations = pivoted_qr(transposed);
  if (const RankDecision rank = rank_gap(equations.pivots, unknowns(), 1.0);
      rank.rank != rows_ || rank.status != RankStatus::clear)
    return std::nullopt;
  const int freedom = unknowns() - rows_;
  Matrix of_values(n_, freedom);
  for (int k = 0; k < unknowns(); ++k)
    if (const auto& [j, q] = columns_[static_cast<std::size_t>(k)]; q == 0)
      for (int f = 0; f < freedom; ++f) of_values(j, f) = equations.Q(k, rows_ + f);
  const PivotedQr basis = pivoted_qr(of_values);
  if (const RankDecision rank = rank_gap(basis.pivots, unknowns(), 1.0);
      rank.rank != freedom || rank.status != RankStatus::clear)
    return std::nullopt;
  return columns(basis.Q, 0, freedom);
}

bool StructuredArray::extend(double t, int level, std::span<double> X) {
  const Structure& s = system_.structure();
  const SystemJacobian jacobian(s, analysis_);
  const auto n = static_cast<std::size_t>(n_);
  std::vector<double> Fx(s.state_pattern.row.size()), Fxp(s.derivative_pattern.row.size());
  std::vector<double> base(jacobian.pattern().row.size()), values(base.size()), F, b(n);
  system_.jacobian(t, X.first(n), X.subspan(n, n), Fx, Fxp);
  jacobian.assemble(Fx, Fxp, base);
  SparseLu lu;
  if (!lu.analyse(jacobian.pattern())) return false;
  const auto& c = analysis_.equation_offset;
  const auto& d = analysis_.variable_offset;
  const int smallest = n_ == 0 ? 0 : *std::ranges::min_element(d);
  const int stages = std::max(0, level + 1 - smallest), largest = n_ == 0 ? 0 : *std::ranges::max_element(d);
  // variables of higher order run ahead of what is asked for
  std::vector<double> Y(static_cast<std::size_t>(std::max({largest, level_ + 1, level + 1}) + stages + 1) * n, 0.0);
  for (int j = 0; j < n_; ++j)
    for (int q = 0; q <= d[j]; ++q) Y[static_cast<std::size_t>(q) * n + j] = X[static_cast<std::size_t>(q) * n + j];
  for (int stage = 1; stage <= stages; ++stage) {
    const int top = level_ + stage;  // highest coefficient of F that this stage needs
    F.resize(n * (static_cast<std::size_t>(top) + 1));
    system_.taylor(t, top, std::span(Y).first((static_cast<std::size_t>(top) + 2) * n), F);
    for (int i = 0; i < n_; ++i) b[i] = -F[static_cast<std::size_t>(c[i] + stage) * n + i];
    for (int j = 0; j < n_; ++j)
      for (int k = jacobian.pattern().start[j]; k < jacobian.pattern().start[j + 1]; ++k)
        values[k] = base[k] * (d[j] - c[jacobian.pattern().row[k]] == 1 ? d[j] + stage : 1);
    if (!lu.factorise(values)) return false;
    lu.solve(b);
    for (int j = 0; j < n_; ++j) Y[static_cast<std::size_t>(d[j] + stage) * n + j] = b[j];
  }
  std::copy_n(Y.begin(), X.size(), X.begin());
  return all_finite(X);
}

}  // namespace saltus
