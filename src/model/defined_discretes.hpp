// Discrete variables that equations define (`on = T < 20`), replaced by what they are worth.
#pragma once

#include <saltus/expr/rewrite.hpp>
#include <saltus/model/model.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

namespace saltus {

struct DefinedDiscrete {
  Expr symbol, value;
  bool is_boolean;
};

/// The definitions in an order in which each one comes after those that it reads. Definitions that need each other in a
/// circle are left out.
std::vector<std::size_t> order_of(std::span<const DefinedDiscrete> definitions);

/// What replaces defined variables. Booleans are replaced everywhere. A number is replaced in continuous equations
/// only, and only where no relation contains it: a relation on a number that jumps would be a guard without a zero.
class DefinitionRules {
 public:
  /// Also replaces defined variables in the definitions of `order`.
  /// before: symbols of values before an event; continuous: both sides of all equations.
  DefinitionRules(std::shared_ptr<Graph> graph, std::span<DefinedDiscrete> definitions,
                  std::span<const std::size_t> order, const std::unordered_set<NodeId>& before,
                  std::span<const Expr> continuous);

  /// In conditions, assigned values, assertions and definitions.
  Expr at_events(const Expr& e) { return apply(at_events_, e); }
  /// In equations.
  Expr in_equations(const Expr& e) { return apply(in_equations_, e); }

 private:
  Expr apply(Rewrite& rules, const Expr& e) const;

  std::shared_ptr<Graph> graph_;
  Rewrite at_events_, in_equations_;
};

/// Applies the rules to a model whose clauses, equations, definitions and assertions are those of a cell.
/// Throws NotKept if definitions need each other in a circle.
void replace_definitions(ModelData& model);

}  // namespace saltus
