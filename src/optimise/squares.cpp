#include "optimise/squares.hpp"

#include <cmath>

namespace saltus {

namespace {

using Number = std::function<std::optional<double>(const std::string&)>;

/// The value of an expression of numbers and constant symbols.
std::optional<double> constant_in(const Graph& graph, NodeId id, const Number& number) {
  const Node& node = graph.node(id);
  if (node.op == Op::constant) return graph.constant_value(id);
  if (node.op == Op::symbol) return number(graph.symbol_of(id).name);
  const auto a = node.a == no_node ? std::nullopt : constant_in(graph, node.a, number);
  if (!a) return std::nullopt;
  if (node.op == Op::neg) return -*a;
  const auto b = node.b == no_node ? std::nullopt : constant_in(graph, node.b, number);
  if (!b) return std::nullopt;
  if (node.op == Op::add) return *a + *b;
  if (node.op == Op::sub) return *a - *b;
  if (node.op == Op::mul) return *a * *b;
  if (node.op == Op::div) return *a / *b;
  return std::nullopt;
}

void split(const std::shared_ptr<Graph>& graph, NodeId id, double factor, const Number& number, Squares& out) {
  if (constant_in(*graph, id, number)) return;
  const Node node = graph->node(id);
  if (node.op == Op::add || node.op == Op::sub) {
    split(graph, node.a, factor, number, out);
    split(graph, node.b, node.op == Op::sub ? -factor : factor, number, out);
    return;
  }
  if (node.op == Op::neg) return split(graph, node.a, -factor, number, out);
  if (node.op == Op::mul || node.op == Op::div) {
    if (const auto b = constant_in(*graph, node.b, number); b && (node.op == Op::mul || *b != 0.0))
      return split(graph, node.a, node.op == Op::mul ? factor * *b : factor / *b, number, out);
    if (const auto a = constant_in(*graph, node.a, number); a && node.op == Op::mul)
      return split(graph, node.b, factor * *a, number, out);
  }
  const bool twice = node.op == Op::mul && node.a == node.b;
  const bool power = node.op == Op::pow && graph->is_constant(node.b) && graph->constant_value(node.b) == 2.0;
  if ((twice || power) && factor > 0.0) {
    out.terms.push_back({factor, Expr(graph, node.a)});
    return;
  }
  out.complete = false;
}

}  // namespace

Squares squares_of(const Expr& expression, double factor, const Number& number) {
  Squares result;
  if (factor != 0.0 && expression.graph()) split(expression.graph(), expression.id(), factor, number, result);
  return result;
}

}  // namespace saltus
