// Classes as they are nested in the text, and how names of classes are looked up.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "modelica/ast.hpp"
#include "modelica/flatten/value.hpp"

namespace saltus::modelica {

struct Instance;

/// A modification and the class in which it is written.
struct WrittenModification {
  const Modification* modification = nullptr;
  const ClassScope* lexical = nullptr;
};
struct WrittenArgument {
  const ModificationArgument* argument = nullptr;
  const ClassScope* lexical = nullptr;
};

/// A component as the class declares or inherits it.
struct LayoutComponent {
  const Element* element = nullptr;
  const ComponentClause* clause = nullptr;
  const ComponentDeclaration* declaration = nullptr;
  const ClassScope* lexical = nullptr;         ///< where its type and its expressions are looked up
  std::vector<WrittenArgument> modifications;  ///< of `extends` clauses and short classes, the outermost first
};
struct LayoutSection {
  const EquationSection* equations = nullptr;
  const AlgorithmSection* algorithm = nullptr;
  const ClassScope* lexical = nullptr;
};
/// Everything that instances of a class have in common: `redeclare` is not supported, so it is all known from the text.
struct Layout {
  std::vector<LayoutComponent> components;
  std::unordered_map<std::string_view, std::size_t> index;
  std::vector<LayoutSection> sections;
};

/// A class definition at its place. Scopes live as long as their ScopeTree and never move.
struct ClassScope {
  const ClassDefinition* definition = nullptr;  ///< null for the outermost scope
  const ClassScope* parent = nullptr;
  std::string name;  ///< with all enclosing classes: "P.M"
  std::unordered_map<std::string_view, ClassScope*> classes;
  std::vector<const Import*> imports;

  enum class State : std::uint8_t { untouched, working, done, failed };
  // filled on demand
  mutable State bases_state = State::untouched;
  mutable std::vector<const ClassScope*> bases;
  mutable State layout_state = State::untouched;
  mutable Layout layout;
  mutable Instance* statics = nullptr;  ///< holds the constants of the class

  ClassKind kind() const { return definition ? definition->kind : ClassKind::package; }
  bool is_function() const { return kind() == ClassKind::function || kind() == ClassKind::operator_function; }
};

/// What the name of a type means, with short classes followed to their end.
struct ResolvedType {
  bool builtin = false;
  TypeKind kind = TypeKind::real;  ///< of a builtin type or an enumeration
  const ClassScope* enumeration = nullptr;
  const ClassScope* cls = nullptr;        ///< of everything else
  const ClassScope* named = nullptr;      ///< the class that the name stands for; null for Real and so on
  Direction direction = Direction::none;  ///< connector RealInput = input Real
  bool is_connector = false;
  std::vector<WrittenModification> modifications;  ///< the outermost first
  struct Dimension {
    ExprPtr size;
    const ClassScope* lexical;
  };
  std::vector<Dimension> dimensions;
};

class ScopeTree {
 public:
  /// The classes of several texts form one tree; earlier ones win.
  void add(const StoredDefinition& text);

  const ClassScope& root() const { return root_; }

  /// A class by one name, seen from `from`: its own and inherited classes, imports, then the enclosing classes. Null if
  /// there is none.
  const ClassScope* find(std::string_view name, const ClassScope* from);
  /// A class inside `in` (not in enclosing ones), also an inherited one.
  const ClassScope* find_member(std::string_view name, const ClassScope* in);
  /// A dotted name; null if there is none.
  const ClassScope* find(const Name& name, const ClassScope* from);
  /// The type of that name. Throws Fault if there is none, with the nearest name.
  ResolvedType resolve(const Name& name, const ClassScope* from);
  /// The layout of a class that is neither an enumeration nor built in.
  const Layout& layout(const ClassScope* scope);
  /// Base classes that are classes (not Real and so on), in order.
  const std::vector<const ClassScope*>& bases(const ClassScope* scope);
  /// Names that could have been meant.
  std::string suggestion(std::string_view name, const ClassScope* from);

 private:
  ClassScope* insert(const ClassDefinition* definition, ClassScope* parent);
  const ClassScope* find_import(std::string_view name, const ClassScope* in);
  const ClassScope* find_absolute(const Name& name);
  void fill_layout(const ClassScope* scope, Layout& layout, std::vector<WrittenModification> outer, int depth);

  ClassScope root_;
  std::deque<ClassScope> scopes_;
  int lookups_ = 0;     ///< nested lookups of base classes
  int expansions_ = 0;  ///< classes that the layout in work has taken in
};

/// The built-in type of that name, if it is one.
bool builtin_type(std::string_view name, TypeKind& kind);

}  // namespace saltus::modelica
