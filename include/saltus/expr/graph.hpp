// The expression graph: hash-consed nodes, so that equal expressions are one node and sharing costs nothing.
//
// Users meet `Expr` (expr.hpp); this header is for those who walk the graph: derivatives, lowering, printing.
#pragma once

#include <saltus/base/error.hpp>
#include <saltus/expr/operators.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace saltus {

using NodeId = std::uint32_t;
inline constexpr NodeId no_node = 0xffffffffu;

struct Node {
  Op op;
  NodeId a = no_node, b = no_node, c = no_node;
  bool operator==(const Node&) const = default;
};

/// What a symbol stands for; decides what `der` makes of it.
enum class SymbolKind : std::uint8_t { time, variable, derivative, parameter, discrete };

struct Symbol {
  std::string name;
  SymbolKind kind;
  NodeId node;           ///< the symbol's own node
  NodeId base = no_node; ///< for a derivative: the variable's node
};

/// A function in foreign code that takes part in a graph: doubles in, doubles out, no side effects.
struct ExternalFunction {
  using Values = std::function<void(std::span<const double> in, std::span<double> out)>;
  std::string name;
  int inputs = 0;
  int outputs = 0;
  Values values;
  Values jacobian = {};  ///< optional: row-major, outputs x inputs; otherwise central differences are used
};

/// One call of an external function with given arguments.
struct ExternalCall {
  std::shared_ptr<const ExternalFunction> function;
  std::vector<NodeId> arguments;
};

/// Arena of nodes. Operands always have smaller numbers than the node itself, so ascending order is an evaluation order.
///
/// Any number of threads may read one graph at the same time while no thread builds in it, as in one that is frozen.
class Graph {
 public:
  Graph();
  Graph& operator=(const Graph&) = delete;

  /// A graph of its own with the same nodes under the same numbers. It can grow, also if this one is frozen.
  std::shared_ptr<Graph> clone() const;
  /// From now on the graph does not grow: what would make a new node throws UsageError. Nodes that exist are still found.
  void freeze() { frozen_ = true; }
  bool frozen() const { return frozen_; }

  // --- building (simplifying and sharing; operands must be nodes of this graph)
  NodeId constant(double value);
  NodeId symbol(const std::string& name, SymbolKind kind);
  /// The derivative symbol of a variable; made on first use.
  NodeId derivative_of(NodeId variable);
  NodeId make(Op op, NodeId a, NodeId b = no_node, NodeId c = no_node);
  NodeId call(std::shared_ptr<const ExternalFunction> function, std::vector<NodeId> arguments, int output);

  // --- how relations were written, for texts
  /// The user wrote this relation, not its opposite. Does nothing in a graph that is frozen.
  void note_written(NodeId relation);
  bool was_written(NodeId relation) const { return !written_.empty() && written_.contains(relation); }
  /// What texts show for a node instead of its operations. The first text counts.
  void set_text(NodeId id, std::string text);
  /// Null: its operations are shown.
  const std::string* text_of(NodeId id) const;

  // --- reading
  std::size_t size() const { return nodes_.size(); }
  const Node& node(NodeId id) const { return nodes_[id]; }
  bool is_constant(NodeId id) const { return nodes_[id].op == Op::constant; }
  double constant_value(NodeId id) const { return constants_[nodes_[id].a]; }
  const Symbol& symbol_of(NodeId id) const { return symbols_[nodes_[id].a]; }
  const ExternalCall& call_of(NodeId id) const { return calls_[nodes_[id].a]; }
  std::size_t symbol_count() const { return symbols_.size(); }
  /// Heap memory in bytes.
  std::size_t memory() const;

  /// All nodes that the roots depend on, roots included, in ascending (evaluation) order. Nodes listed in `leaves` are not entered.
  std::vector<NodeId> reachable(std::span<const NodeId> roots, std::span<const NodeId> leaves = {}) const;
  /// Calls `visit(operand)` for each operand node of `id`.
  template <class Visit>
  void for_each_operand(NodeId id, Visit visit) const;

 private:
  Graph(const Graph& other);
  /// Throws UsageError if the graph is frozen.
  void require_growing() const;
  NodeId intern(const Node& node);
  NodeId simplify(Op op, NodeId a, NodeId b, NodeId c);
  NodeId simplify_arithmetic(Op op, NodeId a, NodeId b);
  NodeId simplify_logic(Op op, NodeId a, NodeId b, NodeId c);
  NodeId make_relation(Op op, NodeId g);
  void grow();
  bool is_value(NodeId id, double value) const { return is_constant(id) && constant_value(id) == value; }

  std::vector<Node> nodes_;
  std::vector<double> constants_;
  std::vector<Symbol> symbols_;
  std::vector<ExternalCall> calls_;
  std::vector<NodeId> table_;              // open addressing, no_node = free
  std::vector<NodeId> derivatives_;        // by symbol index
  std::unordered_set<NodeId> written_;
  std::unordered_map<NodeId, std::string> texts_;
  bool frozen_ = false;
  mutable std::mutex marking_;
  mutable std::vector<std::uint32_t> mark_;  // scratch of reachable(), used under marking_
  mutable std::uint32_t epoch_ = 0;  // marks: epoch = leaf, epoch + 1 = found
};

template <class Visit>
void Graph::for_each_operand(NodeId id, Visit visit) const {
  const Node& n = nodes_[id];
  if (n.op == Op::external) {
    for (const NodeId argument : calls_[n.a].arguments) visit(argument);
    return;
  }
  const int count = operand_count(n.op);
  if (count > 0) visit(n.a);
  if (count > 1) visit(n.b);
  if (count > 2) visit(n.c);
}

}  // namespace saltus
