// Models whose loops are kept: passes that stand for others, and the whole model made of them.
#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <array>
#include <iterator>

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
      lift_numbers(kept_->shapes[static_cast<std::size_t>(shape)], shape);
      flatten_equations(nest.body, context, equations_);
      lifted_.clear();
      mark_shape(shape);
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

void Flattener::mark_shape(int shape) {
  const auto mark = [&](auto& list, std::size_t& marked) {
    for (; marked < list.size(); ++marked) list[marked].shape = shape;
  };
  mark(equations_, marked_equations_);
  mark(clauses_, marked_clauses_);
  mark(assertions_, marked_assertions_);
}

// What components read, element by element: all of their own variables, and others that their equations have.
void Flattener::list_component_rows() {
  const ModelData& data = model_->data();
  std::unordered_map<NodeId, int> number_of;
  for (const auto& [id, place] : places_)
    if (const auto it = kept_->array_of.find(place.component); it != kept_->array_of.end())
      number_of.emplace(id, kept_->number(it->second, 0, static_cast<int>(place.position)));
  for (const auto& [number, symbol] : element_symbols_) number_of[symbol.id()] = number;
  for (const auto& [symbol, before] : data.pre_symbols)
    if (const auto it = number_of.find(symbol.id()); it != number_of.end()) number_of.emplace(before.id(), it->second);
  std::vector<std::vector<Expr>> parts(kept_->shapes.size());
  const auto part = [&](int shape) -> std::vector<Expr>& { return parts.at(static_cast<std::size_t>(shape)); };
  for (std::size_t k = 0; k < data.equations.size(); ++k) {
    std::vector<Expr>& all = part(kept_->equation_shapes[k]);
    all.insert(all.end(), {data.equations[k].equation.lhs, data.equations[k].equation.rhs});
  }
  for (std::size_t k = 0; k < data.definitions.size(); ++k) {
    std::vector<Expr>& all = part(kept_->definition_shapes[k]);
    all.insert(all.end(), {data.definitions[k].discrete, data.definitions[k].value});
  }
  for (std::size_t k = 0; k < data.clauses.size(); ++k) {
    std::vector<Expr>& all = part(kept_->clause_shapes[k]);
    all.push_back(data.clauses[k].condition.expr());
    for (const ModelData::Action& action : data.clauses[k].actions)
      all.insert(all.end(), {action.target, action.value, action.only_if.expr()});
  }
  for (std::size_t k = 0; k < data.assertions.size(); ++k)
    part(kept_->assertion_shapes[k]).push_back(data.assertions[k].condition.expr());
  const auto named = [&](int shape) {
    std::vector<Expr>& all = part(shape);
    std::erase_if(all, [](const Expr& e) { return e.is_constant(); });
    std::vector<int> numbers;
    const auto add = [&](NodeId id) {
      if (const auto it = number_of.find(id); it != number_of.end()) numbers.push_back(it->second);
    };
    for (const SymbolKind kind : {SymbolKind::variable, SymbolKind::discrete})
      for (const Expr& s : symbols_of(all, kind)) add(s.id());
    for (const Expr& s : symbols_of(all, SymbolKind::derivative)) add(data.graph->symbol_of(s.id()).base);
    return numbers;
  };
  const auto sort = [](std::vector<int>& row) {
    std::ranges::sort(row);
    row.erase(std::unique(row.begin(), row.end()), row.end());
  };
  KeptLoops::Shape& rest = kept_->shapes[static_cast<std::size_t>(kept_->rest)];
  for (const int number : named(kept_->rest)) rest.rows.push_back(number);
  sort(rest.rows);
  rest.width = rest.rows.size();
  for (std::size_t g = 0; g < kept_->groups.size(); ++g) {
    const KeptLoops::Group& group = kept_->groups[g];
    KeptLoops::Shape& shape = kept_->shapes[static_cast<std::size_t>(group.shape)];
    const int width = group.width();
    std::vector<int> row = named(group.shape);
    for (int k = 0; k < width; ++k) row.push_back(group.first + k);
    sort(row);
    shape.width = row.size();
    for (int e = 0; e < group.count; ++e)
      for (const int number : row) {
        const bool own = number >= group.first && number < group.first + width;
        shape.rows.push_back(own ? number + e * width : number);
      }
    const Prototype& prototype = prototypes_[g];
    for (const NodeId id : prototype.numbers) shape.symbols.push_back(varying_.at(id).symbol);
    for (std::size_t e = 0; e < prototype.size; ++e)
      for (const NodeId id : prototype.numbers) shape.values.push_back(varying_.at(id).values[e]);
  }
}

Expr Flattener::symbol_of(int number) {
  const KeptLoops::Found found = kept_->find(number);
  const Component& component = *found.array->component;
  if (found.element == 0) return component.values[static_cast<std::size_t>(found.position)];
  const auto [it, fresh] = element_symbols_.try_emplace(number);
  if (fresh) {
    const auto place = static_cast<std::size_t>(kept_->place(found));
    if (component.is_discrete()) {
      const RepeatedModel::Discrete& info = kept_->discretes[place];
      it->second = component.type.kind == TypeKind::boolean ? model_->discrete(info.name, info.start != 0.0).expr()
                                                            : model_->discrete(info.name, info.start);
    } else {
      const VariableInfo& info = kept_->variables[place];
      it->second = model_->variable(info.name, info.start, {.fixed = info.fixed, .nominal = info.nominal});
    }
    places_[it->second.id()] = {found.array->component, static_cast<std::size_t>(found.position)};
  }
  return it->second;
}

bool Flattener::is_determined_elsewhere(const Expr& symbol) const {
  if (std::ranges::any_of(element_symbols_, [&](const auto& entry) { return entry.second.same(symbol); })) return true;
  const ScalarPlace& place = places_.at(symbol.id());
  const auto array = kept_->array_of.find(place.component);
  return array != kept_->array_of.end() &&
         kept_->connections.contains(kept_->number(array->second, 0, static_cast<int>(place.position)));
}

// Equations of connections: one shape for all that connect the same variables of components in the same order.
std::vector<RepeatedModel::Sum> Flattener::add_connections() {
  constexpr std::size_t wide = 16, most = 2000;
  std::vector<RepeatedModel::Sum> sums;
  std::map<std::vector<int>, std::size_t> known;
  std::vector<int> key, row;
  enum class Kind : int { potential, flow, signal };  // signal: of discrete variables, from the first to the second
  const auto add = [&](std::span<const int> members, Kind kind) {
    row.assign(members.begin(), members.end());
    std::ranges::sort(row);
    key.assign(1, static_cast<int>(kind));
    for (const int number : members) {
      const KeptLoops::Found found = kept_->find(number);
      key.push_back(static_cast<int>(found.array - kept_->arrays.data()));
      key.push_back(found.position);
      key.push_back(static_cast<int>(std::ranges::lower_bound(row, number) - row.begin()));
    }
    const auto [it, fresh] = known.try_emplace(key, kept_->shapes.size());
    if (fresh) {
      if (kept_->shapes.size() > most) throw NotKept{};
      kept_->shapes.push_back({{}, row.size(), {}});
      std::vector<Expr> terms;
      for (const int number : members) terms.push_back(symbol_of(number));
      if (kind == Kind::signal) {
        model_->define(terms[1], terms[0]);
        kept_->definition_shapes.push_back(static_cast<int>(it->second));
      } else {
        model_->equation(kind == Kind::flow ? sum(terms) == Expr(0.0) : terms[0] == terms[1]);
        kept_->equation_shapes.push_back(static_cast<int>(it->second));
      }
    }
    std::vector<int>& rows = kept_->shapes[it->second].rows;
    rows.insert(rows.end(), row.begin(), row.end());
  };
  for (const std::vector<int>& set : kept_->connections.sets()) {
    const auto component = [&](int number) -> const Component& { return *kept_->find(number).array->component; };
    const auto is_source = [&](int number) { return component(number).direction == Direction::output; };
    const auto sources = std::ranges::count_if(set, is_source);
    if (sources > 1) throw NotKept{};
    const bool flow = component(set.front()).role == ConnectorRole::flow;
    if (component(set.front()).type.kind != TypeKind::real) {
      if (sources != 1) throw NotKept{};
      const int source = *std::ranges::find_if(set, is_source);
      for (const int number : set)
        if (number != source) add(std::array{source, number}, Kind::signal);
      continue;
    }
    if (flow && set.size() > wide) {
      RepeatedModel::Sum& all = sums.emplace_back();
      for (const int number : set) all.terms.push_back({kept_->place(kept_->find(number)), 1.0});
    } else if (flow) {
      add(set, Kind::flow);
    } else {
      for (std::size_t k = 1; k < set.size(); ++k) add(std::array{set[0], set[k]}, Kind::potential);
    }
  }
  for (const auto& [array, position] : kept_->connections.open()) {
    const int group = kept_->arrays[static_cast<std::size_t>(array)].group;
    const int elements = group < 0 ? 1 : kept_->groups[static_cast<std::size_t>(group)].count;
    for (int e = 0; e < elements; ++e)
      if (const int number = kept_->number(array, e, position); !kept_->connections.contains(number))
        add(std::array{number}, Kind::flow);
  }
  return sums;
}

std::shared_ptr<const RepeatedModel> Flattener::repeated_model() {
  constexpr std::int64_t large = 32;  // arrays of parameters
  std::vector<RepeatedModel::Sum> sums;
  // Clauses that the model has made for itself (those of `sample`) belong to no pass.
  const ModelData& all = model_->data();
  if (all.equations.size() != kept_->equation_shapes.size() || all.clauses.size() != kept_->clause_shapes.size() ||
      all.definitions.size() != kept_->definition_shapes.size() ||
      all.assertions.size() != kept_->assertion_shapes.size())
    throw NotKept{};
  if (kept_->has_components) {
    list_component_rows();
    sums = add_connections();
  }
  FirstPasses passes{.model = model_->data(),
                     .equation_shapes = std::move(kept_->equation_shapes),
                     .clause_shapes = std::move(kept_->clause_shapes),
                     .definition_shapes = std::move(kept_->definition_shapes),
                     .assertion_shapes = std::move(kept_->assertion_shapes),
                     .variables = std::move(kept_->variables),
                     .discretes = std::move(kept_->discretes),
                     .sums = std::move(sums),
                     .replaces_definitions = true};
  if (!prototypes_.empty()) passes.parameters = parameters_of_elements();
  for (const ModelData::Parameter& p : passes.model.parameters)
    if (const Component* component = component_of(p.symbol); component && count(component->dims) > large)
      passes.elements.insert(p.symbol.id());
  for (KeptLoops::Shape& from : kept_->shapes) {
    FirstPasses::Shape& shape = passes.shapes.emplace_back();
    shape.numbers = std::move(from.symbols);
    shape.number_values = std::move(from.values);
    shape.places = std::move(from.rows);
    for (std::size_t k = 0; k < shape.places.size(); ++k) {
      const KeptLoops::Found found = kept_->find(shape.places[k]);
      if (k < from.width) {
        shape.symbols.push_back(symbol_of(shape.places[k]));
        shape.discrete.push_back(found.array->component->is_discrete());
      }
      shape.places[k] = kept_->place(found);
    }
  }
  return std::move(passes).repeat();
}

}  // namespace saltus::modelica
