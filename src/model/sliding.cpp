// One surface: Filippov's and Utkin's field (Piiroinen and Kuznetsov 2008, equations (9)-(10)). Several surfaces with additive
// fields: one linear system (their equation (23)). Both are d/dt g_i = b_i + sum_j A_ij w_j = 0, solved here symbolically, so that the
// sliding mode is an explicit system with Taylor coefficients, exact derivatives and native code like any other.
#include "model/sliding.hpp"

#include <saltus/expr/derivative.hpp>

#include "model/resting_field.hpp"

#include <algorithm>
#include <cmath>

namespace saltus {

// Pivots: the largest constant if there is one, otherwise the first entry that is not identically zero.
std::optional<std::vector<Expr>> solve(std::vector<std::vector<Expr>> A, std::vector<Expr> b) {
  const std::size_t p = b.size();
  const auto is_zero = [](const Expr& e) { return e.is_constant() && e.constant_value() == 0.0; };
  const auto rank = [&](const Expr& e) { return is_zero(e) ? 0.0 : e.is_constant() ? 2.0 + std::abs(e.constant_value()) : 1.0; };
  for (std::size_t k = 0; k < p; ++k) {
    std::size_t best = k;
    for (std::size_t i = k + 1; i < p; ++i)
      if (rank(A[i][k]) > rank(A[best][k])) best = i;
    if (is_zero(A[best][k])) return std::nullopt;
    std::swap(A[k], A[best]);
    std::swap(b[k], b[best]);
    for (std::size_t i = k + 1; i < p; ++i) {
      if (is_zero(A[i][k])) continue;
      const Expr factor = A[i][k] / A[k][k];
      for (std::size_t j = k + 1; j < p; ++j) A[i][j] -= factor * A[k][j];
      b[i] -= factor * b[k];
    }
  }
  for (std::size_t k = p; k-- > 0;) {
    for (std::size_t j = k + 1; j < p; ++j) b[k] -= A[k][j] * b[j];
    b[k] /= A[k][k];
  }
  return b;
}

namespace {

/// Surfaces whose speed does not depend on the weights, because it is another surface: of the equations A w = b theirs are empty, and hold. If each
/// weight stands in one of the others, that one alone, sum A_j w_j = b, is solved by the weights that are nearest to 1/2 in the largest of their
/// distances: w_j = 1/2 + sign(A_j) (b - sum A_j/2) / sum |A_j|. Empty if there are no such surfaces.
std::optional<std::vector<Expr>> middle_solution(std::span<const Expr> functions, std::span<const Expr> speed,
                                                 const std::vector<std::vector<Expr>>& A, std::span<const Expr> b) {
  const std::size_t p = functions.size();
  const auto is_zero = [](const Expr& e) { return e.is_constant() && e.constant_value() == 0.0; };
  const auto size = [](const Expr& e) { return e.is_constant() ? Expr(std::abs(e.constant_value())) : sqrt(e * e); };
  std::vector<int> row_of(p, -1);  // by weight
  bool any_empty = false;
  for (std::size_t i = 0; i < p; ++i) {
    if (std::all_of(A[i].begin(), A[i].end(), is_zero)) {
      if (std::none_of(functions.begin(), functions.end(), [&](const Expr& g) { return g.same(speed[i]) || g.same(-speed[i]); })) return std::nullopt;
      any_empty = true;
    }
    for (std::size_t j = 0; j < p; ++j) {
      if (is_zero(A[i][j])) continue;
      if (row_of[j] >= 0) return std::nullopt;
      row_of[j] = static_cast<int>(i);
    }
  }
  if (!any_empty || std::find(row_of.begin(), row_of.end(), -1) != row_of.end()) return std::nullopt;
  std::vector<Expr> w;
  for (std::size_t j = 0; j < p; ++j) {
    const auto i = static_cast<std::size_t>(row_of[j]);
    Expr left = b[i], total = 0.0;
    for (const Expr& a : A[i]) {
      if (is_zero(a)) continue;
      left -= 0.5 * a;
      total += size(a);
    }
    w.push_back(0.5 + A[i][j] / size(A[i][j]) * left / total);
  }
  return w;
}

}  // namespace

SlidingField sliding_field(const Expr& time, std::span<const Expr> variables, std::span<const Expr> rhs,
                           std::span<const SlidingSurface> surfaces, std::span<const Expr> all_locks) {
  const auto graph = common_graph(variables);
  SlidingField field;
  std::vector<Expr> symbols;
  for (const SlidingSurface& s : surfaces) {
    symbols.emplace_back(graph, graph->symbol("weight", SymbolKind::variable));
    for (std::size_t i = 0; i < s.locks.size(); ++i) field.lock_weights.emplace_back(s.locks[i], s.weight_of(i, symbols.back()));
  }
  const auto is_relaxed = [&](const Expr& lock) {
    return std::any_of(field.lock_weights.begin(), field.lock_weights.end(), [&](const auto& w) { return w.first.same(lock); });
  };
  auto weights = field.lock_weights;
  std::vector<Expr> kept, functions;
  for (const Expr& lock : all_locks)  // other locks stay inputs as they are: not to be entered
    if (!is_relaxed(lock)) weights.emplace_back(lock, lock), kept.push_back(lock);
  for (const SlidingSurface& s : surfaces) functions.push_back(s.function);
  std::vector<Expr> relaxed = relax_field(rhs, weights);
  const bool has_roots = has_roots_on(functions, relaxed, kept);
  if (has_roots) relaxed = field_on(functions, relaxed, kept);

  std::vector<Expr> along{time};
  along.insert(along.end(), variables.begin(), variables.end());
  const auto speed_in = [&](std::span<const Expr> f) {
    std::vector<Expr> directions{Expr(1.0)};
    directions.insert(directions.end(), f.begin(), f.end());
    return directional_derivative(functions, along, directions);
  };
  const std::vector<Expr> speed = speed_in(relaxed);

  const std::size_t p = surfaces.size();
  const SparseExprMatrix J = jacobian(speed, symbols);
  if (has_roots && p == 1 && J.entries.empty()) {  // both sides agree on the surface
    if (surfaces.front().step != 0) return field;
    field.lock_weights = truth_on_surface(surfaces.front().locks);
    weights = field.lock_weights;
    for (const Expr& lock : kept) weights.emplace_back(lock, lock);
    field.rhs = field_on(functions, relax(rhs, weights), kept);
    field.weights = {weight_at_rest(speed_in(field.rhs).front(), field.rhs)};
    field.kind = SlidingField::Kind::explicit_;
    return field;
  }
  std::vector<std::vector<Expr>> A(p, std::vector<Expr>(p, Expr(0.0)));
  for (const auto& entry : J.entries) {
    const auto inside = symbols_of(std::span(&entry.value, 1), SymbolKind::variable);
    for (const Expr& s : symbols)
      if (std::any_of(inside.begin(), inside.end(), [&](const Expr& e) { return e.same(s); })) {
        field.kind = SlidingField::Kind::implicit;
        return field;
      }
    A[entry.row][entry.column] = entry.value;
  }
  std::vector<std::pair<Expr, Expr>> none;
  for (const Expr& s : symbols) none.emplace_back(s, Expr(0.0));
  std::vector<Expr> b = substitute(speed, none);
  for (Expr& e : b) e = -e;
  auto solution = middle_solution(functions, speed, A, b);
  if (!solution) solution = solve(std::move(A), std::move(b));
  if (!solution) return field;
  field.weights = *solution;
  std::vector<std::pair<Expr, Expr>> values;
  for (std::size_t k = 0; k < p; ++k) values.emplace_back(symbols[k], field.weights[k]);
  field.rhs = substitute(relaxed, values);
  std::size_t next = 0;
  for (std::size_t k = 0; k < p; ++k)
    for (std::size_t l = 0; l < surfaces[k].locks.size(); ++l) field.lock_weights[next++].second = surfaces[k].weight_of(l, field.weights[k]);
  field.kind = SlidingField::Kind::explicit_;
  return field;
}

}  // namespace saltus
