// Values of parameters, attributes, and the symbols of variables.
#include <saltus/base/error.hpp>
#include <saltus/base/names.hpp>
#include <saltus/expr/derivative.hpp>
#include <saltus/expr/print.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "modelica/flatten/flattener.hpp"

namespace saltus::modelica {

namespace {

constexpr std::array<std::string_view, 11> attribute_names{
    "start", "fixed", "min", "max", "nominal", "unit", "displayUnit", "quantity", "stateSelect", "unbounded", "value"};

VariableType variable_type(TypeKind kind) {
  switch (kind) {
    case TypeKind::integer:
      return VariableType::integer;
    case TypeKind::boolean:
      return VariableType::boolean;
    case TypeKind::enumeration:
      return VariableType::enumeration;
    default:
      return VariableType::real;
  }
}

}  // namespace

void Flattener::check_attributes(Component& component) {
  if (!component.modifier) return;
  for (const auto& [name, argument] : component.modifier->arguments) {
    if (std::find(attribute_names.begin(), attribute_names.end() - 1, name) != attribute_names.end() - 1) {
      if (!argument->arguments.empty())
        report({argument->arguments.front().second->where, "the attribute " + in_quotes(name) + " has no parts"});
      continue;
    }
    const std::vector<std::string> names(attribute_names.begin(), attribute_names.end() - 1);
    const std::string near = did_you_mean(name, names);
    report({argument->where, in_quotes(name) + " is not an attribute of " + std::string(type_name(component.type.kind)),
            near.empty() ? "attributes are start, fixed, min, max, nominal, unit" : near});
  }
}

bool Flattener::attribute_given(const Component& component, std::string_view name) const {
  const ModifierPtr argument = component.modifier ? component.modifier->find(name) : nullptr;
  return argument && argument->value;
}

Value Flattener::attribute(Component& component, std::string_view name) {
  const ModifierPtr argument = component.modifier->find(name);
  Value value = value_of(argument->value);
  if (value.is_scalar() && !component.dims.empty() && !argument->value.is_for_each(1))
    throw Fault{argument->value.where,
                "the attribute " + in_quotes(name) + " is one value, but " + in_quotes(component.path) +
                    " has the size " + to_string(component.dims),
                "write 'each " + std::string(name) + "' if it is meant for every element"};
  if (!value.is_scalar() && value.dims != component.dims)
    throw Fault{argument->value.where,
                "the attribute " + in_quotes(name) + " has the size " + to_string(value.dims) + ", but " +
                    in_quotes(component.path) +
                    (component.dims.empty() ? " is a scalar" : " has the size " + to_string(component.dims))};
  return value;
}

bool Flattener::is_of_parameters(const Expr& e) {
  return std::ranges::all_of(
      std::array{SymbolKind::time, SymbolKind::variable, SymbolKind::derivative, SymbolKind::discrete},
      [&](SymbolKind kind) { return e.is_constant() || symbols_of(std::span(&e, 1), kind).empty(); });
}

std::vector<double> Flattener::attribute_numbers(Component& component, std::string_view name, double otherwise) {
  if (attribute_given(component, name))
    for (const Expr& e : attribute(component, name).elements)
      used_value(e, "the attribute " + in_quotes(name) + " of " + in_quotes(component.path));
  return present_numbers(component, name, otherwise);
}

// A guess may be made of parameters that initial equations determine: of the guesses of these.
bool Flattener::is_of_unsolved_parameters(const Expr& e) const {
  if (!symbols_of(std::span(&e, 1), SymbolKind::time).empty()) return false;
  return std::ranges::all_of(std::array{SymbolKind::variable, SymbolKind::derivative, SymbolKind::discrete},
                             [&](SymbolKind kind) {
                               return std::ranges::all_of(symbols_of(std::span(&e, 1), kind), [&](const Expr& symbol) {
                                 const Component* component = component_of(symbol);
                                 return component && component->is_parameter();
                               });
                             });
}

std::vector<double> Flattener::present_numbers(Component& component, std::string_view name, double otherwise) {
  const auto size = static_cast<std::size_t>(count(component.dims));
  if (!attribute_given(component, name)) return std::vector<double>(size, otherwise);
  const Location where = component.modifier->find(name)->value.where;
  const Value value = attribute(component, name);
  const bool wants_boolean = name == "fixed" || (component.type.kind == TypeKind::boolean && name == "start");
  if (value.type == TypeKind::record || value.type == TypeKind::string ||
      wants_boolean != (value.type == TypeKind::boolean))
    throw Fault{where, "the attribute " + in_quotes(name) + " of " + in_quotes(component.path) + " must be a " +
                           (wants_boolean ? "Boolean" : "number") + ", not a value of type " + describe(value)};
  if (component.type.kind == TypeKind::integer && name == "start" && value.type != TypeKind::integer)
    throw Fault{where,
                "the start value of the Integer " + in_quotes(component.path) + " is of type " + describe(value)};
  std::vector<double> numbers;
  numbers.reserve(size);
  const InElement first(*this, name == "start" ? 0 : -1);
  for (const Expr& e : value.elements) {
    const bool varies = !e.is_constant() && value.variability < Variability::parameter;
    if (varies && !(name == "start" && is_of_unsolved_parameters(e)))
      throw Fault{where, "the attribute " + in_quotes(name) + " of " + in_quotes(component.path) +
                             " must not depend on variables"};
    numbers.push_back(varies ? start_value(e) : parameter_value(e));
    if (std::isnan(numbers.back()))
      throw Fault{where, "the attribute " + in_quotes(name) + " of " + in_quotes(component.path) + " is not a number"};
  }
  if (numbers.size() == 1) numbers.resize(size, numbers.front());
  return numbers;
}

// Which variables are states is the solver's decision; the attribute must make sense all the same.
void Flattener::check_state_select(Component& component) {
  const Location where = component.modifier->find("stateSelect")->value.where;
  const Value value = attribute(component, "stateSelect");
  if (value.type != TypeKind::enumeration || value.enumeration->name != "StateSelect")
    throw Fault{where, "the attribute 'stateSelect' of " + in_quotes(component.path) +
                           " must be a value of StateSelect, not of type " + describe(value)};
}

std::string Flattener::attribute_text(Component& component, std::string_view name) {
  if (!attribute_given(component, name)) return {};
  const Value value = attribute(component, name);
  if (value.type != TypeKind::string)
    throw Fault{component.modifier->find(name)->value.where, "the attribute " + in_quotes(name) + " must be a String"};
  return value.text;
}

double Flattener::parameter_value(const Expr& expr) const {
  if (expr.is_constant()) return expr.constant_value();
  if (const auto it = parameter_values_.find(expr.id()); it != parameter_values_.end()) return it->second;
  return parameter_values(std::span(&expr, 1)).front();
}

double Flattener::used_value(const Expr& expr, const std::string& what) {
  if (!expr.is_constant())
    for (const Expr& symbol : symbols_of(std::span(&expr, 1), SymbolKind::parameter))
      model_->fix(symbol.name(), "it decides " + what + "; read the model with the new value");
  return parameter_value(expr);
}

void Flattener::follow_parameters(const Expr& symbol, const Expr& start) {
  if (!start.is_constant() && is_of_parameters(start)) model_->start(symbol, start);
}

Expr Flattener::of_parameters(const Value& value, const Location& where, std::string_view what) {
  if (value.type == TypeKind::string || value.type == TypeKind::record || !value.is_scalar())
    throw Fault{where, std::string(what) + " must be a scalar, not a value of type " + describe(value)};
  const Expr& e = value.scalar();
  if (!e.is_constant() && value.variability < Variability::parameter)
    throw Fault{where,
                std::string(what) + " must be known before the run: it may depend on parameters and constants only"};
  return e;
}

double Flattener::number(const Value& value, const Location& where, std::string_view what) {
  const Expr e = of_parameters(value, where, what);
  if (e.is_constant()) return e.constant_value();
  for (const Expr& symbol : symbols_of(std::span(&e, 1), SymbolKind::parameter)) {
    structural_.emplace(symbol.name(), what);
    structure_changed_ = true;
  }
  const double result = parameter_value(e);
  if (std::isnan(result)) throw Fault{where, std::string(what) + " is not a number"};
  return result;
}

std::int64_t Flattener::integer(const Value& value, const Location& where, std::string_view what) {
  if (value.type != TypeKind::integer && value.type != TypeKind::enumeration)
    throw Fault{where, std::string(what) + " must be an Integer, not a value of type " + describe(value)};
  const double result = number(value, where, what);
  if (!(std::abs(result) < 9e15)) throw Fault{where, std::string(what) + " is out of range"};
  return static_cast<std::int64_t>(std::llround(result));
}

void Flattener::depends_on_itself(const Fault& fault) const {
  if (open_choices_ > 0) throw Circular{fault};
  throw fault;
}

void Flattener::resolve_value(Component& component) {
  switch (component.value_state) {
    case Component::State::done:
      return;
    case Component::State::failed:
      throw Poisoned{};
    case Component::State::working: {
      std::string chain;
      const auto first = std::find(resolving_.begin(), resolving_.end(), &component);
      for (auto it = first; it != resolving_.end(); ++it) chain += (*it)->path + " -> ";
      depends_on_itself({component.where(), "the value of " + in_quotes(component.path) + " depends on itself",
                         (chain.size() > 200 ? "" : chain + component.path + ": ") + "give one of them a number"});
    }
    case Component::State::declared:
      break;
  }
  const Deeper deeper(*this, component.where());
  shape(component);
  resolving_.push_back(&component);
  struct Pop {
    std::vector<const Component*>& stack;
    ~Pop() { stack.pop_back(); }
  } pop{resolving_};
  component.value_state = Component::State::working;
  try {
    if (component.is_object && !component.absent) {
      if (!component.modifier || !component.modifier->value)
        throw Fault{component.where(), "the external object " + in_quotes(component.path) + " is not constructed"};
      component.constant = value_of(component.modifier->value);
    } else if (component.type.builtin && !component.absent) {
      if (component.is_parameter())
        resolve_parameter(component);
      else
        declare_variable(component);
    }
  } catch (const Circular&) {
    component.value_state = Component::State::declared;
    throw;
  } catch (const Fault& fault) {
    component.value_state = Component::State::failed;
    report(fault);
    throw Poisoned{};
  } catch (...) {
    component.value_state = Component::State::failed;
    throw;
  }
  component.value_state = Component::State::done;
}

Value Flattener::convert(Value value, TypeKind kind, const Location& where, std::string_view what) {
  if (value.type == kind) return value;
  if (value.type == TypeKind::integer && kind == TypeKind::real) {
    value.type = kind;
    return value;
  }
  std::string hint;
  if (kind == TypeKind::integer && value.type == TypeKind::real) hint = "integer(x) rounds down";
  if (kind == TypeKind::real && value.type == TypeKind::boolean) hint = "write 'if b then 1 else 0'";
  throw Fault{where,
              std::string(what) + " is of type " + std::string(type_name(kind)) + ", but its value is of type " +
                  describe(value),
              hint};
}

void Flattener::resolve_parameter(Component& component) {
  const bool bound = component.modifier && component.modifier->value;
  const bool is_constant = component.variability == Variability::constant;
  const auto size = static_cast<std::size_t>(count(component.dims));
  if (bound) {
    const Binding& binding = component.modifier->value;
    const std::string outer = std::exchange(bound_parameter_, component.path);
    Value value = value_of(binding);
    bound_parameter_ = outer;
    return bind(component, std::move(value), binding.where);
  }
  if (!is_constant && is_solved_initially(component)) return resolve_initially(component);
  Value value = Value::array(component.type.kind, component.dims);
  if (attribute_given(component, "start")) {
    for (const double v : attribute_numbers(component, "start", 0.0)) value.elements.emplace_back(v);
    if (!overrides_.contains(component.path))
      warn(component.where(), "the parameter " + in_quotes(component.path) + " has no value; its start value is used");
  } else if (overrides_.contains(component.path) || size == 0 ||
             (!component.dims.empty() && overrides_.contains(component.path + subscript_text(component.dims, 0)))) {
    value.elements.assign(size, Expr(0.0));
  } else {
    throw Fault{
        component.where(),
        std::string(is_constant ? "the constant " : "the parameter ") + in_quotes(component.path) + " has no value",
        "write '" + std::string(component.name()) + " = ...' in its declaration or in a modification"};
  }
  bind(component, std::move(value), component.where());
}

void Flattener::check_override(const Component& component, const std::string& name, double value) const {
  const TypeKind kind = component.type.kind;
  std::string hint;
  if (kind == TypeKind::integer && value != std::round(value))
    hint = "give a whole number, for example " + number_text(std::round(value));
  if (kind == TypeKind::boolean && value != 0.0 && value != 1.0) hint = "give true or false";
  if (kind == TypeKind::enumeration) {
    const auto& literals = component.type.enumeration->definition->as<Enumeration>()->literals;
    if (value == std::round(value) && value >= 1.0 && value <= static_cast<double>(literals.size())) return;
    hint = "give a number:";
    for (std::size_t k = 0; k < literals.size(); ++k)
      hint += (k > 0 ? ", " : " ") + std::to_string(k + 1) + " for " + std::string(literals[k].name.text);
  }
  if (!hint.empty())
    throw Fault{
        component.where(),
        in_quotes(name) + " is of type " + std::string(type_name(kind)) + " and cannot be set to " + number_text(value),
        hint};
}

VariableOptions Flattener::described(Component& component) {
  VariableOptions options;
  options.unit = attribute_text(component, "unit");
  options.description = std::string(component.source->declaration->description.text);
  options.type = variable_type(component.type.kind);
  if (component.type.kind == TypeKind::enumeration)
    for (const auto& literal : component.type.enumeration->definition->as<Enumeration>()->literals)
      options.literals.emplace_back(literal.name.text);
  return options;
}

void Flattener::bind(Component& component, Value value, const Location& where) {
  if (value.type == TypeKind::record)
    throw Fault{where, in_quotes(component.path) + " is of type " + std::string(type_name(component.type.kind)) +
                           ", but its value is of type " + describe(value)};
  value = convert(std::move(value), component.type.kind, where, in_quotes(component.path));
  if (component.type.kind == TypeKind::enumeration && value.enumeration &&
      !same_enumeration(value.enumeration, component.type.enumeration))
    throw Fault{where, in_quotes(component.path) + " is of type " + component.type.enumeration->name +
                           ", but its value is of type " + describe(value)};
  if (value.dims != component.dims)
    throw Fault{where,
                in_quotes(component.path) +
                    (component.dims.empty() ? " is a scalar" : " has the size " + to_string(component.dims)) +
                    ", but its value " + (value.dims.empty() ? "is a scalar" : "has the size " + to_string(value.dims)),
                "change the declared size, or the value"};
  if (value.variability < Variability::parameter)
    throw Fault{where,
                std::string(component.variability == Variability::constant ? "the constant " : "the parameter ") +
                    in_quotes(component.path) + " must not depend on variables",
                "leave out '" + std::string(component.variability == Variability::constant ? "constant" : "parameter") +
                    "' to make it a variable, or give it a number"};
  if (component.variability == Variability::constant && value.variability < Variability::constant)
    throw Fault{where, "the constant " + in_quotes(component.path) + " must not depend on parameters"};
  component.value_variability = value.variability;
  if (value.type == TypeKind::string) {
    component.constant = std::move(value);
    return;
  }
  const bool never_symbol =
      component.variability == Variability::constant || component.is_final || component.owner->is_static;
  const VariableOptions options = never_symbol ? VariableOptions() : described(component);
  for (std::size_t k = 0; k < value.elements.size(); ++k) {
    const std::string name = component.path + subscript_text(component.dims, k);
    Expr& e = value.elements[k];
    if (!overrides_.empty() && !component.owner->is_static) {
      auto it = overrides_.find(name);
      if (it == overrides_.end()) it = overrides_.find(component.path);
      if (it != overrides_.end()) {
        if (component.variability == Variability::constant || component.is_final)
          throw Fault{component.where(), in_quotes(name) + " cannot be set from outside: it is " +
                                             (component.is_final ? "final" : "a constant")};
        overrides_used_.insert(it->first);
        check_override(component, name, it->second);
        e = Expr(it->second);
      }
    }
    if (structural_.contains(name) && !e.is_constant()) {
      Value scalar(component.type.kind, Variability::parameter, e);
      e = Expr(number(scalar, where, in_quotes(name)));
    }
    if (e.is_constant() && !std::isfinite(e.constant_value()) && component.variability != Variability::constant)
      throw Fault{where, "the value of " + in_quotes(name) + " is not a finite number"};
    if (component.variability == Variability::parameter && !component.owner->is_static) {
      if (const auto it = structural_.find(name); it != structural_.end())
        model_->fix(name, "it decides " + it->second + "; read the model with the new value");
      else if (component.is_final)
        model_->fix(name, "it is final");
      else if (!e.is_constant())
        model_->fix(name, "it is computed from other parameters; change those, or read the model with the new value");
    }
    if (never_symbol || structural_.contains(name) || !e.is_constant()) continue;
    const double number = e.constant_value();
    e = model_->parameter(name, number, options, locate(component.where()));
    places_[e.id()] = {&component, k};
    parameter_values_[e.id()] = number;
    component.value_variability = Variability::parameter;
  }
  component.values = std::move(value.elements);
}

void Flattener::declare_variable(Component& component) {
  if (!variables_declared_)
    throw Fault{component.where(),
                "the variable " + in_quotes(component.path) + " is used where only parameters are known"};
  if (component.type.kind == TypeKind::string)
    throw Fault{component.where(), "String variables are not supported", "a parameter or a constant may be a String"};
  own_annotations(component.source->declaration->description.annotation);  // refuses misspelt names
  const TypeKind kind = component.type.kind;
  if (kind == TypeKind::clock) return declare_clock(component);
  if (is_clocked(component)) component.assigned_in_when = true;
  const std::vector<double> start = present_numbers(component, "start", kind == TypeKind::enumeration ? 1.0 : 0.0);
  const std::vector<double> fixed = attribute_numbers(component, "fixed", 0.0);
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> least = present_numbers(component, "min", -infinity);
  const std::vector<double> most = present_numbers(component, "max", infinity);
  const std::vector<double> nominal = attribute_numbers(component, "nominal", 1.0);
  if (attribute_given(component, "stateSelect")) check_state_select(component);
  VariableOptions options = described(component);
  const bool outside = component.owner->of_surroundings && component.direction != Direction::none;
  if (outside) options.causality = component.direction == Direction::input ? Causality::input : Causality::output;
  const bool given = outside && component.direction == Direction::input && !component.source->is_protected &&
                     !(component.modifier && component.modifier->value);
  const SourceLocation where = locate(component.where());
  component.values.reserve(start.size());
  const auto expressions = [&](std::string_view name) {
    return attribute_given(component, name) ? attribute(component, name).elements : std::vector<Expr>{};
  };
  const std::vector<Expr> start_expressions = expressions("start"), least_expressions = expressions("min"),
                          most_expressions = expressions("max");
  Rare<VariableDetails> shared;
  for (std::size_t k = 0; k < start.size(); ++k) {
    const std::string name = component.path + subscript_text(component.dims, k);
    const auto element = [&](const std::vector<double>& list) { return list[k]; };
    if (!std::isfinite(element(start)))
      throw Fault{component.where(), "the start value of " + in_quotes(name) + " is not a finite number"};
    if (!(std::abs(element(nominal)) > 0.0) || !std::isfinite(element(nominal)))
      throw Fault{component.where(), "the nominal value of " + in_quotes(name) + " must be a number other than 0"};
    Expr symbol;
    options.min = element(least);
    options.max = element(most);
    options.nominal = std::abs(element(nominal));
    options.fixed = !component.is_discrete() && element(fixed) != 0.0;
    if (kept_) {
      note_element(component, k, name, element(start), options, shared, where);
      if (!start_expressions.empty())
        note_start(start_expressions[start_expressions.size() == 1 ? 0 : k], component.is_discrete());
      if (!kept_->needs(component, k)) {
        component.values.emplace_back();
        continue;
      }
    }
    if (given) {
      symbol = model_->input(name, element(start), component.is_discrete() ? InputCurve::held : InputCurve::line,
                             options, where);
    } else if (component.is_discrete()) {
      symbol =
          model_->discrete(name, kind == TypeKind::boolean ? element(start) != 0.0 : element(start), options, where);
    } else {
      symbol = model_->variable(name, element(start), options, where);
    }
    if (!start_expressions.empty()) follow_parameters(symbol, start_expressions[start_expressions.size() == 1 ? 0 : k]);
    const auto bound = [&](const std::vector<Expr>& list, double otherwise) {
      return list.empty() ? Expr(otherwise) : list[list.size() == 1 ? 0 : k];
    };
    if (const Expr low = bound(least_expressions, -infinity), high = bound(most_expressions, infinity);
        !(low.is_constant() && high.is_constant()) && is_of_parameters(low) && is_of_parameters(high))
      model_->bounds(symbol, low, high);
    places_[symbol.id()] = {&component, k};
    component.values.push_back(std::move(symbol));
  }
  component.value_variability = component.is_discrete() ? Variability::discrete : Variability::continuous;
}

// A clock has no value: its symbol only says which equations share it.
void Flattener::declare_clock(Component& component) {
  if (kept_) throw NotKept{};
  const auto& graph = model_->data().graph;
  for (std::int64_t k = 0; k < count(component.dims); ++k) {
    const std::string name = component.path + subscript_text(component.dims, static_cast<std::size_t>(k));
    component.values.emplace_back(graph, graph->symbol(name, SymbolKind::discrete));
    places_[component.values.back().id()] = {&component, static_cast<std::size_t>(k)};
  }
  component.value_variability = Variability::discrete;
}

void Flattener::declare_all(Instance& instance) {
  for (Component& component : instance.components) {
    if (component.shape_state != Component::State::done || component.absent) continue;
    if (component.type.builtin || component.is_object)
      attempt([&] { resolve_value(component); });
    else
      for (Instance* element : component.elements) declare_all(*element);
    if (component.prototype >= 0) note_elements(component);
    if (diagnostics_.full()) return;
  }
}

void Flattener::apply_overrides() {
  std::vector<std::string> known;
  for (const auto& [candidate, declared] : model_->data().names) known.push_back(candidate);
  std::sort(known.begin(), known.end());
  const NameTable names(known);
  for (const auto& [text, value] : options_.parameters) {
    const NameSpelling spelling = read_name(text);
    if (overrides_used_.contains(without_blanks(text))) continue;
    std::vector<std::size_t> places;
    if (const auto one = names.find_settable(text))
      places = {*one};
    else if (spelling.of != NameSpelling::Of::derivative)
      places = names.find_all(spelling.name);
    if (places.empty() && has_kept_loops()) throw NotKept{};  // the elements of arrays have no names of their own there
    for (const std::size_t k : places)
      attempt([&] {
        if (const Component* component = component_of(model_->symbol(known[k])))
          check_override(*component, known[k], value);
        if (std::isfinite(value)) model_->set(known[k], value);
      });
    if (!places.empty()) continue;
    const std::string near = names.hint(text);
    report({top_->cls->definition->name.where, "the model has no parameter " + in_quotes(text) + " to set",
            near.empty() ? "saltus check lists the parameters" : near.substr(2)});
  }
}

Component* Flattener::component_of(const Expr& symbol) const {
  if (!symbol.is_symbol()) return nullptr;
  const auto it = places_.find(symbol.id());
  return it == places_.end() ? nullptr : it->second.component;
}

bool Flattener::is_discrete_symbol(const Expr& e) const {
  const Component* component = component_of(e);
  return component && !component->is_parameter() && component->is_discrete();
}

// ------------------------------------------------------------------------- which variables are assigned at events only

void Flattener::mark_discrete(Instance& instance) {
  for (const LayoutSection& section : instance.layout->sections) {
    const Context context{&instance, section.lexical};
    if (section.equations && !section.equations->is_initial) mark_targets(section.equations->equations, context, false);
    if (section.algorithm && !section.algorithm->is_initial)
      mark_targets(section.algorithm->statements, context, false);
  }
  for (Component& component : instance.components)
    for (Instance* element : component.elements) mark_discrete(*element);
}

void Flattener::mark_targets(const std::vector<const Equation*>& equations, const Context& context, bool in_when) {
  for (const Equation* equation : equations) {
    if (const auto* node = equation->as<EqualityEquation>()) {
      if (in_when) mark_target(node->lhs, context, true);
    } else if (const auto* choice = equation->as<IfEquation>()) {
      for (const auto& branch : choice->branches) mark_targets(branch.body, context, in_when);
    } else if (const auto* loop = equation->as<ForEquation>()) {
      mark_targets(loop->body, context, in_when);
    } else if (const auto* when = equation->as<WhenEquation>()) {
      for (const auto& branch : when->branches) mark_targets(branch.body, context, true);
    }
  }
}

void Flattener::mark_targets(const std::vector<const Statement*>& statements, const Context& context, bool in_when) {
  for (const Statement* statement : statements) {
    if (const auto* node = statement->as<Assignment>()) {
      mark_target(node->target, context, in_when);
    } else if (const auto* tuple = statement->as<TupleAssignment>()) {
      mark_target(tuple->targets, context, in_when);
    } else if (const auto* choice = statement->as<IfStatement>()) {
      for (const auto& branch : choice->branches) mark_targets(branch.body, context, in_when);
    } else if (const auto* loop = statement->as<ForStatement>()) {
      mark_targets(loop->body, context, in_when);
    } else if (const auto* when = statement->as<WhenStatement>()) {
      for (const auto& branch : when->branches) mark_targets(branch.body, context, true);
    }
  }
}

void Flattener::mark_target(ExprPtr target, const Context& context, bool in_when) {
  if (const auto* tuple = target->as<Tuple>()) {
    for (const ExprPtr element : tuple->elements)
      if (element) mark_target(element, context, in_when);
  } else if (const auto* reference = target->as<ComponentReference>()) {
    mark_parts(*context.instance, *reference, 0, in_when);
  }
}

void Flattener::mark_parts(Instance& instance, const ComponentReference& reference, std::size_t part, bool in_when) {
  Component* component = instance.find(reference.parts[part].name.text);
  if (!component) return;
  const auto mark = [&](const auto& self, Component& whole) -> void {
    (in_when ? whole.assigned_in_when : whole.assigned_in_algorithm) = true;
    for (Instance* element : whole.elements)
      for (Component& inner : element->components) self(self, inner);
  };
  if (part + 1 == reference.parts.size()) return mark(mark, *component);
  for (Instance* element : component->elements) mark_parts(*element, reference, part + 1, in_when);
}

}  // namespace saltus::modelica
