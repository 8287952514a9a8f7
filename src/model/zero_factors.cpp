#include "model/zero_factors.hpp"

#include <saltus/expr/rewrite.hpp>

#include <algorithm>

namespace saltus {

void ZeroFactors::look_at(NodeId id) {
  const Node& node = graph_->node(id);
  Facts facts;
  if (node.op == Op::constant) {
    facts.fixed = true;
    facts.value = graph_->constant_value(id);
  } else if (node.op == Op::symbol) {
    facts.derivative = graph_->symbol_of(id).kind == SymbolKind::derivative;
    const auto known = parameter_values_.find(id);
    facts.fixed = known != parameter_values_.end();
    if (facts.fixed) facts.value = known->second;
  } else {
    double values[3] = {0.0, 0.0, 0.0};
    int count = 0;
    facts.fixed = node.op != Op::external;
    graph_->for_each_operand(id, [&](NodeId part) {
      const Facts& of_part = facts_.at(part);
      facts.derivative = facts.derivative || of_part.derivative;
      facts.fixed = facts.fixed && of_part.fixed;
      if (count < 3) values[count++] = of_part.value;
    });
    if (facts.fixed) facts.value = apply(node.op, values[0], values[1], values[2]);
  }
  const auto zero = [&](NodeId part) { return facts_.at(part).zero; };
  if (facts.fixed)
    facts.zero = facts.value == 0.0;
  else if (node.op == Op::mul)
    facts.zero = zero(node.a) || zero(node.b);
  else if (node.op == Op::div || node.op == Op::neg)
    facts.zero = zero(node.a);
  else if (node.op == Op::add || node.op == Op::sub)
    facts.zero = zero(node.a) && zero(node.b);
  else if (node.op == Op::select && facts_.at(node.a).fixed)
    facts.zero = zero(taken(node));
  else if (node.op == Op::select)
    facts.zero = zero(node.b) && zero(node.c);
  facts_.emplace(id, facts);
}

/// The branch that the parameters choose.
NodeId ZeroFactors::taken(const Node& select) const {
  return facts_.at(select.a).value != 0.0 ? select.b : select.c;
}

void ZeroFactors::count(NodeId root) {
  std::vector<NodeId> open{root};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    const Node& node = graph_->node(id);
    if (node.op == Op::constant) continue;
    if (facts_.at(id).fixed) {
      counted_.push_back(id);
      continue;
    }
    if (node.op == Op::mul)
      open.push_back(facts_.at(node.a).zero ? node.a : node.b);
    else if (node.op == Op::select && facts_.at(node.a).fixed) {
      counted_.push_back(node.a);
      open.push_back(taken(node));
    } else if (node.op == Op::select)
      open.insert(open.end(), {node.b, node.c});
    else if (node.op == Op::add || node.op == Op::sub)
      open.insert(open.end(), {node.a, node.b});
    else
      open.push_back(node.a);
  }
}

Expr ZeroFactors::without(const Expr& residual) {
  if (residual.is_constant()) return residual;
  const NodeId root = residual.in(*graph_);
  Rewrite rewrite(*graph_);
  for (const NodeId id : graph_->reachable(std::span(&root, 1))) {
    if (!facts_.contains(id)) look_at(id);
    const Node& node = graph_->node(id);
    if (node.op != Op::mul || !facts_.at(id).zero || !facts_.at(id).derivative) continue;
    if (facts_.at(facts_.at(node.a).zero ? node.a : node.b).fixed) continue;
    count(id);
    rewrite.replace.emplace(id, graph_->constant(0.0));
  }
  return rewrite.replace.empty() ? residual : Expr(graph_, rewrite(root));
}

std::vector<Expr> ZeroFactors::counted() const {
  std::vector<NodeId> ids = counted_;
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::vector<Expr> found;
  for (const NodeId id : ids) found.emplace_back(graph_, id);
  return found;
}

}  // namespace saltus
