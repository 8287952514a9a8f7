#include "flight/constrained_form.hpp"

#include <saltus/dae/staged_series.hpp>
#include <saltus/dae/structural_analysis.hpp>
#include <saltus/expr/derivative.hpp>
#include <saltus/program/staged_taylor.hpp>

#include <algorithm>
#include <cmath>

#include "model/recorded_code.hpp"

namespace saltus {

namespace {

using Rows = std::vector<std::vector<Expr>>;

bool is_zero(const Expr& e) {
  return e.is_constant() && e.constant_value() == 0.0;
}
/// Numbers that serve as pivots whatever the others are.
bool is_sound_number(const Expr& e) {
  constexpr double small = 1e-3, large = 1e3;
  if (!e.is_constant()) return false;
  const double size = std::abs(e.constant_value());
  return size >= small && size <= large;
}
/// a > b, evaluated where it stands: no guard.
BoolExpr exceeds(const Expr& a, const Expr& b) {
  const Expr difference = a - b;
  if (difference.is_constant()) return difference.constant_value() > 0.0;
  const auto& graph = difference.graph();
  return BoolExpr(Expr(graph, graph->make(Op::live_positive, difference.id())));
}
Expr larger(const Expr& a, const Expr& b) {
  return if_else(exceeds(b, a), b, a);
}
Expr square(const Expr& a) {
  return a * a;
}

/// The inverse of a small matrix of expressions, by Gauss-Jordan elimination. Pivots that are numbers, or that nothing
/// can take the place of, stand where they stand; elsewhere the largest entry of a column is chosen by comparisons,
/// which cost no branches.
class SymbolicInverse {
 public:
  explicit SymbolicInverse(Rows matrix) : n_(matrix.size()), a_(std::move(matrix)), scale_(n_, Expr(0.0)) {
    for (std::size_t i = 0; i < n_; ++i) {
      for (const Expr& entry : a_[i])
        if (!is_zero(entry)) scale_[i] = is_zero(scale_[i]) ? square(entry) : larger(scale_[i], square(entry));
      a_[i].resize(2 * n_, Expr(0.0));
      a_[i][n_ + i] = 1.0;
    }
    row_of_.assign(n_, n_);
    for (std::size_t k = 0; k < n_ && regular_; ++k) eliminate();
  }

  /// False: there is a column without entries.
  bool regular() const { return regular_; }
  /// Row j, column i.
  const Expr& operator()(std::size_t j, std::size_t i) const { return a_[row_of_[j]][n_ + i]; }
  const Expr& determinant() const { return determinant_; }
  /// The square of the smallest pivot, compared with those of the entries of its row before elimination.
  const Expr& smallest() const { return smallest_; }

 private:
  struct Pivot {
    std::size_t row, column;
  };

  bool row_is_free(std::size_t i) const { return std::ranges::find(row_of_, i) == row_of_.end(); }
  bool column_is_free(std::size_t j) const { return row_of_[j] == n_; }
  std::vector<std::size_t> rows_with(std::size_t j) const {
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < n_; ++i)
      if (row_is_free(i) && !is_zero(a_[i][j])) rows.push_back(i);
    return rows;
  }
  std::size_t entries_in(std::size_t i) const {
    std::size_t count = 0;
    for (std::size_t j = 0; j < n_; ++j) count += column_is_free(j) && !is_zero(a_[i][j]);
    return count;
  }

  /// A pivot that needs no comparison, with the least fill.
  std::optional<Pivot> fixed_pivot() const {
    std::optional<Pivot> best;
    std::size_t least = 0;
    for (std::size_t j = 0; j < n_; ++j) {
      if (!column_is_free(j)) continue;
      const std::vector<std::size_t> rows = rows_with(j);
      for (const std::size_t i : rows) {
        const std::size_t in_row = entries_in(i);
        if (!is_sound_number(a_[i][j]) && rows.size() > 1 && in_row > 1) continue;
        const std::size_t fill = (rows.size() - 1) * (in_row - 1);
        if (best && fill >= least) continue;
        best = {i, j};
        least = fill;
      }
    }
    return best;
  }

  /// Moves the largest entry of the column with the fewest into one row.
  std::optional<Pivot> chosen_pivot() {
    std::vector<std::size_t> rows;
    std::size_t column = n_;
    for (std::size_t j = 0; j < n_; ++j) {
      if (!column_is_free(j)) continue;
      std::vector<std::size_t> these = rows_with(j);
      if (column < n_ && these.size() >= rows.size()) continue;
      rows = std::move(these);
      column = j;
    }
    if (rows.empty()) return std::nullopt;
    const std::size_t first = rows.front();
    for (std::size_t k = 1; k < rows.size(); ++k) {
      std::vector<Expr>&a = a_[first], &b = a_[rows[k]];
      const BoolExpr other = exceeds(square(b[column]), square(a[column]));
      for (std::size_t j = 0; j < 2 * n_; ++j) {
        if (j < n_ && !column_is_free(j)) continue;
        if (is_zero(a[j]) && is_zero(b[j])) continue;
        const Expr up = if_else(other, b[j], a[j]), down = if_else(other, a[j], b[j]);
        a[j] = up;
        b[j] = down;
      }
      const Expr up = if_else(other, scale_[rows[k]], scale_[first]),
                 down = if_else(other, scale_[first], scale_[rows[k]]);
      scale_[first] = up;
      scale_[rows[k]] = down;
      determinant_ = if_else(other, -determinant_, determinant_);
    }
    return Pivot{first, column};
  }

  void eliminate() {
    std::optional<Pivot> pivot = fixed_pivot();
    if (!pivot) pivot = chosen_pivot();
    regular_ = pivot.has_value();
    if (!pivot) return;
    const auto [row, column] = *pivot;
    const Expr value = a_[row][column];
    determinant_ = determinant_ * value;
    if (!is_sound_number(value)) {
      const Expr ratio = square(value) / scale_[row];
      smallest_ = has_smallest_ ? -larger(-smallest_, -ratio) : ratio;
      has_smallest_ = true;
    }
    row_of_[column] = row;
    const Expr inverse = 1.0 / value;
    const auto counts = [&](std::size_t j) { return j >= n_ || column_is_free(j); };
    for (std::size_t j = 0; j < 2 * n_; ++j)
      if (counts(j) && !is_zero(a_[row][j])) a_[row][j] = a_[row][j] * inverse;
    for (std::size_t i = 0; i < n_; ++i) {
      const Expr factor = a_[i][column];
      if (i == row || is_zero(factor)) continue;
      for (std::size_t j = 0; j < 2 * n_; ++j)
        if (counts(j) && !is_zero(a_[row][j])) a_[i][j] = a_[i][j] - factor * a_[row][j];
    }
  }

  std::size_t n_;
  Rows a_;                           // beside it what becomes the inverse
  std::vector<Expr> scale_;          // of rows: the square of their largest entry at first
  std::vector<std::size_t> row_of_;  // by column: the row of its pivot
  Expr determinant_ = 1.0, smallest_ = 1.0;
  bool regular_ = true, has_smallest_ = false;
};

}  // namespace

struct ConstrainedMode::Parts {
  StagedTaylor stages;
  std::vector<std::pair<int, int>> in_state, in_derivative;  // places of the system Jacobian in F_x, in F_x'
  std::size_t n = 0;
};

std::optional<ConstrainedMode> ConstrainedMode::find(const RecordedSystem& system, std::string& why) {
  constexpr int most = 12;  // variables: beyond it, factors are better than an inverse in line
  const Structure& s = system.structure();
  const auto none = [&](const char* reason) {
    why = reason;
    return std::nullopt;
  };
  if (s.equations != s.variables || s.variables == 0) return none("it has not as many equations as variables");
  if (s.variables > most) return none("it has constraints and more than 12 variables");
  if (!s.taylor) return none("there is external code");
  if (!system.structural_data().empty()) return none("its structure depends on parameters");
  const StructuralAnalysis analysis = analyse_structure(s);
  if (analysis.singular()) return none("its equations are singular by their structure");

  const RecordedEquations& eq = system.equations();
  std::vector<double> data = system.data(), locks(system.locks().begin(), system.locks().end());
  constexpr double some_number = 0.7317;  // for one that is zero now and need not be so in another run
  for (double& value : data)
    if (value == 0.0) value = some_number;
  for (std::size_t k = 0; k < locks.size(); ++k) {
    if (info(eq.locks[k].graph()->node(eq.locks[k].id()).op).kind != OpKind::rounding) continue;
    if (std::ranges::find(system.structural_locks(), static_cast<int>(k)) != system.structural_locks().end())
      return none("its structure depends on a rounded number");
    if (locks[k] == 0.0) locks[k] = 1.0;
  }
  Parts parts{StagedTaylor(system.code().residual_series()), {}, {}, static_cast<std::size_t>(s.variables)};
  const std::span<const double> constants[] = {data, locks};
  ConstrainedShape shape{analysis.equation_offset, analysis.variable_offset, {}};
  if (!parts.stages.prepare(shape.c, shape.d, constants)) return none("terms of its equations cancel");
  shape.choices = parts.stages.choices();
  const auto collect = [&](const SparsePattern& p, int difference, std::vector<std::pair<int, int>>& places) {
    for (int j = 0; j < s.variables; ++j)
      for (int k = p.start[j]; k < p.start[j + 1]; ++k)
        if (shape.d[static_cast<std::size_t>(j)] - shape.c[static_cast<std::size_t>(p.row[k])] == difference)
          places.emplace_back(p.row[k], j);
  };
  collect(s.state_pattern, 0, parts.in_state);
  collect(s.derivative_pattern, 1, parts.in_derivative);
  return ConstrainedMode(std::make_shared<const Parts>(std::move(parts)), std::move(shape));
}

namespace {

/// The system Jacobian.
Rows matrix_of(const RecordedEquations& eq, const std::vector<std::pair<int, int>>& in_state,
               const std::vector<std::pair<int, int>>& in_derivative) {
  const std::size_t n = eq.variables.size();
  Rows J(n, std::vector<Expr>(n, Expr(0.0)));
  const auto add = [&](const std::vector<std::pair<int, int>>& places, bool slopes) {
    for (const auto& [i, j] : places) {
      const auto row = static_cast<std::size_t>(i), column = static_cast<std::size_t>(j);
      const Expr& variable = eq.variables[column];
      J[row][column] = derivative(eq.equations[row], slopes ? der(variable) : variable);
    }
  };
  add(in_state, false);
  add(in_derivative, true);
  return J;
}

bool has_derivatives(const Rows& matrix) {
  return std::ranges::any_of(matrix, [](const auto& row) { return !symbols_of(row, SymbolKind::derivative).empty(); });
}

StagedTaylor::Symbols symbols_for(const RecordedEquations& eq, const SymbolicInverse& inverse, std::size_t deepest) {
  const std::size_t n = eq.variables.size();
  const auto& graph = eq.variables.front().graph();
  const Expr time = eq.time.is_symbol() ? eq.time : Expr(graph, graph->symbol("time", SymbolKind::time));
  StagedTaylor::Symbols s{
      .time = time, .X = eq.variables, .inverse = {}, .constants = {eq.data, eq.locks}, .factor = &stage_factor};
  s.X.resize(n * (deepest + 1), Expr(0.0));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) s.inverse.push_back(inverse(j, i));
  return s;
}

}  // namespace

std::optional<ConstrainedForm> ConstrainedMode::make(const RecordedEquations& eq, std::string& why) const {
  const std::size_t n = parts_->n;
  const Rows J = matrix_of(eq, parts_->in_state, parts_->in_derivative);
  if (has_derivatives(J)) {
    why = "derivatives occur nonlinearly";
    return std::nullopt;
  }
  const SymbolicInverse inverse(J);
  if (!inverse.regular()) {
    why = "its system Jacobian is singular";
    return std::nullopt;
  }
  const auto deepest = static_cast<std::size_t>(*std::ranges::max_element(shape_.d));
  StagedTaylor::Symbols s = symbols_for(eq, inverse, deepest);
  s.X = parts_->stages.record_correction(s);
  ConstrainedForm form;
  form.projected.assign(s.X.begin(), s.X.begin() + static_cast<std::ptrdiff_t>(n));
  form.slopes = parts_->stages.record_extension(s, 1);
  form.slopes.resize(n);
  constexpr double singular = certificate_threshold * certificate_threshold;  // of squares
  form.regularity = inverse.smallest() / if_else(exceeds(inverse.smallest(), singular), Expr(1.0), Expr(0.0));
  form.determinant = inverse.determinant();
  return form;
}

std::vector<Expr> ConstrainedMode::projection_holding(const RecordedEquations& eq, const std::vector<int>& held) const {
  const std::size_t n = parts_->n;
  const Rows J = matrix_of(eq, parts_->in_state, parts_->in_derivative);
  const SymbolicInverse inverse(J);
  const int deepest = *std::ranges::max_element(shape_.d);
  std::vector<std::vector<Expr>> inverses(static_cast<std::size_t>(deepest) + 1);
  bool moves = false;  // what follows is not consistent any more
  for (int stage = -deepest; stage < 0; ++stage) {
    std::vector<std::size_t> rows, columns, kept;
    for (std::size_t i = 0; i < n; ++i)
      if (shape_.c[i] + stage >= 0) rows.push_back(i);
    for (std::size_t j = 0; j < n; ++j) {
      const bool occurs = std::ranges::any_of(rows, [&](std::size_t i) { return !is_zero(J[i][j]); });
      if (shape_.d[j] + stage < 0 || !occurs) continue;  // nothing moves it at this stage
      const bool stays = shape_.d[j] + stage == 0 && std::ranges::find(held, static_cast<int>(j)) != held.end();
      (stays ? kept : columns).push_back(j);
    }
    if (kept.empty()) {
      const auto is_state = [&](std::size_t j) { return shape_.d[j] + stage == 0; };
      if (moves && std::ranges::any_of(columns, is_state)) return {};  // the constraints alone do not say which stay
      continue;
    }
    moves = true;
    if (rows.size() != columns.size()) return {};
    Rows part(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (const std::size_t j : columns) part[i].push_back(J[rows[i]][j]);
    const SymbolicInverse own(part);
    if (!own.regular()) return {};
    std::vector<Expr>& list = inverses[static_cast<std::size_t>(deepest + stage)];
    list.assign(n * n, Expr(0.0));
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t j = 0; j < columns.size(); ++j) list[rows[i] * n + columns[j]] = own(j, i);
  }
  if (!moves) return {};
  const StagedTaylor::Symbols s = symbols_for(eq, inverse, static_cast<std::size_t>(deepest));
  std::vector<Expr> X = parts_->stages.record_correction(s, inverses);
  X.resize(n);
  return X;
}

}  // namespace saltus
