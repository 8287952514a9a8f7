#include "model/undefined_part.hpp"

#include <saltus/expr/derivative.hpp>
#include <saltus/expr/print.hpp>

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace saltus {

std::string undefined_part(const RecordedEquations& eq, std::size_t equation, const RecordedPoint& point) {
  const auto graph = common_graph(eq.variables);
  if (!graph || equation >= eq.equations.size()) return "";
  std::vector<Expr> derivatives;
  for (const Expr& x : eq.variables) derivatives.push_back(der(x));
  std::vector<NodeId> leaves;  // values of locks are given
  for (const Expr& lock : eq.locks) leaves.push_back(lock.in(*graph));
  NodeId at = eq.equations[equation].in(*graph);
  const std::vector<NodeId> nodes = graph->reachable(std::span(&at, 1), leaves);
  std::vector<Expr> outputs;
  std::unordered_map<NodeId, std::size_t> place;
  for (const NodeId id : nodes) {
    place.emplace(id, outputs.size());
    outputs.emplace_back(graph, id);
  }
  using Groups = std::vector<std::vector<Expr>>;
  const Program program(Groups{{eq.time}, eq.variables, derivatives, eq.data, eq.locks}, Groups{outputs});
  std::vector<double> values(outputs.size());
  const double* const in[] = {&point.t, point.x.data(), point.xp.data(), point.data.data(), point.locks.data()};
  double* const out[] = {values.data()};
  Workspace workspace = program.workspace();
  program(in, out, workspace);
  const auto undefined = [&](NodeId id) {
    const auto it = place.find(id);
    return it != place.end() && !std::isfinite(values[it->second]);
  };
  if (!undefined(at)) return "";
  for (;;) {
    NodeId deeper = no_node;
    const Node& node = graph->node(at);
    if (std::find(leaves.begin(), leaves.end(), at) != leaves.end()) break;
    if (node.op == Op::select) {
      const NodeId taken = values[place.at(node.a)] != 0.0 ? node.b : node.c;
      deeper = undefined(node.a) ? node.a : undefined(taken) ? taken : no_node;
    } else {
      graph->for_each_operand(at, [&](NodeId operand) {
        if (deeper == no_node && undefined(operand)) deeper = operand;
      });
    }
    if (deeper == no_node) break;
    at = deeper;
  }
  return to_string(Expr(graph, at), 60);
}

}  // namespace saltus
