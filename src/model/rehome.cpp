#include "model/rehome.hpp"

#include "model/model_arrays.hpp"

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

void rehome(ModelData& m, const GraphHandle& graph) {
  m.graph = graph;
  for (Expr* e : {&m.time, &m.still, &m.initial_symbol, &m.terminal_symbol}) rehome(*e, graph);
  rehome(m.variables, graph);
  for (auto& p : m.parameters) rehome(p.symbol, graph);
  for (auto& q : m.discretes) rehome(q.symbol, graph);
  const auto rehome_equations = [&](std::vector<ModelData::NamedEquation>& equations) {
    for (auto& e : equations) {
      rehome(e.equation.lhs, graph);
      rehome(e.equation.rhs, graph);
    }
  };
  rehome_equations(m.equations);
  rehome_equations(m.initial_equations);
  for (auto& mode : m.modes) rehome_equations(mode.equations);
  rehome(m.definitions, graph);
  rehome(m.clauses, graph);
  rehome(m.assertions, graph);
  rehome(m.transitions, graph);
  for (auto& [relation, name] : m.guard_names) rehome(relation, graph);
  for (auto& s : m.surfaces) rehome(s.relation, graph);
  rehome(m.pre_symbols, graph);
  for (auto& [name, value] : m.start_values) rehome(value, graph);
  for (ModelData::Sample& s : m.samples)
    for (Expr* part : {&s.start, &s.interval, &s.pulse}) rehome(*part, graph);
  for (auto& [name, bounds] : m.bound_values) {
    rehome(bounds.min, graph);
    rehome(bounds.max, graph);
  }
}

namespace {

void rehome(ModelArrays& arrays, const GraphHandle& graph) {
  for (ModelArrays::Array& array : arrays.arrays)
    for (auto& [position, symbol] : array.symbols) saltus::rehome(symbol, graph);
  for (ModelArrays::Reference& reference : arrays.references) saltus::rehome(reference.symbol, graph);
  for (ModelArrays::Loop& loop : arrays.loops) saltus::rehome(loop.body, graph);
}

}  // namespace

ModelData with_own_graph(const ModelData& model) {
  ModelData m = model;
  rehome(m, model.graph->clone());
  if (model.arrays) {
    m.arrays = std::make_shared<ModelArrays>(*model.arrays);
    rehome(*m.arrays, m.graph);
  }
  return m;
}

}  // namespace saltus
