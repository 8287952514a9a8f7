// The tree of instances: classes are unfolded, modifications handed down, sizes and conditions evaluated.
#include <saltus/base/error.hpp>

#include <algorithm>

#include "modelica/flatten/flattener.hpp"
#include "modelica/printer.hpp"

namespace saltus::modelica {

std::string join_path(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

std::string subscript_text(const Dims& dims, std::size_t position) {
  if (dims.empty()) return {};
  std::string text;
  for (std::size_t k = dims.size(); k-- > 0;) {
    const auto size = static_cast<std::size_t>(dims[k]);
    text = std::to_string(position % size + 1) + (text.empty() ? "" : ",") + text;
    position /= size;
  }
  return "[" + text + "]";
}

ModifierPtr Modifier::find(std::string_view name) const {
  for (const auto& [known, modifier] : arguments)
    if (known == name) return modifier;
  return nullptr;
}

// What a modifier means for redeclarations that are stronger than all of it.
static ModifierPtr constraining(const ModifierPtr& modifier) {
  return modifier && modifier->redeclares ? modifier->constraining : modifier;
}

ModifierPtr merge(const ModifierPtr& outer, const ModifierPtr& weaker) {
  const ModifierPtr& inner = outer && outer->redeclares ? constraining(weaker) : weaker;
  if (!outer) return inner;
  if (!inner) return outer;
  if (inner->is_final && !outer->of_whole && outer->where != inner->where)
    throw Fault{outer->where, "this element is final and cannot be modified"};
  auto result = std::make_shared<Modifier>(*inner);
  result->redeclares = outer->redeclares || inner->redeclares;
  result->constraining = result->redeclares ? merge(constraining(outer), constraining(inner)) : nullptr;
  result->is_final = outer->is_final;
  result->where = outer->where;
  result->rank = outer->rank;
  if (outer->value || outer->removes) result->value = outer->value;
  result->removes = outer->removes || (inner->removes && !outer->value);
  result->written = outer->written;
  for (const WrittenModification& written : inner->written)
    if (std::find(result->written.begin(), result->written.end(), written) == result->written.end())
      result->written.push_back(written);
  const auto ranked = [](const ModifierPtr& argument, Modifier::Rank rank) -> ModifierPtr {
    auto copy = std::make_shared<Modifier>(*argument);
    copy->rank = rank;
    return copy;
  };
  if (outer->value)
    for (auto& [name, argument] : result->arguments) argument = ranked(argument, Modifier::Rank::under);
  for (const auto& [name, written] : outer->arguments) {
    const bool over = inner->value && !outer->value;
    const ModifierPtr argument = over ? ranked(written, Modifier::Rank::over) : written;
    const auto same = std::find_if(result->arguments.begin(), result->arguments.end(),
                                   [&, wanted = name](const auto& known) { return known.first == wanted; });
    if (same == result->arguments.end())
      result->arguments.emplace_back(name, argument);
    else
      same->second = merge(argument, same->second);
  }
  return result;
}

namespace {

// `each` holds for everything inside the modification, and for the elements of the component in whose parentheses it
// stands and of those around it.
ModifierPtr for_each_element(const ModifierPtr& modifier, int names_above) {
  if (!modifier) return nullptr;
  auto copy = std::make_shared<Modifier>(*modifier);
  if (copy->value && copy->value.each == 0) copy->value.each = names_above;
  for (auto& [name, argument] : copy->arguments) argument = for_each_element(argument, names_above + 1);
  return copy;
}

}  // namespace

ModifierPtr Flattener::modifier_of(const ModificationArgument& argument, std::size_t part, const Context& context) {
  if (argument.inheritance_break) throw Fault{argument.where, "'break' is not supported", reference_page};
  ModifierPtr result;
  if (part + 1 < argument.name.parts.size()) {
    auto nested = std::make_shared<Modifier>();
    nested->where = argument.where;
    if (ModifierPtr rest = modifier_of(argument, part + 1, context))
      nested->arguments.emplace_back(argument.name.parts[part + 1].text, std::move(rest));
    return nested;
  }
  auto own = std::make_shared<Modifier>();
  if (argument.modification)
    if (const ModifierPtr written = modifier_of(argument.modification, context)) *own = *written;
  own->where = argument.where;
  own->is_final = argument.is_final;
  return argument.is_each ? for_each_element(own, 1) : own;
}

// The modification of an argument `redeclare T x(...)`, which is as strong as the others of its list. The new type is
// seen by `redeclared`.
ModifierPtr Flattener::redeclaration_modifier(const ModificationArgument& argument, const Context& context) {
  auto own = std::make_shared<Modifier>();
  if (const ModifierPtr written = modifier_of(argument.component->components.front().modification, context)) {
    *own = *written;
    own->is_final = argument.is_final;
  }
  own->redeclares = true;
  if (argument.constraint) own->constraining = modifier_of(argument.constraint->modification, context);
  return for_each_element(own, 1);
}

ModifierPtr Flattener::modifier_of(const Modification* modification, const Context& context) {
  if (!modification) return nullptr;
  require_single(*modification);
  auto result = std::make_shared<Modifier>();
  result->where = modification->where;
  result->removes = modification->is_break;
  result->written.push_back({modification, context.lexical, true});
  if (modification->value) {
    result->value.lazy = std::make_shared<Lazy>();
    result->value.lazy->expression = modification->value;
    result->value.lazy->context = context;
    result->value.lazy->context.locals = nullptr;
    result->value.where = modification->value->where;
  }
  for (const auto& argument : modification->arguments) {
    if (argument.class_definition) continue;  // redeclarations: see shape_work
    if (!argument.component && argument.name.empty()) {
      modifier_of(argument, 0, context);  // refuses it
      continue;
    }
    ModifierPtr nested =
        argument.component ? redeclaration_modifier(argument, context) : modifier_of(argument, 0, context);
    const std::string_view name =
        argument.component ? argument.component->components.front().name.text : argument.name.parts[0].text;
    if (const ModifierPtr known = result->find(name)) {
      nested = merge(nested, known);
      std::erase_if(result->arguments, [&](const auto& pair) { return pair.first == name; });
    }
    result->arguments.emplace_back(name, std::move(nested));
  }
  return result;
}

ModifierPtr Flattener::element_modifier(const ModifierPtr& modifier, const Dims& dims, std::size_t position,
                                        int prototype) {
  if (!modifier) return nullptr;
  Dims index(dims.size());
  for (std::size_t k = dims.size(), rest = position; k-- > 0;) {
    index[k] = static_cast<std::int64_t>(rest % static_cast<std::size_t>(dims[k]));
    rest /= static_cast<std::size_t>(dims[k]);
  }
  const auto visit = [&](const auto& self, const ModifierPtr& from, int names) -> ModifierPtr {
    auto copy = std::make_shared<Modifier>(*from);
    if (copy->value && !copy->value.is_for_each(names)) copy->value.path.push_back({{}, index, prototype});
    for (auto& [name, argument] : copy->arguments) argument = self(self, argument, names + 1);
    return copy;
  };
  return visit(visit, modifier, 0);
}

// A record that is bound as a whole binds each of its fields.
ModifierPtr Flattener::field_modifiers(const ModifierPtr& modifier, const ClassScope* cls) {
  if (!modifier || !modifier->value) return modifier;
  auto fields = std::make_shared<Modifier>();
  fields->where = modifier->where;
  for (const auto& component : scopes_.layout(cls).components) {
    if (component.variability == Variability::constant) continue;
    auto field = std::make_shared<Modifier>();
    field->where = modifier->where;
    field->of_whole = true;
    field->value = modifier->value;
    field->value.path.push_back({component.name(), {}});
    if (field->value.each > 0) ++field->value.each;
    const ModifierPtr own = modifier->find(component.name());
    if (own && own->value && own->rank == Modifier::Rank::beside)
      throw Fault{own->where, "the field " + in_quotes(component.name()) +
                                  " is given a value, and so is the whole record: one of them must go"};
    if (own && own->rank == Modifier::Rank::over)
      fields->arguments.emplace_back(component.name(), merge(own, field));
    else
      fields->arguments.emplace_back(component.name(), std::move(field));
  }
  auto rest = std::make_shared<Modifier>(*modifier);
  rest->value = {};
  rest->is_final = false;
  return merge(fields, rest);
}

Value Flattener::value_of(const Binding& binding) {
  Lazy& lazy = *binding.lazy;
  if (lazy.state == Lazy::State::failed) throw Poisoned{};
  if (lazy.state == Lazy::State::working)
    depends_on_itself({lazy.expression->where, "the value of '" + print(lazy.expression) + "' depends on itself"});
  if (lazy.state == Lazy::State::waiting) {
    lazy.state = Lazy::State::working;
    try {
      lazy.value = eval(lazy.expression, lazy.context);
    } catch (const Circular&) {
      lazy.state = Lazy::State::waiting;
      throw;
    } catch (...) {
      lazy.state = Lazy::State::failed;
      throw;
    }
    lazy.state = Lazy::State::done;
  }
  if (binding.path.empty()) return lazy.value;
  Value value = lazy.value;
  for (const Selector& selector : binding.path) {
    if (!selector.field.empty()) {
      if (value.type != TypeKind::record)
        throw Fault{binding.where, "a record is expected here, not a value of type " + describe(value)};
      const auto& fields = value.record->fields;
      const auto it =
          std::find_if(fields.begin(), fields.end(), [&](const auto& field) { return field.first == selector.field; });
      if (it == fields.end()) throw Fault{binding.where, "the record has no field " + in_quotes(selector.field)};
      value = Value(it->second);
      continue;
    }
    if (selector.prototype >= 0) return value_of_all(binding, selector);
    if (value.is_scalar())
      throw Fault{binding.where, "this modifies an array of components, but it is one value",
                  "write 'each' if it is meant for every element"};
    for (const std::int64_t index : selector.index) {
      if (value.is_scalar() || index >= value.dims.front())
        throw Fault{
            binding.where,
            "this value has the size " + to_string(lazy.value.dims) + ", which does not fit the array that it modifies",
            "write 'each' if it is meant for every element"};
      value = value.element(index);
    }
  }
  return value;
}

void Flattener::check_modifier_names(const ModifierPtr& modifier, const Layout& layout, const ClassScope* cls) {
  if (!modifier) return;
  for (const auto& [name, argument] : modifier->arguments) {
    const auto it = layout.index.find(name);
    if (it != layout.index.end()) {
      if (layout.components[it->second].is_protected && !argument->of_whole)
        report({argument->where,
                in_quotes(name) + " is protected in " + in_quotes(cls->name) + " and cannot be modified"});
      continue;
    }
    if (scopes_.find_member(name, cls)) continue;
    std::vector<std::string> names;
    for (const auto& component : layout.components) names.emplace_back(component.name());
    const std::string near = did_you_mean(name, names);
    std::string hint = near;
    for (std::size_t k = 0; near.empty() && k < std::min<std::size_t>(names.size(), 8); ++k)
      hint += (k == 0 ? "its elements: " : ", ") + names[k];
    report({argument->where, in_quotes(cls->name) + " has no element " + in_quotes(name),
            hint.empty() ? "it has no elements that can be modified" : hint});
  }
}

Instance* Flattener::instantiate(const ClassScope* cls, Instance* parent, std::string path, const ModifierPtr& modifier,
                                 const Location& where, bool is_static) {
  const Layout& layout = scopes_.layout(cls);
  int depth = 0, same = 0;
  constexpr int most_same = 8;  // a redeclaration may put a class into another version of itself
  for (Instance* outer = parent; outer; outer = outer->parent, ++depth) {
    if (outer->cls->definition == cls->definition) ++same;
    if ((outer->cls == cls && !outer->is_expandable) || same > most_same)
      throw Fault{where, "the class " + in_quotes(cls->name) + " contains itself"};
  }
  if (depth > limits_.instance_depth) throw Fault{where, "components are nested too deeply here"};
  check_modifier_names(modifier, layout, cls);
  scalars_ += static_cast<std::int64_t>(layout.components.size());
  if (scalars_ > limits_.scalars)
    throw Fault{where, "the model has more than " + std::to_string(limits_.scalars) + " components"};
  Instance& instance = instances_.emplace_back();
  instance.cls = cls;
  instance.layout = &layout;
  instance.parent = parent;
  instance.path = std::move(path);
  instance.depth = depth;
  instance.is_static = is_static;
  instance.is_expandable = instance.in_bus = cls->kind() == ClassKind::expandable_connector;
  instance.is_connector = instance.in_connector = instance.is_expandable || cls->kind() == ClassKind::connector;
  has_buses_ = has_buses_ || instance.is_expandable;
  instance.components.resize(layout.components.size());
  for (std::size_t k = 0; k < layout.components.size(); ++k) {
    Component& component = instance.components[k];
    component.source = &layout.components[k];
    component.owner = &instance;
    component.path = join_path(instance.path, component.name());
    if (!attempt([&] { declare(component, modifier ? modifier->find(component.name()) : nullptr); }))
      component.shape_state = component.value_state = Component::State::failed;
  }
  return &instance;
}

Context Flattener::context_in(const ClassScope* lexical, Instance* from) const {
  for (Instance* instance = from; instance; instance = instance->parent) {
    const auto& classes = instance->layout->classes;
    if (instance->cls == lexical || std::find(classes.begin(), classes.end(), lexical) != classes.end())
      return {instance, lexical};
  }
  return {nullptr, lexical};
}

ModifierPtr Flattener::modifier_of(const WrittenArgument& written, Instance* from) {
  const Context context = context_in(written.lexical, from);
  return written.argument ? modifier_of(*written.argument, 0, context) : modifier_of(written.modification, context);
}

// An outer component stands for the inner one of its name in the nearest instance around it.
void Flattener::bind_outer(Component& component, const ModifierPtr& outer) {
  const LayoutComponent& source = *component.source;
  // names in the class of an 'inner outer' component mean the one further out, its own parts see this one (5.4)
  if (!source.is_inner && (outer || source.declaration->modification || !source.modifications.empty()))
    throw Fault{outer ? outer->where : component.where(),
                "an outer component cannot be modified; modify the inner " + in_quotes(component.name())};
  for (Instance* instance = component.owner->parent; instance && !component.inner; instance = instance->parent) {
    const auto it = instance->layout->index.find(component.name());
    if (it != instance->layout->index.end() && instance->components[it->second].source->is_inner)
      component.inner = &instance->components[it->second];
  }
  if (!component.inner)
    throw Fault{
        component.where(),
        "there is no inner component " + in_quotes(component.name()) + " around " +
            in_quotes(component.owner->path.empty() ? component.path : component.owner->path),
        "declare 'inner " + print(source.clause->type) + " " + std::string(component.name()) + "' in the model"};
  const LayoutComponent& inner = *component.inner->source;
  const ResolvedType type = scopes_.resolve(inner.clause->type, inner.lexical);
  scopes_.require_fit(type, source.clause->type, source.lexical, inner.clause->type.where, component.name(),
                      " is no inner component for " + in_quotes(component.path));
  if (source.is_inner) return;
  component.shape_state = component.value_state = Component::State::done;
  component.absent = true;
}

void Flattener::declare(Component& component, const ModifierPtr& outer) {
  const LayoutComponent& source = *component.source;
  if (source.is_outer) bind_outer(component, outer);
  if (source.is_outer && !source.is_inner) return;
  component.variability = source.variability;
  component.direction = source.direction;
  component.role = source.role;
  component.is_final = source.is_final;
  const Context context = context_in(source.lexical, component.owner);
  ModifierPtr modifier = modifier_of(source.declaration->modification, context);
  if (source.is_final && modifier) {
    auto copy = std::make_shared<Modifier>(*modifier);
    copy->is_final = true;
    modifier = std::move(copy);
  }
  if (source.must_fit) {  // a redeclaration: an outer modification that redeclares has its modification
    auto copy = modifier ? std::make_shared<Modifier>(*modifier) : std::make_shared<Modifier>();
    copy->redeclares = true;
    modifier = std::move(copy);
  }
  for (const WrittenArgument& written : source.defaults)
    modifier = merge(modifier, modifier_of(written, component.owner));
  for (std::size_t k = source.modifications.size(); k-- > 0;)
    modifier = merge(modifier_of(source.modifications[k], component.owner), modifier);
  component.modifier = merge(outer, modifier);
  if (component.modifier && component.modifier->is_final) component.is_final = true;
}

// The class of a component with what its modifications redeclare.
const ClassScope* Flattener::redeclared(const ClassScope* cls, const ModifierPtr& modifier) {
  if (!modifier) return cls;
  std::vector<WrittenModification> outer;
  for (const WrittenModification& written : modifier->written) {
    const auto& arguments = written.modification->arguments;
    const bool matters = std::any_of(arguments.begin(), arguments.end(), [&](const ModificationArgument& argument) {
      if (argument.class_definition || argument.component) return true;
      if (!argument.is_plain() || scopes_.layout(cls).index.contains(argument.name.parts[0].text)) return false;
      return scopes_.find_member(argument.name.parts[0].text, cls) != nullptr;
    });
    if (matters) outer.push_back(written);
  }
  return scopes_.specialise(cls, outer);
}

void Flattener::shape(Component& component) {
  switch (component.shape_state) {
    case Component::State::done:
      return;
    case Component::State::failed:
      throw Poisoned{};
    case Component::State::working:
      depends_on_itself({component.where(), "the size of " + in_quotes(component.path) + " depends on itself"});
    case Component::State::declared:
      break;
  }
  const Deeper deeper(*this, component.where());
  component.shape_state = Component::State::working;
  const ModifierPtr modifier = component.modifier;
  try {
    shape_work(component);
  } catch (const Circular&) {
    component.shape_state = Component::State::declared;
    component.modifier = modifier;
    component.elements.clear();
    throw;
  } catch (const Fault& fault) {
    component.shape_state = component.value_state = Component::State::failed;
    report(fault);
    throw Poisoned{};
  } catch (...) {
    component.shape_state = component.value_state = Component::State::failed;
    throw;
  }
  component.shape_state = Component::State::done;
}

void Flattener::shape_work(Component& component) {
  const LayoutComponent& source = *component.source;
  component.type = scopes_.resolve(source.clause->type, source.lexical);
  ResolvedType& type = component.type;
  if (source.must_fit)
    scopes_.require_fit(type, *source.must_fit, source.must_fit_lexical, source.clause->type.where, source.name());
  if (const ClassScope* cls = type.redeclared)
    scopes_.require_fit(type, *cls->must_fit, cls->must_fit_lexical, cls->definition->name.where,
                        cls->definition->name.text);
  if (type.direction != Direction::none && component.direction == Direction::none) component.direction = type.direction;
  if (component.owner->in_bus) component.direction = Direction::none;  // what a bus carries goes in both directions
  for (std::size_t k = 0; k < type.modifications.size(); ++k) {
    const WrittenModification& written = type.modifications[k];
    const Context context = context_in(written.lexical, component.owner);
    component.modifier = merge(component.modifier, for_each_element(modifier_of(written.modification, context), 0));
  }
  if (source.condition) {
    const ExprPtr condition = source.condition;
    const Value value = eval(condition, context_in(source.condition_lexical, component.owner));
    if (value.type != TypeKind::boolean || !value.is_scalar())
      throw Fault{condition->where,
                  "the condition of a component must be a Boolean, not a value of type " + describe(value)};
    if (number(value, condition->where, "the condition of a component") == 0.0) {
      component.absent = true;
      return;
    }
  }
  component.dims = dimensions(component);
  if (is_external_object(type.cls)) {
    if (!component.dims.empty()) throw Fault{component.where(), "arrays of external objects are not supported"};
    component.is_object = true;
    return;
  }
  const std::int64_t size = count(component.dims);
  scalars_ += size;
  if (type.builtin) {
    check_attributes(component);
    return;
  }
  const ClassKind kind = type.cls->kind();
  const std::string_view kind_name = spelling(kind);
  if (type.cls->is_function() || kind == ClassKind::package || kind == ClassKind::operator_)
    throw Fault{source.clause->type.where,
                in_quotes(type.cls->name) + " is a" +
                    (kind == ClassKind::operator_ || kind == ClassKind::operator_function ? "n " : " ") +
                    std::string(kind_name) + " and cannot be the type of a component"};
  if (type.cls->definition->is_partial)
    throw Fault{source.clause->type.where,
                in_quotes(type.cls->name) + " is partial and cannot be the type of a component",
                "extend it and complete it"};
  type.cls = redeclared(type.cls, component.modifier);
  make_elements(component);
}

Dims Flattener::dimensions(Component& component) {
  const LayoutComponent& source = *component.source;
  Dims dims;
  std::vector<std::size_t> open;
  std::int64_t total = 1;
  const auto add = [&](ExprPtr size, const Context& context) {
    if (size->as<WholeDimension>()) {
      open.push_back(dims.size());
      dims.push_back(0);
      return;
    }
    // a Boolean or an enumeration as a dimension counts its values
    std::int64_t n = -1;
    if (const auto* reference = size->as<ComponentReference>(); reference && !reference->global) {
      if (reference->parts.size() == 1 && reference->parts[0].name.text == "Boolean") n = 2;
      Name name;
      for (const auto& part : reference->parts) name.parts.push_back(part.name);
      if (!own_component(reference->parts[0].name.text, context))
        if (const ClassScope* cls = scopes_.find(name, context.lexical); cls && cls->definition->as<Enumeration>())
          n = static_cast<std::int64_t>(cls->definition->as<Enumeration>()->literals.size());
    }
    if (n < 0) n = integer(eval(size, context), size->where, "the size of an array");
    if (n < 0)
      throw Fault{size->where, "the size of " + in_quotes(component.path) + " is negative: " + std::to_string(n)};
    if (n > limits_.scalars || (n > 0 && total > limits_.scalars / n))
      throw Fault{size->where,
                  in_quotes(component.path) + " has more than " + std::to_string(limits_.scalars) + " elements"};
    total *= std::max<std::int64_t>(n, 1);
    dims.push_back(n);
  };
  for (const auto& dimension : source.dimensions) add(dimension.size, context_in(dimension.lexical, component.owner));
  for (const auto& dimension : component.type.dimensions)
    add(dimension.size, context_in(dimension.lexical, component.owner));
  if (!open.empty()) {
    if (!component.modifier || !component.modifier->value)
      throw Fault{component.where(), "the size of " + in_quotes(component.path) + " is not given",
                  "replace ':' by a number, or give a value from which the size follows"};
    const Binding& binding = component.modifier->value;
    const Dims of_value = component.is_parameter() ? value_of(binding).dims : shape_of(binding);
    if (of_value.size() != dims.size())
      throw Fault{binding.where, in_quotes(component.path) + " has " + std::to_string(dims.size()) +
                                     " dimensions, but its value " +
                                     (of_value.empty() ? "is a scalar" : "has the size " + to_string(of_value))};
    for (const std::size_t k : open) dims[k] = of_value[k];
  }
  return dims;
}

void Flattener::make_elements(Component& component) {
  const ClassScope* cls = component.type.cls;
  const auto size = static_cast<std::size_t>(count(component.dims));
  const ModifierPtr whole = field_modifiers(component.modifier, cls);
  const bool one_for_all = begin_prototype(component);
  component.elements.reserve(one_for_all ? 1 : size);
  for (std::size_t k = 0; k < (one_for_all ? 1 : size); ++k) {
    const ModifierPtr modifier =
        component.dims.empty() ? whole : element_modifier(whole, component.dims, k, component.prototype);
    Instance* element = instantiate(cls, component.owner, component.path + subscript_text(component.dims, k), modifier,
                                    component.where(), component.owner->is_static);
    element->is_connector = element->is_connector || component.type.is_connector;
    element->in_connector = element->is_connector || component.owner->in_connector;
    element->in_bus = element->is_expandable || component.owner->in_bus;
    element->of_surroundings = component.owner->of_surroundings && !component.source->is_protected &&
                               (element->in_connector || component.direction != Direction::none);
    for (Component& inner : element->components) {
      // parameter, discrete, input, output of the whole hold for its parts
      inner.variability = std::max(inner.variability, component.variability);
      if (component.direction != Direction::none) inner.direction = component.direction;
      if (component.role != ConnectorRole::none) inner.role = component.role;
    }
    component.elements.push_back(element);
  }
}

void Flattener::shape_all(Instance& instance) {
  for (Component& component : instance.components) {
    if (component.shape_state == Component::State::failed) continue;
    if (!attempt([&] { shape(component); })) continue;
    for (Instance* element : component.elements) shape_all(*element);
    if (diagnostics_.full()) return;
  }
}

Instance* Flattener::statics(const ClassScope* cls) {
  if (cls->statics) return cls->statics;
  return cls->statics = instantiate(cls, nullptr, cls->name, nullptr, cls->definition->name.where, true);
}

}  // namespace saltus::modelica
