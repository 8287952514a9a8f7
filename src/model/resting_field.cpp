#include "model/resting_field.hpp"

#include <saltus/expr/derivative.hpp>

#include <algorithm>

namespace saltus {

namespace {

std::vector<std::pair<Expr, Expr>> zero_on(std::span<const Expr> surfaces, std::span<const Expr> kept) {
  std::vector<std::pair<Expr, Expr>> replacements;
  for (const Expr& lock : kept) replacements.emplace_back(lock, lock);  // not to be entered
  for (const Expr& g : surfaces) {
    replacements.emplace_back(g, Expr(0.0));
    replacements.emplace_back(-g, Expr(0.0));
  }
  return replacements;
}

}  // namespace

bool has_roots_on(std::span<const Expr> surfaces, std::span<const Expr> field, std::span<const Expr> kept) {
  const auto graph = common_graph(field);
  if (!graph) return false;
  std::vector<NodeId> roots, leaves;
  for (const Expr& e : field)
    if (e.graph()) roots.push_back(e.id());
  for (const Expr& lock : kept)
    if (lock.graph()) leaves.push_back(lock.id());
  std::vector<Expr> arguments;
  for (const NodeId id : graph->reachable(roots, leaves)) {
    const Node& n = graph->node(id);
    const bool power = n.op == Op::pow && graph->is_constant(n.b) && graph->constant_value(n.b) > 0.0 && graph->constant_value(n.b) < 1.0;
    if ((n.op == Op::sqrt || power) && !graph->is_constant(n.a)) arguments.emplace_back(graph, n.a);
  }
  const std::vector<Expr> there = substitute(arguments, zero_on(surfaces, kept));
  return std::any_of(there.begin(), there.end(), [](const Expr& e) { return e.is_constant() && e.constant_value() == 0.0; });
}

std::vector<Expr> field_on(std::span<const Expr> surfaces, std::span<const Expr> field, std::span<const Expr> kept) {
  return substitute(field, zero_on(surfaces, kept));
}

std::vector<std::pair<Expr, Expr>> truth_on_surface(std::span<const Expr> locks) {
  std::vector<std::pair<Expr, Expr>> truth;
  for (const Expr& lock : locks) truth.emplace_back(lock, Expr(lock.graph()->node(lock.id()).op == Op::nonnegative ? 1.0 : 0.0));
  return truth;
}

Expr weight_at_rest(const Expr& speed, std::span<const Expr> terms) {
  constexpr double rounding = 1e-9, nothing = 1e-300;  // relative; so that the root has a derivative
  Expr squares = nothing;
  for (const Expr& term : terms) squares += term * term;
  return 0.5 + 0.5 / rounding * speed / sqrt(squares);
}

}  // namespace saltus
