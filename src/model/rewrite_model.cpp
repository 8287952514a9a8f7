#include "model/rewrite_model.hpp"

namespace saltus {

void rewrite_model(ModelData& m, Rewrite& rules) {
  const auto apply = [&](Expr& e) {
    if (e.graph()) e = Expr(m.graph, rules(e.id()));
  };
  const auto apply_condition = [&](BoolExpr& e) {
    if (e.expr().graph()) e = BoolExpr(Expr(m.graph, rules(e.expr().id())));
  };
  const auto apply_equations = [&](std::vector<ModelData::NamedEquation>& equations) {
    for (auto& e : equations) {
      apply(e.equation.lhs);
      apply(e.equation.rhs);
    }
  };
  const auto apply_actions = [&](std::vector<ModelData::Action>& actions) {
    for (auto& a : actions) {
      apply(a.target);
      apply(a.value);
      apply_condition(a.only_if);
    }
  };
  apply_equations(m.equations);
  apply_equations(m.initial_equations);
  for (auto& mode : m.modes) apply_equations(mode.equations);
  for (auto& c : m.clauses) {
    apply_condition(c.condition);
    apply_actions(c.actions);
  }
  for (auto& t : m.transitions) {
    apply_condition(t.condition);
    apply_actions(t.actions);
  }
  for (auto& d : m.definitions) apply(d.value);
  for (auto& a : m.assertions) apply_condition(a.condition);
  for (auto& s : m.surfaces) apply_condition(s.relation);
  for (auto& [relation, name] : m.guard_names) apply(relation);
}

}  // namespace saltus
