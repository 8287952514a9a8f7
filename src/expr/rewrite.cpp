#include <saltus/expr/rewrite.hpp>

namespace saltus {

NodeId Rewrite::operator()(NodeId root) {
  for (const NodeId id : graph_.reachable(std::span(&root, 1))) {
    if (done_.contains(id)) continue;
    if (const auto it = replace.find(id); it != replace.end()) {
      done_.emplace(id, it->second);
      continue;
    }
    Node n = graph_.node(id);
    NodeId result = id;
    if (n.op == Op::external) {
      const ExternalCall call = graph_.call_of(id);
      std::vector<NodeId> arguments;
      for (const NodeId argument : call.arguments) arguments.push_back(done_.at(argument));
      if (arguments != call.arguments) result = graph_.call(call.function, arguments, static_cast<int>(n.b));
    } else if (const int count = operand_count(n.op); count > 0) {
      n.a = done_.at(n.a);
      if (count > 1) n.b = done_.at(n.b);
      if (count > 2) n.c = done_.at(n.c);
      result = no_node;
      if (rule) result = rule(graph_, n);
      if (result == no_node) result = n == graph_.node(id) ? id : graph_.make(n.op, n.a, n.b, n.c);
    }
    if (result != id && graph_.was_written(id)) graph_.note_written(result);  // the user wrote this side of a relation
    done_.emplace(id, result);
  }
  return done_.at(root);
}

}  // namespace saltus
