// Models whose loops are kept: passes that stand for others, and the whole model made of them.
#include <algorithm>
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

std::shared_ptr<const RepeatedModel> Flattener::repeated_model() {
  constexpr std::int64_t large = 32;  // arrays of parameters
  if (!assertions_.empty()) return nullptr;
  FirstPasses passes{.model = model_->data(),
                     .equation_shapes = std::move(kept_->equation_shapes),
                     .clause_shapes = std::move(kept_->clause_shapes),
                     .definition_shapes = std::move(kept_->definition_shapes),
                     .variables = std::move(kept_->variables),
                     .discretes = std::move(kept_->discretes)};
  for (const ModelData::Parameter& p : passes.model.parameters)
    if (const Component* component = component_of(p.symbol); component && count(component->dims) > large)
      passes.elements.insert(p.symbol.id());
  for (KeptLoops::Shape& from : kept_->shapes) {
    FirstPasses::Shape& shape = passes.shapes.emplace_back();
    shape.numbers = std::move(from.symbols);
    shape.number_values = std::move(from.values);
    shape.places = std::move(from.rows);
    for (std::size_t k = 0; k < shape.places.size(); ++k) {
      int& place = shape.places[k];
      const auto array = std::prev(std::ranges::upper_bound(kept_->arrays, place, {}, &KeptLoops::Array::first));
      const int position = place - array->first;
      if (k < from.width) {
        shape.symbols.push_back(array->component->values[static_cast<std::size_t>(position)]);
        shape.discrete.push_back(array->component->is_discrete());
      }
      place = array->place + position;
    }
  }
  return std::move(passes).repeat();
}

}  // namespace saltus::modelica
