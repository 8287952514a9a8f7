// The tree of component instances that a model unfolds into.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model/iterator_form.hpp"
#include "modelica/flatten/scope.hpp"
#include "modelica/flatten/value.hpp"

namespace saltus::modelica {

struct Instance;
struct Component;

/// Names that live shorter than a class: iterators, and the variables of a function.
struct Locals {
  std::string_view name;
  Value value;
  const Locals* outer = nullptr;
};

/// The variables of a function while its algorithm is being followed.
struct Frame;

/// The values that an algorithm section has given to variables so far, by the symbol of the variable.
struct Assigned {
  std::unordered_map<NodeId, Expr> values;
  std::unordered_map<NodeId, Location> outside;                   ///< assigned outside of `when`, and where last
  const std::unordered_set<const Component*>* targets = nullptr;  ///< what the section assigns anywhere
};

/// Where an expression is evaluated.
struct Context {
  Instance* instance = nullptr;         ///< its components are visible
  const ClassScope* lexical = nullptr;  ///< classes and constants of it and its enclosing classes are visible
  const Locals* locals = nullptr;
  Frame* frame = nullptr;
  Assigned* assigned = nullptr;
  std::int64_t end = -1;  ///< what `end` means; -1 outside of subscripts
};

struct Frame {
  std::unordered_map<std::string_view, Value> variables;
  const ClassScope* cls = nullptr;  ///< the function, or the record that is being constructed
  Context outside;                  ///< where it is called
  bool ended = false;               ///< an assertion that always fails has been followed
  /// Gives a variable of the function its first value when something reads it that is declared earlier; else empty.
  std::function<void(std::string_view)> declare = {};
};

/// An expression that is evaluated when its value is needed for the first time.
struct Lazy {
  ExprPtr expression = nullptr;
  Context context;
  enum class State : std::uint8_t { waiting, working, done, failed } state = State::waiting;
  Value value;
};

/// A part of a lazy value: an element of an array, then a field of a record, and so on.
struct Selector {
  std::string_view field;  ///< empty: an index
  Dims index;              ///< from 0
  int prototype = -1;      ///< the index stands for all elements of that array of components
};
struct Binding {
  std::shared_ptr<Lazy> lazy;  ///< null: none
  std::vector<Selector> path;
  int each = 0;  ///< it is meant as it is for all elements of components that are so many names above it, or more
  Location where;

  bool is_for_each(int names_above) const { return each > 0 && names_above >= each; }
  explicit operator bool() const { return lazy != nullptr; }
};

/// A modification with the context in which its expressions are evaluated.
struct Modifier {
  Binding value;
  Location where;
  bool is_final = false;
  bool removes = false;   ///< `= break`: there is no value, whatever weaker modifications say
  bool of_whole = false;  ///< a field of a record that is bound as a whole, which binds final fields, too
  enum class Rank : std::uint8_t { under, beside, over };
  Rank rank = Rank::beside;  ///< of a field: whether the value of its whole record was written further out
  std::vector<std::pair<std::string_view, std::shared_ptr<const Modifier>>> arguments;
  std::vector<WrittenModification> written;  ///< what it was made of, the outermost first: for redeclarations
  /// Includes the modification of a redeclaration. A stronger redeclaration replaces it by `constraining`.
  bool redeclares = false;
  std::shared_ptr<const Modifier> constraining;  ///< what holds for stronger redeclarations, too; may be null

  std::shared_ptr<const Modifier> find(std::string_view name) const;
};
using ModifierPtr = std::shared_ptr<const Modifier>;

/// `outer` wins over `inner`. Throws Fault where it changes what `inner` made final; a modification may repeat itself.
ModifierPtr merge(const ModifierPtr& outer, const ModifierPtr& inner);

struct Component {
  const LayoutComponent* source = nullptr;
  Instance* owner = nullptr;
  std::string path;  ///< full name without own subscripts
  Variability variability = Variability::continuous;
  Direction direction = Direction::none;
  ConnectorRole role = ConnectorRole::none;
  bool is_final = false;
  bool absent = false;         ///< its condition is false
  Component* inner = nullptr;  ///< of an outer component
  bool is_object = false;      ///< an external object, whose value is `constant`
  enum class State : std::uint8_t { declared, working, done, failed };
  State shape_state = State::declared;
  State value_state = State::declared;
  ResolvedType type;
  ModifierPtr modifier;
  Dims dims;
  bool assigned_in_when = false;
  bool assigned_in_algorithm = false;

  // of a built-in type
  std::vector<Expr> values;  ///< symbols of a variable, values of a parameter
  Value constant;            ///< a String or the like
  Variability value_variability = Variability::continuous;
  // of a class
  std::vector<Instance*> elements;  ///< of an array that is kept: the first alone
  int prototype = -1;               ///< which of the arrays that are kept

  /// Throws NotKept if there is no instance of it.
  Instance& element(std::size_t position) const {
    if (position >= elements.size()) throw NotKept{};
    return *elements[position];
  }

  std::string_view name() const { return source->declaration->name.text; }
  const Location& where() const { return source->declaration->name.where; }
  bool is_parameter() const { return variability >= Variability::parameter; }
  /// A variable that changes at events only.
  bool is_discrete() const {
    return variability == Variability::discrete || assigned_in_when || (type.builtin && type.kind != TypeKind::real);
  }
};

struct Instance {
  const ClassScope* cls = nullptr;
  const Layout* layout = nullptr;
  Instance* parent = nullptr;
  std::string path;  ///< empty for the model itself
  int depth = 0;
  bool is_static = false;  ///< holds constants of a class only
  bool is_connector = false;
  bool is_expandable = false;         ///< an expandable connector
  bool in_bus = false;                ///< an expandable connector or a part of one: its members have no direction
  bool in_connector = false;          ///< a connector or a record inside of one
  bool of_surroundings = false;       ///< the model itself, or a public connector or record through which others see it
  std::vector<Component> components;  ///< in the order of the layout

  /// The component of that name; for an outer one, the inner one that it stands for.
  Component* find(std::string_view name) {
    const auto it = layout->index.find(name);
    if (it == layout->index.end()) return nullptr;
    Component& component = components[it->second];
    return component.inner ? component.inner : &component;
  }
};

/// "a.b" from "a" and "b"; "b" from "" and "b".
std::string join_path(const std::string& path, std::string_view name);
/// "[2,3]" of a position in row-major order; empty for a scalar.
std::string subscript_text(const Dims& dims, std::size_t position);

}  // namespace saltus::modelica
