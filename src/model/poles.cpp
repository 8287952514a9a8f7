#include "model/poles.hpp"

#include <saltus/expr/derivative.hpp>
#include <saltus/expr/graph.hpp>
#include <saltus/expr/rewrite.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace saltus {

namespace {

/// Products of more denominators would leave the range of numbers.
constexpr int most_denominators = 4;

bool is_moving(SymbolKind kind) {
  return kind == SymbolKind::time || kind == SymbolKind::variable || kind == SymbolKind::derivative;
}

bool moves(const Expr& e) {
  const auto occurs = [&](SymbolKind kind) { return !symbols_of(std::span(&e, 1), kind).empty(); };
  return occurs(SymbolKind::time) || occurs(SymbolKind::variable) || occurs(SymbolKind::derivative);
}

/// The exponent of a power with a negative integer as exponent, otherwise 0.
double negative_exponent(const Graph& graph, const Node& n) {
  if (n.op != Op::pow || !graph.is_constant(n.b)) return 0.0;
  const double exponent = graph.constant_value(n.b);
  return exponent < 0.0 && exponent == std::round(exponent) ? exponent : 0.0;
}

/// numerator / denominator; a denominator of 1 means that there is none.
struct Quotient {
  Expr numerator;
  Expr denominator = 1.0;
  int factors = 0;  // of the denominator
};

Quotient sum_of_quotients(const Quotient& a, const Quotient& b, double sign) {
  if (a.denominator.same(b.denominator)) return {a.numerator + sign * b.numerator, a.denominator, a.factors};
  return {a.numerator * b.denominator + sign * b.numerator * a.denominator, a.denominator * b.denominator,
          a.factors + b.factors};
}

Quotient product_of_quotients(const Quotient& a, const Quotient& b) {
  return {a.numerator * b.numerator, a.denominator * b.denominator, a.factors + b.factors};
}

}  // namespace

Expr without_cuts(const Expr& g) {
  const auto& graph = g.graph();
  if (!graph) return g;
  constexpr double pi = 3.141592653589793;
  Rewrite rewrite(*graph);
  for (const Expr& lock : locks_of(std::span(&g, 1))) rewrite.replace.emplace(lock.id(), lock.id());
  rewrite.rule = [&](Graph&, const Node& n) -> NodeId {
    if (n.op == Op::atan && graph->node(n.a).op == Op::div) {
      const Node ratio = graph->node(n.a);
      const Expr y(graph, ratio.a), x(graph, ratio.b);
      if (!moves(x)) return no_node;
      return if_else(x >= 0.0, atan2(y, x), atan2(-y, -x)).in(*graph);
    }
    if (n.op != Op::atan2) return no_node;
    const Expr y(graph, n.a), x(graph, n.b);
    const Expr turned = atan2(-y, -x) + if_else(y >= 0.0, Expr(pi), Expr(-pi));
    return if_else(x < 0.0, turned, atan2(y, x)).in(*graph);
  };
  return Expr(graph, rewrite(g.id()));
}

Expr without_poles(const Expr& g) {
  const auto& graph = g.graph();
  if (!graph) return g;
  const NodeId root = g.id();
  std::unordered_map<NodeId, Quotient> found;  // nodes with denominators
  std::unordered_set<NodeId> moving;           // nodes that change between events
  const auto at = [&](NodeId id) {
    const auto it = found.find(id);
    return it != found.end() ? it->second : Quotient{Expr(graph, id)};
  };
  const std::vector<Expr> locks = locks_of(std::span(&g, 1));
  std::vector<NodeId> leaves;
  for (const Expr& lock : locks) leaves.push_back(lock.id());
  for (const NodeId id : graph->reachable(std::span(&root, 1), leaves)) {
    const Node n = graph->node(id);
    if (std::find(leaves.begin(), leaves.end(), id) != leaves.end()) continue;
    bool any = false, changes = n.op == Op::symbol && is_moving(graph->symbol_of(id).kind);
    graph->for_each_operand(id, [&](NodeId operand) {
      any = any || found.contains(operand);
      changes = changes || moving.contains(operand);
    });
    if (!changes) continue;
    moving.insert(id);
    Quotient q;
    if (n.op == Op::div && moving.contains(n.b)) {
      const Quotient a = at(n.a), b = at(n.b);
      q = {a.numerator * b.denominator, a.denominator * b.numerator, a.factors + 1};
    } else if (n.op == Op::div && any) {
      const Quotient a = at(n.a);
      q = {a.numerator / Expr(graph, n.b), a.denominator, a.factors};
    } else if (n.op == Op::tan) {
      q = {sin(Expr(graph, n.a)), cos(Expr(graph, n.a)), 1};
    } else if (const double exponent = negative_exponent(*graph, n); exponent < 0.0) {
      q = {Expr(1.0), pow(Expr(graph, n.a), -exponent), 1};
    } else if (!any) {
      continue;
    } else if (n.op == Op::add) {
      q = sum_of_quotients(at(n.a), at(n.b), 1.0);
    } else if (n.op == Op::sub) {
      q = sum_of_quotients(at(n.a), at(n.b), -1.0);
    } else if (n.op == Op::mul) {
      q = product_of_quotients(at(n.a), at(n.b));
    } else if (n.op == Op::neg) {
      const Quotient a = at(n.a);
      q = {-a.numerator, a.denominator, a.factors};
    } else {
      continue;  // inside another function
    }
    if (q.factors > most_denominators) return g;
    found.insert_or_assign(id, std::move(q));
  }
  const auto it = found.find(root);
  return it == found.end() ? g : it->second.numerator * it->second.denominator;
}

}  // namespace saltus
