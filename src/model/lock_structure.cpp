#include "model/lock_structure.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace saltus {

namespace {

std::vector<NodeId> ids_of(const Graph& graph, std::span<const Expr> expressions) {
  std::vector<NodeId> ids;
  for (const Expr& e : expressions)
    if (e.graph().get() == &graph) ids.push_back(e.id());
  return ids;
}

}  // namespace

LockStructure::LockStructure(std::span<const Expr> entries, std::span<const Expr> locks)
    : entries_(entries.begin(), entries.end()), locks_(locks.begin(), locks.end()) {
  const auto graph = common_graph(entries);
  if (!graph || locks.empty()) return;
  const std::vector<NodeId> leaves = ids_of(*graph, locks_);
  std::unordered_map<NodeId, char> may_vanish;
  const auto is_zero = [&](NodeId id) { return graph->is_constant(id) && graph->constant_value(id) == 0.0; };
  const auto vanishes = [&](NodeId id) { return is_zero(id) || may_vanish.contains(id); };
  for (const NodeId id : graph->reachable(ids_of(*graph, entries_), leaves)) {
    const Node& n = graph->node(id);
    bool may = false;
    switch (n.op) {
      case Op::select: may = vanishes(n.b) || vanishes(n.c); break;
      case Op::mul: may = vanishes(n.a) || vanishes(n.b); break;
      case Op::add:
      case Op::sub: may = vanishes(n.a) && vanishes(n.b); break;
      case Op::neg:
      case Op::div: may = vanishes(n.a); break;
      default: break;
    }
    if (may) may_vanish[id] = 1;
  }
  std::vector<NodeId> roots;
  for (std::size_t k = 0; k < entries_.size(); ++k)
    if (entries_[k].graph() && may_vanish.contains(entries_[k].id())) {
      suspects_.push_back(static_cast<int>(k));
      roots.push_back(entries_[k].id());
    }
  const std::vector<NodeId> involved = graph->reachable(roots, leaves);
  std::vector<NodeId> conditions;
  for (const NodeId id : involved)
    if (graph->node(id).op == Op::select) conditions.push_back(graph->node(id).a);
  const std::vector<NodeId> deciding = graph->reachable(conditions, leaves);
  const auto contains = [](const std::vector<NodeId>& sorted, NodeId id) { return std::binary_search(sorted.begin(), sorted.end(), id); };
  for (std::size_t k = 0; k < leaves.size(); ++k)
    if (contains(locks_[k].is_symbol() ? deciding : involved, leaves[k])) structural_locks_.push_back(static_cast<int>(k));
}

std::vector<char> LockStructure::vanishing(std::span<const double> lock_values) const {
  std::vector<char> result(entries_.size(), 0);
  for (std::size_t k = 0; k < entries_.size(); ++k)
    result[k] = entries_[k].is_constant() && entries_[k].constant_value() == 0.0;
  if (suspects_.empty()) return result;
  const Graph& graph = *entries_[suspects_.front()].graph();
  std::unordered_map<NodeId, double> known;  // partial evaluation: what is known given the locks
  std::vector<NodeId> roots;
  for (const int k : suspects_) roots.push_back(entries_[k].id());
  const std::vector<NodeId> leaves = ids_of(graph, locks_);
  for (const int k : structural_locks_) known[leaves[static_cast<std::size_t>(k)]] = lock_values[static_cast<std::size_t>(k)];
  const auto value = [&](NodeId id) -> std::optional<double> {
    const auto it = known.find(id);
    return it == known.end() ? std::nullopt : std::optional(it->second);
  };
  for (const NodeId id : graph.reachable(roots, leaves)) {
    if (known.contains(id)) continue;
    const Node& n = graph.node(id);
    if (n.op == Op::constant) {
      known[id] = graph.constant_value(id);
      continue;
    }
    const int count = operand_count(n.op);
    if (count == 0) continue;
    const auto a = value(n.a), b = count > 1 ? value(n.b) : std::optional(0.0), c = count > 2 ? value(n.c) : std::optional(0.0);
    std::optional<double> v;
    if (n.op == Op::select) {
      if (a) v = *a != 0.0 ? b : c;
    } else if (a && b && c) {
      v = apply(n.op, *a, *b, *c);
    } else if (n.op == Op::mul && ((a && *a == 0.0) || (b && *b == 0.0))) {
      v = 0.0;
    } else if (n.op == Op::div && a && *a == 0.0) {
      v = 0.0;
    }
    if (v) known[id] = *v;
  }
  for (const int k : suspects_)
    if (const auto v = value(entries_[k].id())) result[k] = *v == 0.0;
  return result;
}

}  // namespace saltus
