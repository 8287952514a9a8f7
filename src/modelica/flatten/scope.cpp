#include "modelica/flatten/scope.hpp"

#include <saltus/base/error.hpp>

#include <algorithm>
#include <unordered_set>

namespace saltus::modelica {

namespace {

constexpr int max_inheritance = 100;
constexpr int max_expansions = 10000;

std::string quoted(std::string_view name) {
  return "'" + std::string(name) + "'";
}

// Modifications of an element of this name, the outermost first.
std::vector<WrittenArgument> arguments_for(std::string_view name, const std::vector<WrittenModification>& outer) {
  std::vector<WrittenArgument> result;
  for (const auto& written : outer)
    for (const auto& argument : written.modification->arguments)
      if (argument.is_plain() && !argument.name.empty() && argument.name.parts[0].text == name)
        result.push_back({&argument, written.lexical});
  return result;
}

void check_names(const Modification& modification, const Layout& layout, const Name& base) {
  for (const auto& argument : modification.arguments) {
    if (!argument.is_plain() || argument.is_redeclare)
      throw Fault{argument.where,
                  argument.inheritance_break ? "'break' is not supported" : "'redeclare' is not supported",
                  "docs/reference/modelica.md lists what is read"};
    const std::string_view name = argument.name.parts[0].text;
    if (layout.index.contains(name)) continue;
    std::vector<std::string> names;
    for (const auto& component : layout.components) names.emplace_back(component.declaration->name.text);
    const std::string near = did_you_mean(name, names);
    throw Fault{argument.where, quoted(base.parts.back().text) + " has no element " + quoted(name), near};
  }
}

}  // namespace

bool builtin_type(std::string_view name, TypeKind& kind) {
  if (name == "Real")
    kind = TypeKind::real;
  else if (name == "Integer")
    kind = TypeKind::integer;
  else if (name == "Boolean")
    kind = TypeKind::boolean;
  else if (name == "String")
    kind = TypeKind::string;
  else
    return false;
  return true;
}

void ScopeTree::add(const StoredDefinition& text) {
  for (const ClassDefinition* definition : text.classes) insert(definition, &root_);
}

ClassScope* ScopeTree::insert(const ClassDefinition* definition, ClassScope* parent) {
  ClassScope& scope = scopes_.emplace_back();
  scope.definition = definition;
  scope.parent = parent;
  scope.name = (parent == &root_ ? "" : parent->name + ".") + std::string(definition->name.text);
  if (!parent->classes.emplace(definition->name.text, &scope).second) return &scope;
  if (const auto* body = definition->as<LongClass>())
    for (const Element& element : body->elements) {
      if (const auto* nested = element.as<const ClassDefinition*>())
        insert(*nested, &scope);
      else if (const auto* import = element.as<Import>())
        scope.imports.push_back(import);
    }
  return &scope;
}

const ClassScope* ScopeTree::find_absolute(const Name& name) {
  const ClassScope* scope = &root_;
  for (const auto& part : name.parts) {
    scope = find_member(part.text, scope);
    if (!scope) return nullptr;
  }
  return scope;
}

const ClassScope* ScopeTree::find_import(std::string_view name, const ClassScope* in) {
  for (const Import* import : in->imports) {
    switch (import->kind) {
      case Import::Kind::qualified:
        if (import->name.parts.back().text == name) return find_absolute(import->name);
        break;
      case Import::Kind::renamed:
        if (import->alias.text == name) return find_absolute(import->name);
        break;
      case Import::Kind::wildcard:
        if (const ClassScope* package = find_absolute(import->name); package && package != in)
          if (const ClassScope* found = find_member(name, package)) return found;
        break;
      case Import::Kind::list:
        for (const auto& member : import->members)
          if (member.text == name)
            if (const ClassScope* package = find_absolute(import->name)) return find_member(name, package);
        break;
    }
  }
  return nullptr;
}

const ClassScope* ScopeTree::find_member(std::string_view name, const ClassScope* in) {
  if (const auto it = in->classes.find(name); it != in->classes.end()) return it->second;
  // depth first through the bases, each of them once: classes may inherit along several ways, or in a circle
  std::vector<const ClassScope*> waiting{in};
  std::unordered_set<const ClassScope*> seen{in};
  while (!waiting.empty()) {
    const ClassScope* scope = waiting.back();
    waiting.pop_back();
    if (const auto it = scope->classes.find(name); it != scope->classes.end()) return it->second;
    if (scope->bases_state == ClassScope::State::working) continue;  // its bases are being looked up right now
    const auto& next = bases(scope);
    for (std::size_t k = next.size(); k-- > 0;)
      if (seen.insert(next[k]).second) waiting.push_back(next[k]);
  }
  return nullptr;
}

const ClassScope* ScopeTree::find(std::string_view name, const ClassScope* from) {
  for (const ClassScope* scope = from; scope; scope = scope->parent) {
    if (const ClassScope* found = find_member(name, scope)) return found;
    if (const ClassScope* found = find_import(name, scope)) return found;
    if (scope->definition && scope->definition->is_encapsulated) return nullptr;
  }
  return nullptr;
}

const ClassScope* ScopeTree::find(const Name& name, const ClassScope* from) {
  if (name.global) return find_absolute(name);
  const ClassScope* scope = find(name.parts.front().text, from);
  for (std::size_t k = 1; k < name.parts.size() && scope; ++k) scope = find_member(name.parts[k].text, scope);
  return scope;
}

std::string ScopeTree::suggestion(std::string_view name, const ClassScope* from) {
  std::vector<std::string> names{"Real", "Integer", "Boolean", "String"};
  for (const ClassScope* scope = from; scope; scope = scope->parent) {
    for (const auto& [known, nested] : scope->classes) names.emplace_back(known);
    for (const ClassScope* base : scope->bases)
      for (const auto& [known, nested] : base->classes) names.emplace_back(known);
  }
  std::sort(names.begin(), names.end());
  return did_you_mean(name, names);
}

const std::vector<const ClassScope*>& ScopeTree::bases(const ClassScope* scope) {
  if (scope->bases_state != ClassScope::State::untouched) return scope->bases;
  scope->bases_state = ClassScope::State::working;
  if (scope->definition && lookups_ < max_inheritance) {
    ++lookups_;
    TypeKind ignored;
    const auto add = [&](const Name& name) {
      if (name.empty() || (name.parts.size() == 1 && builtin_type(name.parts[0].text, ignored))) return;
      const ClassScope* base = find(name, scope);
      if (base && base != scope) scope->bases.push_back(base);
    };
    if (const auto* body = scope->definition->as<LongClass>()) {
      for (const Element& element : body->elements)
        if (const auto* extends = element.as<Extends>()) add(extends->base);
    } else if (const auto* alias = scope->definition->as<ShortClass>()) {
      add(alias->base);
    }
    --lookups_;
  }
  scope->bases_state = ClassScope::State::done;
  return scope->bases;
}

ResolvedType ScopeTree::resolve(const Name& name, const ClassScope* from) {
  ResolvedType type;
  const Name* current = &name;
  const ClassScope* where = from;
  for (int depth = 0; depth < max_inheritance; ++depth) {
    if (current->parts.size() == 1 && builtin_type(current->parts[0].text, type.kind)) {
      type.builtin = true;
      return type;
    }
    const ClassScope* found = find(*current, where);
    if (!found) {
      std::string text = "there is no class ";
      for (std::size_t k = 0; k < current->parts.size(); ++k)
        text += (k ? "." : "'") + std::string(current->parts[k].text);
      const std::string near = suggestion(current->parts[0].text, where);
      throw Fault{current->where, text + "'", near};
    }
    if (depth == 0) type.named = found;
    type.is_connector = type.is_connector || found->kind() == ClassKind::connector;
    if (const auto* alias = found->definition->as<ShortClass>()) {
      if (alias->modification) type.modifications.push_back({alias->modification, found->parent});
      // the dimensions of the outer name come first
      for (const ExprPtr size : alias->dimensions) type.dimensions.push_back({size, found->parent});
      if (alias->direction != Direction::none) type.direction = alias->direction;
      current = &alias->base;
      where = found->parent;
      continue;
    }
    if (found->definition->as<Enumeration>()) {
      type.builtin = true;
      type.kind = TypeKind::enumeration;
      type.enumeration = found;
      return type;
    }
    if (found->definition->as<DerivativeClass>())
      throw Fault{current->where, "derivative functions (der(f, x)) are not supported",
                  "docs/reference/modelica.md lists what is read"};
    // a class that extends a built-in type is one
    const auto* body = found->definition->as<LongClass>();
    const Extends* only = nullptr;
    std::size_t components = 0;
    for (const Element& element : body->elements) {
      if (const auto* extends = element.as<Extends>()) only = extends;
      if (element.as<const ComponentClause*>()) ++components;
    }
    TypeKind kind;
    if (only && components == 0 && only->base.parts.size() == 1 && builtin_type(only->base.parts[0].text, kind)) {
      if (only->modification) type.modifications.push_back({only->modification, found});
      type.builtin = true;
      type.kind = kind;
      return type;
    }
    type.cls = found;
    return type;
  }
  throw Fault{name.where, "the definition of this type leads back to itself"};
}

const Layout& ScopeTree::layout(const ClassScope* scope) {
  if (scope->layout_state == ClassScope::State::failed) throw Poisoned{};
  if (scope->layout_state == ClassScope::State::done) return scope->layout;
  scope->layout_state = ClassScope::State::failed;  // unless the end is reached
  expansions_ = 0;
  fill_layout(scope, scope->layout, {}, 0);
  scope->layout_state = ClassScope::State::done;
  return scope->layout;
}

void ScopeTree::fill_layout(const ClassScope* scope, Layout& layout, std::vector<WrittenModification> outer,
                            int depth) {
  const ClassDefinition& definition = *scope->definition;
  if (depth > max_inheritance || ++expansions_ > max_expansions)
    throw Fault{definition.name.where, "the class " + quoted(definition.name.text) + " inherits from itself"};
  if (const auto* alias = definition.as<ShortClass>()) {
    const ResolvedType type = resolve(alias->base, scope->parent);
    if (type.builtin)
      throw Fault{alias->base.where, quoted(definition.name.text) + " is a type, not a class with components"};
    if (alias->modification) outer.push_back({alias->modification, scope->parent});
    outer.insert(outer.end(), type.modifications.begin(), type.modifications.end());
    return fill_layout(type.cls, layout, std::move(outer), depth + 1);
  }
  const auto* body = definition.as<LongClass>();
  if (!body) throw Fault{definition.name.where, quoted(definition.name.text) + " has no components"};
  if (body->is_extends)
    throw Fault{definition.name.where, "'class extends' is not supported",
                "docs/reference/modelica.md lists what is read"};
  for (const Element& element : body->elements) {
    if (const auto* extends = element.as<Extends>()) {
      const ResolvedType type = resolve(extends->base, scope);
      if (type.builtin)
        throw Fault{extends->base.where,
                    "a class with components cannot extend a type like " + quoted(extends->base.parts.back().text)};
      std::vector<WrittenModification> inner = outer;
      if (extends->modification) inner.push_back({extends->modification, scope});
      inner.insert(inner.end(), type.modifications.begin(), type.modifications.end());
      fill_layout(type.cls, layout, std::move(inner), depth + 1);
      if (extends->modification) check_names(*extends->modification, layout, extends->base);
      continue;
    }
    const auto* clause = element.as<const ComponentClause*>();
    if (!clause) continue;
    for (const ComponentDeclaration& declaration : (*clause)->components) {
      const auto [it, fresh] = layout.index.emplace(declaration.name.text, layout.components.size());
      if (!fresh) {
        const LayoutComponent& first = layout.components[it->second];
        // the same element inherited twice (along two ways) is one element
        if (first.declaration == &declaration) continue;
        throw Fault{declaration.name.where,
                    quoted(declaration.name.text) + " is declared twice in " + quoted(definition.name.text)};
      }
      layout.components.push_back(
          {&element, *clause, &declaration, scope, arguments_for(declaration.name.text, outer)});
    }
  }
  const bool again = std::any_of(layout.sections.begin(), layout.sections.end(),
                                 [&](const LayoutSection& known) { return known.lexical == scope; });
  if (again) return;  // inherited along two ways
  for (const auto& section : body->equations) layout.sections.push_back({&section, nullptr, scope});
  for (const auto& section : body->algorithms) layout.sections.push_back({nullptr, &section, scope});
}

}  // namespace saltus::modelica
