// Models whose loops are kept: passes that stand for others, and the whole model made of them.
#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <unordered_set>

#include "modelica/flatten/flattener.hpp"

namespace saltus::modelica {

void Flattener::note_element(Component& component, std::size_t position, const std::string& name, double start,
                             const VariableOptions& options, Rare<VariableDetails>& shared,
                             const SourceLocation& where) {
  VariableDetails details{options.min, options.max,  options.unit,      options.description,
                          where,       options.type, options.causality, options.literals};
  if (position == 0 || !(*shared == details)) shared = std::move(details);  // elements that are alike share them
  if (component.is_discrete())
    kept_->discretes.push_back({name, start, shared});
  else
    kept_->variables.push_back(
        {.name = name, .start = start, .fixed = options.fixed, .nominal = options.nominal, .details = shared});
}

void Flattener::require_symbols(const Component& component, const std::vector<Expr>& elements) const {
  if (!kept_ || component.is_parameter() || component.dims.empty()) return;
  if (std::ranges::any_of(elements, [](const Expr& e) { return !e.is_symbol(); })) throw NotKept{};
}

// The first pass of each shape.
void Flattener::flatten_kept_loop(const Equation& equation) {
  for (const std::size_t number : kept_->nests_of.at(&equation)) {
    const KeptLoops::Nest& nest = kept_->nests[number];
    for (const int shape : nest.shapes) {
      const std::vector<std::int64_t>& pass = kept_->shapes[static_cast<std::size_t>(shape)].pass;
      std::vector<Locals> locals(pass.size());
      Context context = nest.context;
      for (std::size_t k = 0; k < pass.size(); ++k) {
        locals[k] = {nest.iterators[k]->name.text, Value::integer(pass[k]), context.locals};
        context.locals = &locals[k];
      }
      const std::size_t first = equations_.size(), clauses = clauses_.size();
      lift_numbers(kept_->shapes[static_cast<std::size_t>(shape)], shape);
      flatten_equations(nest.body, context, equations_);
      lifted_.clear();
      mark_shape(first, clauses, shape);
    }
  }
}

// Numbers that differ from pass to pass are discrete variables that never change.
void Flattener::lift_numbers(KeptLoops::Shape& shape, int number) {
  for (const auto& [expression, k] : shape.lifted) {
    const auto place = static_cast<std::size_t>(k);
    if (place == shape.symbols.size()) {
      const std::string name = "'number " + std::to_string(k + 1) + " of shape " + std::to_string(number + 1) + "'";
      shape.symbols.push_back(model_->discrete(name, shape.values[place]));
    }
    lifted_.emplace(expression, shape.symbols[place]);
  }
}

void Flattener::mark_shape(std::size_t first_equation, std::size_t first_clause, int shape) {
  for (std::size_t k = first_equation; k < equations_.size(); ++k) equations_[k].shape = shape;
  for (std::size_t k = first_clause; k < clauses_.size(); ++k) clauses_[k].shape = shape;
}

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

}  // namespace

std::shared_ptr<const RepeatedModel> Flattener::repeated_model() const {
  const ModelData& all = model_->data();
  if (!assertions_.empty() || !all.surfaces.empty() || !all.guard_names.empty()) return nullptr;
  auto model = std::make_shared<RepeatedModel>();
  model->name = all.name;
  model->variables = kept_->variables;
  model->discretes = kept_->discretes;
  for (const ModelData::Parameter& p : all.parameters)
    model->parameters.push_back({.name = p.name, .start = p.value, .fixed = true, .details = p.details});
  ModelData common = all;  // what all shapes have
  leave_common(common);
  for (std::size_t k = 0; k < kept_->shapes.size(); ++k) add_shape(*model, k, common);
  // a variable is a state if some cell has its derivative; that cell determines it
  std::vector<char> state(model->variables.size(), 0);
  std::vector<std::vector<char>> differentiated;
  for (const RepeatedModel::Shape& shape : model->shapes) {
    const std::size_t width = shape.model.variables.size();
    std::vector<char>& own = differentiated.emplace_back(width, 0);
    std::vector<Expr> sides;
    for (const auto& e : shape.model.equations) sides.insert(sides.end(), {e.equation.lhs, e.equation.rhs});
    std::erase_if(sides, [](const Expr& e) { return e.is_constant(); });
    for (const Expr& d : symbols_of(sides, SymbolKind::derivative))
      for (std::size_t k = 0; k < width; ++k)
        if (all.graph->symbol_of(d.id()).base == shape.model.variables[k].id()) own[k] = 1;
    for (std::size_t k = 0; k < shape.variables.size(); ++k)
      if (own[k % width]) state[static_cast<std::size_t>(shape.variables[k])] = 1;
  }
  for (std::size_t s = 0; s < model->shapes.size(); ++s) {
    RepeatedModel::Shape& shape = model->shapes[s];
    const std::size_t width = shape.model.variables.size();
    shape.own = differentiated[s];
    for (std::size_t k = 0; k < width; ++k)
      if (!state[static_cast<std::size_t>(shape.variables[k])]) shape.own[k] = 1;
    for (std::size_t k = 0; k < shape.variables.size(); ++k) {  // the same in all cells
      const bool others = state[static_cast<std::size_t>(shape.variables[k])] && !differentiated[s][k % width];
      if (others == (shape.own[k % width] != 0)) return nullptr;
    }
    const auto own = static_cast<std::size_t>(std::ranges::count(shape.own, 1));
    if (own == 0 || own != shape.model.equations.size()) return nullptr;
  }
  return has_one_cell_for_each(*model) ? model : nullptr;
}

// The part of the model that the first pass of a shape is, and where its variables are in all passes.
void Flattener::add_shape(RepeatedModel& model, std::size_t number, const ModelData& common) const {
  const KeptLoops::Shape& from = kept_->shapes[number];
  const ModelData& all = model_->data();
  RepeatedModel::Shape& shape = model.shapes.emplace_back();
  ModelData& own = shape.model;
  own = common;
  std::unordered_set<NodeId> symbols;
  std::vector<int> places;
  std::vector<char> discrete;
  for (std::size_t k = 0; k < from.width; ++k) {
    const int element = from.rows[k];
    const auto array = std::prev(std::ranges::upper_bound(kept_->arrays, element, {}, &KeptLoops::Array::first));
    const Component& component = *array->component;
    const Expr& symbol = component.values[static_cast<std::size_t>(element - array->first)];
    const ModelData::Declared declared = all.names.at(symbol.name());
    symbols.insert(symbol.id());
    discrete.push_back(component.is_discrete());
    if (component.is_discrete()) {
      own.names.emplace(symbol.name(), ModelData::Declared{SymbolKind::discrete, own.discretes.size()});
      own.discretes.push_back(all.discretes[declared.index]);
    } else {
      own.names.emplace(symbol.name(), ModelData::Declared{SymbolKind::variable, own.variables.size()});
      own.variables.push_back(symbol);
      own.variable_info.push_back(all.variable_info[declared.index]);
    }
  }
  for (const Expr& symbol : from.symbols) {
    own.names.emplace(symbol.name(), ModelData::Declared{SymbolKind::discrete, own.discretes.size()});
    own.discretes.push_back(all.discretes[all.names.at(symbol.name()).index]);
    own.discretes.back().hidden = true;
    symbols.insert(symbol.id());
  }
  shape.numbers = from.symbols.size();
  shape.number_values = from.values;
  shape.cells = from.width == 0 ? 1 : from.rows.size() / from.width;
  for (std::size_t k = 0; k < from.rows.size(); ++k) {
    const int element = from.rows[k];
    const auto array = std::prev(std::ranges::upper_bound(kept_->arrays, element, {}, &KeptLoops::Array::first));
    (discrete[k % from.width] ? shape.discretes : shape.variables).push_back(array->place + element - array->first);
  }
  const auto select = [&](auto& list, const auto& source, const std::vector<int>& shapes) {
    list.clear();
    for (std::size_t k = 0; k < source.size(); ++k)
      if (shapes[k] == static_cast<int>(number)) list.push_back(source[k]);
  };
  select(own.equations, all.equations, kept_->equation_shapes);
  select(own.definitions, all.definitions, kept_->definition_shapes);
  own.clauses.clear();
  std::vector<int> moved(all.clauses.size(), -1);
  for (std::size_t k = 0; k < all.clauses.size(); ++k) {
    if (kept_->clause_shapes[k] != static_cast<int>(number)) continue;
    moved[k] = static_cast<int>(own.clauses.size());
    own.clauses.push_back(all.clauses[k]);
    if (int& after = own.clauses.back().after; after >= 0) after = moved[static_cast<std::size_t>(after)];
  }
  std::erase_if(own.pre_symbols, [&](const auto& pair) { return !symbols.contains(pair.first.id()); });
  own.pre_places.clear();
  for (std::size_t k = 0; k < own.pre_symbols.size(); ++k) own.pre_places.emplace(own.pre_symbols[k].first.id(), k);
}

// Leaves what all shapes have. Elements of large arrays of parameters that no cell reads are gone: they are numbers of
// cells.
void Flattener::leave_common(ModelData& own) const {
  constexpr std::int64_t large = 32;
  const ModelData& all = model_->data();
  own.variables.clear();
  own.variable_info.clear();
  own.discretes.clear();
  own.start_values.clear();  // to change values, the model is written out
  own.bound_values.clear();
  std::erase_if(own.names, [](const auto& entry) { return entry.second.kind != SymbolKind::parameter; });
  if (std::ranges::none_of(all.parameters, [&](const ModelData::Parameter& p) {
        const Component* component = component_of(p.symbol);
        return component && count(component->dims) > large;
      }))
    return;
  std::vector<Expr> read;
  for (const auto& e : all.equations) read.insert(read.end(), {e.equation.lhs, e.equation.rhs});
  for (const auto& c : all.clauses) {
    read.push_back(c.condition.expr());
    for (const auto& action : c.actions) read.insert(read.end(), {action.value, action.only_if.expr()});
  }
  for (const auto& definition : all.definitions) read.push_back(definition.value);
  std::erase_if(read, [](const Expr& e) { return e.is_constant(); });
  std::unordered_set<NodeId> used;
  for (const Expr& p : symbols_of(read, SymbolKind::parameter)) used.insert(p.id());
  std::erase_if(own.parameters, [&](const ModelData::Parameter& p) {
    const Component* component = component_of(p.symbol);
    return component && count(component->dims) > large && !used.contains(p.symbol.id());
  });
  std::erase_if(own.names, [](const auto& entry) { return entry.second.kind == SymbolKind::parameter; });
  for (std::size_t k = 0; k < own.parameters.size(); ++k)
    own.names.emplace(own.parameters[k].name, ModelData::Declared{SymbolKind::parameter, k});
}

}  // namespace saltus::modelica
