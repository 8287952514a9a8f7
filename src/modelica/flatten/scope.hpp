// Classes as they are nested in the text, and how names of classes are looked up.
#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "modelica/ast.hpp"
#include "modelica/flatten/value.hpp"

namespace saltus::modelica {

struct Instance;

/// A modification and the class in which it is written. Without a modification it stands for the elements of that class
/// that begin with `redeclare`.
struct WrittenModification {
  const Modification* modification = nullptr;
  const ClassScope* lexical = nullptr;
  bool redeclarations_only = false;  ///< plain modifications of components are applied elsewhere
  bool direct = true;                ///< written for this class itself: what it names must exist

  auto operator<=>(const WrittenModification&) const = default;
};
/// A modification of one component: an argument of another modification, or what stands behind its own name.
struct WrittenArgument {
  const ModificationArgument* argument = nullptr;
  const Modification* modification = nullptr;  ///< where there is no argument
  const ClassScope* lexical = nullptr;
};
/// The size of one dimension and the class in which it is written.
struct WrittenDimension {
  ExprPtr size = nullptr;
  const ClassScope* lexical = nullptr;
};

/// A component as the class declares or inherits it, after all redeclarations.
struct LayoutComponent {
  const ComponentClause* clause = nullptr;
  const ComponentDeclaration* declaration = nullptr;
  const ClassScope* lexical = nullptr;         ///< where its type and its expressions are looked up
  std::vector<WrittenArgument> modifications;  ///< stronger than its own, the outermost first
  std::vector<WrittenArgument> defaults;       ///< weaker than its own: of constraining clauses
  ConnectorRole role = ConnectorRole::none;
  Variability variability = Variability::continuous;
  Direction direction = Direction::none;
  std::vector<WrittenDimension> dimensions;  ///< of the declaration, then of its type
  ExprPtr condition = nullptr;
  const ClassScope* condition_lexical = nullptr;
  const ConstrainingClause* constraint = nullptr;
  const Name* must_fit = nullptr;  ///< of a redeclaration: the constraining type
  const ClassScope* must_fit_lexical = nullptr;
  bool is_protected = false, is_final = false, is_inner = false, is_outer = false, is_replaceable = false;

  std::string_view name() const { return declaration->name.text; }
};
struct LayoutSection {
  const EquationSection* equations = nullptr;
  const AlgorithmSection* algorithm = nullptr;
  const ClassScope* lexical = nullptr;
};
/// Everything that instances of a class have in common.
struct Layout {
  std::vector<LayoutComponent> components;
  std::unordered_map<std::string_view, std::size_t> index;
  std::vector<LayoutSection> sections;
  std::vector<const ClassScope*> classes;  ///< the class and all that it inherits from
};

/// What holds for every class that replaces a replaceable one (3.6, 7.3.2).
struct ClassConstraint {
  const Name* type = nullptr;  ///< the constraining type; null: any
  const ClassScope* lexical = nullptr;
  std::vector<WrittenModification> modifications;  ///< the outermost first

  /// Adds a constraining clause, which may be null. The type of the outermost clause counts.
  void add(const ConstrainingClause* clause, const ClassScope* in) {
    if (!clause) return;
    if (!type) type = &clause->type, lexical = in;
    if (clause->modification) modifications.push_back({clause->modification, in, false, false});
  }
  /// Adds what holds for the classes that replace a weaker redeclaration or the original.
  void add(const ClassConstraint& weaker) {
    if (!type) type = weaker.type, lexical = weaker.lexical;
    modifications.insert(modifications.end(), weaker.modifications.begin(), weaker.modifications.end());
  }
};

/// A class definition at its place, with the modifications and redeclarations that hold for it: a base class is another
/// scope for each class that extends it with modifications. Scopes live as long as their ScopeTree and never move.
struct ClassScope {
  const ClassDefinition* definition = nullptr;  ///< null for the outermost scope
  const ClassScope* parent = nullptr;
  const Element* element = nullptr;           ///< its prefixes; null at the top of a file and in modifications
  std::string name;                           ///< with all enclosing classes: "P.M"
  std::vector<WrittenModification> outer;     ///< the outermost first
  std::vector<WrittenModification> defaults;  ///< weaker than the modifications of the short class that it is
  const ClassScope* derived = nullptr;        ///< the class for which this base was made
  const Name* must_fit = nullptr;             ///< of a redeclaration: the constraining type
  const ClassScope* must_fit_lexical = nullptr;
  ClassConstraint constraint;  ///< of the classes that replace this one

  enum class State : std::uint8_t { untouched, working, done, failed };
  // filled on demand
  mutable std::unordered_map<std::string_view, const ClassScope*> children;  ///< its own classes
  mutable std::unordered_map<std::string_view, const ClassScope*> members;   ///< also inherited ones; null: none
  mutable State bases_state = State::untouched;
  mutable std::vector<const ClassScope*> bases;
  mutable std::unordered_map<const Name*, const ClassScope*> base_of;  ///< by the name in the text
  mutable State layout_state = State::untouched;
  mutable Layout layout;
  mutable Instance* statics = nullptr;  ///< holds the constants of the class

  ClassKind kind() const { return definition ? definition->kind : ClassKind::package; }
  /// Adds a modification of a constraining clause: weaker than what the class itself says where it is a short class.
  void weaken(const WrittenModification& written) {
    (definition->as<ShortClass>() ? defaults : outer).push_back(written);
  }
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
  const ClassScope* redeclared = nullptr;          ///< a class on the way that must fit a constraining type
  std::vector<WrittenModification> modifications;  ///< of a builtin type, the outermost first
  std::vector<WrittenDimension> dimensions;
};

/// Where classes come from that are not in the texts at hand: folders of a library.
class ClassLoader {
 public:
  virtual ~ClassLoader() = default;
  /// The class of that name inside `package` (null: at the top), or null.
  virtual const ClassDefinition* load(const ClassDefinition* package, std::string_view name) = 0;
  /// The folder that holds the files of a class.
  virtual std::filesystem::path folder_of(const ClassDefinition& definition) const = 0;
};

/// Ends with an error at an `outer` class: the class that is meant stands around the component, and is another one.
void refuse_outer(const ClassScope& found, const Location& where);

/// Throws Fault where two arguments of a modification give one element a value, or redeclare it (3.6, 7.2.4).
void require_single(const Modification& modification);

class ScopeTree {
 public:
  /// `loader` may be null and must live longer.
  explicit ScopeTree(ClassLoader* loader = nullptr) : loader_(loader) {}

  /// The classes of several texts form one tree; earlier ones win. Classes go into `package`, or to the top (null).
  void add(const StoredDefinition& text, const ClassScope* package = nullptr);

  const ClassScope& root() const { return root_; }

  /// A class by one name, seen from `from`: its own and inherited classes, imports, then the enclosing classes. Null if
  /// there is none. All lookups throw Fault where a redeclaration is not allowed.
  const ClassScope* find(std::string_view name, const ClassScope* from);
  /// A class inside `in` (not in enclosing ones), also an inherited one.
  const ClassScope* find_member(std::string_view name, const ClassScope* in);
  /// A dotted name; null if there is none.
  const ClassScope* find(const Name& name, const ClassScope* from);
  /// The path of a file: modelica://Package.Name/path lies in the folder of that class; other names stay as they are.
  /// Throws Fault if there is no such class.
  std::string file_named(const std::string& name, const Location& where);
  /// The type of that name. Throws Fault if there is none, with the nearest name.
  ResolvedType resolve(const Name& name, const ClassScope* from);
  /// The type that a class is, with short classes followed to their end. `where` is where it is named.
  ResolvedType resolve(const ClassScope* found, const Location& where);
  /// The same class with more modifications around it.
  const ClassScope* specialise(const ClassScope* scope, const std::vector<WrittenModification>& outer);
  /// The layout of a class that is neither an enumeration nor built in.
  const Layout& layout(const ClassScope* scope);
  /// Throws Fault unless a type can stand where `wanted` is expected: the same basic type, or all public components.
  void require_fit(const ResolvedType& type, const Name& wanted, const ClassScope* lexical, const Location& where,
                   std::string_view name, const std::string& what = " cannot be redeclared like this");
  /// Base classes that are classes (not Real and so on), in order.
  const std::vector<const ClassScope*>& bases(const ClassScope* scope);
  /// Imports of the class itself: those that name what they import before those of whole packages.
  const std::vector<const Import*>& imports(const ClassScope* scope);
  /// Names of the classes in a class itself.
  std::vector<std::string> class_names(const ClassScope* scope);
  /// Names that could have been meant.
  std::string suggestion(std::string_view name, const ClassScope* from);

 private:
  struct Entry {
    const ClassDefinition* definition = nullptr;
    const Element* element = nullptr;
  };
  struct Index {
    std::unordered_map<std::string_view, Entry> classes;
    std::vector<const Import*> imports;
    bool redeclares = false;  ///< has elements that begin with `redeclare`
  };
  Index& index_of(const ClassDefinition* definition);
  const Entry* entry(std::string_view name, const ClassScope* in);
  const ClassScope* local(std::string_view name, const ClassScope* in, const ClassScope* behind);
  const ClassScope* declaration(const Entry& original, const ClassScope* in, std::vector<WrittenModification> outer);
  const ClassScope* replacement(const ModificationArgument& argument, const ClassScope* lexical, const Entry& original,
                                const ClassScope* in, std::vector<WrittenModification> outer, ClassConstraint replaced);
  ClassConstraint inherited_constraint(const ClassDefinition& definition, const ClassScope* in);
  const ClassScope* search(std::string_view name, const ClassScope* in, const ClassScope* behind, bool& complete);
  const ClassScope* make_base(const ClassScope* scope, const Name& name, const Modification* modification,
                              const ClassScope* from);
  const ClassScope* inherited_class(const ClassScope* scope);
  ClassScope& make(const ClassDefinition* definition, const ClassScope* parent, const Element* element);
  const ClassScope* find_import(std::string_view name, const ClassScope* in);
  const ClassScope* find_absolute(const Name& name);
  [[noreturn]] void no_class(const Name& name, const ClassScope* from);
  void fill_layout(const ClassScope* scope, Layout& layout);
  void inherit(const ClassScope* scope, const Extends& extends, Layout& layout);
  void add_component(LayoutComponent component, const ClassScope* scope, Layout& layout);
  std::optional<LayoutComponent> redeclared_component(std::string_view name, const ClassScope* scope);
  void check_redeclared_class(const ClassScope* scope, const Element& element);
  void check_names(const WrittenModification& written, const ClassScope* scope, const Layout& layout);

  ClassLoader* loader_;
  ClassScope root_;
  std::deque<ClassScope> scopes_;
  std::deque<std::string> names_;
  std::unordered_map<const ClassDefinition*, Index> indices_;
  std::map<std::pair<const ClassScope*, std::vector<WrittenModification>>, const ClassScope*> specialised_;
  int lookups_ = 0;     ///< nested lookups of base classes
  int expansions_ = 0;  ///< nested layouts
};

/// The built-in type of that name, if it is one.
bool builtin_type(std::string_view name, TypeKind& kind);

}  // namespace saltus::modelica
