// Names of classes: own, inherited, imported and enclosing ones, with redeclarations on the way.
#include "modelica/flatten/scope.hpp"

#include "modelica/flatten/prelude.hpp"

#include <saltus/base/error.hpp>

#include <algorithm>
#include <unordered_set>

namespace saltus::modelica {

namespace {

constexpr int max_inheritance = 100;

// The modifications of a class as its base classes see them.
std::vector<WrittenModification> handed_down(const ClassScope& scope) {
  std::vector<WrittenModification> outer = scope.outer;
  for (WrittenModification& written : outer) written.direct = false;
  return outer;
}

bool in_chain(const ClassDefinition* definition, const ClassScope* scope) {
  for (; scope; scope = scope->derived)
    if (scope->definition == definition) return true;
  return false;
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

// ------------------------------------------------------------------------------------------------ what a class
// contains

ScopeTree::Index& ScopeTree::index_of(const ClassDefinition* definition) {
  const auto [it, fresh] = indices_.try_emplace(definition);
  Index& index = it->second;
  const auto* body = fresh && definition ? definition->as<LongClass>() : nullptr;
  if (!body) return index;
  for (const Element& element : body->elements) {
    index.redeclares = index.redeclares || element.is_redeclare;
    if (const auto* nested = element.as<const ClassDefinition*>())
      index.classes.emplace((*nested)->name.text, Entry{*nested, &element});
    else if (const auto* import = element.as<Import>())
      index.imports.push_back(import);
  }
  std::stable_partition(index.imports.begin(), index.imports.end(),
                        [](const Import* import) { return import->kind != Import::Kind::wildcard; });
  return index;
}

void ScopeTree::add(const StoredDefinition& text, const ClassScope* package) {
  Index& index = index_of(package ? package->definition : nullptr);
  for (const ClassDefinition* definition : text.classes)
    index.classes.emplace(definition->name.text, Entry{definition, nullptr});
}

const ScopeTree::Entry* ScopeTree::entry(std::string_view name, const ClassScope* in) {
  Index& index = index_of(in->definition);
  if (const auto it = index.classes.find(name); it != index.classes.end()) return &it->second;
  if (!loader_ || (in->definition && in->definition->kind != ClassKind::package)) return nullptr;
  const ClassDefinition* loaded = loader_->load(in->definition, name);
  if (!loaded) return nullptr;
  return &index_of(in->definition).classes.emplace(loaded->name.text, Entry{loaded, nullptr}).first->second;
}

const std::vector<const Import*>& ScopeTree::imports(const ClassScope* scope) {
  return index_of(scope->definition).imports;
}

std::vector<std::string> ScopeTree::class_names(const ClassScope* scope) {
  std::vector<std::string> names;
  for (const auto& [name, nested] : index_of(scope->definition).classes) names.emplace_back(name);
  return names;
}

ClassScope& ScopeTree::make(const ClassDefinition* definition, const ClassScope* parent, const Element* element) {
  ClassScope& scope = scopes_.emplace_back();
  scope.definition = definition;
  scope.parent = parent;
  scope.element = element;
  scope.name = (parent == &root_ ? "" : parent->name + ".") + std::string(definition->name.text);
  return scope;
}

const ClassScope* ScopeTree::specialise(const ClassScope* scope, const std::vector<WrittenModification>& outer) {
  if (outer.empty()) return scope;
  const ClassScope*& known = specialised_[{scope, outer}];
  if (known) return known;
  ClassScope& copy = make(scope->definition, scope->parent, scope->element);
  copy.name = scope->name;
  copy.outer = outer;
  copy.outer.insert(copy.outer.end(), scope->outer.begin(), scope->outer.end());
  copy.defaults = scope->defaults;
  copy.derived = scope->derived;
  return known = &copy;
}

// A class that is written in `in`. What redeclares it is used instead; `behind`: what this class redeclares, and what
// is stronger, does not count.
//
// Modelica 3.6, 7.3.2: a modification of a replaceable class holds for the class and for its constraining type, and the
// modifications of the constraining type are merged into each redeclaration, where they are the weakest.
const ClassScope* ScopeTree::local(std::string_view name, const ClassScope* in, const ClassScope* behind) {
  if (const auto it = in->children.find(name); !behind && it != in->children.end()) return it->second;
  const Entry* found = entry(name, in);
  if (!found) return nullptr;
  const Entry original = *found;
  bool active = behind == nullptr;
  const ClassScope* child = nullptr;                  // of an element that redeclares
  const ModificationArgument* argument_of = nullptr;  // the strongest redeclaration in a modification
  const WrittenModification* strongest_in = nullptr;
  const ClassDefinition* strongest = nullptr;
  std::vector<WrittenModification> outer;
  ClassConstraint replaced;
  // True if the redeclaration is the strongest one; weaker ones must allow it.
  const auto is_strongest = [&](const ClassDefinition* definition, const WrittenModification& written,
                                bool is_replaceable, const ConstrainingClause* clause) {
    if (!strongest) {
      strongest = definition;
      strongest_in = &written;
      return true;
    }
    if (strongest == definition) return false;
    if (!is_replaceable)
      throw Fault{strongest->name.where, in_quotes(name) + " is redeclared in between without 'replaceable'",
                  "write 'redeclare replaceable' there"};
    replaced.add(clause, written.lexical);
    return false;
  };
  for (const WrittenModification& written : in->outer) {
    if (!active) {
      active = !written.modification && written.lexical == behind;
      continue;
    }
    if (!written.modification) {
      const Entry* other = entry(name, written.lexical);
      if (!other || !other->element || !other->element->is_redeclare) continue;
      const bool allows = other->element->is_replaceable && !other->element->is_final;
      if (is_strongest(other->definition, written, allows, other->element->constraint))
        child = local(name, written.lexical, nullptr);
      continue;
    }
    for (const ModificationArgument& argument : written.modification->arguments) {
      if (argument.class_definition && argument.class_definition->name.text == name) {
        const bool allows = argument.is_replaceable && !argument.is_final;
        if (is_strongest(argument.class_definition, written, allows, argument.constraint)) argument_of = &argument;
        continue;
      }
      if (child || !argument.is_plain() || argument.name.empty() || argument.name.parts[0].text != name) continue;
      if (argument.name.parts.size() > 1)
        throw Fault{argument.where, "a dotted name cannot modify the class " + in_quotes(name),
                    "write " + std::string(name) + "(...) with the modification in parentheses"};
      if (!argument.modification) continue;
      const bool is_weaker = strongest && strongest_in != &written;
      (is_weaker ? replaced.modifications : outer).push_back({argument.modification, written.lexical});
    }
  }
  if (!child) {
    if (argument_of) {
      if (!original.element || !original.element->is_replaceable)
        throw Fault{argument_of->where, in_quotes(name) + " is not replaceable in " + in_quotes(in->name)};
      if (original.element->is_final)
        throw Fault{argument_of->where,
                    in_quotes(name) + " is final in " + in_quotes(in->name) + " and cannot be redeclared"};
    }
    child = argument_of ? replacement(*argument_of, strongest_in->lexical, original, in, std::move(outer), replaced)
                        : declaration(original, in, std::move(outer));
  }
  if (!behind) in->children.emplace(original.definition->name.text, child);
  return child;
}

// A class where nothing redeclares it; `outer` modifies it.
const ClassScope* ScopeTree::declaration(const Entry& original, const ClassScope* in,
                                         std::vector<WrittenModification> outer) {
  ClassScope& made = make(original.definition, in, original.element);
  made.outer = std::move(outer);
  made.constraint.modifications = made.outer;
  if (!original.element) return &made;
  ClassConstraint weakest;
  weakest.add(original.element->constraint, in);
  if (original.element->is_redeclare) {
    const ClassConstraint inherited = inherited_constraint(*original.definition, in);
    made.must_fit = inherited.type;
    made.must_fit_lexical = inherited.lexical;
    weakest.add(inherited);
  }
  for (const WrittenModification& written : weakest.modifications) made.weaken(written);
  made.constraint.add(weakest);
  const auto* alias = original.definition->as<ShortClass>();
  if (alias && !original.element->constraint && !original.element->is_redeclare) {  // its type is the constraining one
    made.constraint.add({&alias->base, in, {}});
    if (alias->modification) made.constraint.modifications.push_back({alias->modification, in, false, false});
  }
  return &made;
}

// What an argument `redeclare model N = ...` puts in the place of a class of `in`. `outer` modifies it; `replaced` is
// the constraint of weaker redeclarations.
const ClassScope* ScopeTree::replacement(const ModificationArgument& argument, const ClassScope* lexical,
                                         const Entry& original, const ClassScope* in,
                                         std::vector<WrittenModification> outer, ClassConstraint replaced) {
  ClassScope& made = make(argument.class_definition, lexical, original.element);
  replaced.add(declaration(original, in, {})->constraint);
  made.must_fit = replaced.type;
  made.must_fit_lexical = replaced.lexical;
  made.outer = std::move(outer);
  made.constraint.modifications = made.outer;
  ClassConstraint weakest;
  weakest.add(argument.constraint, lexical);
  weakest.add(replaced);
  for (const WrittenModification& written : weakest.modifications) made.weaken(written);
  made.constraint.add(weakest);
  return &made;
}

// What an element `redeclare model N` of `in` takes over from the inherited class.
ClassConstraint ScopeTree::inherited_constraint(const ClassDefinition& definition, const ClassScope* in) {
  if (const auto* body = definition.as<LongClass>(); body && body->is_extends) return {};
  if (in->bases_state == ClassScope::State::working) return {};
  bool complete = true;
  for (const ClassScope* base : bases(in))
    if (const ClassScope* found = search(definition.name.text, base, in, complete)) return found->constraint;
  return {};
}

// ------------------------------------------------------------------------------------------------------------- lookup

void refuse_outer(const ClassScope& found, const Location& where) {
  if (found.element && found.element->is_outer)
    throw Fault{where, "'outer' classes are not supported: " + in_quotes(found.name) + " is one", reference_page};
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
  if (!in->definition) return nullptr;
  const ClassScope* result = nullptr;  // of whole packages, which come last
  for (const Import* import : imports(in)) {
    switch (import->kind) {
      case Import::Kind::qualified:
        if (import->name.parts.back().text == name) return find_absolute(import->name);
        break;
      case Import::Kind::renamed:
        if (import->alias.text == name) return find_absolute(import->name);
        break;
      case Import::Kind::wildcard:
        if (const ClassScope* package = find_absolute(import->name); package && package != in)
          if (const ClassScope* found = find_member(name, package)) {
            if (result && result->definition != found->definition)
              throw Fault{import->name.where,
                          in_quotes(name) + " is imported twice: it is " + in_quotes(result->name) + " and " +
                              in_quotes(found->name),
                          "import the one that is meant by its name"};
            result = found;
          }
        break;
      case Import::Kind::list:
        for (const auto& member : import->members)
          if (member.text == name)
            if (const ClassScope* package = find_absolute(import->name)) return find_member(name, package);
        break;
    }
  }
  return result;
}

// Depth first through the bases, each of them once: classes may inherit along several ways, or in a circle.
const ClassScope* ScopeTree::search(std::string_view name, const ClassScope* in, const ClassScope* behind,
                                    bool& complete) {
  std::vector<const ClassScope*> waiting{in};
  std::unordered_set<const ClassScope*> seen{in};
  while (!waiting.empty()) {
    const ClassScope* scope = waiting.back();
    waiting.pop_back();
    if (const ClassScope* found = local(name, scope, behind)) return found;
    if (scope->bases_state == ClassScope::State::working) {  // its bases are being looked up right now
      complete = false;
      continue;
    }
    const auto& next = bases(scope);
    for (std::size_t k = next.size(); k-- > 0;)
      if (seen.insert(next[k]).second) waiting.push_back(next[k]);
  }
  return nullptr;
}

const ClassScope* ScopeTree::find_member(std::string_view name, const ClassScope* in) {
  if (const auto it = in->members.find(name); it != in->members.end()) return it->second;
  bool complete = true;
  const ClassScope* found = search(name, in, nullptr, complete);
  // a name that is not found may come from elsewhere than a text and is kept
  if (complete && in->definition)
    in->members.emplace(found ? found->definition->name.text : std::string_view(names_.emplace_back(name)), found);
  return found;
}

const ClassScope* ScopeTree::find(std::string_view name, const ClassScope* from) {
  for (const ClassScope* scope = from; scope; scope = scope->parent) {
    if (const ClassScope* found = find_member(name, scope)) return found;
    if (const ClassScope* found = find_import(name, scope)) return found;
    if (scope->definition && scope->definition->is_encapsulated)
      return is_predefined(name) ? find_member(name, &root_) : nullptr;
  }
  return nullptr;
}

const ClassScope* ScopeTree::find(const Name& name, const ClassScope* from) {
  if (name.global) return find_absolute(name);
  const ClassScope* scope = find(name.parts.front().text, from);
  if (scope) refuse_outer(*scope, name.where);
  for (std::size_t k = 1; k < name.parts.size() && scope; ++k) {
    scope = find_member(name.parts[k].text, scope);
    if (scope) refuse_outer(*scope, name.where);
  }
  return scope;
}

std::string ScopeTree::file_named(const std::string& name, const Location& where) {
  constexpr std::string_view scheme = "modelica://";
  if (!name.starts_with(scheme)) return name;
  const std::size_t slash = std::min(name.find('/', scheme.size()), name.size());
  const std::string package = name.substr(scheme.size(), slash - scheme.size());
  std::string_view rest = package;
  const ClassScope* scope = &root_;
  while (scope && !rest.empty()) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    scope = find_member(rest.substr(0, dot), scope);
    rest.remove_prefix(std::min(dot + 1, rest.size()));
  }
  if (!scope || !scope->definition || !loader_)
    throw Fault{where, "there is no class " + in_quotes(package) + " whose folder could hold " + in_quotes(name),
                "name the folder of its library with --library"};
  return (loader_->folder_of(*scope->definition) / name.substr(std::min(slash + 1, name.size()))).string();
}

std::string ScopeTree::suggestion(std::string_view name, const ClassScope* from) {
  std::vector<std::string> names{"Real", "Integer", "Boolean", "String"};
  const auto add = [&](const ClassScope* scope) {
    for (std::string& known : class_names(scope)) names.push_back(std::move(known));
  };
  for (const ClassScope* scope = from; scope; scope = scope->parent) {
    add(scope);
    for (const ClassScope* base : scope->bases) add(base);
  }
  std::sort(names.begin(), names.end());
  return did_you_mean(name, names);
}

void ScopeTree::no_class(const Name& name, const ClassScope* from) {
  std::string text = "there is no class ";
  for (std::size_t k = 0; k < name.parts.size(); ++k) text += (k ? "." : "'") + std::string(name.parts[k].text);
  // the first part that is not found, among the names that could stand there
  const ClassScope* scope = name.global ? &root() : find(name.parts.front().text, from);
  std::size_t known = scope && !name.global ? 1 : 0;
  while (scope && known < name.parts.size())
    if (const ClassScope* next = find_member(name.parts[known].text, scope))
      scope = next, ++known;
    else
      break;
  std::string hint;
  if (known == 0 && !name.global) {
    hint = suggestion(name.parts[0].text, from);
  } else if (scope && known < name.parts.size()) {
    std::vector<std::string> names = class_names(scope);
    std::sort(names.begin(), names.end());
    hint = did_you_mean(name.parts[known].text, names);
  }
  if (hint.empty())
    hint = name.parts.size() > 1 ? "name the folder of the library that has it: --library DIR, or MODELICAPATH"
                                 : "declare it in this file, or name the folder of its library: --library DIR";
  throw Fault{name.where, text + "'", hint};
}

// -------------------------------------------------------------------------------------------------------- base classes

// The base class that `redeclare model extends N` completes: the N that the enclosing class inherits.
const ClassScope* ScopeTree::inherited_class(const ClassScope* scope) {
  bool complete = true;
  for (const ClassScope* base : bases(scope->parent))
    if (const ClassScope* found = search(scope->definition->name.text, base, scope->parent, complete)) return found;
  return nullptr;
}

const ClassScope* ScopeTree::make_base(const ClassScope* scope, const Name& name, const Modification* modification,
                                       const ClassScope* from) {
  const bool is_class_extends = name.empty();
  const ClassScope* base = is_class_extends ? inherited_class(scope) : find(name, from);
  if (!base || base == scope || in_chain(base->definition, scope)) return nullptr;
  std::vector<WrittenModification> outer = handed_down(*scope);
  if (index_of(scope->definition).redeclares) outer.push_back({nullptr, scope, false, false});
  if (modification) outer.push_back({modification, from});
  outer.insert(outer.end(), scope->defaults.begin(), scope->defaults.end());
  const ClassScope* made = specialise(base, outer);
  if (made != base) const_cast<ClassScope*>(made)->derived = scope;
  return made;
}

const std::vector<const ClassScope*>& ScopeTree::bases(const ClassScope* scope) {
  if (scope->bases_state != ClassScope::State::untouched) return scope->bases;
  scope->bases_state = ClassScope::State::working;
  if (scope->definition && lookups_ < max_inheritance) {
    ++lookups_;
    struct Leave {
      int& count;
      const ClassScope* scope;
      ~Leave() {
        --count;
        scope->bases_state = ClassScope::State::done;
      }
    } leave{lookups_, scope};
    TypeKind ignored;
    const auto add = [&](const Name& name, const Modification* modification, const ClassScope* from) {
      if (name.parts.size() == 1 &&
          (builtin_type(name.parts[0].text, ignored) || name.parts[0].text == "ExternalObject"))
        return;
      const ClassScope* base = make_base(scope, name, modification, from);
      if (!base) return;
      scope->bases.push_back(base);
      scope->base_of.emplace(&name, base);
    };
    static const Name inherited;
    if (const auto* body = scope->definition->as<LongClass>()) {
      if (body->is_extends) add(inherited, body->extends_modification, scope);
      for (const Element& element : body->elements)
        if (const auto* extends = element.as<Extends>()) add(extends->base, extends->modification, scope);
    } else if (const auto* alias = scope->definition->as<ShortClass>()) {
      if (!alias->base.empty()) add(alias->base, alias->modification, scope->parent);
    }
  }
  scope->bases_state = ClassScope::State::done;
  return scope->bases;
}

// --------------------------------------------------------------------------------------------------------------- types

namespace {

// The `extends` of a class that is a type like Real: without components, and the base is a type.
const Extends* type_extends(const LongClass& body, const ClassScope& scope) {
  const Extends* result = nullptr;
  TypeKind ignored;
  for (const Element& element : body.elements) {
    if (element.as<const ComponentClause*>()) return nullptr;
    const auto* extends = element.as<Extends>();
    if (!extends) continue;
    if (extends->base.parts.size() == 1 && builtin_type(extends->base.parts[0].text, ignored)) result = extends;
    const auto it = scope.base_of.find(&extends->base);
    if (it != scope.base_of.end() && it->second->kind() == ClassKind::type) result = extends;
  }
  return result;
}

}  // namespace

// A class of that name comes first.
static bool is_clock(const Name& name) {
  return name.parts.size() == 1 && name.parts[0].text == "Clock";
}

static ResolvedType clock_type() {
  ResolvedType type;
  type.builtin = true;
  type.kind = TypeKind::clock;
  return type;
}

ResolvedType ScopeTree::resolve(const Name& name, const ClassScope* from) {
  ResolvedType type;
  if (name.parts.size() == 1 && builtin_type(name.parts[0].text, type.kind)) {
    type.builtin = true;
    return type;
  }
  const ClassScope* found = find(name, from);
  if (!found && is_clock(name)) return clock_type();
  if (!found) no_class(name, from);
  return resolve(found, name.where);
}

ResolvedType ScopeTree::resolve(const ClassScope* found, const Location& where) {
  ResolvedType type;
  type.named = found;
  for (int depth = 0; depth < max_inheritance; ++depth) {
    refuse_outer(*found, where);
    if (found->must_fit && !type.redeclared) type.redeclared = found;
    type.is_connector =
        type.is_connector || found->kind() == ClassKind::connector || found->kind() == ClassKind::expandable_connector;
    if (found->definition->as<Enumeration>()) {
      type.builtin = true;
      type.kind = TypeKind::enumeration;
      type.enumeration = found;
      type.modifications = found->outer;
      return type;
    }
    if (found->definition->as<DerivativeClass>())
      throw Fault{where, "derivative functions (der(f, x)) are not supported", reference_page};
    bases(found);
    const Name* base = nullptr;
    const Modification* modification = nullptr;
    const ClassScope* lexical = found;
    if (const auto* alias = found->definition->as<ShortClass>()) {
      base = &alias->base;
      modification = alias->modification;
      lexical = found->parent;
      // the dimensions of the outer name come first
      for (const ExprPtr size : alias->dimensions) type.dimensions.push_back({size, lexical});
      if (alias->direction != Direction::none) type.direction = alias->direction;
    } else if (const Extends* extends = type_extends(*found->definition->as<LongClass>(), *found)) {
      base = &extends->base;
      modification = extends->modification;
    } else {
      type.cls = found;
      return type;
    }
    if (base->parts.size() == 1 && builtin_type(base->parts[0].text, type.kind)) {
      type.builtin = true;
      type.modifications = found->outer;
      if (modification) type.modifications.push_back({modification, lexical});
      type.modifications.insert(type.modifications.end(), found->defaults.begin(), found->defaults.end());
      return type;
    }
    const auto next = found->base_of.find(base);
    if (next == found->base_of.end() && is_clock(*base) && !find(*base, lexical)) {
      type.builtin = true;
      type.kind = TypeKind::clock;
      return type;
    }
    if (next == found->base_of.end()) {
      if (!find(*base, lexical)) no_class(*base, lexical);
      break;
    }
    found = next->second;
  }
  throw Fault{where, "the definition of this type leads back to itself"};
}

}  // namespace saltus::modelica
