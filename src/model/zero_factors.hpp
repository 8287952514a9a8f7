// Derivatives with a factor of variables that is zero for the present values of the parameters: C*sqrt(v)*der(v), C =
// 0.
#pragma once

#include <saltus/expr/expr.hpp>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace saltus {

/// Takes such products out of equations. A junction of no capacitance has no state: with a derivative in its equation
/// the structure would promise degrees of freedom that the numbers deny at every point. Factors of parameters alone
/// stay: they are constant, so their zeros are known, and derivatives by them are asked for (M*der(i) with M = 0).
class ZeroFactors {
 public:
  /// `parameter_values`: by the nodes of their symbols.
  ZeroFactors(std::shared_ptr<Graph> graph, const std::unordered_map<NodeId, double>& parameter_values)
      : graph_(std::move(graph)), parameter_values_(parameter_values) {}

  /// The same residual without them.
  Expr without(const Expr& residual);
  /// Expressions of parameters that counted by being zero or not: for other values the equations may be others.
  std::vector<Expr> counted() const;

 private:
  struct Facts {
    bool derivative = false;  ///< one occurs
    bool fixed = false;       ///< of parameters and numbers alone
    bool zero = false;
    double value = 0.0;  ///< of what is fixed
  };
  void look_at(NodeId id);
  NodeId taken(const Node& select) const;
  /// Notes which parameters make a node zero.
  void count(NodeId id);

  std::shared_ptr<Graph> graph_;
  const std::unordered_map<NodeId, double>& parameter_values_;
  std::unordered_map<NodeId, Facts> facts_;
  std::vector<NodeId> counted_;
};

}  // namespace saltus
