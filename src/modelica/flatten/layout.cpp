// What all instances of a class have in common: its components and sections, own and inherited, after redeclarations.
#include <saltus/base/error.hpp>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "modelica/flatten/scope.hpp"
#include "modelica/printer.hpp"

namespace saltus::modelica {

namespace {

constexpr int max_expansions = 100;

LayoutComponent declared(const ComponentClause& clause, const ComponentDeclaration& declaration,
                         const ClassScope* lexical) {
  LayoutComponent result;
  result.clause = &clause;
  result.declaration = &declaration;
  result.lexical = lexical;
  result.role = clause.role;
  result.variability = clause.variability;
  result.direction = clause.direction;
  for (const ExprPtr size : declaration.dimensions) result.dimensions.push_back({size, lexical});
  for (const ExprPtr size : clause.dimensions) result.dimensions.push_back({size, lexical});
  result.condition = declaration.condition;
  result.condition_lexical = lexical;
  return result;
}

LayoutComponent declared_by(const Element& element, const ComponentDeclaration& declaration, const ClassScope* scope) {
  LayoutComponent result = declared(**element.as<const ComponentClause*>(), declaration, scope);
  result.is_protected = element.is_protected;
  result.is_final = element.is_final;
  result.is_inner = element.is_inner;
  result.is_outer = element.is_outer;
  result.is_replaceable = element.is_replaceable;
  result.constraint = element.constraint;
  return result;
}

// What a redeclaration takes over from the declaration in whose place it stands.
void take_over(LayoutComponent& fresh, const LayoutComponent& original) {
  if (fresh.role == ConnectorRole::none) fresh.role = original.role;
  fresh.variability = std::max(fresh.variability, original.variability);
  if (fresh.direction == Direction::none) fresh.direction = original.direction;
  if (fresh.dimensions.empty()) fresh.dimensions = original.dimensions;
  if (!fresh.condition) {
    fresh.condition = original.condition;
    fresh.condition_lexical = original.condition_lexical;
  }
  fresh.is_inner = fresh.is_inner || original.is_inner;
  fresh.is_outer = fresh.is_outer || original.is_outer;
  fresh.is_protected = fresh.is_protected || original.is_protected;
}

// What classes of this kind may hold themselves (Modelica 3.6, 4.7): records and connectors have no behaviour, and only
// connectors have flows.
void check_kind(const ClassScope& scope, const LongClass& body) {
  const ClassKind kind = scope.kind();
  const bool connector = kind == ClassKind::connector || kind == ClassKind::expandable_connector;
  if (connector || kind == ClassKind::record || kind == ClassKind::operator_record) {
    const std::string what = std::string(spelling(kind)) + " has no equations and algorithms";
    if (!body.equations.empty()) throw Fault{body.equations.front().where, "a " + what, "write them in a model"};
    if (!body.algorithms.empty()) throw Fault{body.algorithms.front().where, "a " + what, "write them in a model"};
  }
  if (kind != ClassKind::model && kind != ClassKind::block && !scope.is_function() && kind != ClassKind::package)
    return;
  for (const Element& element : body.elements)
    if (const auto* clause = element.as<const ComponentClause*>(); clause && (*clause)->role == ConnectorRole::flow)
      throw Fault{(*clause)->components.front().name.where,
                  in_quotes((*clause)->components.front().name.text) + " is a flow, but its class is a " +
                      std::string(spelling(kind)),
                  "flows stand in connectors; leave out 'flow'"};
}

void require_replaceable(const LayoutComponent& original, const Location& where) {
  if (!original.is_replaceable) throw Fault{where, in_quotes(original.name()) + " is not replaceable"};
  if (original.is_final) throw Fault{where, in_quotes(original.name()) + " is final and cannot be redeclared"};
}

bool same_modification(const Modification* a, const Modification* b) {
  if (!a || !b) return !a && !b;
  if (!same(a->value, b->value) || a->arguments.size() != b->arguments.size()) return false;
  for (std::size_t k = 0; k < a->arguments.size(); ++k) {
    const ModificationArgument &x = a->arguments[k], &y = b->arguments[k];
    if (!x.is_plain() || !y.is_plain() || print(x.name) != print(y.name) || x.is_final != y.is_final ||
        x.is_each != y.is_each || !same_modification(x.modification, y.modification))
      return false;
  }
  return true;
}

}  // namespace

// Inherited twice, from different declarations: they are one if nothing distinguishes them.
// The attributes that a component has with all modifications; nothing where some of them are more than values.
static std::optional<std::map<std::string_view, ExprPtr>> attributes_of(const LayoutComponent& component) {
  std::map<std::string_view, ExprPtr> all;
  const auto add = [&](const Modification* modification) {
    if (!modification) return true;
    if (modification->is_break) return false;
    if (modification->value) all.emplace("", modification->value);
    return std::ranges::all_of(modification->arguments, [&](const ModificationArgument& argument) {
      const Modification* inner = argument.modification;
      if (!argument.is_plain() || argument.name.parts.size() != 1 || !inner || inner->has_arguments || !inner->value)
        return false;
      all.emplace(argument.name.parts[0].text, inner->value);
      return true;
    });
  };
  for (const WrittenArgument& written : component.modifications) {
    if (written.argument && (!written.argument->is_plain() || written.argument->name.parts.size() != 1)) return {};
    if (!add(written.argument ? written.argument->modification : written.modification)) return {};
  }
  if (!add(component.declaration->modification)) return {};
  return all;
}

// Modifications of one may say what the declaration of the other says.
static bool same_attributes(const LayoutComponent& a, const LayoutComponent& b) {
  const auto x = attributes_of(a), y = attributes_of(b);
  return x && y && std::ranges::equal(*x, *y, [](const auto& one, const auto& other) {
           return one.first == other.first && same(one.second, other.second);
         });
}

static bool identical(const LayoutComponent& a, const LayoutComponent& b, ScopeTree& scopes) {
  if (a.role != b.role || a.variability != b.variability || a.direction != b.direction ||
      a.dimensions.size() != b.dimensions.size() || !same(a.condition, b.condition) || a.is_inner != b.is_inner ||
      a.is_outer != b.is_outer || a.is_replaceable != b.is_replaceable || a.is_final != b.is_final)
    return false;
  for (std::size_t k = 0; k < a.dimensions.size(); ++k)
    if (!same(a.dimensions[k].size, b.dimensions[k].size)) return false;
  const ResolvedType x = scopes.resolve(a.clause->type, a.lexical), y = scopes.resolve(b.clause->type, b.lexical);
  const auto definition = [](const ClassScope* scope) { return scope ? scope->definition : nullptr; };
  return x.builtin == y.builtin && x.kind == y.kind && definition(x.named) == definition(y.named) &&
         (same_modification(a.declaration->modification, b.declaration->modification) || same_attributes(a, b));
}

const Layout& ScopeTree::layout(const ClassScope* scope) {
  if (scope->layout_state == ClassScope::State::failed) throw Poisoned{};
  if (scope->layout_state == ClassScope::State::done) return scope->layout;
  const ClassDefinition& definition = *scope->definition;
  if (scope->layout_state == ClassScope::State::working || expansions_ > max_expansions)
    throw Fault{definition.name.where, "the class " + in_quotes(definition.name.text) + " inherits from itself",
                "extend another class"};
  scope->layout_state = ClassScope::State::working;
  ++expansions_;
  struct Leave {
    int& count;
    const ClassScope* scope;
    ~Leave() {
      --count;
      if (scope->layout_state == ClassScope::State::working) scope->layout_state = ClassScope::State::failed;
    }
  } leave{expansions_, scope};
  for (const WrittenModification& written : scope->outer)
    if (written.direct && written.modification) require_single(*written.modification);
  fill_layout(scope, scope->layout);
  for (const WrittenModification& written : scope->outer)
    if (written.direct) check_names(written, scope, scope->layout);
  scope->layout_state = ClassScope::State::done;
  return scope->layout;
}

void ScopeTree::require_fit(const ResolvedType& type, const Name& wanted, const ClassScope* lexical,
                            const Location& where, std::string_view name, const std::string& what) {
  const ResolvedType constraint = resolve(wanted, lexical);
  const auto refuse = [&](const std::string& why) {
    throw Fault{where, in_quotes(name) + what + ": it must fit " + in_quotes(print(wanted)) + why};
  };
  if (type.builtin != constraint.builtin || (type.builtin && type.kind != constraint.kind)) refuse("");
  if (type.builtin || type.cls == constraint.cls) return;
  const Layout& has = layout(type.cls);
  for (const LayoutComponent& component : layout(constraint.cls).components)
    if (!component.is_protected && !has.index.contains(component.name()))
      refuse(", which has an element " + in_quotes(component.name()));
}

void ScopeTree::fill_layout(const ClassScope* scope, Layout& layout) {
  const ClassDefinition& definition = *scope->definition;
  bases(scope);
  if (const auto* alias = definition.as<ShortClass>()) {
    const ResolvedType type = resolve(scope, alias->base.where);
    if (type.builtin)
      throw Fault{alias->base.where, in_quotes(definition.name.text) + " is a type, not a class with components"};
    layout = this->layout(scope->base_of.at(&alias->base));
    layout.classes.push_back(scope);
    return;
  }
  const auto* body = definition.as<LongClass>();
  if (!body) throw Fault{definition.name.where, in_quotes(definition.name.text) + " has no components"};
  check_kind(*scope, *body);
  layout.classes.push_back(scope);
  if (body->is_extends) {
    if (scope->bases.empty() || !inherited_class(scope))
      throw Fault{definition.name.where,
                  "there is no inherited class " + in_quotes(definition.name.text) + " to extend"};
    const Layout& base = this->layout(scope->bases.front());
    layout = base;
    layout.classes.push_back(scope);
  }
  for (const Element& element : body->elements) {
    if (const auto* extends = element.as<Extends>()) inherit(scope, *extends, layout);
    if (element.is_redeclare) continue;
    const auto* clause = element.as<const ComponentClause*>();
    if (!clause) continue;
    for (const ComponentDeclaration& declaration : (*clause)->components)
      add_component(declared_by(element, declaration, scope), scope, layout);
  }
  for (const Element& element : body->elements) {
    if (!element.is_redeclare) continue;
    if (element.as<const ClassDefinition*>()) check_redeclared_class(scope, element);
    if (const auto* clause = element.as<const ComponentClause*>())
      for (const ComponentDeclaration& declaration : (*clause)->components)  // base classes have done the rest
        if (!layout.index.contains(declaration.name.text))
          throw Fault{declaration.name.where,
                      "there is no inherited component " + in_quotes(declaration.name.text) + " to redeclare"};
  }
  for (const auto& section : body->equations) layout.sections.push_back({&section, nullptr, scope});
  for (const auto& section : body->algorithms) layout.sections.push_back({nullptr, &section, scope});
}

void ScopeTree::inherit(const ClassScope* scope, const Extends& extends, Layout& layout) {
  const auto it = scope->base_of.find(&extends.base);
  if (extends.base.parts.size() == 1 && extends.base.parts[0].text == "ExternalObject") return;
  if (it == scope->base_of.end()) {
    TypeKind ignored;
    if (extends.base.parts.size() == 1 && builtin_type(extends.base.parts[0].text, ignored))
      throw Fault{extends.base.where,
                  "a class with components cannot extend a type like " + in_quotes(extends.base.parts.back().text)};
    if (!find(extends.base, scope)) no_class(extends.base, scope);
    throw Fault{scope->definition->name.where,
                "the class " + in_quotes(scope->definition->name.text) + " inherits from itself",
                "extend another class"};
  }
  if (extends.modification)
    for (const ModificationArgument& argument : extends.modification->arguments)
      if (argument.inheritance_break) throw Fault{argument.where, "'break' is not supported", reference_page};
  const ResolvedType type = resolve(it->second, extends.base.where);
  if (type.builtin)
    throw Fault{extends.base.where,
                "a class with components cannot extend a type like " + in_quotes(extends.base.parts.back().text)};
  if (!type.dimensions.empty())
    throw Fault{extends.base.where, "a class cannot extend the array " + in_quotes(extends.base.parts.back().text)};
  const Layout& base = this->layout(it->second);
  for (const LayoutComponent& component : base.components) {
    const auto [place, fresh] = layout.index.emplace(component.name(), layout.components.size());
    if (fresh) {
      layout.components.push_back(component);
      continue;
    }
    const LayoutComponent& first = layout.components[place->second];
    // the same element inherited twice (along two ways) is one element
    if (first.declaration == component.declaration || identical(first, component, *this)) continue;
    throw Fault{component.declaration->name.where,
                in_quotes(component.name()) + " is declared twice in " + in_quotes(scope->definition->name.text),
                "give one of the two another name, or remove it"};
  }
  layout.classes.insert(layout.classes.end(), base.classes.begin(), base.classes.end());
  for (const LayoutSection& section : base.sections) {
    const bool again = std::any_of(layout.sections.begin(), layout.sections.end(), [&](const LayoutSection& known) {
      return known.equations == section.equations && known.algorithm == section.algorithm;
    });
    if (!again) layout.sections.push_back(section);  // else inherited along two ways
  }
}

// The element `redeclare T x` of a class, if it has one.
std::optional<LayoutComponent> ScopeTree::redeclared_component(std::string_view name, const ClassScope* scope) {
  const auto* body = scope->definition->as<LongClass>();
  if (!body || !index_of(scope->definition).redeclares) return std::nullopt;
  for (const Element& element : body->elements) {
    const auto* clause = element.is_redeclare ? element.as<const ComponentClause*>() : nullptr;
    if (!clause) continue;
    for (const ComponentDeclaration& declaration : (*clause)->components)
      if (declaration.name.text == name) return declared_by(element, declaration, scope);
  }
  return std::nullopt;
}

// A component of the class itself, with what modifications of the class and elements of derived classes make of it.
//
// Modelica 3.6, 7.3.2: a modification of a replaceable component holds for the component and for its constraining type,
// and the modifications of the constraining type are merged into each redeclaration, where they are the weakest.
void ScopeTree::add_component(LayoutComponent component, const ClassScope* scope, Layout& layout) {
  const std::string_view name = component.name();
  if (const auto it = layout.index.find(name); it != layout.index.end()) {
    const LayoutComponent& first = layout.components[it->second];
    if (first.lexical != scope && identical(first, component, *this)) return;
    throw Fault{component.declaration->name.where,
                in_quotes(name) + " is declared twice in " + in_quotes(scope->definition->name.text),
                "give one of the two another name, or remove it"};
  }
  const LayoutComponent original = component;
  std::vector<WrittenArgument> modifications;                    // stronger than all redeclarations
  std::vector<WrittenArgument> weaker;                           // than the strongest redeclaration
  const WrittenModification* replaced_in = nullptr;              // where that one is written
  const auto constrain = [&](const LayoutComponent& declared) {  // by the constraining clause of a declaration
    if (!declared.constraint) return;
    if (replaced_in && !component.must_fit) {
      component.must_fit = &declared.constraint->type;
      component.must_fit_lexical = declared.lexical;
    }
    if (declared.constraint->modification)
      weaker.push_back({nullptr, declared.constraint->modification, declared.lexical});
  };
  // the strongest redeclaration comes first; weaker ones must allow it
  const auto replace = [&](LayoutComponent fresh, const Location& where, const WrittenModification& written) {
    if (replaced_in) {
      if (fresh.declaration == component.declaration) return;
      if (!fresh.is_replaceable || fresh.is_final)
        throw Fault{component.declaration->name.where,
                    in_quotes(name) + " is redeclared in between without 'replaceable'",
                    "write 'redeclare replaceable' there"};
      constrain(fresh);
      return;
    }
    require_replaceable(original, where);
    take_over(fresh, original);
    component = std::move(fresh);
    constrain(component);
    replaced_in = &written;
  };
  for (const WrittenModification& written : scope->outer) {
    if (!written.modification) {
      if (auto fresh = redeclared_component(name, written.lexical))
        replace(std::move(*fresh), fresh->declaration->name.where, written);
      continue;
    }
    for (const ModificationArgument& argument : written.modification->arguments) {
      if (argument.component && argument.component->components.front().name.text == name) {
        LayoutComponent fresh = declared(*argument.component, argument.component->components.front(), written.lexical);
        fresh.is_final = argument.is_final;
        fresh.is_replaceable = argument.is_replaceable;
        fresh.constraint = argument.constraint;
        replace(std::move(fresh), argument.where, written);
        continue;
      }
      if (argument.is_plain() && !argument.name.empty() && argument.name.parts[0].text == name &&
          !written.redeclarations_only)
        (replaced_in && replaced_in != &written ? weaker : modifications)
            .push_back({&argument, nullptr, written.lexical});
    }
  }
  constrain(original);
  if (replaced_in && !original.constraint) {  // without a clause, the declaration itself constrains
    if (!component.must_fit) {
      component.must_fit = &original.clause->type;
      component.must_fit_lexical = original.lexical;
    }
    if (original.declaration->modification)
      weaker.push_back({nullptr, original.declaration->modification, original.lexical});
  }
  component.modifications = std::move(modifications);
  component.defaults = std::move(weaker);
  layout.index.emplace(name, layout.components.size());
  layout.components.push_back(std::move(component));
}

void ScopeTree::check_redeclared_class(const ClassScope* scope, const Element& element) {
  const ClassDefinition& definition = **element.as<const ClassDefinition*>();
  bool complete = true;
  const ClassScope* original = nullptr;
  for (const ClassScope* base : scope->bases)
    if (!original) original = search(definition.name.text, base, scope, complete);
  if (!original)
    throw Fault{definition.name.where,
                "there is no inherited class " + in_quotes(definition.name.text) + " to redeclare"};
  if (!original->element || !original->element->is_replaceable)
    throw Fault{definition.name.where, in_quotes(definition.name.text) + " is not replaceable"};
}

void require_single(const Modification& modification) {
  if (modification.arguments.size() < 2) return;
  std::unordered_set<std::string> valued, redeclared;
  const auto visit = [&](const auto& self, const Modification& list, const std::string& prefix) -> void {
    for (const ModificationArgument& argument : list.arguments) {
      if (argument.inheritance_break) continue;
      const auto* alias = argument.class_definition ? argument.class_definition->as<ShortClass>() : nullptr;
      const auto* component = argument.component ? &argument.component->components.front() : nullptr;
      const std::string path = prefix + (argument.class_definition ? std::string(argument.class_definition->name.text)
                                         : component               ? std::string(component->name.text)
                                                                   : print(argument.name));
      if (!argument.is_plain() && !redeclared.insert(path).second)
        throw Fault{argument.where, in_quotes(path) + " is redeclared twice", "remove one of the two"};
      const Modification* own = argument.class_definition ? (alias ? alias->modification : nullptr)
                                : component               ? component->modification
                                                          : argument.modification;
      if (!own) continue;
      if (own->value && !valued.insert(path).second)
        throw Fault{argument.where, in_quotes(path) + " is modified twice", "remove one of the two"};
      self(self, *own, path + ".");
    }
  };
  visit(visit, modification, "");
}

void ScopeTree::check_names(const WrittenModification& written, const ClassScope* scope, const Layout& layout) {
  if (!written.modification) return;
  for (const ModificationArgument& argument : written.modification->arguments) {
    if (argument.inheritance_break) throw Fault{argument.where, "'break' is not supported", reference_page};
    const std::string_view name = argument.class_definition ? argument.class_definition->name.text
                                  : argument.component      ? argument.component->components.front().name.text
                                                            : argument.name.parts[0].text;
    if (argument.is_plain() && written.redeclarations_only) continue;
    if (!argument.class_definition && layout.index.contains(name)) continue;
    if (!argument.component && find_member(name, scope)) continue;
    std::vector<std::string> names;
    for (const auto& component : layout.components) names.emplace_back(component.name());
    for (std::string& known : class_names(scope)) names.push_back(std::move(known));
    const std::string near = did_you_mean(name, names);
    throw Fault{argument.where, in_quotes(scope->definition->name.text) + " has no element " + in_quotes(name), near};
  }
}

}  // namespace saltus::modelica
