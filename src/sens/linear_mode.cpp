#include "sens/linear_mode.hpp"

#include <fmt/format.h>
#include <saltus/dae/structural_analysis.hpp>
#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <cmath>

#include "model/rehome.hpp"

namespace saltus {

namespace {

using ExprLists = std::vector<std::vector<Expr>>;
/// Up to this size dense factors are faster than sparse ones.
constexpr std::size_t largest_dense = 40;

}  // namespace

LinearMode::LinearMode(const RecordedSystem& system) : explicit_(system.structure().explicit_ode) {
  graph_ = system.equations().variables.front().graph()->clone();
  RecordedEquations eq = system.equations();
  rehome(eq, graph_);
  time_ = eq.time.is_symbol() ? eq.time : Expr(graph_, graph_->symbol("time", SymbolKind::time));
  x_ = eq.variables;
  data_ = eq.data;
  locks_ = eq.locks;
  std::vector<Expr> equations = eq.equations;
  std::vector<int> offsets(equations.size(), 0), highest(x_.size(), 1);
  if (explicit_) {
    equations = system.right_hand_sides();
    rehome(equations, graph_);
    for (std::size_t j = 0; j < x_.size(); ++j) equations[j] = der(x_[j]) - equations[j];
  } else {
    const StructuralAnalysis analysis = analyse_structure(system.structure());
    if (analysis.singular()) {
      why_ = "the equations of the mode are structurally singular: " + describe_singularity(analysis, system);
      return;
    }
    offsets = analysis.equation_offset;
    highest = analysis.variable_offset;
  }
  hidden_ = std::ranges::any_of(offsets, [](int c) { return c > 0; });
  find_unknowns(system, highest);
  // along a solution each unknown becomes the next one
  symbols_ = {time_};
  along_ = {Expr(1.0)};
  for (std::size_t j = 0; j < x_.size(); ++j)
    for (int k = 0; k < highest_[j]; ++k) {
      symbols_.push_back(z_[static_cast<std::size_t>(first_[j] + k)]);
      along_.push_back(z_[static_cast<std::size_t>(first_[j] + k + 1)]);
    }
  std::vector<Expr> rows;
  for (std::size_t i = 0; i < equations.size(); ++i) {
    Expr row = equations[i];
    rows.push_back(row);
    for (int k = 0; k < offsets[i]; ++k) {
      row = directional_derivative(std::span(&row, 1), symbols_, along_).front();
      rows.push_back(row);
    }
  }
  rows_ = rows.size();
  std::vector<Expr> all = z_;
  all.insert(all.end(), data_.begin(), data_.end());
  all.push_back(time_);
  std::vector<Expr> E, D, T;
  const int unknowns = static_cast<int>(z_.size()), time = unknowns + static_cast<int>(data_.size());
  for (const auto& entry : jacobian(rows, all).entries) {
    if (entry.column < unknowns) {
      E_.push_back({entry.row, entry.column});
      E.push_back(entry.value);
    } else if (entry.column < time) {
      D_.push_back({entry.row, entry.column - unknowns});
      D.push_back(entry.value);
    } else {
      T_.push_back(entry.row);
      T.push_back(entry.value);
    }
  }
  D.insert(D.end(), T.begin(), T.end());
  const ExprLists inputs{{time_}, z_, data_, locks_};
  residuals_ = Program(inputs, ExprLists{rows});
  by_unknowns_ = Program(inputs, ExprLists{E});
  by_data_ = Program(inputs, ExprLists{D});
}

void LinearMode::find_unknowns(const RecordedSystem& system, const std::vector<int>& highest) {
  highest_ = highest;
  for (std::size_t j = 0; j < x_.size(); ++j) {
    first_.push_back(static_cast<int>(z_.size()));
    const double size = system.nominal(static_cast<int>(j));
    if (highest[j] > 0) candidates_.push_back(static_cast<int>(j));
    for (int k = 0; k <= highest[j]; ++k) {
      z_.push_back(
          k == 0   ? x_[j]
          : k == 1 ? der(x_[j])
                   : Expr(graph_, graph_->symbol(fmt::format("der({}, {})", x_[j].name(), k), SymbolKind::parameter)));
      nominal_.push_back(size);
    }
  }
}

int LinearMode::place(std::size_t variable, int order) const {
  return order <= highest_[variable] ? first_[variable] + order : -1;
}

Gradient LinearMode::gradient(Expr f) const {
  rehome(f, graph_);
  return {f, {{time_}, z_, data_}, locks_};
}

Gradient LinearMode::speed(Expr f) const {
  rehome(f, graph_);
  return {directional_derivative(std::span(&f, 1), symbols_, along_).front(), {{time_}, z_, data_}, locks_};
}

std::size_t LinearMode::variable_of(std::size_t unknown) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(first_, static_cast<int>(unknown)) - first_.begin()) - 1;
}

bool LinearMode::reads_data(std::size_t place) const {
  return std::ranges::any_of(D_, [&](const Entry& e) { return e.column == static_cast<int>(place); });
}

LinearPoint::LinearPoint(std::shared_ptr<const LinearMode> mode, std::vector<double> data, std::vector<double> locks)
    : mode_(std::move(mode)),
      data_(std::move(data)),
      locks_(std::move(locks)),
      z_(mode_->unknowns(), 0.0),
      residual_(mode_->rows_),
      e_(mode_->E_.size()),
      data_values_(mode_->D_.size() + mode_->T_.size()),
      residual_work_(mode_->residuals_.workspace()),
      e_work_(mode_->by_unknowns_.workspace()),
      data_work_(mode_->by_data_.workspace()) {
  if (mode_->hidden_) return;
  held_ = mode_->candidates_;
  set_free();
}

void LinearPoint::evaluate(const Program& program, std::span<double> values, Workspace& work) const {
  const double* const in[] = {&t_, z_.data(), data_.data(), locks_.data()};
  double* const out[] = {values.data()};
  program(in, out, work);
}

bool LinearPoint::evaluate_residual() {
  evaluate(mode_->residuals_, residual_, residual_work_);
  return std::ranges::all_of(residual_, [](double v) { return std::isfinite(v); });
}

bool LinearPoint::evaluate_equations() {
  evaluate(mode_->by_unknowns_, e_, e_work_);
  data_current_ = false;
  slopes_current_ = !mode_->explicit_;
  return std::ranges::all_of(e_, [](double v) { return std::isfinite(v); });
}

/// In explicit modes the derivatives are evaluated when they are first asked for: the residual is x' - f.
const std::vector<double>& LinearPoint::z() const {
  if (slopes_current_) return z_;
  evaluate(mode_->residuals_, residual_, residual_work_);
  for (std::size_t i = 0; i < mode_->rows_; ++i) z_[2 * i + 1] -= residual_[i];
  slopes_current_ = true;
  return z_;
}

std::span<const double> LinearPoint::data_values() const {
  if (!data_current_) evaluate(mode_->by_data_, data_values_, data_work_);
  data_current_ = true;
  return data_values_;
}

void LinearPoint::evaluate(Gradient& gradient) const {
  const double* const in[] = {&t_, z().data(), data_.data(), locks_.data()};
  gradient.evaluate(in);
}

/// What follows from the choice of the held variables.
void LinearPoint::set_free() {
  const std::size_t unknowns = mode_->unknowns();
  factors_ = false;
  held_place_.assign(unknowns, -1);
  free_place_.assign(unknowns, -1);
  free_.clear();
  for (std::size_t k = 0; k < held_.size(); ++k)
    held_place_[static_cast<std::size_t>(mode_->first_[static_cast<std::size_t>(held_[k])])] = static_cast<int>(k);
  for (std::size_t c = 0; c < unknowns; ++c)
    if (held_place_[c] < 0) {
      free_place_[c] = static_cast<int>(free_.size());
      free_.push_back(static_cast<int>(c));
    }
  std::vector<std::pair<int, int>> places;
  sources_.clear();
  explicit_entries_.clear();
  explicit_values_.clear();
  for (std::size_t e = 0; e < mode_->E_.size(); ++e) {
    const auto& [row, column] = mode_->E_[e];
    if (const int place = free_place_[static_cast<std::size_t>(column)]; place >= 0) {
      places.emplace_back(row, place);
      sources_.push_back(static_cast<int>(e));
    } else {
      explicit_entries_.emplace_back(row, held_place_[static_cast<std::size_t>(column)]);
      explicit_values_.push_back(static_cast<int>(e));
    }
  }
  if (mode_->explicit_) return;
  sparse_ = free_.size() > largest_dense;
  if (!sparse_) {
    for (std::size_t k = 0; k < sources_.size(); ++k)
      places[k].first += places[k].second * static_cast<int>(mode_->rows_);
    pattern_ = {};
    pattern_.row.clear();
    for (const auto& place : places) pattern_.row.push_back(place.first);  // in the dense matrix
    return;
  }
  std::vector<int> position;
  pattern_ = make_pattern(static_cast<int>(mode_->rows_), static_cast<int>(free_.size()), places, &position);
  std::vector<int> sorted(sources_.size());
  for (std::size_t k = 0; k < sources_.size(); ++k) sorted[static_cast<std::size_t>(position[k])] = sources_[k];
  sources_ = std::move(sorted);
  klu_.analyse(pattern_);
}

bool LinearPoint::factorise() {
  if (mode_->explicit_) return true;
  factors_ = false;
  if (free_.size() != mode_->rows_) return false;
  const std::span<const double> entries = E();
  if (sparse_) {
    matrix_.resize(sources_.size());
    for (std::size_t k = 0; k < sources_.size(); ++k) matrix_[k] = entries[static_cast<std::size_t>(sources_[k])];
    return factors_ = klu_.factorise(matrix_);
  }
  matrix_.assign(mode_->rows_ * mode_->rows_, 0.0);
  for (std::size_t k = 0; k < sources_.size(); ++k)
    matrix_[static_cast<std::size_t>(pattern_.row[k])] = entries[static_cast<std::size_t>(sources_[k])];
  return factors_ = dense_.factorise(static_cast<int>(mode_->rows_), matrix_);
}

void LinearPoint::solve(std::span<double> b) const {
  if (mode_->explicit_) return;
  if (sparse_)
    klu_.solve(b);
  else
    dense_.solve(b);
}

void LinearPoint::solve_transposed(std::span<double> b) const {
  if (mode_->explicit_) return;
  if (sparse_)
    klu_.solve_transposed(b);
  else
    dense_.solve_transposed(b);
}

double LinearPoint::condition() const {
  return mode_->hidden_ && !sparse_ ? dense_.reciprocal_condition() : 1.0;
}

int LinearPoint::orientation() const {
  if (!mode_->hidden_ || sparse_) return 1;
  std::vector<double> a = matrix_;
  const std::size_t n = mode_->rows_;
  int sign = 1;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(a[k * n + i]) > std::abs(a[k * n + pivot])) pivot = i;
    const double divisor = a[k * n + pivot];
    if (divisor == 0.0) return 0;
    if (pivot != k) sign = -sign;
    if (divisor < 0.0) sign = -sign;
    for (std::size_t j = k; j < n; ++j) {
      std::swap(a[j * n + k], a[j * n + pivot]);
      const double factor = a[j * n + k] / divisor;
      for (std::size_t i = k + 1; i < n && j > k; ++i) a[j * n + i] -= a[k * n + i] * factor;
    }
  }
  return sign;
}

void LinearPoint::set_values(std::vector<double> data, std::vector<double> locks) {
  data_ = std::move(data);
  locks_ = std::move(locks);
  data_current_ = factors_ = false;
}

void LinearPoint::guess(double t, std::span<const double> x, std::span<const double> xp) {
  t_ = t;
  for (std::size_t j = 0; j < mode_->variables(); ++j) {
    if (j < x.size()) z_[static_cast<std::size_t>(mode_->first_[j])] = x[j];
    if (j < xp.size() && mode_->highest_[j] > 0) z_[static_cast<std::size_t>(mode_->first_[j]) + 1] = xp[j];
  }
}

/// Newton's method with factors of a point nearby, as long as they serve: each step makes the next one ten times
/// smaller at least.
bool LinearPoint::solve_for_free() {
  constexpr int most = 20;
  constexpr double precision = 1e-13, slow = 0.1;
  double last = std::numeric_limits<double>::infinity();
  bool fresh = false;
  for (int iteration = 0; iteration < most; ++iteration) {
    if (!factors_) {
      if (!evaluate_equations() || !factorise()) return false;
      fresh = true;
    }
    if (!evaluate_residual()) return false;
    std::vector<double> step = residual_;
    solve(step);
    double size = 0.0;
    for (std::size_t k = 0; k < free_.size(); ++k) {
      const auto c = static_cast<std::size_t>(free_[k]);
      size = std::max(size, std::abs(step[k]) / (std::abs(z_[c]) + mode_->nominal_[c]));
    }
    if (!std::isfinite(size)) return false;
    // (old factors that do not serve take no step)
    if (!fresh && size > 1e-9 && (size > slow * last || (iteration == 0 && size > 1e-2))) {
      factors_ = false;
      continue;
    }
    for (std::size_t k = 0; k < free_.size(); ++k) z_[static_cast<std::size_t>(free_[k])] -= step[k];
    if (size <= precision || (size <= 1e-9 && size >= 0.5 * last)) return true;
    // the error behind this step is about size^2/last
    if (std::isfinite(last) && size < slow * last && size * (size / last) <= precision) return true;
    if (fresh && size > 1e-3) factors_ = false;
    fresh = false;
    last = size;
  }
  return false;
}

bool LinearPoint::pass(double t, std::span<const double> x, std::span<const double> xp) {
  guess(t, x, xp);
  return solve_for_free() && evaluate_equations();
}

bool LinearPoint::move(double t, std::span<const double> x, std::span<const double> xp) {
  guess(t, x, xp);
  if (mode_->explicit_) return evaluate_equations();
  if (held_.empty() && mode_->hidden_ && !(evaluate_equations() && choose_held())) return false;
  return solve_for_free() && evaluate_equations() && factorise();
}

/// Gaussian elimination with complete pivoting: derivatives and algebraic variables first, which always follow, then as
/// many of the differentiated variables as there are equations left. The others are held.
bool LinearPoint::choose_held() {
  if (!mode_->hidden_) return true;
  const std::size_t rows = mode_->rows_, unknowns = mode_->unknowns();
  std::vector<std::vector<double>> a(rows, std::vector<double>(unknowns, 0.0));
  const std::span<const double> entries = E();
  for (std::size_t e = 0; e < entries.size(); ++e)
    a[static_cast<std::size_t>(mode_->E_[e].row)][static_cast<std::size_t>(mode_->E_[e].column)] +=
        entries[e] * mode_->nominal_[static_cast<std::size_t>(mode_->E_[e].column)];
  for (std::vector<double>& row : a) {
    double largest = 0.0;
    for (const double v : row) largest = std::max(largest, std::abs(v));
    if (largest > 0.0)
      for (double& v : row) v /= largest;
  }
  std::vector<char> used_row(rows, 0), used(unknowns, 0), candidate(unknowns, 0);
  for (const int j : mode_->candidates_)
    candidate[static_cast<std::size_t>(mode_->first_[static_cast<std::size_t>(j)])] = 1;
  for (std::size_t done = 0; done < rows; ++done) {
    std::size_t best_row = 0, best = 0;
    double largest = 0.0;
    for (const char wanted : {char{0}, char{1}}) {
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t c = 0; c < unknowns && !used_row[i]; ++c)
          if (!used[c] && candidate[c] == wanted && std::abs(a[i][c]) > largest) {
            largest = std::abs(a[i][c]);
            best_row = i;
            best = c;
          }
      if (largest > 1e-10) break;
    }
    if (!(largest > 1e-10)) return false;
    used_row[best_row] = used[best] = 1;
    for (std::size_t i = 0; i < rows; ++i) {
      if (used_row[i] || a[i][best] == 0.0) continue;
      const double factor = a[i][best] / a[best_row][best];
      for (std::size_t c = 0; c < unknowns; ++c) a[i][c] -= factor * a[best_row][c];
    }
  }
  std::vector<int> held;
  for (const int j : mode_->candidates_)
    if (!used[static_cast<std::size_t>(mode_->first_[static_cast<std::size_t>(j)])]) held.push_back(j);
  return hold(held);
}

void LinearPoint::set_held(std::vector<int> variables) {
  std::ranges::sort(variables);
  if (variables == held_ && !free_.empty()) return;
  held_ = std::move(variables);
  set_free();
}

bool LinearPoint::hold(const std::vector<int>& variables) {
  set_held(variables);
  return factorise();
}

double LinearPoint::value(std::size_t variable, int order) const {
  const int place = mode_->place(variable, order);
  return place >= 0 ? z()[static_cast<std::size_t>(place)] : 0.0;
}

std::vector<double> LinearPoint::rates() const {
  std::vector<double> held;
  for (const int j : held_) held.push_back(value(static_cast<std::size_t>(j), 1));
  return push(held, {}, 1.0);
}

std::vector<double> LinearPoint::push(std::span<const double> held, std::span<const double> data, double time) const {
  std::vector<double> b(mode_->rows_, 0.0);
  const std::span<const double> e = E(), d = D(), t = T();
  for (std::size_t k = 0; k < explicit_entries_.size(); ++k)
    b[static_cast<std::size_t>(explicit_entries_[k].first)] -=
        e[static_cast<std::size_t>(explicit_values_[k])] * held[static_cast<std::size_t>(explicit_entries_[k].second)];
  if (!data.empty())
    for (std::size_t k = 0; k < d.size(); ++k)
      b[static_cast<std::size_t>(mode_->D_[k].row)] -= d[k] * data[static_cast<std::size_t>(mode_->D_[k].column)];
  for (std::size_t k = 0; k < t.size(); ++k) b[static_cast<std::size_t>(mode_->T_[k])] -= t[k] * time;
  solve(b);
  std::vector<double> dz(mode_->unknowns());
  for (std::size_t c = 0; c < dz.size(); ++c)
    dz[c] = held_place_[c] >= 0 ? held[static_cast<std::size_t>(held_place_[c])]
                                : b[static_cast<std::size_t>(free_place_[c])];
  return dz;
}

/// G^{-T} applied to the part of the function that is not held.
std::vector<double> LinearPoint::multipliers(std::span<const double> function) const {
  std::vector<double> w(mode_->rows_);
  for (std::size_t k = 0; k < free_.size(); ++k) w[k] = function[static_cast<std::size_t>(free_[k])];
  solve_transposed(w);
  return w;
}

void LinearPoint::add_held(std::span<const double> function, std::span<const double> w, std::span<double> held) const {
  const std::span<const double> e = E();
  for (std::size_t k = 0; k < held_.size(); ++k)
    held[k] += function[static_cast<std::size_t>(mode_->first_[static_cast<std::size_t>(held_[k])])];
  for (std::size_t k = 0; k < explicit_entries_.size(); ++k)
    held[static_cast<std::size_t>(explicit_entries_[k].second)] -=
        e[static_cast<std::size_t>(explicit_values_[k])] * w[static_cast<std::size_t>(explicit_entries_[k].first)];
}

void LinearPoint::pull_held(std::span<const double> function, std::span<double> held) const {
  add_held(function, multipliers(function), held);
}

void LinearPoint::add_data_of_equations(std::span<const double> w, std::span<double> data) const {
  const std::span<const double> d = D();
  for (std::size_t k = 0; k < d.size(); ++k)
    data[static_cast<std::size_t>(mode_->D_[k].column)] -= d[k] * w[static_cast<std::size_t>(mode_->D_[k].row)];
}

void LinearPoint::pull_data(std::span<const double> function, std::span<double> data) const {
  add_data_of_equations(multipliers(function), data);
}

void LinearPoint::pull(std::span<const double> function, Covector& out) const {
  const std::vector<double> w = multipliers(function);
  const std::span<const double> t = T();
  add_held(function, w, out.held);
  add_data_of_equations(w, out.data);
  for (std::size_t k = 0; k < t.size(); ++k) out.time -= t[k] * w[static_cast<std::size_t>(mode_->T_[k])];
}

void LinearPoint::add_equations(std::span<double> matrix, std::size_t stride) const {
  const std::span<const double> e = E();
  for (std::size_t k = 0; k < e.size(); ++k)
    matrix[static_cast<std::size_t>(mode_->E_[k].column) * stride + static_cast<std::size_t>(mode_->E_[k].row)] += e[k];
}

Covector LinearPoint::covector() const {
  return {std::vector<double>(held_.size(), 0.0), std::vector<double>(data_.size(), 0.0), 0.0};
}

}  // namespace saltus
