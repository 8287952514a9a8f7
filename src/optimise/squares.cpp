#include "optimise/squares.hpp"

#include <utility>

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

class Splitter {
 public:
  explicit Splitter(const SquaresOf& model) : model_(model) {}

  void split(const Expr& e, double factor, bool integrated) {
    if (!e.graph()) return;
    const Graph& graph = *e.graph();
    if (constant_in(graph, e.id(), model_.number)) return;
    const Node node = graph.node(e.id());
    const Expr a(e.graph(), node.a), b(e.graph(), node.b);
    if (node.op == Op::add || node.op == Op::sub) {
      split(a, factor, integrated);
      split(b, node.op == Op::sub ? -factor : factor, integrated);
      return;
    }
    if (node.op == Op::neg) return split(a, -factor, integrated);
    if (node.op == Op::symbol) return follow(e, factor, integrated);
    if (node.op == Op::mul || node.op == Op::div) {
      if (const auto by = constant_in(graph, node.b, model_.number); by && (node.op == Op::mul || *by != 0.0))
        return split(a, node.op == Op::mul ? factor * *by : factor / *by, integrated);
      if (const auto by = constant_in(graph, node.a, model_.number); by && node.op == Op::mul)
        return split(b, factor * *by, integrated);
    }
    if (node.op == Op::mul) {  // 0.1*x*x is (0.1*x)*x
      double both = factor;
      const NodeId left = without_factors(graph, node.a, both), right = without_factors(graph, node.b, both);
      if (left == right && both > 0.0) {
        found.terms.push_back({both, Expr(e.graph(), left), integrated});
        return;
      }
    }
    const bool power = node.op == Op::pow && graph.is_constant(node.b) && graph.constant_value(node.b) == 2.0;
    if (power && factor > 0.0)
      found.terms.push_back({factor, a, integrated});
    else
      found.complete = false;
  }

  Squares found;

 private:
  /// Takes constant factors out of a product.
  NodeId without_factors(const Graph& graph, NodeId id, double& factor) const {
    for (;;) {
      const Node& node = graph.node(id);
      if (node.op == Op::neg) {
        factor = -factor;
        id = node.a;
        continue;
      }
      if (node.op != Op::mul && node.op != Op::div) return id;
      if (const auto by = constant_in(graph, node.b, model_.number); by && (node.op == Op::mul || *by != 0.0)) {
        factor = node.op == Op::mul ? factor * *by : factor / *by;
        id = node.a;
      } else if (const auto first = constant_in(graph, node.a, model_.number); first && node.op == Op::mul) {
        factor *= *first;
        id = node.b;
      } else {
        return id;
      }
    }
  }
  /// A variable counts as what it is defined to be.
  void follow(const Expr& symbol, double factor, bool integrated) {
    constexpr int deepest = 20;  // x = y, y = x
    const auto definition = depth_ < deepest ? model_.definition(symbol) : std::nullopt;
    if (!definition || (definition->integrated && integrated)) {
      found.complete = false;
      return;
    }
    ++depth_;
    split(definition->value, factor, integrated || definition->integrated);
    --depth_;
  }

  const SquaresOf& model_;
  int depth_ = 0;
};

}  // namespace

Squares squares_of(const Expr& expression, double factor, bool integrated, const SquaresOf& model) {
  Splitter splitter(model);
  if (factor != 0.0) splitter.split(expression, factor, integrated);
  return std::move(splitter.found);
}

}  // namespace saltus
