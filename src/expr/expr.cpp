#include <saltus/expr/expr.hpp>
#include <saltus/expr/rewrite.hpp>

namespace saltus {

namespace {

[[noreturn]] void refuse_mixing(const Graph& a, const Graph& b) {
  const auto first_symbol = [](const Graph& g) {
    for (NodeId id = 0; id < g.size(); ++id)
      if (g.node(id).op == Op::symbol) return "'" + g.symbol_of(id).name + "'";
    return std::string("(no symbols)");
  };
  throw UsageError("expressions of two different models are mixed: one has the symbol " + first_symbol(a) +
                   ", the other " + first_symbol(b) + "; declare all variables of an equation in one model");
}

const std::shared_ptr<Graph>& joint(const Expr& a, const Expr& b) {
  if (!a.graph()) return b.graph();
  if (b.graph() && b.graph() != a.graph()) refuse_mixing(*a.graph(), *b.graph());
  return a.graph();
}

}  // namespace

Expr apply(Op op, const Expr& a) {
  if (!a.graph()) return apply(op, a.constant_value());
  return {a.graph(), a.graph()->make(op, a.id())};
}

Expr apply(Op op, const Expr& a, const Expr& b) {
  const auto& graph = joint(a, b);
  if (!graph) return apply(op, a.constant_value(), b.constant_value());
  const NodeId left = a.in(*graph), right = b.in(*graph);
  return {graph, graph->make(op, left, right)};
}

double Expr::constant_value() const {
  if (!graph_) return value_;
  if (!graph_->is_constant(id_)) throw UsageError("this expression is not a constant");
  return graph_->constant_value(id_);
}

const std::string& Expr::name() const {
  if (!is_symbol()) throw UsageError("this expression is not a symbol and has no name");
  return graph_->symbol_of(id_).name;
}

bool Expr::same(const Expr& other) const {
  if (is_constant() && other.is_constant()) return constant_value() == other.constant_value();
  return graph_ == other.graph_ && id_ == other.id_;
}

NodeId Expr::in(Graph& graph) const {
  if (!graph_) return graph.constant(value_);
  if (graph_.get() != &graph) refuse_mixing(*graph_, graph);
  return id_;
}

Expr& Expr::operator+=(const Expr& other) { return *this = *this + other; }
Expr& Expr::operator-=(const Expr& other) { return *this = *this - other; }
Expr& Expr::operator*=(const Expr& other) { return *this = *this * other; }
Expr& Expr::operator/=(const Expr& other) { return *this = *this / other; }

Expr Equation::residual() const { return lhs - rhs; }

Expr operator+(const Expr& a, const Expr& b) { return apply(Op::add, a, b); }
Expr operator-(const Expr& a, const Expr& b) { return apply(Op::sub, a, b); }
Expr operator*(const Expr& a, const Expr& b) { return apply(Op::mul, a, b); }
Expr operator/(const Expr& a, const Expr& b) { return apply(Op::div, a, b); }
Expr operator-(const Expr& a) { return apply(Op::neg, a); }

Expr sum(std::span<const Expr> terms) {
  std::vector<Expr> level(terms.begin(), terms.end());
  if (level.empty()) return 0.0;
  while (level.size() > 1) {
    std::size_t next = 0;
    for (std::size_t k = 0; k + 1 < level.size(); k += 2) level[next++] = level[k] + level[k + 1];
    if (level.size() % 2 == 1) level[next++] = level.back();
    level.resize(next);
  }
  return level.front();
}

namespace {

/// The relation a op b, remembered as what the user has written: x < 0 is stored as not (x >= 0).
BoolExpr written(Op op, const Expr& a, const Expr& b) {
  BoolExpr relation(apply(op, a - b));
  if (const auto& graph = relation.expr().graph(); graph && !relation.expr().is_constant())
    graph->note_written(relation.expr().id());
  return relation;
}

}  // namespace

BoolExpr operator>(const Expr& a, const Expr& b) {
  return written(Op::positive, a, b);
}
BoolExpr operator>=(const Expr& a, const Expr& b) {
  return written(Op::nonnegative, a, b);
}
BoolExpr operator<(const Expr& a, const Expr& b) {
  return b > a;
}
BoolExpr operator<=(const Expr& a, const Expr& b) {
  return b >= a;
}
BoolExpr equal(const Expr& a, const Expr& b) {
  return a >= b && a <= b;
}

Equation operator==(const Expr& lhs, const Expr& rhs) {
  joint(lhs, rhs);
  return {lhs, rhs};
}

BoolExpr operator&&(const BoolExpr& a, const BoolExpr& b) {
  return BoolExpr(apply(Op::logical_and, a.expr(), b.expr()));
}
BoolExpr operator||(const BoolExpr& a, const BoolExpr& b) {
  return BoolExpr(apply(Op::logical_or, a.expr(), b.expr()));
}
BoolExpr operator!(const BoolExpr& a) { return BoolExpr(apply(Op::logical_not, a.expr())); }

Expr if_else(const BoolExpr& condition, const Expr& then, const Expr& otherwise) {
  const auto graph = common_graph({&condition.expr(), &then, &otherwise});
  if (!graph) return condition.expr().constant_value() != 0.0 ? then : otherwise;
  const NodeId a = condition.expr().in(*graph), b = then.in(*graph), c = otherwise.in(*graph);
  return {graph, graph->make(Op::select, a, b, c)};
}

BoolExpr if_else(const BoolExpr& condition, const BoolExpr& then, const BoolExpr& otherwise) {
  return (condition && then) || (!condition && otherwise);
}

Expr sign(const Expr& x) {
  const BoolExpr above = x > 0.0, below = x < 0.0;  // in this order: the first one gives the name
  return if_else(above, Expr(1.0), if_else(below, Expr(-1.0), Expr(0.0)));
}
Expr abs(const Expr& x) { return if_else(x > 0.0, x, -x); }
Expr min(const Expr& a, const Expr& b) { return if_else(a > b, b, a); }
Expr max(const Expr& a, const Expr& b) { return if_else(a > b, a, b); }
Expr floor(const Expr& x) { return apply(Op::floor, x); }
Expr ceil(const Expr& x) { return -floor(-x); }
Expr div(const Expr& x, const Expr& y) {
  const Expr q = x / y;
  return if_else(q >= 0.0, floor(q), -floor(-q));
}
Expr mod(const Expr& x, const Expr& y) { return x - floor(x / y) * y; }
Expr rem(const Expr& x, const Expr& y) { return x - div(x, y) * y; }

Expr no_event(const Expr& x) {
  if (!x.graph()) return x;
  Rewrite rewrite(*x.graph());
  rewrite.rule = [](Graph& graph, const Node& n) -> NodeId {
    if (n.op == Op::positive) return graph.make(Op::live_positive, n.a);
    if (n.op == Op::nonnegative) return graph.make(Op::live_nonnegative, n.a);
    if (n.op == Op::floor) return graph.make(Op::live_floor, n.a);
    return no_node;
  };
  return {x.graph(), rewrite(x.id())};
}
BoolExpr no_event(const BoolExpr& x) { return BoolExpr(no_event(x.expr())); }

Expr smooth_sign(const Expr& x, const Expr& eps) { return tanh(x / eps); }
Expr smooth_step(const Expr& x, const Expr& eps) { return 0.5 * (1.0 + tanh(x / eps)); }
Expr smooth_abs(const Expr& x, const Expr& eps) { return sqrt(x * x + eps * eps); }
Expr smooth_max(const Expr& a, const Expr& b, const Expr& eps) { return 0.5 * (a + b + smooth_abs(a - b, eps)); }
Expr smooth_min(const Expr& a, const Expr& b, const Expr& eps) { return 0.5 * (a + b - smooth_abs(a - b, eps)); }

std::vector<Expr> call(const std::shared_ptr<const ExternalFunction>& function, std::span<const Expr> arguments) {
  const auto graph = common_graph(arguments);
  if (!graph)
    throw UsageError("external function '" + function->name + "' needs at least one argument that is not a number");
  std::vector<NodeId> ids;
  for (const Expr& argument : arguments) ids.push_back(argument.in(*graph));
  std::vector<Expr> results;
  for (int k = 0; k < function->outputs; ++k) results.emplace_back(graph, graph->call(function, ids, k));
  return results;
}

std::shared_ptr<Graph> common_graph(std::initializer_list<const Expr*> expressions) {
  std::shared_ptr<Graph> graph;
  for (const Expr* e : expressions) {
    if (!e->graph()) continue;
    if (graph && e->graph() != graph) refuse_mixing(*graph, *e->graph());
    graph = e->graph();
  }
  return graph;
}

std::shared_ptr<Graph> common_graph(std::span<const Expr> expressions) {
  const Expr* first = nullptr;
  for (const Expr& e : expressions) {
    if (!e.graph()) continue;
    if (!first) first = &e;
    if (e.graph() != first->graph()) refuse_mixing(*first->graph(), *e.graph());
  }
  return first ? first->graph() : nullptr;
}

std::shared_ptr<Graph> common_graph(std::span<const std::vector<Expr>> inputs, std::span<const std::vector<Expr>> outputs) {
  std::shared_ptr<Graph> graph;
  for (const auto* groups : {&inputs, &outputs})
    for (const auto& group : *groups) {
      const auto own = common_graph(group);
      if (!own) continue;
      if (graph && own != graph) refuse_mixing(*graph, *own);
      graph = own;
    }
  return graph ? graph : std::make_shared<Graph>();
}

std::vector<std::vector<NodeId>> nodes_in(Graph& graph, std::span<const std::vector<Expr>> groups) {
  std::vector<std::vector<NodeId>> result;
  for (const auto& group : groups) {
    auto& ids = result.emplace_back();
    ids.reserve(group.size());
    for (const Expr& e : group) ids.push_back(e.in(graph));
  }
  return result;
}

}  // namespace saltus
