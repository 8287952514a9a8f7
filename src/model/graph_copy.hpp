// Expressions of one graph, made again in another one with something else in the place of their inputs.
#pragma once

#include <saltus/expr/expr.hpp>
#include <saltus/expr/graph.hpp>

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace saltus {

class GraphCopy {
 public:
  /// `inputs`: where the expressions end.
  GraphCopy(std::shared_ptr<Graph> from, std::shared_ptr<Graph> to, std::span<const Expr> f, std::span<const NodeId> inputs);

  /// `known`: what takes the place of each input.
  std::vector<Expr> with(std::unordered_map<NodeId, NodeId> known) const;

 private:
  std::shared_ptr<Graph> from_, to_;
  std::vector<NodeId> roots_, order_;
};

}  // namespace saltus
