#include "model/rehome.hpp"

namespace saltus {

void rehome(ModelData::Action& a, const GraphHandle& graph) {
  rehome(a.target, graph);
  rehome(a.value, graph);
  rehome(a.only_if, graph);
}

void rehome(ModelData::Clause& c, const GraphHandle& graph) {
  rehome(c.condition, graph);
  rehome(c.actions, graph);
}

void rehome(ModelData::Transition& t, const GraphHandle& graph) {
  rehome(t.condition, graph);
  rehome(t.actions, graph);
}

void rehome(ModelData::Definition& d, const GraphHandle& graph) {
  rehome(d.discrete, graph);
  rehome(d.value, graph);
}

void rehome(ModelData::Assertion& a, const GraphHandle& graph) {
  rehome(a.condition, graph);
}

void rehome(RecordedEquations& eq, const GraphHandle& graph) {
  rehome(eq.time, graph);
  for (auto* list : {&eq.variables, &eq.equations, &eq.data, &eq.locks, &eq.guards, &eq.invariants})
    rehome(*list, graph);
}

void rehome(EventLogic::Setup& s, const GraphHandle& graph) {
  rehome(s.time, graph);
  for (auto* list : {&s.variables, &s.derivatives, &s.parameters, &s.discretes, &s.locks}) rehome(*list, graph);
  rehome(s.pre_variables, graph);
  rehome(s.pre_discretes, graph);
  rehome(s.clauses, graph);
  rehome(s.transitions, graph);
  rehome(s.definitions, graph);
  rehome(s.assertions, graph);
}

ModelData with_own_graph(const ModelData& model) {
  ModelData m = model;
  m.graph = model.graph->clone();
  for (Expr* e : {&m.time, &m.still, &m.initial_symbol, &m.terminal_symbol}) rehome(*e, m.graph);
  rehome(m.variables, m.graph);
  for (auto& p : m.parameters) rehome(p.symbol, m.graph);
  for (auto& q : m.discretes) rehome(q.symbol, m.graph);
  const auto rehome_equations = [&](std::vector<ModelData::NamedEquation>& equations) {
    for (auto& e : equations) {
      rehome(e.equation.lhs, m.graph);
      rehome(e.equation.rhs, m.graph);
    }
  };
  rehome_equations(m.equations);
  rehome_equations(m.initial_equations);
  for (auto& mode : m.modes) rehome_equations(mode.equations);
  rehome(m.definitions, m.graph);
  rehome(m.clauses, m.graph);
  rehome(m.assertions, m.graph);
  rehome(m.transitions, m.graph);
  for (auto& [relation, name] : m.guard_names) rehome(relation, m.graph);
  for (auto& s : m.surfaces) rehome(s.relation, m.graph);
  rehome(m.pre_symbols, m.graph);
  for (auto& [name, value] : m.start_values) rehome(value, m.graph);
  for (ModelData::Sample& s : m.samples)
    for (Expr* part : {&s.start, &s.interval, &s.pulse}) rehome(*part, m.graph);
  for (auto& [name, bounds] : m.bound_values) {
    rehome(bounds.min, m.graph);
    rehome(bounds.max, m.graph);
  }
  return m;
}

}  // namespace saltus
