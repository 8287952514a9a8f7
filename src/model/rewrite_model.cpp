#include "model/rewrite_model.hpp"

namespace saltus {

namespace {

/// Calls `visit` with all expressions, and `visit_condition` with all conditions.
template <class Data, class Visit, class VisitCondition>
void for_each_expression(Data& m, Visit&& visit, VisitCondition&& visit_condition) {
  const auto visit_equations = [&](auto& equations) {
    for (auto& e : equations) {
      visit(e.equation.lhs);
      visit(e.equation.rhs);
    }
  };
  const auto visit_actions = [&](auto& actions) {
    for (auto& a : actions) {
      visit(a.target);
      visit(a.value);
      visit_condition(a.only_if);
    }
  };
  visit_equations(m.equations);
  visit_equations(m.initial_equations);
  for (auto& mode : m.modes) visit_equations(mode.equations);
  for (auto& c : m.clauses) {
    visit_condition(c.condition);
    visit_actions(c.actions);
  }
  for (auto& t : m.transitions) {
    visit_condition(t.condition);
    visit_actions(t.actions);
  }
  for (auto& d : m.definitions) visit(d.value);
  for (auto& a : m.assertions) visit_condition(a.condition);
  for (auto& s : m.surfaces) visit_condition(s.relation);
  for (auto& [relation, name] : m.guard_names) visit(relation);
}

}  // namespace

void rewrite_model(ModelData& m, Rewrite& rules) {
  const auto apply = [&](Expr& e) {
    if (e.graph()) e = Expr(m.graph, rules(e.id()));
  };
  const auto apply_condition = [&](BoolExpr& e) {
    if (e.expr().graph()) e = BoolExpr(Expr(m.graph, rules(e.expr().id())));
  };
  for_each_expression(m, apply, apply_condition);
}

std::vector<Expr> expressions_of(const ModelData& model) {
  std::vector<Expr> all;
  const auto add = [&](const Expr& e) {
    if (!e.is_constant()) all.push_back(e);
  };
  for_each_expression(model, add, [&](const BoolExpr& e) { add(e.expr()); });
  for (const auto& d : model.definitions) all.push_back(d.discrete);
  return all;
}

}  // namespace saltus
