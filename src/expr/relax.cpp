// Locks as weights between 0 and 1, for sliding: a choice becomes weight*then + (1 - weight)*otherwise. A surface that
// decides within what it has decided already would give products of its weight with itself; such expressions are made
// one choice between its two sides first.
#include <saltus/expr/derivative.hpp>
#include <saltus/expr/rewrite.hpp>

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

namespace saltus {

namespace {

/// Relations on one function: g > 0, g >= 0 or both.
using Relations = std::vector<NodeId>;

bool is_logic(Op op) {
  return op == Op::logical_and || op == Op::logical_or || op == Op::logical_not;
}

/// Those of the groups that decide about something and, inside of it, decide again. Where very many are inside, all
/// that decide there count.
std::vector<char> find_twice(const Graph& graph, std::span<const NodeId> nodes,
                             const std::unordered_map<NodeId, int>& group_of, std::size_t groups) {
  constexpr std::size_t very_many = 100;
  std::vector<char> twice(groups, 0);
  std::unordered_map<NodeId, std::vector<int>> inside;  // groups, increasing
  const std::vector<int> none;
  std::vector<int> all;
  std::unordered_map<NodeId, char> is_full;  // nodes with very many inside
  for (const NodeId id : nodes) {
    const Node n = graph.node(id);
    if (const auto it = group_of.find(id); it != group_of.end()) inside[id] = {it->second};
    if (is_lock(n.op)) continue;
    std::vector<int> found;
    bool too_many = false;
    const bool decides = is_logic(n.op) || n.op == Op::select;
    graph.for_each_operand(id, [&](NodeId operand) {
      if (is_full.contains(operand)) {
        too_many = true;
        if (const auto condition = n.op == Op::select ? inside.find(n.a) : inside.end(); condition != inside.end())
          for (const int g : condition->second) twice[static_cast<std::size_t>(g)] = 1;
        return;
      }
      const auto it = inside.find(operand);
      if (it == inside.end()) return;
      if (decides) {  // the branches of a choice do not meet each other
        const auto condition = n.op == Op::select ? inside.find(n.a) : inside.end();
        const std::vector<int>& others = n.op != Op::select                            ? found
                                         : operand != n.a && condition != inside.end() ? condition->second
                                                                                       : none;
        std::vector<int> meet;
        std::set_intersection(others.begin(), others.end(), it->second.begin(), it->second.end(),
                              std::back_inserter(meet));
        for (const int g : meet) twice[static_cast<std::size_t>(g)] = 1;
      }
      all.clear();
      std::set_union(found.begin(), found.end(), it->second.begin(), it->second.end(), std::back_inserter(all));
      std::swap(all, found);
    });
    if (too_many || found.size() > very_many) {
      is_full[id] = 1;
      if (is_logic(n.op))  // what decides inside is not known any more
        for (const int g : found) twice[static_cast<std::size_t>(g)] = 1;
      continue;
    }
    if (!found.empty()) inside[id] = std::move(found);
  }
  return twice;
}

/// A surface has two sides, on which all relations on its function are true, or none is: what they decide together, as
/// in `if g > 0 … elseif g < 0 … else …`, becomes one choice between the two. What holds on the surface itself is no
/// part of their mean.
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

/// Locks by their functions.
struct Groups {
  std::vector<Relations> members;
  std::unordered_map<NodeId, int> group_of;

  Groups(const Graph& graph, std::span<const NodeId> locks) {
    std::unordered_map<NodeId, int> group_of_function;
    for (const NodeId id : locks) {
      const auto [it, fresh] = group_of_function.emplace(graph.node(id).a, static_cast<int>(members.size()));
      if (fresh) members.emplace_back();
      members[static_cast<std::size_t>(it->second)].push_back(id);
      group_of.emplace(id, it->second);
    }
  }
};

std::vector<NodeId> nodes_of(const Graph& graph, std::span<const Expr> f) {
  std::vector<NodeId> roots;
  for (const Expr& e : f)
    if (e.graph()) roots.push_back(e.id());
  return graph.reachable(roots);
}

/// Choices of surfaces that decide within what they have decided already.
struct Choices {
  /// A node that a surface decides.
  struct Choice {
    NodeId node;
    int group;
  };
  std::vector<Choice> choices;
  std::vector<char> together;  ///< by group: such a node depends on another such surface, too

  Choices(const Graph& graph, std::span<const NodeId> nodes, const Groups& groups, const std::vector<char>& twice)
      : together(groups.members.size(), 0) {
    std::unordered_map<NodeId, std::vector<int>> inside;  // groups that decide twice, increasing
    for (const NodeId id : nodes) {
      if (const auto it = groups.group_of.find(id); it != groups.group_of.end()) {
        if (twice[static_cast<std::size_t>(it->second)]) inside[id] = {it->second};
        continue;
      }
      const Node n = graph.node(id);
      if (is_lock(n.op)) continue;
      std::vector<int> found, all;
      graph.for_each_operand(id, [&](NodeId operand) {
        const auto it = inside.find(operand);
        if (it == inside.end()) return;
        all.clear();
        std::ranges::set_union(found, it->second, std::back_inserter(all));
        std::swap(all, found);
      });
      if (found.empty()) continue;
      if (is_logic(n.op) || (n.op == Op::select && inside.contains(n.a))) {
        if (found.size() == 1)
          choices.push_back({id, found.front()});
        else
          for (const int g : found) together[static_cast<std::size_t>(g)] = 1;
      }
      constexpr std::size_t many = 32;  // sums over very many: what decides above them is not looked for
      if (found.size() <= many) inside[id] = std::move(found);
    }
  }
};

/// The expression on one side of a surface.
NodeId on_side(Graph& graph, NodeId root, const Relations& relations, double truth) {
  Rewrite side(graph);
  const NodeId roots[] = {root};
  for (const NodeId id : graph.reachable(roots))
    if (is_lock(graph.node(id).op)) side.replace.emplace(id, id);
  for (const NodeId id : relations) side.replace[id] = graph.constant(truth);
  return side(root);
}

/// Expressions that one surface alone decides, in several places: products of its choices would be squares of its
/// weight. They become the mean of their two sides, which `mean(group, node)` gives. By expression: whether this has
/// been done.
template <class Mean>
std::vector<char> mix_whole(Graph& graph, const Groups& groups, std::vector<Expr>& f, Mean&& mean) {
  constexpr int several = -2, none = -1;
  std::vector<char> done(f.size(), 0);
  std::unordered_map<NodeId, int> only;  // the one group on which a node depends, or several
  for (const NodeId id : nodes_of(graph, f)) {
    if (const auto it = groups.group_of.find(id); it != groups.group_of.end()) {
      only[id] = it->second;
      continue;
    }
    if (is_lock(graph.node(id).op)) continue;
    int found = none;
    graph.for_each_operand(id, [&](NodeId operand) {
      const auto it = only.find(operand);
      if (it != only.end()) found = found == none || found == it->second ? it->second : several;
    });
    if (found != none) only[id] = found;
  }
  const auto choices = [&](NodeId root) {  // of the group on which it depends
    int count = 0;
    std::vector<NodeId> stack{root};
    std::unordered_set<NodeId> seen;
    while (!stack.empty() && count < 2) {
      const NodeId id = stack.back();
      stack.pop_back();
      if (!only.contains(id) || !seen.insert(id).second) continue;
      const Node n = graph.node(id);
      if (is_lock(n.op) || is_logic(n.op) || (n.op == Op::select && only.contains(n.a)))
        ++count;
      else
        graph.for_each_operand(id, [&](NodeId operand) { stack.push_back(operand); });
    }
    return count;
  };
  for (std::size_t k = 0; k < f.size(); ++k) {
    const auto it = f[k].graph() ? only.find(f[k].id()) : only.end();
    if (it == only.end() || it->second == several || choices(f[k].id()) < 2) continue;
    const auto g = static_cast<std::size_t>(it->second);
    f[k] = Expr(f[k].graph(), mean(g, f[k].id()));
    done[k] = 1;
  }
  return done;
}

/// The same for weights that always stand for their locks.
std::vector<char> mix_whole(Graph& graph, std::span<const std::pair<Expr, Expr>> weights, std::vector<Expr>& f) {
  std::vector<NodeId> locks;
  std::unordered_map<NodeId, NodeId> weight_of;
  for (const auto& [lock, weight] : weights) {
    if (weight.same(lock) || graph.node(lock.in(graph)).op == Op::floor) continue;
    locks.push_back(lock.in(graph));
    weight_of.emplace(locks.back(), weight.in(graph));
  }
  const Groups groups(graph, locks);
  return mix_whole(graph, groups, f, [&](std::size_t g, NodeId id) {
    const Relations& relations = groups.members[g];
    const NodeId above = on_side(graph, id, relations, 1.0), below = on_side(graph, id, relations, 0.0);
    const NodeId rise = graph.make(Op::mul, weight_of.at(relations.front()), graph.make(Op::sub, above, below));
    return graph.make(Op::add, below, rise);
  });
}

/// Prepares for relax(): nothing is decided by one surface within what it has decided already.
void decide_once(Graph& graph, std::span<const std::pair<Expr, Expr>> weights, std::vector<Expr>& f) {
  std::vector<NodeId> locks;
  for (const auto& [lock, weight] : weights)
    if (!weight.same(lock) && graph.node(lock.in(graph)).op != Op::floor) locks.push_back(lock.in(graph));
  const Groups groups(graph, locks);
  const std::vector<char> twice = find_twice(graph, nodes_of(graph, f), groups.group_of, groups.members.size());
  for (std::size_t k = 0; k < groups.members.size(); ++k)
    if (twice[k]) decide_once(graph, nodes_of(graph, f), groups.members[k], f);
}

}  // namespace

std::vector<Expr> decide_together(std::span<const Expr> f, std::span<const Expr> locks) {
  const auto graph = common_graph(f);
  std::vector<Expr> result;
  if (!graph) return result;
  std::vector<NodeId> ids;
  for (const Expr& lock : locks) ids.push_back(lock.in(*graph));
  const Groups groups(*graph, ids);
  const std::vector<NodeId> nodes = nodes_of(*graph, f);
  const std::vector<char> twice = find_twice(*graph, nodes, groups.group_of, groups.members.size());
  const std::vector<char> together = Choices(*graph, nodes, groups, twice).together;
  for (const Expr& lock : locks)
    if (together[static_cast<std::size_t>(groups.group_of.at(lock.in(*graph)))]) result.push_back(lock);
  return result;
}

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
    if (n.op == Op::logical_or && either) id = g.make(Op::sub, g.make(Op::add, n.a, n.b), g.make(Op::mul, n.a, n.b));
    if (id != no_node) fractional[id] = 1;
    if (n.op == Op::select && a) id = g.make(Op::add, n.c, g.make(Op::mul, n.a, g.make(Op::sub, n.b, n.c)));
    return id;
  };
  for (Expr& e : result)
    if (e.graph()) e = Expr(graph, rewrite(e.id()));
  return result;
}

std::vector<Expr> relax_field(std::span<const Expr> f, std::span<const std::pair<Expr, Expr>> weights) {
  std::vector<Expr> result(f.begin(), f.end());
  const auto graph = common_graph(f);
  if (!graph) return result;
  const std::vector<char> mixed = mix_whole(*graph, weights, result);
  std::vector<Expr> rest;
  for (std::size_t k = 0; k < result.size(); ++k)
    if (!mixed[k]) rest.push_back(result[k]);
  rest = relax(rest, weights);
  auto next = rest.begin();
  for (std::size_t k = 0; k < result.size(); ++k)
    if (!mixed[k]) result[k] = *next++;
  return result;
}

namespace {

/// The mean of the two sides of a surface while its weight is active.
NodeId mean_of_sides(Graph& graph, NodeId id, const Relations& relations, const OptionalWeight& w) {
  const NodeId above = on_side(graph, id, relations, 1.0), below = on_side(graph, id, relations, 0.0);
  const NodeId rise = graph.make(Op::mul, w.weight.in(graph), graph.make(Op::sub, above, below));
  return graph.make(Op::select, w.active.in(graph), graph.make(Op::add, below, rise), id);
}

/// The same where weights come and go: a choice becomes the mean of its two sides while its weight is active.
struct ChosenOnce {
  std::vector<char> weights;      ///< by weight: whether nothing is left to do for it
  std::vector<char> expressions;  ///< the same by expression
};
ChosenOnce choose_once(Graph& graph, std::span<const OptionalWeight> weights, std::vector<Expr>& f) {
  std::vector<NodeId> locks;
  for (const OptionalWeight& w : weights) locks.push_back(w.lock.in(graph));
  const Groups groups(graph, locks);
  std::vector<const OptionalWeight*> weight_of(groups.members.size(), nullptr);
  for (std::size_t k = 0; k < weights.size(); ++k)
    if (const auto g = static_cast<std::size_t>(groups.group_of.at(locks[k])); groups.members[g].front() == locks[k])
      weight_of[g] = &weights[k];
  ChosenOnce result{std::vector<char>(weights.size(), 0), mix_whole(graph, groups, f, [&](std::size_t g, NodeId id) {
                      return mean_of_sides(graph, id, groups.members[g], *weight_of[g]);
                    })};
  std::vector<char>& done = result.weights;
  std::vector<Expr> rest;
  for (std::size_t k = 0; k < f.size(); ++k)
    if (!result.expressions[k]) rest.push_back(f[k]);
  const std::vector<NodeId> nodes = nodes_of(graph, rest);
  const std::vector<char> twice = find_twice(graph, nodes, groups.group_of, groups.members.size());
  if (std::ranges::find(twice, 1) == twice.end()) return result;
  const Choices found(graph, nodes, groups, twice);
  const auto hoists = [&](std::size_t g) { return twice[g] && !found.together[g]; };
  Rewrite choice(graph);
  for (const NodeId id : nodes)
    if (is_lock(graph.node(id).op)) choice.replace.emplace(id, id);
  for (std::size_t k = 0; k < weights.size(); ++k) {
    const auto g = static_cast<std::size_t>(groups.group_of.at(locks[k]));
    if (!hoists(g)) continue;
    done[k] = 1;
    choice.replace[locks[k]] =
        graph.make(Op::select, weights[k].active.in(graph), weights[k].weight.in(graph), locks[k]);
  }
  for (const auto& [id, group] : found.choices) {
    const auto g = static_cast<std::size_t>(group);
    if (!hoists(g)) continue;
    choice.replace.emplace(id, mean_of_sides(graph, id, groups.members[g], *weight_of[g]));
  }
  for (std::size_t k = 0; k < f.size(); ++k)
    if (f[k].graph() && !result.expressions[k]) f[k] = Expr(f[k].graph(), choice(f[k].id()));
  return result;
}

}  // namespace

std::vector<Expr> relax(std::span<const Expr> f, std::span<const OptionalWeight> weights) {
  std::vector<Expr> result(f.begin(), f.end());
  const auto graph = common_graph(f);
  if (!graph) return result;
  /// A truth that may lie between 0 and 1: what it is as a truth, when it is not, and what stands for it then.
  struct Fraction {
    NodeId truth, active, weight;
  };
  std::unordered_map<NodeId, Fraction> fractions;
  const ChosenOnce chosen = choose_once(*graph, weights, result);
  Rewrite rewrite(*graph);
  for (const Expr& lock : locks_of(result)) rewrite.replace.emplace(lock.in(*graph), lock.in(*graph));
  for (std::size_t k = 0; k < weights.size(); ++k) {
    if (chosen.weights[k]) continue;
    const OptionalWeight& w = weights[k];
    const NodeId lock = w.lock.in(*graph), weight = w.weight.in(*graph), active = w.active.in(*graph);
    const NodeId id = graph->make(Op::select, active, weight, lock);
    rewrite.replace[lock] = id;
    fractions[id] = {lock, active, weight};
  }
  rewrite.rule = [&](Graph& g, const Node& n) -> NodeId {
    const auto a = fractions.find(n.a), b = operand_count(n.op) > 1 ? fractions.find(n.b) : fractions.end();
    const bool has_a = a != fractions.end(), has_b = b != fractions.end();
    if (n.op == Op::select && has_a) {
      const Fraction& f_a = a->second;
      const NodeId mean = g.make(Op::add, n.c, g.make(Op::mul, f_a.weight, g.make(Op::sub, n.b, n.c)));
      return g.make(Op::select, f_a.active, mean, g.make(Op::select, f_a.truth, n.b, n.c));
    }
    if (n.op == Op::logical_not && has_a) {
      const Fraction f_a = a->second;
      const NodeId weight = g.make(Op::sub, g.constant(1.0), f_a.weight), truth = g.make(Op::logical_not, f_a.truth);
      const NodeId id = g.make(Op::select, f_a.active, weight, truth);
      fractions[id] = {truth, f_a.active, weight};
      return id;
    }
    if ((n.op != Op::logical_and && n.op != Op::logical_or) || (!has_a && !has_b)) return no_node;
    const NodeId truth = g.make(n.op, has_a ? a->second.truth : n.a, has_b ? b->second.truth : n.b);
    const NodeId active = has_a && has_b ? g.make(Op::logical_or, a->second.active, b->second.active)
                                         : (has_a ? a->second : b->second).active;
    const NodeId product = g.make(Op::mul, n.a, n.b);
    const NodeId weight = n.op == Op::logical_and ? product : g.make(Op::sub, g.make(Op::add, n.a, n.b), product);
    const NodeId id = g.make(Op::select, active, weight, truth);
    fractions[id] = {truth, active, weight};
    return id;
  };
  for (std::size_t k = 0; k < result.size(); ++k)
    if (result[k].graph() && !chosen.expressions[k]) result[k] = Expr(graph, rewrite(result[k].id()));
  return result;
}

}  // namespace saltus
