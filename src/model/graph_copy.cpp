#include "model/graph_copy.hpp"

namespace saltus {

GraphCopy::GraphCopy(std::shared_ptr<Graph> from, std::shared_ptr<Graph> to, std::span<const Expr> f, std::span<const NodeId> inputs)
    : from_(std::move(from)), to_(std::move(to)) {
  for (const Expr& e : f) roots_.push_back(e.in(*from_));
  order_ = from_->reachable(roots_, inputs);
}

std::vector<Expr> GraphCopy::with(std::unordered_map<NodeId, NodeId> known) const {
  for (const NodeId id : order_) {
    if (known.contains(id)) continue;
    const Node& n = from_->node(id);
    const int count = operand_count(n.op);
    known.emplace(id, from_->is_constant(id) ? to_->constant(from_->constant_value(id))
                                             : to_->make(n.op, known.at(n.a), count > 1 ? known.at(n.b) : no_node,
                                                         count > 2 ? known.at(n.c) : no_node));
  }
  std::vector<Expr> result;
  for (const NodeId root : roots_) result.emplace_back(to_, known.at(root));
  return result;
}

}  // namespace saltus
