#include "model/undefined_part.hpp"

#include <saltus/expr/derivative.hpp>
#include <saltus/expr/print.hpp>

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace saltus {

namespace {

/// What to do about an operation that gives no finite number from finite operands: its name, and the way out.
std::string advice_for(Op op, double a, double b) {
  switch (op) {
    case Op::sqrt:
      return "The square root of a negative number has no value: switch before it, if x > 0 then sqrt(x) else 0";
    case Op::log:
      return a == 0.0
                 ? "The logarithm of zero has no value: end the run before it (terminate), or switch, if x > 0 then "
                   "log(x) else …"
                 : "The logarithm of a negative number has no value: switch, if x > 0 then log(x) else …";
    case Op::asin:
    case Op::acos:
      return "asin and acos take numbers from -1 to 1: limit the argument, max(-1, min(1, x)), if it leaves them by "
             "rounding only";
    case Op::div:
      if (b == 0.0)
        return "A division by zero has no value: multiply the equation by the divisor, or switch before it, if x > 0 "
               "then 1/x else …";
      break;
    case Op::pow:
      if (a < 0.0) return "A power of a negative number has no value: write abs(x)^p*sign(x), or switch before it";
      if (a == 0.0) return "A negative power of zero has no value: switch before it, if x > 0 then x^p else …";
      break;
    case Op::external:
      return "The function returns no finite number here: look at the arguments for which it is called";
    default:
      break;
  }
  return "The numbers grow beyond 1e308: the solution may have a pole, or a coefficient or a unit is wrong. End the "
         "run before it (--stop, terminate)";
}

}  // namespace

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
  const Node& node = graph->node(at);
  const auto operand = [&](NodeId id) {
    const auto it = id == no_node ? place.end() : place.find(id);
    return it == place.end() ? 1.0 : values[it->second];
  };
  if (node.op == Op::constant || node.op == Op::symbol) return to_string(Expr(graph, at), 60);
  return to_string(Expr(graph, at), 60) + "\n" + advice_for(node.op, operand(node.a), operand(node.b));
}

}  // namespace saltus
