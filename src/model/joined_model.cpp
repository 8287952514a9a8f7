#include "model/joined_model.hpp"

#include <saltus/expr/derivative.hpp>
#include <saltus/expr/print.hpp>

#include <algorithm>

#include "model/defined_discretes.hpp"
#include "model/rewrite_model.hpp"

namespace saltus {

RepeatedModel::Shape JoinedModels::make(const JoinedCell& cell, std::size_t shape) {
  RepeatedModel::Shape result;
  result.own = cell.roles;
  result.numbers = cell.numbers.size();
  ModelData& m = result.model;
  declare(cell, shape, m);
  for (std::size_t k = 0; k < cell.equations.size();) {  // those of one pass are rewritten together
    if (passes_.is_sum(cell.equations[k])) {
      m.equations.push_back({sum_equation(cell.equations[k++]), "", {}});
      continue;
    }
    const PassPlace p = passes_.equation(cell.equations[k]);
    ModelData part = empty_part();
    for (; k < cell.equations.size() && !passes_.is_sum(cell.equations[k]); ++k) {
      const PassPlace next = passes_.equation(cell.equations[k]);
      if (next.pass_number() != p.pass_number()) break;
      part.equations.push_back(p.shape->shape->model.equations[at(next.equation)]);
    }
    append(std::move(part), p, cell, m);
  }
  for (const int number : cell.passes) {
    const PassPlace p = passes_.pass(number);
    ModelData part = empty_part();
    part.clauses = p.shape->shape->model.clauses;
    part.definitions = p.shape->shape->model.definitions;
    part.assertions = p.shape->shape->model.assertions;
    append(std::move(part), p, cell, m);
  }
  if (passes_.model().replaces_definitions) replace_definitions(m);
  return result;
}

// Solved for its unknown, so that it is eliminated however many terms it has.
Equation JoinedModels::sum_equation(int number) const {
  const std::span<const int> unknowns = passes_.unknowns_of(passes_.block_of_equation(number));
  std::vector<Expr> terms;
  double own_factor = 0.0;
  for (const auto& [variable, factor] : passes_.sum(number).terms)
    if (unknowns.size() == 1 && variable == unknowns.front())
      own_factor = factor;
    else
      terms.push_back(factor * variables_.at(variable));
  if (own_factor == 0.0) return sum(terms) == Expr(0.0);
  return variables_.at(unknowns.front()) == sum(terms) / -own_factor;
}

void JoinedModels::declare_parameters(std::vector<RepeatedModel::Shape>& shapes) const {
  for (RepeatedModel::Shape& shape : shapes)
    for (const ModelData::Parameter& p : parameters_) {
      shape.model.names.emplace(p.name, ModelData::Declared{SymbolKind::parameter, shape.model.parameters.size()});
      shape.model.parameters.push_back(p);
    }
}

double JoinedModels::value_of_number(const JoinedCell& cell, std::size_t number) const {
  const auto& [place, k] = cell.numbers[number];
  const RepeatedModel::Shape& from = *place.shape->shape;
  return from.number_values[at(place.pass) * from.numbers + at(k) - place.shape->discretes()];
}

// What all shapes have, and the variables of this one.
void JoinedModels::declare(const JoinedCell& cell, std::size_t shape, ModelData& m) {
  m = common_;
  m.variables.clear();
  m.variable_info.clear();
  m.discretes.clear();
  m.equations.clear();
  m.clauses.clear();
  m.definitions.clear();
  m.assertions.clear();
  m.pre_symbols.clear();
  m.pre_places.clear();
  std::erase_if(m.names, [](const auto& entry) { return entry.second.kind != SymbolKind::parameter; });
  for (const int v : cell.variables) {
    const VariableInfo& info = passes_.model().variables[at(v)];
    m.names.emplace(info.name, ModelData::Declared{SymbolKind::variable, m.variables.size()});
    m.variables.push_back(symbol_of(variables_, v, info.name, SymbolKind::variable));
    m.variable_info.push_back(info);
  }
  const auto add = [&](ModelData::Discrete q) {
    m.names.emplace(q.name, ModelData::Declared{SymbolKind::discrete, m.discretes.size()});
    m.discretes.push_back(std::move(q));
  };
  for (const int q : cell.discretes) {
    const RepeatedModel::Discrete& info = passes_.model().discretes[at(q)];
    ModelData::Discrete declared = declaration_of(cell, q);
    declared.name = info.name;
    declared.symbol = symbol_of(discretes_, q, info.name, SymbolKind::discrete);
    declared.start = info.start;
    declared.details = info.details;
    add(std::move(declared));
  }
  number_symbols_.clear();
  for (std::size_t k = 0; k < cell.numbers.size(); ++k) {
    const std::string name = number_name(cell, k, shape);
    number_symbols_.emplace_back(m.graph, graph_.symbol(name, SymbolKind::discrete));
    add({.symbol = number_symbols_.back(), .start = value_of_number(cell, k), .name = name, .hidden = true});
  }
}

// Names of the components whose places others take in a pass, by those in the first pass: "wall[7]" by "wall[1]".
JoinedModels::Components JoinedModels::components_of(const PassPlace& p) const {
  Components result;
  const auto add = [&](const std::string& first, const std::string& now) {
    const std::size_t a = first.find('.'), b = now.find('.');
    if (a != std::string::npos && b != std::string::npos) result.emplace(first.substr(0, a), now.substr(0, b));
  };
  const ModelData& m = p.shape->shape->model;
  for (std::size_t k = 0; k < m.variables.size(); ++k)
    add(m.variable_info[k].name, passes_.model().variables[at(p.variable(static_cast<int>(k)))].name);
  for (std::size_t k = 0; k < p.shape->discretes(); ++k)
    add(m.discretes[k].name, passes_.model().discretes[at(p.discrete(static_cast<int>(k)))].name);
  return result;
}

// Of a parameter of a component, or one that says nothing.
std::string JoinedModels::number_name(const JoinedCell& cell, std::size_t number, std::size_t shape) const {
  const auto& [p, k] = cell.numbers[number];
  const std::string& name = p.shape->shape->model.discretes[at(k)].name;
  for (const auto& [first, now] : components_of(p))
    if (name.starts_with(first + ".")) return now + name.substr(first.size());
  return "'number " + std::to_string(number + 1) + " of shape " + std::to_string(shape + 1) + "'";
}

const ModelData::Discrete& JoinedModels::declaration_of(const JoinedCell& cell, int discrete) const {
  const auto find = [&](const PassPlace& p, const PassNames& names) -> const ModelData::Discrete* {
    for (const int k : names.discretes)
      if (p.discrete(k) == discrete) return &p.shape->shape->model.discretes[at(k)];
    return nullptr;
  };
  for (const int e : cell.equations)
    if (const auto* found = find(passes_.equation(e), passes_.equation(e).names())) return *found;
  for (const int p : cell.passes)
    if (const auto* found = find(passes_.pass(p), passes_.pass(p).shape->events)) return *found;
  throw NotKept{};
}

Expr JoinedModels::symbol_of(std::unordered_map<int, Expr>& known, int place, const std::string& name,
                             SymbolKind kind) {
  const auto it = known.find(place);
  if (it != known.end()) return it->second;
  return known.emplace(place, Expr(common_.graph, graph_.symbol(name, kind))).first->second;
}

// Parameters of components have the same value in all passes of a shape, but names of their own.
void JoinedModels::rename_parameters(const PassPlace& p, Rewrite& rules) {
  const Components components = components_of(p);
  for (const ModelData::Parameter& parameter : common_.parameters) {
    const auto it = components.find(parameter.name.substr(0, parameter.name.find('.')));
    if (it == components.end() || it->first == it->second) continue;
    const std::string name = it->second + parameter.name.substr(it->first.size());
    const auto [known, fresh] = parameter_places_.try_emplace(name, parameters_.size());
    if (fresh) {
      ModelData::Parameter& own = parameters_.emplace_back(parameter);
      own.name = name;
      own.symbol = Expr(common_.graph, graph_.symbol(name, SymbolKind::parameter));
    }
    rules.replace.emplace(parameter.symbol.id(), parameters_[known->second].symbol.id());
  }
}

ModelData JoinedModels::empty_part() const {
  ModelData part;
  part.graph = common_.graph;
  return part;
}

namespace {

bool declares(const ModelData& m, const Expr& symbol) {
  const auto it = m.names.find(symbol.name());
  if (it == m.names.end()) return false;
  const bool is_variable = it->second.kind == SymbolKind::variable;
  return (is_variable ? m.variables[it->second.index] : m.discretes[it->second.index].symbol).same(symbol);
}

}  // namespace

// Adds what a pass has, with the symbols of the cell.
void JoinedModels::append(ModelData part, const PassPlace& p, const JoinedCell& cell, ModelData& m) {
  const RepeatedModel::Shape& from = *p.shape->shape;
  Rewrite rules(graph_);
  for (std::size_t k = 0; k < from.model.variables.size(); ++k) {
    const auto it = variables_.find(p.variable(static_cast<int>(k)));
    if (it == variables_.end()) continue;  // no cell has had it until now
    const Expr& symbol = from.model.variables[k];
    rules.replace.emplace(symbol.id(), it->second.id());
    rules.replace.emplace(der(symbol).id(), der(it->second).id());
  }
  for (std::size_t k = 0; k < from.model.discretes.size(); ++k) {
    const NodeId symbol = from.model.discretes[k].symbol.id();
    if (k < p.shape->discretes()) {
      const auto it = discretes_.find(p.discrete(static_cast<int>(k)));
      if (it != discretes_.end()) rules.replace.emplace(symbol, it->second.id());
      continue;
    }
    for (std::size_t j = 0; j < cell.numbers.size(); ++j)
      if (cell.numbers[j].first.pass_number() == p.pass_number() && cell.numbers[j].second == static_cast<int>(k))
        rules.replace.emplace(symbol, number_symbols_[j].id());
  }
  rename_parameters(p, rules);
  for (const auto& [symbol, before] : from.model.pre_symbols) {
    const Expr element(m.graph, rules(symbol.id()));
    if (!declares(m, element)) continue;
    const auto [place, fresh] = m.pre_places.emplace(element.id(), m.pre_symbols.size());
    if (fresh)
      m.pre_symbols.emplace_back(element,
                                 Expr(m.graph, graph_.symbol("pre(" + element.name() + ")", SymbolKind::discrete)));
    rules.replace.emplace(before.id(), m.pre_symbols[place->second].second.id());
  }
  rewrite_model(part, rules);
  const auto first = static_cast<int>(m.clauses.size());
  for (ModelData::NamedEquation& e : part.equations) m.equations.push_back(std::move(e));
  for (ModelData::Definition& d : part.definitions) {
    d.discrete = Expr(m.graph, rules(d.discrete.id()));
    m.definitions.push_back(std::move(d));
  }
  for (ModelData::Assertion& a : part.assertions) m.assertions.push_back(std::move(a));
  for (ModelData::Clause& c : part.clauses) {
    if (!c.name.empty() && !c.named) c.name = (c.after >= 0 ? "elsewhen " : "when ") + to_string(c.condition);
    if (c.after >= 0) c.after += first;
    m.clauses.push_back(std::move(c));
  }
}

}  // namespace saltus
