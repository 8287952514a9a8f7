// Expressions of a graph become those of a clone of it, which has the same nodes under the same numbers (Graph::clone).
#pragma once

#include <saltus/model/model.hpp>
#include <saltus/model/recorded_system.hpp>

#include <memory>
#include <utility>
#include <vector>

#include "model/event_logic.hpp"

namespace saltus {

using GraphHandle = std::shared_ptr<Graph>;

/// Numbers belong to no graph and stay as they are.
inline void rehome(Expr& e, const GraphHandle& graph) {
  if (e.graph()) e = Expr(graph, e.id());
}
inline void rehome(BoolExpr& e, const GraphHandle& graph) {
  if (e.expr().graph()) e = BoolExpr(Expr(graph, e.expr().id()));
}
void rehome(ModelData::Action& action, const GraphHandle& graph);
void rehome(ModelData::Clause& clause, const GraphHandle& graph);
void rehome(ModelData::Transition& transition, const GraphHandle& graph);
void rehome(ModelData::Definition& definition, const GraphHandle& graph);
void rehome(ModelData::Assertion& assertion, const GraphHandle& graph);
void rehome(ModelData& model, const GraphHandle& graph);
void rehome(RecordedEquations& equations, const GraphHandle& graph);
void rehome(EventLogic::Setup& setup, const GraphHandle& graph);

template <class A, class B>
void rehome(std::pair<A, B>& pair, const GraphHandle& graph) {
  rehome(pair.first, graph);
  rehome(pair.second, graph);
}
template <class T>
void rehome(std::vector<T>& list, const GraphHandle& graph) {
  for (T& item : list) rehome(item, graph);
}

/// A copy of the model with a graph of its own, to which expressions can be added without touching the original.
ModelData with_own_graph(const ModelData& model);

}  // namespace saltus
