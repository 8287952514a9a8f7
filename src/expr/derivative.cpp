// Symbolic differentiation by sparse forward propagation (each node carries the derivatives with respect to the columns
// that it depends on) and, for outputs that depend on very many columns, by a backward sweep per output.
#include <saltus/expr/derivative.hpp>
#include <saltus/expr/rewrite.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "expr/partial_derivatives.hpp"

namespace saltus {

namespace {

// The Jacobian of an external function as an external function: its own, or central differences with the step that
// balances truncation and rounding (cube root of eps).
std::shared_ptr<const ExternalFunction> jacobian_function(const std::shared_ptr<const ExternalFunction>& f) {
  auto j = std::make_shared<ExternalFunction>();
  j->name = "d(" + f->name + ")";
  j->inputs = f->inputs;
  j->outputs = f->outputs * f->inputs;
  if (f->jacobian) {
    j->values = f->jacobian;
    return j;
  }
  j->values = [f](std::span<const double> in, std::span<double> out) {
    std::vector<double> x(in.begin(), in.end()), plus(static_cast<std::size_t>(f->outputs)), minus(plus.size());
    for (int c = 0; c < f->inputs; ++c) {
      const double h = 6.055454452393343e-06 * std::max(1.0, std::abs(in[c]));
      x[c] = in[c] + h;
      const double upper = x[c];
      f->values(x, plus);
      x[c] = in[c] - h;
      const double width = upper - x[c];
      f->values(x, minus);
      x[c] = in[c];
      for (int r = 0; r < f->outputs; ++r) out[r * f->inputs + c] = (plus[r] - minus[r]) / width;
    }
  };
  return j;
}

// Calls `visit(operand, coefficient)` for each operand through which the node's derivative flows, select excepted.
class Partials {
 public:
  explicit Partials(Graph& graph) : graph_(graph) {}

  template <class Visit>
  void operator()(NodeId id, Visit visit) {
    const Node n = graph_.node(id);
    if (!carries_derivative(n.op)) return;
    if (n.op == Op::external) {
      const ExternalCall call = graph_.call_of(id);
      auto& j = jacobians_[call.function.get()];
      if (!j) j = jacobian_function(call.function);
      for (int k = 0; k < call.function->inputs; ++k)
        visit(call.arguments[k], graph_.call(j, call.arguments, static_cast<int>(n.b) * call.function->inputs + k));
      return;
    }
    const std::array<NodeId, 2> operands{n.a, n.b};
    for (int k = 0; k < operand_count(n.op); ++k)
      if (!graph_.is_constant(operands[k])) visit(operands[k], partial_derivative(graph_, id, k));
  }

 private:
  Graph& graph_;
  std::unordered_map<const ExternalFunction*, std::shared_ptr<const ExternalFunction>> jacobians_;
};

struct Term {
  int column;
  NodeId value;
};
using Row = std::vector<Term>;

// row += coefficient * other (both in ascending column order)
void add_scaled(Graph& g, Row& row, const Row& other, NodeId coefficient) {
  Row result;
  result.reserve(row.size() + other.size());
  auto p = row.begin();
  for (const Term& term : other) {
    while (p != row.end() && p->column < term.column) result.push_back(*p++);
    const NodeId product = g.make(Op::mul, coefficient, term.value);
    if (p != row.end() && p->column == term.column) {
      result.push_back({term.column, g.make(Op::add, p->value, product)});
      ++p;
    } else {
      result.push_back({term.column, product});
    }
  }
  result.insert(result.end(), p, row.end());
  row.swap(result);
}

Row select_rows(Graph& g, NodeId condition, const Row& then, const Row& otherwise) {
  Row result;
  const NodeId zero = g.constant(0.0);
  auto p = then.begin(), q = otherwise.begin();
  while (p != then.end() || q != otherwise.end()) {
    const bool left = p != then.end() && (q == otherwise.end() || p->column <= q->column);
    const bool right = q != otherwise.end() && (p == then.end() || q->column <= p->column);
    const int column = left ? p->column : q->column;
    result.push_back({column, g.make(Op::select, condition, left ? p->value : zero, right ? q->value : zero)});
    if (left) ++p;
    if (right) ++q;
  }
  return result;
}

// Rows of the Jacobian for nodes in evaluation order.
class Forward {
 public:
  Forward(Graph& graph, const std::unordered_map<NodeId, int>& columns)
      : graph_(graph), columns_(columns), partials_(graph) {}

  void run(std::span<const NodeId> order) {
    for (const NodeId id : order) {
      Row row;
      if (const auto it = columns_.find(id); it != columns_.end()) {
        row.push_back({it->second, graph_.constant(1.0)});
      } else if (const Node n = graph_.node(id); n.op == Op::select) {
        row = select_rows(graph_, n.a, of(n.b), of(n.c));
      } else {
        partials_(id, [&](NodeId operand, NodeId coefficient) {
          const Row& inner = of(operand);
          if (!inner.empty()) add_scaled(graph_, row, inner, coefficient);
        });
      }
      if (!row.empty()) rows_.emplace(id, std::move(row));
    }
  }

  const Row& of(NodeId id) const {
    static const Row empty;
    const auto it = rows_.find(id);
    return it == rows_.end() ? empty : it->second;
  }

 private:
  Graph& graph_;
  const std::unordered_map<NodeId, int>& columns_;
  Partials partials_;
  std::unordered_map<NodeId, Row> rows_;
};

Row backward(Graph& g, NodeId root, const std::unordered_map<NodeId, int>& columns) {
  const std::vector<NodeId> order = g.reachable(std::span(&root, 1));
  std::unordered_map<NodeId, NodeId> adjoint{{root, g.constant(1.0)}};
  Partials partials(g);
  Row row;
  const auto contribute = [&](NodeId operand, NodeId value) {
    const auto [it, fresh] = adjoint.emplace(operand, value);
    if (!fresh) it->second = g.make(Op::add, it->second, value);
  };
  for (std::size_t k = order.size(); k-- > 0;) {
    const NodeId id = order[k];
    const auto it = adjoint.find(id);
    if (it == adjoint.end()) continue;
    const NodeId bar = it->second;
    if (const auto column = columns.find(id); column != columns.end()) {
      row.push_back({column->second, bar});
      continue;
    }
    if (const Node n = g.node(id); n.op == Op::select) {
      const NodeId zero = g.constant(0.0);
      contribute(n.b, g.make(Op::select, n.a, bar, zero));
      contribute(n.c, g.make(Op::select, n.a, zero, bar));
    } else {
      partials(id, [&](NodeId operand, NodeId c) { contribute(operand, g.make(Op::mul, bar, c)); });
    }
  }
  std::sort(row.begin(), row.end(), [](const Term& a, const Term& b) { return a.column < b.column; });
  return row;
}

std::vector<NodeId> ids_in(Graph& graph, std::span<const Expr> expressions) {
  std::vector<NodeId> ids;
  ids.reserve(expressions.size());
  for (const Expr& e : expressions) ids.push_back(e.in(graph));
  return ids;
}

std::unordered_map<NodeId, int> column_map(Graph& graph, std::span<const Expr> symbols) {
  std::unordered_map<NodeId, int> columns;
  for (std::size_t j = 0; j < symbols.size(); ++j)
    if (!columns.emplace(symbols[j].in(graph), static_cast<int>(j)).second)
      throw UsageError("jacobian: a symbol is listed twice");
  return columns;
}

// Which outputs to sweep backwards: those with wide rows, if that is estimated to build fewer nodes.
std::vector<char> choose_backward(Graph& g, std::span<const NodeId> roots, std::span<const NodeId> order,
                                  const std::unordered_map<NodeId, int>& columns) {
  std::vector<char> choice(roots.size(), 0);
  std::unordered_map<NodeId, std::size_t> width;  // upper bound of the row length
  std::size_t forward_cost = 0;
  for (const NodeId id : order) {
    std::size_t w = columns.contains(id) ? 1 : 0;
    if (w == 0 && carries_derivative(g.node(id).op))
      g.for_each_operand(id, [&](NodeId operand) {
        if (const auto it = width.find(operand); it != width.end()) w += it->second;
      });
    w = std::min(w, columns.size());
    if (w > 0) width[id] = w;
    forward_cost += w;
  }
  constexpr std::size_t wide = 64;
  if (forward_cost <= wide * order.size()) return choice;
  std::size_t backward_cost = 0;
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const auto it = width.find(roots[i]);
    if (it == width.end() || it->second < wide) continue;
    choice[i] = 1;
    backward_cost += 2 * g.reachable(std::span(&roots[i], 1)).size();
    if (backward_cost > forward_cost) return std::vector<char>(roots.size(), 0);
  }
  return choice;
}

}  // namespace

void SparseExprMatrix::sort_by_columns() {
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return std::pair(a.column, a.row) < std::pair(b.column, b.row); });
}

std::vector<std::pair<int, int>> SparseExprMatrix::places() const {
  std::vector<std::pair<int, int>> result;
  result.reserve(entries.size());
  for (const Entry& e : entries) result.emplace_back(e.row, e.column);
  return result;
}

std::vector<Expr> SparseExprMatrix::values() const {
  std::vector<Expr> result;
  result.reserve(entries.size());
  for (const Entry& e : entries) result.push_back(e.value);
  return result;
}

SparseExprMatrix jacobian(std::span<const Expr> f, std::span<const Expr> symbols) {
  SparseExprMatrix result{static_cast<int>(f.size()), static_cast<int>(symbols.size()), {}};
  const auto graph = common_graph(symbols);
  if (!graph) return result;
  const std::vector<NodeId> roots = ids_in(*graph, f);
  const auto columns = column_map(*graph, symbols);
  const std::vector<NodeId> order = graph->reachable(roots);
  const std::vector<char> by_rows = choose_backward(*graph, roots, order, columns);

  std::vector<NodeId> narrow;
  for (std::size_t i = 0; i < roots.size(); ++i)
    if (!by_rows[i]) narrow.push_back(roots[i]);
  Forward forward(*graph, columns);
  forward.run(narrow.size() == roots.size() ? order : graph->reachable(narrow));
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const Row row = by_rows[i] ? backward(*graph, roots[i], columns) : forward.of(roots[i]);
    for (const Term& term : row)
      if (!(graph->is_constant(term.value) && graph->constant_value(term.value) == 0.0))
        result.entries.push_back({static_cast<int>(i), term.column, Expr(graph, term.value)});
  }
  return result;
}

Expr derivative(const Expr& f, const Expr& symbol) {
  const auto m = jacobian(std::span(&f, 1), std::span(&symbol, 1));
  return m.entries.empty() ? Expr(0.0) : m.entries.front().value;
}

std::vector<Expr> directional_derivative(std::span<const Expr> f, std::span<const Expr> symbols,
                                         std::span<const Expr> directions) {
  if (symbols.size() != directions.size())
    throw UsageError("directional_derivative: as many directions as symbols are needed");
  auto graph = common_graph(symbols);
  std::vector<Expr> result(f.size(), Expr(0.0));
  if (!graph) return result;
  const std::vector<NodeId> roots = ids_in(*graph, f), direction_ids = ids_in(*graph, directions);
  const auto columns = column_map(*graph, symbols);
  std::unordered_map<NodeId, NodeId> tangent;
  Partials partials(*graph);
  for (const NodeId id : graph->reachable(roots)) {
    NodeId sum = no_node;
    const auto add = [&](NodeId term) { sum = sum == no_node ? term : graph->make(Op::add, sum, term); };
    if (const auto it = columns.find(id); it != columns.end()) {
      add(direction_ids[it->second]);
    } else if (const Node n = graph->node(id); n.op == Op::select) {
      const auto then = tangent.find(n.b), otherwise = tangent.find(n.c);
      if (then != tangent.end() || otherwise != tangent.end()) {
        const NodeId zero = graph->constant(0.0);
        add(graph->make(Op::select, n.a, then == tangent.end() ? zero : then->second,
                        otherwise == tangent.end() ? zero : otherwise->second));
      }
    } else {
      partials(id, [&](NodeId operand, NodeId c) {
        if (const auto t = tangent.find(operand); t != tangent.end()) add(graph->make(Op::mul, c, t->second));
      });
    }
    if (sum != no_node) tangent.emplace(id, sum);
  }
  for (std::size_t i = 0; i < f.size(); ++i)
    if (const auto it = tangent.find(roots[i]); it != tangent.end()) result[i] = Expr(graph, it->second);
  return result;
}

Expr der(const Expr& x) {
  const auto& graph = x.graph();
  if (!graph) return 0.0;
  std::vector<Expr> symbols, directions;
  const NodeId root = x.id();
  for (const NodeId id : graph->reachable(std::span(&root, 1))) {
    if (graph->node(id).op != Op::symbol) continue;
    const Symbol symbol = graph->symbol_of(id);
    if (symbol.kind == SymbolKind::derivative)
      throw UsageError("der of an expression that contains " + symbol.name +
                       ": second derivatives are written with a variable of their own, der(x) == v, der(v) == …");
    if (symbol.kind == SymbolKind::time) {
      symbols.emplace_back(graph, id);
      directions.emplace_back(1.0);
    } else if (symbol.kind == SymbolKind::variable) {
      symbols.emplace_back(graph, id);
      directions.emplace_back(graph, graph->derivative_of(id));
    }
  }
  return directional_derivative(std::span(&x, 1), symbols, directions).front();
}

std::vector<Expr> substitute(std::span<const Expr> f, std::span<const std::pair<Expr, Expr>> replacements) {
  std::vector<Expr> result(f.begin(), f.end());
  const auto graph = common_graph(f);
  if (!graph) return result;
  Rewrite rewrite(*graph);
  for (const auto& [from, to] : replacements) rewrite.replace.emplace(from.in(*graph), to.in(*graph));
  for (Expr& e : result)
    if (e.graph()) e = Expr(graph, rewrite(e.id()));
  return result;
}

namespace {

template <class Wanted>
std::vector<Expr> nodes_where(std::span<const Expr> f, Wanted wanted) {
  std::vector<Expr> result;
  const auto graph = common_graph(f);
  if (!graph) return result;
  for (const NodeId id : graph->reachable(ids_in(*graph, f)))
    if (wanted(*graph, id)) result.emplace_back(graph, id);
  return result;
}

}  // namespace

std::vector<Expr> locks_of(std::span<const Expr> f) {
  return nodes_where(f, [](const Graph& g, NodeId id) { return is_lock(g.node(id).op); });
}

std::vector<Expr> symbols_of(std::span<const Expr> f, SymbolKind kind) {
  return nodes_where(
      f, [kind](const Graph& g, NodeId id) { return g.node(id).op == Op::symbol && g.symbol_of(id).kind == kind; });
}

bool moves_between_events(const Expr& function) {
  if (!function.graph()) return false;
  const Graph& graph = *function.graph();
  std::vector<NodeId> locks;
  for (const Expr& lock : locks_of(std::span(&function, 1))) locks.push_back(lock.id());
  const NodeId root = function.id();
  const std::vector<NodeId> nodes = graph.reachable(std::span(&root, 1), locks);
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    if (graph.node(id).op != Op::symbol) return false;
    const SymbolKind kind = graph.symbol_of(id).kind;
    return kind == SymbolKind::time || kind == SymbolKind::variable || kind == SymbolKind::derivative;
  });
}

Expr switching_function(const Expr& lock) {
  if (!lock.graph() || !is_lock(lock.graph()->node(lock.id()).op))
    throw UsageError("switching_function: this expression is not a relation or a rounding");
  return {lock.graph(), lock.graph()->node(lock.id()).a};
}

}  // namespace saltus
