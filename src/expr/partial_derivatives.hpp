// The derivative of one operator with respect to one operand.
#pragma once

#include <saltus/expr/graph.hpp>

namespace saltus {

/// True if derivatives flow through the operator. False for what is constant between events, and for leaves.
bool carries_derivative(Op op);

/// d(node)/d(operand k) as a node: 0 where no derivative flows. Not for `select`, whose derivative is again a select,
/// and not for external calls, whose derivative is another call.
NodeId partial_derivative(Graph& graph, NodeId id, int k);

}  // namespace saltus
