// Names and subscripts: from a reference to the value that it stands for.
#include <saltus/base/error.hpp>

#include <algorithm>
#include <map>
#include <string_view>

#include "modelica/flatten/flattener.hpp"
#include "modelica/printer.hpp"

namespace saltus::modelica {

namespace {

// The last part must have no subscripts left and no parts behind it.
Value with_elements(const Component& component) {
  Value value;
  value.type = component.type.kind;
  value.variability = component.value_variability;
  value.enumeration = component.type.enumeration;
  return value;
}

// How many elements a selection has.
template <class Selection>
std::size_t size_of(const Selection& selection) {
  std::size_t total = 1;
  for (const auto& indices : selection.indices) total *= indices.size();
  return total;
}

// Appends the selected elements of an array of the given size, and the dimensions that stay.
template <class Selection>
void pick(const Selection& selection, const Dims& dims, const std::vector<Expr>& from, Value& into) {
  for (std::size_t k = 0; k < dims.size(); ++k)
    if (selection.keeps[k]) into.dims.push_back(static_cast<std::int64_t>(selection.indices[k].size()));
  const std::size_t total = size_of(selection);
  into.elements.reserve(total);
  for (std::size_t n = 0; n < total; ++n) {
    std::size_t rest = n, offset = 0, factor = 1;
    for (std::size_t k = dims.size(); k-- > 0;) {
      const auto& indices = selection.indices[k];
      offset += factor * static_cast<std::size_t>(indices[rest % indices.size()]);
      rest /= indices.size();
      factor *= static_cast<std::size_t>(dims[k]);
    }
    into.elements.push_back(from[offset]);
  }
}

}  // namespace

Value Flattener::component_value(Component& component, const Location& where) {
  shape(component);
  if (component.absent) require_bus_member(component);
  if (component.absent) throw Fault{where, in_quotes(component.path) + " does not exist: its condition is false"};
  if (component.is_object) {
    resolve_value(component);
    return component.constant;
  }
  if (!component.type.builtin) {
    if (component.dims.empty()) return instance_value(*component.elements.front(), where);
    if (component.prototype >= 0) throw NotKept{};
    std::vector<Value> items;
    for (Instance* element : component.elements) items.push_back(instance_value(*element, where));
    if (items.empty()) throw Fault{where, "the array " + in_quotes(component.path) + " is empty"};
    return stacked(std::move(items), component.dims, where);
  }
  if (!component.is_parameter() && !variables_declared_)
    throw Fault{where, in_quotes(component.path) + " is a variable; only parameters and constants can be used here"};
  resolve_value(component);
  if (component.type.kind == TypeKind::string) return component.constant;
  Value value = with_elements(component);
  value.dims = component.dims;
  value.elements = component.values;
  require_symbols(component, value.elements);
  return value;
}

Value Flattener::instance_value(Instance& instance, const Location& where) {
  const ClassKind kind = instance.cls->kind();
  if (kind != ClassKind::record && kind != ClassKind::operator_record && !instance.is_connector)
    throw Fault{
        where,
        in_quotes(instance.path) + " is a component of the class " + in_quotes(instance.cls->name) + ", not a value",
        "name one of its variables: " + instance.path + ".x"};
  auto fields = std::make_shared<RecordFields>();
  fields->type = instance.cls;
  Value result;
  result.type = TypeKind::record;
  for (Component& component : instance.components) {
    Value field = component_value(component, where);
    result.variability = join(result.variability, field.variability);
    fields->fields.emplace_back(component.name(), std::move(field));
  }
  result.record = std::move(fields);
  return result;
}

Value Flattener::member(Component& component, const ComponentReference& reference, std::size_t part,
                        const Location& where, const Context& context) {
  const ReferencePart& here = reference.parts[part];
  const bool last = part + 1 == reference.parts.size();
  shape(component);
  if (component.absent) require_bus_member(component);
  if (component.absent) throw Fault{where, in_quotes(component.path) + " does not exist: its condition is false"};
  if (component.is_object) return component_value(component, where);
  if (component.type.builtin) {
    if (!last)
      throw Fault{
          reference.parts[part + 1].name.where,
          in_quotes(component.path) + " is a " + std::string(type_name(component.type.kind)) + " and has no parts"};
    if (here.subscripts.empty()) return component_value(component, where);
    if (component.type.kind == TypeKind::string)
      return subscript(component_value(component, where), here.subscripts, context, where, component.path);
    if (!component.is_parameter() && !variables_declared_)
      throw Fault{where, in_quotes(component.path) + " is a variable; only parameters and constants can be used here"};
    resolve_value(component);
    Value index;
    if (varying_subscript(component.dims, here.subscripts, context, {}, index))
      return subscript(component_value(component, where), here.subscripts, context, where, component.path);
    // the values are picked one by one, because the array may be large and this reference inside a loop
    const Selection selection = select(component.dims, here.subscripts, context, where, component.path);
    Value picked = with_elements(component);
    charge(static_cast<std::int64_t>(size_of(selection)), where);
    pick(selection, component.dims, component.values, picked);
    require_symbols(component, picked.elements);
    return picked;
  }
  const auto go_on = [&](Instance& instance) -> Value {
    if (last) return instance_value(instance, where);
    const Identifier& next = reference.parts[part + 1].name;
    Component* inner = instance.find(next.text);
    if (!inner) {
      std::vector<std::string> names;
      for (const Component& known : instance.components) names.emplace_back(known.name());
      const std::string near = did_you_mean(next.text, names);
      throw Fault{next.where,
                  in_quotes(component.path) + " (of the class " + in_quotes(instance.cls->name) + ") has no element " +
                      in_quotes(next.text),
                  near};
    }
    if (inner->source->is_protected)
      throw Fault{next.where, in_quotes(next.text) + " is protected in " + in_quotes(instance.cls->name)};
    return member(*inner, reference, part + 1, where, context);
  };
  if (component.dims.empty()) {
    if (!here.subscripts.empty()) select(component.dims, here.subscripts, context, where, component.path);
    return go_on(*component.elements.front());
  }
  const Selection selection = select(component.dims, here.subscripts, context, where, component.path);
  std::size_t total = 1;
  Dims kept;
  for (std::size_t k = 0; k < component.dims.size(); ++k) {
    total *= selection.indices[k].size();
    if (selection.keeps[k]) kept.push_back(static_cast<std::int64_t>(selection.indices[k].size()));
  }
  charge(static_cast<std::int64_t>(total), where);
  std::vector<Value> items;
  for (std::size_t n = 0; n < total; ++n) {
    std::size_t rest = n, offset = 0, factor = 1;
    for (std::size_t k = component.dims.size(); k-- > 0;) {
      const auto& indices = selection.indices[k];
      offset += factor * static_cast<std::size_t>(indices[rest % indices.size()]);
      rest /= indices.size();
      factor *= static_cast<std::size_t>(component.dims[k]);
    }
    items.push_back(component.prototype >= 0 && offset > 0
                        ? in_element(go_on(component.element(0)), component, static_cast<int>(offset))
                        : go_on(component.element(offset)));
  }
  if (kept.empty()) return std::move(items.front());
  if (items.empty()) {
    Dims dims = kept;
    return Value::array(TypeKind::real, std::move(dims));
  }
  return stacked(std::move(items), kept, where);
}

Value Flattener::member_of_value(Value value, const ComponentReference& reference, std::size_t part,
                                 const Location& where, const Context& context) {
  if (!reference.parts[part].subscripts.empty())
    value = subscript(value, reference.parts[part].subscripts, context, where, reference.parts[part].name.text);
  for (std::size_t k = part + 1; k < reference.parts.size(); ++k) {
    const Identifier& name = reference.parts[k].name;
    if (value.type != TypeKind::record)
      throw Fault{name.where, "a value of type " + describe(value) + " has no element " + in_quotes(name.text)};
    const auto& fields = value.record->fields;
    const auto it =
        std::find_if(fields.begin(), fields.end(), [&](const auto& field) { return field.first == name.text; });
    if (it == fields.end()) {
      std::vector<std::string> names;
      for (const auto& field : fields) names.emplace_back(field.first);
      const std::string near = did_you_mean(name.text, names);
      throw Fault{name.where, in_quotes(describe(value)) + " has no element " + in_quotes(name.text), near};
    }
    value = require_value(it->second, name.text, where);
    if (!reference.parts[k].subscripts.empty())
      value = subscript(value, reference.parts[k].subscripts, context, where, name.text);
  }
  return value;
}

Value Flattener::class_member(const ClassScope* cls, const ComponentReference& reference, std::size_t part,
                              const Location& where, const Context& context) {
  refuse_outer(*cls, where);
  const Identifier& name = reference.parts[part].name;
  if (const auto* enumeration = cls->definition->as<Enumeration>()) {
    std::vector<std::string> names;
    for (std::size_t k = 0; k < enumeration->literals.size(); ++k) {
      names.emplace_back(enumeration->literals[k].name.text);
      if (enumeration->literals[k].name.text != name.text) continue;
      Value value = Value::integer(static_cast<std::int64_t>(k) + 1);
      value.type = TypeKind::enumeration;
      value.enumeration = cls;
      return value;
    }
    const std::string near = did_you_mean(name.text, names);
    throw Fault{name.where, "the enumeration " + in_quotes(cls->name) + " has no value " + in_quotes(name.text), near};
  }
  if (const ClassScope* nested = scopes_.find_member(name.text, cls); nested && part + 1 < reference.parts.size())
    return class_member(nested, reference, part + 1, where, context);
  if (cls->definition->as<LongClass>() || !scopes_.bases(cls).empty()) {
    Instance* instance = statics(cls);
    if (Component* component = instance->find(name.text)) {
      if (component->variability != Variability::constant && component->owner->cls->kind() != ClassKind::package)
        throw Fault{name.where, in_quotes(name.text) + " is not a constant of the class " + in_quotes(cls->name),
                    "only constants can be used through the name of a class"};
      if (component->source->is_protected)
        throw Fault{name.where, in_quotes(name.text) + " is protected in " + in_quotes(cls->name)};
      return member(*component, reference, part, where, context);
    }
  }
  std::vector<std::string> names;
  for (const auto& component : scopes_.layout(cls).components) names.emplace_back(component.name());
  for (std::string& known : scopes_.class_names(cls)) names.push_back(std::move(known));
  std::sort(names.begin(), names.end());
  const std::string near = did_you_mean(name.text, names);
  throw Fault{name.where, in_quotes(cls->name) + " has no element " + in_quotes(name.text), near};
}

Component* Flattener::own_component(std::string_view name, const Context& context) {
  if (!context.instance) return nullptr;
  Component* component = context.instance->find(name);
  if (!component || context.lexical == context.instance->cls) return component;
  // a base class does not see what the derived class declares
  return scopes_.layout(context.lexical).index.contains(name) ? component : nullptr;
}

void Flattener::unknown_name(const ComponentReference& reference, std::size_t part, const Context& context) {
  const Identifier& name = reference.parts[part].name;
  std::vector<std::string> names{"time"};
  for (const Locals* local = context.locals; local; local = local->outer) names.emplace_back(local->name);
  if (context.frame)
    for (const auto& [known, value] : context.frame->variables) names.emplace_back(known);
  if (context.instance)
    for (const Component& component : context.instance->components) names.emplace_back(component.name());
  for (const ClassScope* scope = context.lexical; scope; scope = scope->parent)
    for (std::string& known : scopes_.class_names(scope)) names.push_back(std::move(known));
  const bool derived = context.instance && context.instance->find(name.text);
  if (derived)
    throw Fault{name.where, in_quotes(name.text) + " is not declared here",
                "a class does not see what classes that extend it declare: declare it here, too"};
  std::sort(names.begin(), names.end());
  const std::string near = did_you_mean(name.text, names);
  // what people write for the things that Modelica has under another name
  static const std::map<std::string_view, const char*> elsewhere = {
      {"pi", "write Modelica.Constants.pi"},  {"Pi", "write Modelica.Constants.pi"},
      {"PI", "write Modelica.Constants.pi"},  {"t", "the time is called time"},
      {"Time", "the time is called time"},    {"inf", "write Modelica.Constants.inf"},
      {"eps", "write Modelica.Constants.eps"}};
  const bool closer = !near.empty() && near != "did you mean 'time'?";
  if (const auto known = elsewhere.find(name.text); known != elsewhere.end() && !closer)
    throw Fault{name.where, in_quotes(name.text) + " is not declared", known->second};
  throw Fault{name.where, in_quotes(name.text) + " is not declared",
              near.empty() ? "declare it, for example: Real " + std::string(name.text) + ";" : near};
}

// A variable of a function as it is read: it has a value, or the run ends where it has none.
Value Flattener::require_value(Value value, std::string_view name, const Location& where) {
  if (value.is_unset()) throw Fault{where, in_quotes(name) + " is used before it has a value"};
  if (value.set_if) demand(*value.set_if, std::string(name) + " is used before it has a value", where);
  value.set_if.reset();
  return value;
}

Value Flattener::eval_reference(const ComponentReference& reference, const Location& where, const Context& context) {
  const std::string_view name = reference.parts[0].name.text;
  if (reference.global) {
    const ClassScope* cls = scopes_.find_member(name, &scopes_.root());
    if (!cls || reference.parts.size() < 2) unknown_name(reference, 0, context);
    return class_member(cls, reference, 1, where, context);
  }
  for (const Locals* local = context.locals; local; local = local->outer)
    if (local->name == name) return member_of_value(local->value, reference, 0, where, context);
  if (context.frame && context.frame->declare) context.frame->declare(name);
  if (context.frame)
    if (const auto it = context.frame->variables.find(name); it != context.frame->variables.end()) {
      const Value value = require_value(it->second, name, where);
      if (reference.parts.size() == 1 && !reference.parts[0].subscripts.empty())
        return subscript(value, reference.parts[0].subscripts, context, where, name);
      return member_of_value(value, reference, 0, where, context);
    }
  if (context.instance)
    if (Component* component = own_component(name, context)) {
      Value value = member(*component, reference, 0, where, context);
      if (context.assigned)
        for (Expr& e : value.elements)
          if (e.is_symbol()) e = current_value(e, *context.assigned);
      return value;
    }
  for (const ClassScope* scope = context.lexical; scope && scope->definition; scope = scope->parent) {
    if (scope->definition->as<LongClass>() && !(context.instance && context.instance->cls == scope)) {
      const Layout& layout = scopes_.layout(scope);
      if (const auto it = layout.index.find(name); it != layout.index.end()) {
        if (layout.components[it->second].variability != Variability::constant)
          throw Fault{where, in_quotes(name) + " belongs to the enclosing class " + in_quotes(scope->name) +
                                 "; only constants of enclosing classes can be used here"};
        return member(*statics(scope)->find(name), reference, 0, where, context);
      }
    }
    if (const ClassScope* cls = scopes_.find_member(name, scope); cls && reference.parts.size() > 1)
      return class_member(cls, reference, 1, where, context);
    Value imported;
    if (imported_member(scope, reference, where, context, imported)) return imported;
    if (scope->definition->is_encapsulated) break;
  }
  if (reference.parts.size() > 1)
    if (const ClassScope* cls = scopes_.find(name, context.lexical))
      return class_member(cls, reference, 1, where, context);
  if (name == "time" && reference.parts.size() == 1) {
    if (!in_initial_) return {TypeKind::real, Variability::continuous, model_->time()};
    start_time_used_ = true;
    return {TypeKind::real, Variability::parameter, Expr(start_time_)};
  }
  unknown_name(reference, 0, context);
}

// import P.c; where c is a constant, or a class of which a member is named.
bool Flattener::imported_member(const ClassScope* scope, const ComponentReference& reference, const Location& where,
                                const Context& context, Value& result) {
  const std::string_view name = reference.parts[0].name.text;
  const LayoutComponent* known = nullptr;  // of a whole package that is imported; these come last
  const ClassScope* owner = nullptr;
  for (const Import* import : scopes_.imports(scope)) {
    const Name& path = import->name;
    std::string_view member_name = name;
    Name package = path;
    bool names_it = false;
    switch (import->kind) {
      case Import::Kind::qualified:
        names_it = path.parts.back().text == name;
        break;
      case Import::Kind::renamed:
        names_it = import->alias.text == name;
        member_name = path.parts.back().text;
        break;
      case Import::Kind::wildcard:
        break;
      case Import::Kind::list:
        if (std::none_of(import->members.begin(), import->members.end(),
                         [&](const Identifier& member) { return member.text == name; }))
          continue;
        break;
    }
    if (import->kind == Import::Kind::qualified || import->kind == Import::Kind::renamed) {
      if (!names_it) continue;
      package.global = true;
      if (const ClassScope* cls = scopes_.find(package, scope)) {
        if (reference.parts.size() < 2) continue;
        result = class_member(cls, reference, 1, where, context);
        return true;
      }
      package.parts.pop_back();
      if (package.parts.empty()) continue;
    }
    package.global = true;
    const ClassScope* cls = scopes_.find(package, scope);
    if (!cls || cls == scope) continue;
    if (const ClassScope* nested = scopes_.find_member(member_name, cls)) {
      if (reference.parts.size() < 2) continue;
      result = class_member(nested, reference, 1, where, context);
      return true;
    }
    const Layout& layout = scopes_.layout(cls);
    const auto it = layout.index.find(member_name);
    if (it == layout.index.end()) continue;
    const LayoutComponent& found = layout.components[it->second];
    if (known && known->declaration != found.declaration)
      throw Fault{
          where,
          in_quotes(name) + " is imported twice: from " + in_quotes(owner->name) + " and " + in_quotes(cls->name),
          "import the one that is meant by its name"};
    known = &found;
    owner = cls;
    result = member(*statics(cls)->find(member_name), reference, 0, where, context);
    if (import->kind != Import::Kind::wildcard) return true;
  }
  return known != nullptr;
}

// ------------------------------------------------------------------------------------------------------- subscripts

Flattener::Selection Flattener::select(const Dims& dims, const std::vector<ExprPtr>& subscripts, const Context& context,
                                       const Location& where, std::string_view name, const Fixed& fixed) {
  if (subscripts.size() > dims.size())
    throw Fault{where,
                in_quotes(name) + (dims.empty() ? " is a scalar and takes no subscripts"
                                                : " has " + std::to_string(dims.size()) + " dimension" +
                                                      (dims.size() == 1 ? "" : "s") + ", but " +
                                                      std::to_string(subscripts.size()) + " subscripts are given")};
  Selection result;
  result.indices.resize(dims.size());
  result.keeps.assign(dims.size(), true);
  for (std::size_t k = 0; k < dims.size(); ++k) {
    auto& indices = result.indices[k];
    if (k >= subscripts.size() || subscripts[k]->as<WholeDimension>()) {
      charge(dims[k], where);
      indices.resize(static_cast<std::size_t>(dims[k]));
      for (std::int64_t i = 0; i < dims[k]; ++i) indices[static_cast<std::size_t>(i)] = i;
      continue;
    }
    if (const auto it = fixed.find(k); it != fixed.end()) {
      result.keeps[k] = false;
      indices.push_back(it->second);
      continue;
    }
    Context inner = context;
    inner.end = dims[k];
    const Value value = eval(subscripts[k], inner);
    const bool is_boolean = value.type == TypeKind::boolean;
    if (value.dims.size() > 1 ||
        (value.type != TypeKind::integer && value.type != TypeKind::enumeration && !is_boolean))
      throw Fault{subscripts[k]->where,
                  "a subscript must be an Integer or a vector of Integers, not a value of type " + describe(value)};
    result.keeps[k] = !value.is_scalar();
    for (std::size_t n = 0; n < value.elements.size(); ++n) {
      const Value one = value.at(n);
      const std::int64_t index = is_boolean
                                     ? static_cast<std::int64_t>(number(one, subscripts[k]->where, "a subscript")) + 1
                                     : integer(one, subscripts[k]->where, "a subscript");
      if (index < 1 || index > dims[k])
        throw Fault{subscripts[k]->where,
                    "the subscript " + std::to_string(index) + " of " + in_quotes(name) +
                        " is out of range: that dimension has the size " + std::to_string(dims[k]),
                    "use 1 to " + std::to_string(dims[k]) + ", or declare a larger array"};
      indices.push_back(index - 1);
    }
  }
  return result;
}

Value Flattener::select_value(const Value& value, const Selection& selection) {
  if (value.type == TypeKind::record) {
    Value result = value;
    auto fields = std::make_shared<RecordFields>();
    fields->type = value.record->type;
    for (const auto& [name, field] : value.record->fields) {
      Selection inner = selection;
      for (std::size_t k = selection.indices.size(); k < field.dims.size(); ++k) {
        inner.keeps.push_back(true);
        auto& all = inner.indices.emplace_back();
        for (std::int64_t i = 0; i < field.dims[k]; ++i) all.push_back(i);
      }
      fields->fields.emplace_back(name, select_value(field, inner));
    }
    result.dims.clear();
    for (std::size_t k = 0; k < selection.indices.size(); ++k)
      if (selection.keeps[k]) result.dims.push_back(static_cast<std::int64_t>(selection.indices[k].size()));
    result.record = std::move(fields);
    return result;
  }
  Value result;
  result.type = value.type;
  result.variability = value.variability;
  result.enumeration = value.enumeration;
  if (value.type != TypeKind::string) {
    pick(selection, value.dims, value.elements, result);
    return result;
  }
  std::vector<Expr> positions;  // texts have none of their own
  for (std::size_t k = 0; k < value.elements.size(); ++k) positions.emplace_back(static_cast<double>(k));
  pick(selection, value.dims, positions, result);
  for (const Expr& position : result.elements)
    result.texts.push_back(value.text_at(static_cast<std::size_t>(position.constant_value())));
  if (result.dims.empty()) result.text = result.texts.front();
  return result;
}

Value Flattener::subscript(const Value& value, const std::vector<ExprPtr>& subscripts, const Context& context,
                           const Location& where, std::string_view name) {
  return subscript_from(value, subscripts, context, where, name, {});
}

// The first subscript, not fixed yet, whose value is known in a run only.
std::optional<std::size_t> Flattener::varying_subscript(const Dims& dims, const std::vector<ExprPtr>& subscripts,
                                                        const Context& context, const Fixed& fixed, Value& value) {
  for (std::size_t k = 0; k < std::min(subscripts.size(), dims.size()); ++k) {
    if (fixed.contains(k) || subscripts[k]->as<WholeDimension>() || subscripts[k]->as<IntegerLiteral>()) continue;
    Context inner = context;
    inner.end = dims[k];
    value = eval(subscripts[k], inner);
    const bool counts =
        value.type == TypeKind::integer || value.type == TypeKind::enumeration || value.type == TypeKind::boolean;
    if (counts && value.is_scalar() && !value.scalar().is_constant() && value.variability < Variability::parameter)
      return k;
  }
  return std::nullopt;
}

// A subscript that varies chooses among all elements.
Value Flattener::subscript_from(const Value& value, const std::vector<ExprPtr>& subscripts, const Context& context,
                                const Location& where, std::string_view name, const Fixed& fixed) {
  Value index;
  const auto varying = varying_subscript(value.dims, subscripts, context, fixed, index);
  if (!varying) return select_value(value, select(value.dims, subscripts, context, where, name, fixed));
  const std::int64_t size = value.dims[*varying];
  charge(size, where);
  if (size == 0) throw Fault{where, in_quotes(name) + " has no elements"};
  const std::int64_t least = index.type == TypeKind::boolean ? 0 : 1;
  if (index.type == TypeKind::integer) {
    const BoolExpr inside = index.scalar() >= Expr(1.0) && index.scalar() <= Expr(static_cast<double>(size));
    demand(inside, "the subscript of " + std::string(name) + " is out of range", where);
  }
  std::optional<Value> result;
  for (std::int64_t k = size; k-- > 0;) {
    Fixed inner = fixed;
    inner[*varying] = k;
    Value element = subscript_from(value, subscripts, context, where, name, inner);
    Value number = index;
    number.variability = Variability::constant;
    number.elements[0] = Expr(static_cast<double>(k + least));
    result = result ? choose(relation(Operator::equal, index, number, where), element, *result, where) : element;
  }
  result->variability = join(result->variability, index.variability);
  return std::move(*result);
}

}  // namespace saltus::modelica
