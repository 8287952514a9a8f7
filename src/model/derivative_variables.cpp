#include "model/derivative_variables.hpp"

#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <vector>

#include "model/rewrite_model.hpp"

namespace saltus {

namespace {

using Equations = std::vector<ModelData::NamedEquation>;

template <class Visit>
void for_each_equation(ModelData& m, Visit visit) {
  for (auto& e : m.equations) visit(e);
  for (auto& mode : m.modes)
    for (auto& e : mode.equations) visit(e);
}

template <class Visit>
void for_each_action(ModelData& m, Visit visit) {
  for (auto& c : m.clauses)
    for (auto& a : c.actions) visit(a);
  for (auto& t : m.transitions)
    for (auto& a : t.actions) visit(a);
}

bool is_derivative(const Expr& e) {
  return e.is_symbol() && e.graph()->symbol_of(e.id()).kind == SymbolKind::derivative;
}

void add(std::vector<Expr>& list, const Expr& e) {
  if (std::ranges::none_of(list, [&](const Expr& other) { return other.same(e); })) list.push_back(e);
}

/// True if an equation is not linear in the derivative.
bool occurs_nonlinearly(ModelData& m, const Expr& d) {
  bool found = false;
  for_each_equation(m, [&](const ModelData::NamedEquation& e) {
    const Expr residual = e.equation.residual();
    const auto all = symbols_of(std::span(&residual, 1), SymbolKind::derivative);
    if (found || std::ranges::none_of(all, [&](const Expr& other) { return other.same(d); })) return;
    const Expr slope = derivative(residual, d);
    const auto left = symbols_of(std::span(&slope, 1), SymbolKind::derivative);
    found = std::ranges::any_of(left, [&](const Expr& other) { return other.same(d); });
  });
  return found;
}

std::vector<Expr> chosen_derivatives(ModelData& m) {
  std::vector<Expr> chosen;
  for_each_action(m, [&](const ModelData::Action& a) {
    if (a.kind == ModelData::Action::Kind::reset && is_derivative(a.target)) add(chosen, a.target);
  });
  std::vector<Expr> sides;
  for (const auto& e : m.initial_equations) sides.insert(sides.end(), {e.equation.lhs, e.equation.rhs});
  for (const Expr& d : symbols_of(sides, SymbolKind::derivative))
    if (occurs_nonlinearly(m, d)) add(chosen, d);
  return chosen;
}

/// Declares a variable for the derivative, with the unit of the result left open.
Expr declare_derivative(ModelData& m, const Expr& d) {
  const NodeId base = m.graph->symbol_of(d.id()).base;
  const auto x = std::ranges::find_if(m.variables, [&](const Expr& v) { return v.id() == base; });
  std::string name = "der(" + x->name() + ")";
  while (m.names.contains(name)) name += "'";
  const VariableInfo& info = m.variable_info[static_cast<std::size_t>(x - m.variables.begin())];
  VariableInfo added{.name = name, .nominal = info.nominal, .details = VariableDetails{.where = info.details->where}};
  m.names.emplace(name, ModelData::Declared{SymbolKind::variable, m.variables.size()});
  m.variables.emplace_back(m.graph, m.graph->symbol(name, SymbolKind::variable));
  m.variable_info.push_back(std::move(added));
  return m.variables.back();
}

/// The value that an initial equation der(x) = value gives, if it depends on parameters alone: a guess, too, from which
/// the equations are regular.
void take_guess(ModelData& m, const Expr& d, const std::string& name) {
  const auto known = [](const Expr& e) {
    for (const SymbolKind kind : {SymbolKind::time, SymbolKind::variable, SymbolKind::derivative, SymbolKind::discrete})
      if (!symbols_of(std::span(&e, 1), kind).empty()) return false;
    return true;
  };
  for (const auto& e : m.initial_equations)
    for (const auto& [side, other] :
         {std::pair(e.equation.lhs, e.equation.rhs), std::pair(e.equation.rhs, e.equation.lhs)})
      if (side.same(d) && known(other)) m.start_values.insert_or_assign(name, other);
}

}  // namespace

void add_derivative_variables(ModelData& m) {
  const std::vector<Expr> chosen = chosen_derivatives(m);
  if (chosen.empty()) return;
  Rewrite rewrite(*m.graph);
  Equations added;
  for (const Expr& d : chosen) {
    const Expr variable = declare_derivative(m, d);
    rewrite.replace.emplace(d.id(), variable.id());
    take_guess(m, d, variable.name());
    added.push_back({Equation{d, variable}, "", m.variable_info.back().details->where});
  }
  rewrite_model(m, rewrite);
  m.equations.insert(m.equations.end(), added.begin(), added.end());
}

}  // namespace saltus
