#include "model/defined_discretes.hpp"

#include <saltus/expr/derivative.hpp>
#include <saltus/expr/print.hpp>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "model/iterator_form.hpp"

namespace saltus {

// Kahn's algorithm.
std::vector<std::size_t> order_of(std::span<const DefinedDiscrete> definitions) {
  std::unordered_map<NodeId, std::size_t> index;
  for (std::size_t k = 0; k < definitions.size(); ++k) index.emplace(definitions[k].symbol.id(), k);
  std::vector<std::vector<std::size_t>> users(definitions.size());
  std::vector<std::size_t> waiting(definitions.size(), 0);
  for (std::size_t k = 0; k < definitions.size(); ++k)
    for (const Expr& symbol : symbols_of(std::span(&definitions[k].value, 1), SymbolKind::discrete))
      if (const auto it = index.find(symbol.id()); it != index.end()) {
        users[it->second].push_back(k);
        ++waiting[k];
      }
  std::vector<std::size_t> order;
  for (std::size_t k = 0; k < definitions.size(); ++k)
    if (waiting[k] == 0) order.push_back(k);
  for (std::size_t n = 0; n < order.size(); ++n)
    for (const std::size_t user : users[order[n]])
      if (--waiting[user] == 0) order.push_back(user);
  return order;
}

DefinitionRules::DefinitionRules(std::shared_ptr<Graph> graph, std::span<DefinedDiscrete> definitions,
                                 std::span<const std::size_t> order, const std::unordered_set<NodeId>& before,
                                 std::span<const Expr> continuous)
    : graph_(std::move(graph)), at_events_(*graph_), in_equations_(*graph_) {
  std::unordered_set<NodeId> compared;
  for (const Expr& lock : locks_of(continuous)) {
    const Expr function = switching_function(lock);
    for (const Expr& symbol : symbols_of(std::span(&function, 1), SymbolKind::discrete)) compared.insert(symbol.id());
  }
  for (const std::size_t k : order) {
    auto& [symbol, value, is_boolean] = definitions[k];
    const NodeId id = symbol.id();
    value = Expr(graph_, at_events_(value.in(*graph_)));
    const Expr between(graph_, in_equations_(value.in(*graph_)));
    if (is_boolean) at_events_.replace.emplace(id, value.id());
    const std::vector<Expr> symbols = symbols_of(std::span(&between, 1), SymbolKind::discrete);
    const std::vector<Expr> locks = locks_of(std::span(&between, 1));
    const bool looks_back = std::ranges::any_of(symbols, [&](const Expr& s) { return before.contains(s.id()); });
    const bool rounds =
        std::ranges::any_of(locks, [&](const Expr& lock) { return graph_->node(lock.id()).op == Op::floor; });
    if (!looks_back && (is_boolean || !(rounds || compared.contains(id))))
      in_equations_.replace.emplace(id, between.id());
  }
}

Expr DefinitionRules::apply(Rewrite& rules, const Expr& e) const {
  return e.is_constant() ? e : Expr(graph_, rules(e.in(*graph_)));
}

void replace_definitions(ModelData& model) {
  if (model.definitions.empty()) return;
  std::vector<DefinedDiscrete> definitions;
  for (const ModelData::Definition& d : model.definitions)
    definitions.push_back({d.discrete, d.value, model.discretes[model.names.at(d.discrete.name()).index].boolean});
  const std::vector<std::size_t> order = order_of(definitions);
  if (order.size() < definitions.size()) throw NotKept{};
  std::unordered_set<NodeId> before;
  for (const auto& [symbol, value] : model.pre_symbols) before.insert(value.id());
  std::vector<Expr> sides;
  for (const ModelData::NamedEquation& e : model.equations) sides.insert(sides.end(), {e.equation.lhs, e.equation.rhs});
  DefinitionRules rules(model.graph, definitions, order, before, sides);
  const auto rewrite = [&](BoolExpr& condition) { condition = BoolExpr(rules.at_events(condition.expr())); };
  for (ModelData::NamedEquation& e : model.equations) {
    e.equation.lhs = rules.in_equations(e.equation.lhs);
    e.equation.rhs = rules.in_equations(e.equation.rhs);
  }
  for (std::size_t k = 0; k < definitions.size(); ++k) model.definitions[k].value = definitions[k].value;
  for (ModelData::Clause& clause : model.clauses) {
    rewrite(clause.condition);
    if (!clause.name.empty() && !clause.named)
      clause.name = (clause.after >= 0 ? "elsewhen " : "when ") + to_string(clause.condition);
    for (ModelData::Action& action : clause.actions) {
      action.value = rules.at_events(action.value);
      rewrite(action.only_if);
    }
  }
  for (ModelData::Assertion& assertion : model.assertions) rewrite(assertion.condition);
}

}  // namespace saltus
