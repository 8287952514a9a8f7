// Arrays of components that are kept: the first element stands for all.
//
// What a modification says of each element differently is a number that differs: a symbol stands for it. Whatever needs
// its value, other than start values, writes the array out.
#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <cmath>

#include "modelica/flatten/flattener.hpp"

namespace saltus::modelica {

bool Flattener::begin_prototype(Component& component) {
  if (!keep_loops_ || component.owner->parent || component.owner->is_static || component.is_parameter()) return false;
  if (!is_large(component.dims)) return false;
  const ClassKind kind = component.type.cls->kind();
  if (kind != ClassKind::model && kind != ClassKind::block && kind != ClassKind::class_) return false;
  for (const auto& [name, value] : overrides_)
    if (name.starts_with(component.path + "[") || name.starts_with(component.path + ".")) throw NotKept{};
  component.prototype = static_cast<int>(prototypes_.size());
  prototypes_.push_back({&component, static_cast<std::size_t>(count(component.dims))});
  return true;
}

double Flattener::value_in_element(const VaryingNumber& number) const {
  if (in_element_ < 0) throw NotKept{};
  return number.values[static_cast<std::size_t>(in_element_)];
}

// The value of a binding for all elements of a kept array: one that they have in common, or a symbol.
Value Flattener::value_of_all(const Binding& binding, const Selector& selector) {
  const Prototype& prototype = prototypes_[static_cast<std::size_t>(selector.prototype)];
  const Value& whole = binding.lazy->value;
  if (binding.path.size() > 1 || whole.dims != prototype.array->dims || whole.type == TypeKind::record ||
      whole.type == TypeKind::string)
    throw NotKept{};
  const std::pair key(binding.lazy.get(), selector.prototype);
  if (const auto known = of_all_.find(key); known != of_all_.end()) return known->second;
  const Value first = whole.at(0);
  const auto is_first = [&](const Expr& e) {
    return e.is_constant() == first.scalar().is_constant() &&
           (e.is_constant() ? e.constant_value() == first.scalar().constant_value() : e.same(first.scalar()));
  };
  const bool common = std::ranges::all_of(whole.elements, is_first);
  return of_all_.emplace(key, common ? first : varying_number(whole, selector.prototype)).first->second;
}

// A symbol for numbers that differ from element to element. It has the name of the parameter that they are for.
Value Flattener::varying_number(const Value& numbers, int number) {
  Prototype& prototype = prototypes_[static_cast<std::size_t>(number)];
  if (!numbers.is_numeric() || numbers.variability < Variability::parameter) throw NotKept{};
  std::vector<double> values;
  for (const Expr& e : numbers.elements) values.push_back(parameter_value(e));
  if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); })) throw NotKept{};
  const std::string& path = prototype.array->path;
  const bool is_parameter = bound_parameter_.starts_with(path + subscript_text(prototype.array->dims, 0) + ".") &&
                            !model_->data().names.contains(bound_parameter_);
  const std::string name =
      is_parameter ? bound_parameter_ : "'number " + std::to_string(prototype.numbers.size() + 1) + " of " + path + "'";
  const Expr symbol = model_->discrete(name, values.front());
  prototype.numbers.push_back(symbol.id());
  varying_.emplace(symbol.id(), VaryingNumber{number, symbol, std::move(values)});
  return {TypeKind::real, Variability::parameter, symbol};
}

std::vector<double> Flattener::values_in_elements(const Expr& e) {
  std::size_t size = 1;
  if (!e.is_constant())
    for (const Expr& symbol : symbols_of(std::span(&e, 1), SymbolKind::discrete))
      if (const auto it = varying_.find(symbol.id()); it != varying_.end()) {
        if (e.same(symbol)) return it->second.values;
        size = it->second.values.size();
      }
  std::vector<double> values;
  for (std::size_t k = 0; k < size; ++k) {
    const InElement element(*this, static_cast<int>(k));
    values.push_back(parameter_value(e));
  }
  return values;
}

// A value of the first element as it is in another one.
Value Flattener::in_element(Value value, const Component& array, int element) {
  if (!kept_ || !variables_declared_ || value.type == TypeKind::record || value.type == TypeKind::string)
    throw NotKept{};
  for (Expr& e : value.elements) {
    if (e.is_constant()) continue;
    const auto place = places_.find(e.id());
    if (place == places_.end()) throw NotKept{};  // computed from parameters
    const Component& component = *place->second.component;
    if (component.is_parameter()) continue;  // as in all elements
    if (kept_->prototype_of(*component.owner) != array.prototype) throw NotKept{};
    e = symbol_of(kept_->number(kept_->array_of.at(&component), element, static_cast<int>(place->second.position)));
  }
  return value;
}

// Of the variable that was noted last.
void Flattener::note_start(const Expr& start, bool is_discrete) {
  if (start.is_constant() || varying_.empty()) return;
  for (const Expr& symbol : symbols_of(std::span(&start, 1), SymbolKind::discrete))
    if (const auto it = varying_.find(symbol.id()); it != varying_.end()) {
      Prototype& prototype = prototypes_[static_cast<std::size_t>(it->second.prototype)];
      const std::size_t place = (is_discrete ? kept_->discretes.size() : kept_->variables.size()) - 1;
      (is_discrete ? prototype.discrete_starts : prototype.starts).emplace_back(place, start);
      return;
    }
}

std::string Flattener::name_in_element(const std::string& name, const Component& array, std::size_t element) {
  const std::size_t before = array.path.size() + subscript_text(array.dims, 0).size();
  return array.path + subscript_text(array.dims, element) + name.substr(before);
}

// All elements behind the first have the variables of the first.
void Flattener::note_elements(Component& component) {
  if (!kept_) throw NotKept{};
  Prototype& prototype = prototypes_[static_cast<std::size_t>(component.prototype)];
  const KeptLoops::Group& group = kept_->groups[static_cast<std::size_t>(component.prototype)];
  const auto expand = [&](auto& list, int count, const std::vector<std::pair<std::size_t, Expr>>& varying) {
    const std::size_t width = static_cast<std::size_t>(count), first = list.size() - width;
    std::vector<std::vector<double>> starts(width);
    for (const auto& [place, start] : varying) starts[place - first] = values_in_elements(start);
    list.reserve(list.size() + width * (prototype.size - 1));
    for (std::size_t e = 1; e < prototype.size; ++e)
      for (std::size_t k = 0; k < width; ++k) {
        auto copy = list[first + k];
        copy.name = name_in_element(copy.name, component, e);
        if (!starts[k].empty()) copy.start = starts[k][e];
        if (!std::isfinite(copy.start)) throw NotKept{};
        list.push_back(std::move(copy));
      }
  };
  expand(kept_->variables, group.variables, prototype.starts);
  expand(kept_->discretes, group.discretes, prototype.discrete_starts);
}

std::vector<VariableInfo> Flattener::parameters_of_elements() {
  std::vector<VariableInfo> all;
  const auto add = [&](const VariableInfo& info, int number, const std::vector<double>* values) {
    const std::size_t size = number < 0 ? 1 : prototypes_[static_cast<std::size_t>(number)].size;
    for (std::size_t e = 0; e < size; ++e) {
      VariableInfo& own = all.emplace_back(info);
      if (values) own.start = (*values)[e];
      if (e > 0) own.name = name_in_element(info.name, *prototypes_[static_cast<std::size_t>(number)].array, e);
    }
  };
  for (const ModelData::Parameter& p : model_->data().parameters) {
    const VariableInfo info{.name = p.name, .start = p.value, .fixed = true, .details = p.details};
    const Component* component = component_of(p.symbol);
    add(info, component ? kept_->prototype_of(*component->owner) : -1, nullptr);
  }
  const auto add_varying = [&](const auto& self, Instance& instance, int number) -> void {
    for (Component& component : instance.components) {
      for (Instance* element : component.elements) self(self, *element, number);
      if (component.variability != Variability::parameter) continue;
      for (std::size_t k = 0; k < component.values.size(); ++k)
        if (const auto it = varying_.find(component.values[k].id());
            !component.values[k].is_constant() && it != varying_.end())
          add({.name = component.path + subscript_text(component.dims, k), .fixed = true}, number, &it->second.values);
    }
  };
  for (std::size_t g = 0; g < prototypes_.size(); ++g)
    add_varying(add_varying, *prototypes_[g].array->elements.front(), static_cast<int>(g));
  return all;
}

}  // namespace saltus::modelica
