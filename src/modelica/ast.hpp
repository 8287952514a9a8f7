// The syntax tree of a Modelica text.
//
// All nodes of a text live in one `Ast`, which owns them in arenas: a node points at its children with plain pointers
// that stay valid as long as the Ast does, also when it is moved. Names are views into the source text that the Ast
// keeps. Nothing is ever deleted one by one, so the depth of a tree costs no stack when it goes.
//
// **Depth.** A tree is at most about `max_nesting` constructs deep (parser.hpp): chains of operators (a + b - c ...),
// `elseif` branches, arguments and lists are flat nodes with many children, not deep trees. A recursive walk over a
// tree that came from the parser is therefore safe.
#pragma once

#include "source.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace saltus::modelica {

struct Expression;
struct Equation;
struct Statement;
struct ClassDefinition;
struct ComponentClause;
struct Modification;

using ExprPtr = const Expression*;

// ---------------------------------------------------------------------------------------------------------- names

/// One name. A quoted name keeps its quotes ('x' and x are different names in Modelica).
struct Identifier {
  std::string_view text;
  Location where;

  bool empty() const { return text.empty(); }
};

/// A dotted name of a class: A.B.C, or .A.B.C (global: looked up from the outermost scope).
struct Name {
  std::vector<Identifier> parts;
  bool global = false;
  Location where;

  bool empty() const { return parts.empty(); }
};

// ---------------------------------------------------------------------------------------------------- expressions

enum class Operator : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  power,  // + - * / ^
  add_elementwise,
  subtract_elementwise,
  multiply_elementwise,
  divide_elementwise,
  power_elementwise,  // .+ and so on
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,  // relations
  logical_and,
  logical_or,
  logical_not,
};

/// How the operator is written: "+", ".^", "and", ...
std::string_view spelling(Operator op);

struct IntegerLiteral {
  std::int64_t value = 0;
};
/// `text` is how the user wrote it.
struct RealLiteral {
  double value = 0;
  std::string_view text;
};
struct StringLiteral {
  std::string_view value;  ///< without quotes, escapes decoded
};
struct BooleanLiteral {
  bool value = false;
};
/// `end` inside a subscript: the last index of that dimension.
struct EndLiteral {};
/// `:` as a subscript or a dimension: all of it, or unknown.
struct WholeDimension {};

struct ReferencePart {
  Identifier name;
  std::vector<ExprPtr> subscripts;
};
/// a, a.b[2].c, .A.b
struct ComponentReference {
  std::vector<ReferencePart> parts;
  bool global = false;
};

/// i in range; `range` is null when it is implied by the use of i as a subscript.
struct ForIndex {
  Identifier name;
  ExprPtr range = nullptr;
};

struct Argument {
  Identifier name;  ///< empty for a positional argument
  ExprPtr value = nullptr;
};
/// f(a, b, n = c), or f(e for i in r) with one argument and `iterators`. The keywords der, initial and pure are called
/// like functions of that name; their callee has one part.
struct Call {
  ComponentReference callee;
  Location callee_where;
  std::vector<Argument> arguments;
  std::vector<ForIndex> iterators;
};
/// function f(n = c), as an argument of a call.
struct FunctionPartial {
  Name function;
  std::vector<Argument> arguments;
};
/// {a, b, c}, or {e for i in r, j in s} with one element and `iterators`.
struct ArrayConstructor {
  std::vector<ExprPtr> elements;
  std::vector<ForIndex> iterators;
};
/// [a, b; c, d]
struct Matrix {
  std::vector<std::vector<ExprPtr>> rows;
};
/// (), (a, b), (a, , c): an omitted element is null. Plain parentheses around one expression leave no node.
struct Tuple {
  std::vector<ExprPtr> elements;
};
/// (a + b)[1]
struct Subscripted {
  ExprPtr base = nullptr;
  std::vector<ExprPtr> subscripts;
};
/// start : stop, or start : step : stop; `step` may be null.
struct Range {
  ExprPtr start = nullptr;
  ExprPtr step = nullptr;
  ExprPtr stop = nullptr;
};
/// +a, -a, .+a, .-a, not a. A sign applies to the whole first term: -a*b is -(a*b).
struct Unary {
  Operator op{};
  ExprPtr operand = nullptr;
};
/// Operators that do not chain: relations and powers.
struct Binary {
  Operator op{};
  ExprPtr left = nullptr;
  ExprPtr right = nullptr;
};
/// operands[0] operators[0] operands[1] operators[1] ..., evaluated from left to right. At least two operands; all
/// operators of one level: only or, only and, sums (+ - .+ .-), or products (* / .* ./).
struct Chain {
  std::vector<ExprPtr> operands;
  std::vector<Operator> operators;
};
struct ConditionalBranch {
  ExprPtr condition = nullptr;
  ExprPtr value = nullptr;
};
/// if c1 then v1 elseif c2 then v2 else v3
struct Conditional {
  std::vector<ConditionalBranch> branches;
  ExprPtr otherwise = nullptr;
};

struct Expression {
  Location where;
  std::variant<IntegerLiteral, RealLiteral, StringLiteral, BooleanLiteral, EndLiteral, WholeDimension,
               ComponentReference, Call, FunctionPartial, ArrayConstructor, Matrix, Tuple, Subscripted, Range, Unary,
               Binary, Chain, Conditional>
      node;

  template <class Node>
  const Node* as() const {
    return std::get_if<Node>(&node);
  }
};

/// The same tree, places and the spelling of numbers aside. Null equals null.
bool same(ExprPtr a, ExprPtr b);

// ------------------------------------------------------------------------------------- descriptions, modifications

/// "text" annotation(...), as they may follow almost everything.
struct Description {
  std::string_view text;
  const Modification* annotation = nullptr;  ///< its arguments are those of the annotation; null without one
};

/// constrainedby T(...)
struct ConstrainingClause {
  Name type;
  const Modification* modification = nullptr;
  Description description;
  Location where;
};

/// break c, break connect(a, b): an inherited element is left out (only in `extends`).
struct InheritanceBreak {
  Identifier name;                       ///< the component, or empty
  const Equation* connection = nullptr;  ///< the connect equation, or null
};

/// One argument of a modification: plain, or a redeclaration of a class or a component, or a break.
struct ModificationArgument {
  Location where;
  bool is_each = false;
  bool is_final = false;
  bool is_redeclare = false;
  bool is_replaceable = false;
  Name name;                                          ///< plain: name = value, name(...), also a dotted name
  const Modification* modification = nullptr;         ///< plain: may be null (a name alone, as in annotations)
  const ClassDefinition* class_definition = nullptr;  ///< redeclare/replaceable of a class, or null
  const ComponentClause* component = nullptr;         ///< redeclare/replaceable of a component, or null
  const ConstrainingClause* constraint = nullptr;
  const InheritanceBreak* inheritance_break = nullptr;
  std::string_view comment;

  /// True for "name", "name = value", "name(...)", "name(...) = value".
  bool is_plain() const { return !class_definition && !component && !inheritance_break; }
};

/// (...), = value, or (...) = value.
struct Modification {
  Location where;
  std::vector<ModificationArgument> arguments;
  bool has_arguments = false;  ///< parentheses were written, perhaps empty
  ExprPtr value = nullptr;     ///< null without "= value"
  bool is_break = false;       ///< "= break": the inherited value is removed

  /// The plain argument of this undotted name, or null. For annotations: find("experiment").
  const ModificationArgument* find(std::string_view name) const;
};

// --------------------------------------------------------------------------------------------- equations, statements

/// A condition and what holds under it.
template <class Item>
struct Branch {
  ExprPtr condition = nullptr;  ///< null for "else"
  std::vector<const Item*> body;
  Location where;  ///< the condition, or the word "else"
};

/// lhs = rhs
struct EqualityEquation {
  ExprPtr lhs = nullptr;
  ExprPtr rhs = nullptr;
};
/// if c then ... elseif d then ... else ... end if. The last branch may be an "else".
struct IfEquation {
  std::vector<Branch<Equation>> branches;
};
/// when c then ... elsewhen d then ... end when. No branch is an "else".
struct WhenEquation {
  std::vector<Branch<Equation>> branches;
};
struct ForEquation {
  std::vector<ForIndex> indices;
  std::vector<const Equation*> body;
};
/// connect(a, b); both are component references
struct ConnectEquation {
  ExprPtr first = nullptr;
  ExprPtr second = nullptr;
};
/// assert(...), terminate(...), reinit(...), or any other function called for its effect
struct CallEquation {
  ExprPtr call = nullptr;  ///< always a Call
};

struct Equation {
  Location where;
  std::variant<EqualityEquation, IfEquation, WhenEquation, ForEquation, ConnectEquation, CallEquation> node;
  Description description;

  template <class Node>
  const Node* as() const {
    return std::get_if<Node>(&node);
  }
};

/// a.b[1] := value
struct Assignment {
  ExprPtr target = nullptr;  ///< always a ComponentReference
  ExprPtr value = nullptr;
};
/// (a, , c) := f(...)
struct TupleAssignment {
  ExprPtr targets = nullptr;  ///< always a Tuple of component references and nulls
  ExprPtr call = nullptr;     ///< always a Call
};
struct CallStatement {
  ExprPtr call = nullptr;  ///< always a Call
};
struct IfStatement {
  std::vector<Branch<Statement>> branches;
};
struct WhenStatement {
  std::vector<Branch<Statement>> branches;
};
struct ForStatement {
  std::vector<ForIndex> indices;
  std::vector<const Statement*> body;
};
struct WhileStatement {
  ExprPtr condition = nullptr;
  std::vector<const Statement*> body;
};
struct BreakStatement {};
struct ReturnStatement {};

struct Statement {
  Location where;
  std::variant<Assignment, TupleAssignment, CallStatement, IfStatement, WhenStatement, ForStatement, WhileStatement,
               BreakStatement, ReturnStatement>
      node;
  Description description;

  template <class Node>
  const Node* as() const {
    return std::get_if<Node>(&node);
  }
};

// -------------------------------------------------------------------------------------------------------- elements

/// import A.B; import C = A.B; import A.*; import A.{b, c};
struct Import {
  enum class Kind : std::uint8_t { qualified, renamed, wildcard, list };
  Kind kind = Kind::qualified;
  Name name;
  Identifier alias;                 ///< renamed: the new name
  std::vector<Identifier> members;  ///< list: the names in braces
  Description description;
};

struct Extends {
  Name base;
  const Modification* modification = nullptr;  ///< null without parentheses
  const Modification* annotation = nullptr;
};

enum class Variability : std::uint8_t { continuous, discrete, parameter, constant };
enum class Direction : std::uint8_t { none, input, output };
enum class ConnectorRole : std::uint8_t { none, flow, stream };

struct ComponentDeclaration {
  Identifier name;
  std::vector<ExprPtr> dimensions;             ///< after the name; WholeDimension for ":"
  const Modification* modification = nullptr;  ///< null without one
  ExprPtr condition = nullptr;                 ///< "if ...": null for unconditional
  Description description;
  Location where;
};

/// parameter Real[3] a = 1, b(start = 2) "text";
struct ComponentClause {
  Location where;
  ConnectorRole role = ConnectorRole::none;
  Variability variability = Variability::continuous;
  Direction direction = Direction::none;
  Name type;
  std::vector<ExprPtr> dimensions;  ///< after the type; they come before those of a component
  std::vector<ComponentDeclaration> components;
};

/// An element of a class with its prefixes.
struct Element {
  Location where;
  bool is_protected = false;
  bool is_redeclare = false;
  bool is_final = false;
  bool is_inner = false;
  bool is_outer = false;
  bool is_replaceable = false;
  const ConstrainingClause* constraint = nullptr;
  std::variant<Import, Extends, const ClassDefinition*, const ComponentClause*> node;

  template <class Node>
  const Node* as() const {
    return std::get_if<Node>(&node);
  }
};

// --------------------------------------------------------------------------------------------------------- classes

enum class ClassKind : std::uint8_t {
  class_,
  model,
  block,
  package,
  function,
  operator_function,
  record,
  operator_record,
  type,
  connector,
  expandable_connector,
  operator_,
};

/// How the kind is written: "model", "expandable connector", ...
std::string_view spelling(ClassKind kind);

struct EquationSection {
  Location where;
  bool is_initial = false;
  std::vector<const Equation*> equations;
};
struct AlgorithmSection {
  Location where;
  bool is_initial = false;
  std::vector<const Statement*> statements;
};
/// external "C" y = f(x) annotation(...);
struct ExternalClause {
  Location where;
  std::string_view language;
  ExprPtr result = nullptr;  ///< the reference before "=", or null
  Identifier function;       ///< empty when no call was written
  std::vector<ExprPtr> arguments;
  const Modification* annotation = nullptr;
};

/// model A ... end A; or model extends A(...) ... end A;
struct LongClass {
  bool is_extends = false;
  const Modification* extends_modification = nullptr;
  std::vector<Element> elements;  ///< in file order
  std::vector<EquationSection> equations;
  std::vector<AlgorithmSection> algorithms;
  const ExternalClause* external = nullptr;
};
/// type A = input Real[3](unit = "m");
struct ShortClass {
  Direction direction = Direction::none;
  Name base;
  std::vector<ExprPtr> dimensions;
  const Modification* modification = nullptr;
};
struct EnumerationLiteral {
  Identifier name;
  Description description;
};
/// type A = enumeration(a, b "text"), or enumeration(:)
struct Enumeration {
  std::vector<EnumerationLiteral> literals;
  bool is_open = false;
};
/// function g = der(f, x, y)
struct DerivativeClass {
  Name function;
  std::vector<Identifier> variables;
};

struct ClassDefinition {
  Location where;  ///< from the first prefix to the end name
  Identifier name;
  ClassKind kind = ClassKind::class_;
  bool is_encapsulated = false;
  bool is_partial = false;
  bool is_final = false;  ///< at the top level of a file; inside a class the Element says it
  bool is_pure = false;
  bool is_impure = false;
  Description description;  ///< of a long class: its comment and its annotation clause
  std::variant<LongClass, ShortClass, Enumeration, DerivativeClass> body;

  template <class Node>
  const Node* as() const {
    return std::get_if<Node>(&body);
  }
};

/// A file: within A.B; class definitions.
struct StoredDefinition {
  bool has_within = false;
  Name within;  ///< empty for "within;"
  std::vector<const ClassDefinition*> classes;
};

// ----------------------------------------------------------------------------------------------------------- arena

/// Owns a syntax tree and the text that it came from. Movable; not copyable.
class Ast {
 public:
  Ast() = default;
  explicit Ast(std::shared_ptr<const SourceText> source) : source_(std::move(source)) {}
  Ast(Ast&&) = default;
  Ast& operator=(Ast&&) = default;
  Ast(const Ast&) = delete;
  Ast& operator=(const Ast&) = delete;

  StoredDefinition root;
  /// What `parse_expression` read; null otherwise or when it failed.
  ExprPtr expression = nullptr;

  /// The text that the locations point into. Must not be asked of an Ast that was built without a text.
  const SourceText& source() const { return *source_; }
  const std::shared_ptr<const SourceText>& shared_source() const { return source_; }

  /// Puts a node into its arena.
  template <class Node>
  ExprPtr make_expression(const Location& where, Node node) {
    return &expressions_.emplace_back(Expression{where, std::move(node)});
  }
  const Equation* make(Equation node) { return &equations_.emplace_back(std::move(node)); }
  const Statement* make(Statement node) { return &statements_.emplace_back(std::move(node)); }
  const Modification* make(Modification node) { return &modifications_.emplace_back(std::move(node)); }
  const ConstrainingClause* make(ConstrainingClause node) { return &constraints_.emplace_back(std::move(node)); }
  const InheritanceBreak* make(InheritanceBreak node) { return &breaks_.emplace_back(std::move(node)); }
  const ComponentClause* make(ComponentClause node) { return &components_.emplace_back(std::move(node)); }
  const ExternalClause* make(ExternalClause node) { return &externals_.emplace_back(std::move(node)); }
  const ClassDefinition* make(ClassDefinition node) { return &classes_.emplace_back(std::move(node)); }
  /// Keeps a text that is not a part of the source, such as a decoded string.
  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

 private:
  // Deques, because their elements never move.
  std::shared_ptr<const SourceText> source_;
  std::deque<Expression> expressions_;
  std::deque<Equation> equations_;
  std::deque<Statement> statements_;
  std::deque<Modification> modifications_;
  std::deque<ConstrainingClause> constraints_;
  std::deque<InheritanceBreak> breaks_;
  std::deque<ComponentClause> components_;
  std::deque<ExternalClause> externals_;
  std::deque<ClassDefinition> classes_;
  std::deque<std::string> texts_;
};

}  // namespace saltus::modelica
