// Locks as weights between 0 and 1, for sliding: a choice becomes weight*then + (1 - weight)*otherwise. A surface that decides within what it has
// decided already would give products of its weight with itself; such expressions are made one choice between its two sides first.
#include <saltus/expr/derivative.hpp>
#include <saltus/expr/rewrite.hpp>

#include <algorithm>
#include <iterator>
#include <unordered_map>

namespace saltus {

namespace {

/// Relations on one function: g > 0, g >= 0 or both.
using Relations = std::vector<NodeId>;

bool is_logic(Op op) { return op == Op::logical_and || op == Op::logical_or || op == Op::logical_not; }

/// Those of the groups that decide about something and, inside of it, decide again.
std::vector<char> decide_twice(const Graph& graph, std::span<const NodeId> nodes, const std::unordered_map<NodeId, int>& group_of, std::size_t groups) {
  std::vector<char> twice(groups, 0);
  std::unordered_map<NodeId, std::vector<int>> inside;  // groups, increasing
  const std::vector<int> none;
  std::vector<int> all;
  for (const NodeId id : nodes) {
    const Node n = graph.node(id);
    if (const auto it = group_of.find(id); it != group_of.end()) inside[id] = {it->second};
    if (is_lock(n.op)) continue;
    std::vector<int> found;
    const bool decides = is_logic(n.op) || n.op == Op::select;
    graph.for_each_operand(id, [&](NodeId operand) {
      const auto it = inside.find(operand);
      if (it == inside.end()) return;
      if (decides) {  // the branches of a choice do not meet each other
        const auto condition = n.op == Op::select ? inside.find(n.a) : inside.end();
        const std::vector<int>& others = n.op != Op::select ? found : operand != n.a && condition != inside.end() ? condition->second : none;
        std::vector<int> meet;
        std::set_intersection(others.begin(), others.end(), it->second.begin(), it->second.end(), std::back_inserter(meet));
        for (const int g : meet) twice[static_cast<std::size_t>(g)] = 1;
      }
      all.clear();
      std::set_union(found.begin(), found.end(), it->second.begin(), it->second.end(), std::back_inserter(all));
      std::swap(all, found);
    });
    if (!found.empty()) inside[id] = std::move(found);
  }
  return twice;
}

/// A surface has two sides, on which all relations on its function are true, or none is: what they decide together, as in `if g > 0 … elseif g < 0 …
/// else …`, becomes one choice between the two. What holds on the surface itself is no part of their mean.
void decide_once(Graph& graph, std::span<const NodeId> nodes, const Relations& relations, std::vector<Expr>& f) {
  std::unordered_map<NodeId, char> decided;  // nodes that depend on one of them
  Rewrite above(graph), below(graph), choice(graph);
  for (const NodeId id : relations) {
    above.replace.emplace(id, graph.constant(1.0));
    below.replace.emplace(id, graph.constant(0.0));
    decided[id] = 1;
  }
  for (const NodeId id : nodes) {
    const Node n = graph.node(id);
    if (is_lock(n.op)) {
      if (!decided.contains(id))
        for (Rewrite* r : {&above, &below, &choice}) r->replace.emplace(id, id);  // others stay as they are
      continue;
    }
    bool depends = false;
    graph.for_each_operand(id, [&](NodeId operand) { depends = depends || decided.contains(operand); });
    if (!depends) continue;
    decided[id] = 1;
    if (is_logic(n.op) || (n.op == Op::select && decided.contains(n.a)))
      choice.replace.emplace(id, graph.make(Op::select, relations.front(), above(id), below(id)));
  }
  for (Expr& e : f)
    if (e.graph()) e = Expr(e.graph(), choice(e.id()));
}

/// Prepares for relax(): nothing is decided by one surface within what it has decided already.
void decide_once(Graph& graph, std::span<const std::pair<Expr, Expr>> weights, std::vector<Expr>& f) {
  std::vector<Relations> groups;
  std::unordered_map<NodeId, int> group_of_function, group_of;
  for (const auto& [lock, weight] : weights) {
    const NodeId id = lock.in(graph);
    const Node n = graph.node(id);
    if (weight.same(lock) || n.op == Op::floor) continue;
    const auto [it, fresh] = group_of_function.emplace(n.a, static_cast<int>(groups.size()));
    if (fresh) groups.emplace_back();
    groups[static_cast<std::size_t>(it->second)].push_back(id);
    group_of.emplace(id, it->second);
  }
  const auto all_nodes = [&] {
    std::vector<NodeId> roots;
    for (const Expr& e : f)
      if (e.graph()) roots.push_back(e.id());
    return graph.reachable(roots);
  };
  const std::vector<char> twice = decide_twice(graph, all_nodes(), group_of, groups.size());
  for (std::size_t k = 0; k < groups.size(); ++k)
    if (twice[k]) decide_once(graph, all_nodes(), groups[k], f);
}

}  // namespace

std::vector<Expr> relax(std::span<const Expr> f, std::span<const std::pair<Expr, Expr>> weights) {
  std::vector<Expr> result(f.begin(), f.end());
  const auto graph = common_graph(f);
  if (!graph) return result;
  decide_once(*graph, weights, result);
  std::unordered_map<NodeId, char> fractional;  // nodes whose truth value may lie between 0 and 1
  Rewrite rewrite(*graph);
  for (const auto& [lock, weight] : weights) {
    const NodeId id = weight.in(*graph);
    rewrite.replace.emplace(lock.in(*graph), id);
    if (!weight.same(lock)) fractional[id] = 1;
  }
  rewrite.rule = [&](Graph& g, const Node& n) -> NodeId {
    const bool a = fractional.contains(n.a);
    NodeId id = no_node;
    if (n.op == Op::logical_not && a) id = g.make(Op::sub, g.constant(1.0), n.a);
    const bool either = a || (operand_count(n.op) > 1 && fractional.contains(n.b));
    if (n.op == Op::logical_and && either) id = g.make(Op::mul, n.a, n.b);
    if (n.op == Op::logical_or && either)
      id = g.make(Op::sub, g.make(Op::add, n.a, n.b), g.make(Op::mul, n.a, n.b));
    if (id != no_node) fractional[id] = 1;
    if (n.op == Op::select && a) id = g.make(Op::add, n.c, g.make(Op::mul, n.a, g.make(Op::sub, n.b, n.c)));
    return id;
  };
  for (Expr& e : result)
    if (e.graph()) e = Expr(graph, rewrite(e.id()));
  return result;
}

}  // namespace saltus
