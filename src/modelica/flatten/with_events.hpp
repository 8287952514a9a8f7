// Values that change at events only: Integers, Booleans and enumerations.
#pragma once

#include <saltus/expr/expr.hpp>
#include <saltus/expr/rewrite.hpp>

#include <span>

namespace saltus::modelica {

/// The same value with events where relations and roundings had none. `kept`: expressions in it that stay as they are.
inline Expr with_events(const Expr& value, std::span<const Expr> kept = {}) {
  if (!value.graph()) return value;
  Rewrite rewrite(*value.graph());
  for (const Expr& e : kept)
    if (e.graph()) rewrite.replace.emplace(e.id(), e.id());
  rewrite.rule = [](Graph& graph, const Node& n) -> NodeId {
    switch (n.op) {
      case Op::live_positive:
        return graph.make(Op::positive, n.a);
      case Op::live_nonnegative:
        return graph.make(Op::nonnegative, n.a);
      case Op::live_floor:
        return graph.make(Op::floor, n.a);
      default:
        return no_node;
    }
  };
  return {value.graph(), rewrite(value.id())};
}

}  // namespace saltus::modelica
