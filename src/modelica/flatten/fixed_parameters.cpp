// Parameters that the model does not contain: their values were used to write it.
#include <limits>
#include <unordered_map>

#include "modelica/flatten/flattener.hpp"

namespace saltus::modelica {

std::vector<double> Flattener::parameter_values(std::span<const Expr> expressions) const {
  Graph& graph = *model_->data().graph;
  std::vector<NodeId> roots;
  for (const Expr& e : expressions) roots.push_back(e.in(graph));
  std::unordered_map<NodeId, double> values;
  for (const NodeId id : graph.reachable(roots)) {
    const Node& n = graph.node(id);
    double value = std::numeric_limits<double>::quiet_NaN();
    if (n.op == Op::constant) {
      value = graph.constant_value(id);
    } else if (n.op == Op::symbol) {
      if (const auto it = parameter_values_.find(id); it != parameter_values_.end())
        value = it->second;
      else if (const auto varying = varying_.find(id); varying != varying_.end())
        value = value_in_element(varying->second);
    } else if (n.op != Op::external) {
      const int operands = operand_count(n.op);
      value = apply(n.op, values.at(n.a), operands > 1 ? values.at(n.b) : 0.0, operands > 2 ? values.at(n.c) : 0.0);
    }
    values.emplace(id, value);
  }
  std::vector<double> result;
  for (const NodeId root : roots) result.push_back(values.at(root));
  return result;
}

bool Flattener::is_known(const Expr& expr) const {
  if (expr.is_constant()) return true;
  Graph& graph = *model_->data().graph;
  const std::vector<NodeId> roots = {expr.in(graph)};
  for (const NodeId id : graph.reachable(roots)) {
    const Op op = graph.node(id).op;
    if (op == Op::external) return false;
    if (op == Op::symbol && !parameter_values_.contains(id) && !varying_.contains(id)) return false;
  }
  return true;
}

void Flattener::collect_fixed(Instance& instance, std::vector<VariableInfo>& found, std::vector<Expr>& values) {
  for (Component& component : instance.components) {
    if (component.shape_state != Component::State::done || component.absent) continue;
    if (component.prototype >= 0) {
      collect_fixed_in_elements(component, found, values);
      continue;
    }
    for (Instance* element : component.elements) collect_fixed(*element, found, values);
    if (component.variability != Variability::parameter || component.value_state != Component::State::done) continue;
    const VariableOptions options = described(component);
    const VariableDetails details{.unit = options.unit,
                                  .description = options.description,
                                  .where = locate(component.where()),
                                  .type = options.type,
                                  .literals = options.literals};
    for (std::size_t k = 0; k < component.values.size(); ++k) {
      const Expr& value = component.values[k];
      const auto place = places_.find(value.id());
      const bool own_symbol = !value.is_constant() && place != places_.end() && place->second.component == &component &&
                              place->second.position == k;
      if (own_symbol || varying_.contains(value.id())) continue;  // a parameter of the model
      found.push_back({.name = component.path + subscript_text(component.dims, k), .fixed = true, .details = details});
      values.push_back(value);
    }
  }
}

void Flattener::collect_fixed_in_elements(Component& array, std::vector<VariableInfo>& found,
                                          std::vector<Expr>& values) {
  std::vector<VariableInfo> of_first;
  std::vector<Expr> expressions;
  collect_fixed(*array.elements.front(), of_first, expressions);
  for (std::size_t k = 0; k < of_first.size(); ++k) {
    const std::vector<double> all = values_in_elements(expressions[k]);
    for (std::size_t e = 0; e < prototypes_[static_cast<std::size_t>(array.prototype)].size; ++e) {
      found.push_back(of_first[k]);
      if (e > 0) found.back().name = name_in_element(of_first[k].name, array, e);
      values.emplace_back(all[all.size() == 1 ? 0 : e]);
    }
  }
}

std::vector<VariableInfo> Flattener::fixed_parameters() {
  std::vector<VariableInfo> found;
  std::vector<Expr> expressions;
  collect_fixed(*top_, found, expressions);
  const std::vector<double> values = parameter_values(expressions);
  for (std::size_t k = 0; k < found.size(); ++k) found[k].start = values[k];
  return found;
}

}  // namespace saltus::modelica
