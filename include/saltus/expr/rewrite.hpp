// Rebuilds expressions bottom-up with some nodes replaced.
#pragma once

#include <saltus/expr/graph.hpp>

#include <functional>
#include <unordered_map>

namespace saltus {

/// Keeps what it has rebuilt, so rewriting many expressions of one graph costs one pass over it. Replacements may be added between
/// calls as long as nothing rewritten before depends on them.
class Rewrite {
 public:
  explicit Rewrite(Graph& graph) : graph_(graph) {}

  /// Nodes to put in place of others (symbols, locks).
  std::unordered_map<NodeId, NodeId> replace;
  /// Called for each rebuilt node (operands already replaced); returns the node to use instead, or no_node.
  std::function<NodeId(Graph&, const Node&)> rule;

  NodeId operator()(NodeId root);

 private:
  Graph& graph_;
  std::unordered_map<NodeId, NodeId> done_;
};

}  // namespace saltus
