#include "model/repeated_model.hpp"

#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <optional>
#include <utility>

#include "model/defined_discretes.hpp"
#include "model/joined_passes.hpp"
#include "model/rewrite_model.hpp"

namespace saltus {

namespace {

/// Whether every variable and discrete variable belongs to one cell.
bool has_one_cell_for_each(const RepeatedModel& model) {
  std::vector<int> variables(model.variables.size(), 0), discretes(model.discretes.size(), 0);
  for (const RepeatedModel::Shape& shape : model.shapes) {
    for (std::size_t k = 0; k < shape.variables.size(); ++k)
      variables[static_cast<std::size_t>(shape.variables[k])] += shape.own[k % shape.own.size()];
    for (const int q : shape.discretes) ++discretes[static_cast<std::size_t>(q)];
  }
  const auto one = [](int count) { return count == 1; };
  return std::ranges::all_of(variables, one) && std::ranges::all_of(discretes, one);
}

/// By variable of a shape: whether its equations have its derivative.
std::vector<char> differentiated_in(const ModelData& model) {
  std::vector<char> result(model.variables.size(), 0);
  std::vector<Expr> sides;
  for (const auto& e : model.equations) sides.insert(sides.end(), {e.equation.lhs, e.equation.rhs});
  std::erase_if(sides, [](const Expr& e) { return e.is_constant(); });
  for (const Expr& d : symbols_of(sides, SymbolKind::derivative))
    for (std::size_t k = 0; k < result.size(); ++k)
      if (model.graph->symbol_of(d.id()).base == model.variables[k].id()) result[k] = 1;
  return result;
}

/// Finds what belongs to the cells of each shape: a variable is a state if some cell has its derivative; that cell
/// determines it. False: cells of one shape differ, or have not as many equations as variables.
bool find_own(RepeatedModel& model) {
  std::vector<char> state(model.variables.size(), 0);
  std::vector<std::vector<char>> differentiated;
  for (const RepeatedModel::Shape& shape : model.shapes) {
    const std::vector<char>& own = differentiated.emplace_back(differentiated_in(shape.model));
    for (std::size_t k = 0; k < shape.variables.size(); ++k)
      if (own[k % own.size()]) state[static_cast<std::size_t>(shape.variables[k])] = 1;
  }
  for (std::size_t s = 0; s < model.shapes.size(); ++s) {
    RepeatedModel::Shape& shape = model.shapes[s];
    const std::size_t width = shape.model.variables.size();
    shape.own = differentiated[s];
    for (std::size_t k = 0; k < width; ++k)
      if (!state[static_cast<std::size_t>(shape.variables[k])]) shape.own[k] = 1;
    for (std::size_t k = 0; k < shape.variables.size(); ++k) {  // the same in all cells
      const bool others = state[static_cast<std::size_t>(shape.variables[k])] && !differentiated[s][k % width];
      if (others == (shape.own[k % width] != 0)) return false;
    }
    const auto own = static_cast<std::size_t>(std::ranges::count(shape.own, 1));
    if (own == 0 || own != shape.model.equations.size()) return false;
  }
  return true;
}

/// Whether cells compare what is their own.
bool relations_are_local(const RepeatedModel& model) {
  return std::ranges::all_of(model.shapes, [](const RepeatedModel::Shape& shape) {
    const std::vector<Expr> compared = symbols_of(locks_of(expressions_of(shape.model)), SymbolKind::variable);
    return std::ranges::all_of(compared, [&](const Expr& symbol) {
      const auto it = shape.model.names.find(symbol.name());
      return it == shape.model.names.end() || shape.own[it->second.index] != 0;
    });
  });
}

}  // namespace

std::shared_ptr<const RepeatedModel> FirstPasses::repeat() && {
  if (!model.surfaces.empty() || !model.guard_names.empty()) return nullptr;
  auto whole = std::make_shared<RepeatedModel>();
  whole->name = model.name;
  whole->variables = std::move(variables);
  whole->discretes = std::move(discretes);
  whole->parameters = std::move(parameters);
  if (whole->parameters.empty())
    for (const ModelData::Parameter& p : model.parameters)
      whole->parameters.push_back({.name = p.name, .start = p.value, .fixed = true, .details = p.details});
  const ModelData common = common_part();
  for (std::size_t k = 0; k < shapes.size(); ++k) whole->shapes.push_back(shape(k, common));
  whole->sums = std::move(sums);
  whole->replaces_definitions = replaces_definitions;
  const bool complete = whole->sums.empty() && find_own(*whole) && has_one_cell_for_each(*whole);
  if (!complete || !relations_are_local(*whole))
    if (const std::shared_ptr<const RepeatedModel> joined = join_passes(*whole); joined || !complete) return joined;
  if (replaces_definitions)
    for (RepeatedModel::Shape& shape : whole->shapes) saltus::replace_definitions(shape.model);
  return whole;
}

// The part of the model that the first pass of a shape is, and where its variables are in all passes.
RepeatedModel::Shape FirstPasses::shape(std::size_t number, const ModelData& common) {
  Shape& from = shapes[number];
  RepeatedModel::Shape result;
  ModelData& own = result.model;
  own = common;
  std::unordered_set<NodeId> symbols;
  const auto add_discrete = [&](const Expr& symbol) {
    own.names.emplace(symbol.name(), ModelData::Declared{SymbolKind::discrete, own.discretes.size()});
    own.discretes.push_back(model.discretes[model.names.at(symbol.name()).index]);
    symbols.insert(symbol.id());
  };
  const std::size_t width = from.symbols.size();
  for (std::size_t k = 0; k < width; ++k) {
    const Expr& symbol = from.symbols[k];
    if (from.discrete[k]) {
      add_discrete(symbol);
      continue;
    }
    own.names.emplace(symbol.name(), ModelData::Declared{SymbolKind::variable, own.variables.size()});
    own.variables.push_back(symbol);
    own.variable_info.push_back(model.variable_info[model.names.at(symbol.name()).index]);
    symbols.insert(symbol.id());
  }
  for (const Expr& symbol : from.numbers) {
    add_discrete(symbol);
    own.discretes.back().hidden = true;
  }
  result.numbers = from.numbers.size();
  result.number_values = std::move(from.number_values);
  result.cells = width == 0 ? 1 : from.places.size() / width;
  result.variables.reserve(result.cells * own.variables.size());
  for (std::size_t k = 0; k < from.places.size(); ++k)
    (from.discrete[k % width] ? result.discretes : result.variables).push_back(from.places[k]);
  from.places = {};
  const auto select = [&](auto& list, const auto& source, const std::vector<int>& marks) {
    list.clear();
    for (std::size_t k = 0; k < source.size(); ++k)
      if (marks[k] == static_cast<int>(number)) list.push_back(source[k]);
  };
  select(own.equations, model.equations, equation_shapes);
  select(own.definitions, model.definitions, definition_shapes);
  select(own.assertions, model.assertions, assertion_shapes);
  own.clauses.clear();
  std::vector<int> moved(model.clauses.size(), -1);
  for (std::size_t k = 0; k < model.clauses.size(); ++k) {
    if (clause_shapes[k] != static_cast<int>(number)) continue;
    moved[k] = static_cast<int>(own.clauses.size());
    own.clauses.push_back(model.clauses[k]);
    if (int& after = own.clauses.back().after; after >= 0) after = moved[static_cast<std::size_t>(after)];
  }
  std::erase_if(own.pre_symbols, [&](const auto& pair) { return !symbols.contains(pair.first.id()); });
  own.pre_places.clear();
  for (std::size_t k = 0; k < own.pre_symbols.size(); ++k) own.pre_places.emplace(own.pre_symbols[k].first.id(), k);
  return result;
}

// What all shapes have. Elements of large arrays of parameters that no cell reads are gone: they are numbers of cells.
ModelData FirstPasses::common_part() const {
  ModelData own = model;
  own.variables.clear();
  own.variable_info.clear();
  own.discretes.clear();
  own.start_values.clear();  // to change values, the model is written out
  own.bound_values.clear();
  std::erase_if(own.names, [](const auto& entry) { return entry.second.kind != SymbolKind::parameter; });
  if (elements.empty()) return own;
  std::vector<Expr> read;
  for (const auto& e : model.equations) read.insert(read.end(), {e.equation.lhs, e.equation.rhs});
  for (const auto& c : model.clauses) {
    read.push_back(c.condition.expr());
    for (const auto& action : c.actions) read.insert(read.end(), {action.value, action.only_if.expr()});
  }
  for (const auto& definition : model.definitions) read.push_back(definition.value);
  for (const auto& assertion : model.assertions) read.push_back(assertion.condition.expr());
  std::erase_if(read, [](const Expr& e) { return e.is_constant(); });
  std::unordered_set<NodeId> used;
  for (const Expr& p : symbols_of(read, SymbolKind::parameter)) used.insert(p.id());
  std::erase_if(own.parameters, [&](const ModelData::Parameter& p) {
    return elements.contains(p.symbol.id()) && !used.contains(p.symbol.id());
  });
  std::erase_if(own.names, [](const auto& entry) { return entry.second.kind == SymbolKind::parameter; });
  for (std::size_t k = 0; k < own.parameters.size(); ++k)
    own.names.emplace(own.parameters[k].name, ModelData::Declared{SymbolKind::parameter, k});
  return own;
}

}  // namespace saltus
