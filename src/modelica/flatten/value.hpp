// Values while a model is flattened: scalars, arrays and records of expressions, with their type and variability.
#pragma once

#include <saltus/expr/expr.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "modelica/ast.hpp"

namespace saltus::modelica {

struct ClassScope;

enum class TypeKind : std::uint8_t { real, integer, boolean, string, enumeration, record, function, clock };

/// Sizes of the dimensions of an array; empty for a scalar.
using Dims = std::vector<std::int64_t>;

/// Number of elements.
std::int64_t count(const Dims& dims);
/// "3", "2x3".
std::string to_string(const Dims& dims);

/// A name as messages show it: 'x'.
inline std::string in_quotes(std::string_view name) {
  return "'" + std::string(name) + "'";
}

/// The hint beside what is refused.
inline constexpr const char* reference_page =
    "docs/reference/modelica.md says under 'What is refused' what is left out";

/// Something wrong in the text, thrown where it is found and reported where work can go on.
struct Fault {
  Location where;
  std::string message;
  std::string hint = {};
};
/// Thrown by what depends on something that was reported already.
struct Poisoned {};
/// A value that depends on itself, in a branch of an `if` that may not be taken.
struct Circular {
  Fault fault;
};

class Value;

/// The fields of a record, in order of declaration. In an array of records each field carries the dimensions of the
/// array in front of its own.
struct RecordFields {
  const ClassScope* type = nullptr;
  std::vector<std::pair<std::string_view, Value>> fields;
};

/// A function as an argument of another one, with the arguments that it has already.
struct FunctionValue;

/// Booleans are expressions with the values 0 and 1, enumerations their ordinal numbers.
class Value {
 public:
  Value() = default;
  Value(TypeKind kind, Variability how, Expr expr) : type(kind), variability(how), elements{std::move(expr)} {}

  static Value real(double value) { return {TypeKind::real, Variability::constant, Expr(value)}; }
  static Value integer(std::int64_t value) {
    return {TypeKind::integer, Variability::constant, Expr(static_cast<double>(value))};
  }
  static Value boolean(bool value) { return {TypeKind::boolean, Variability::constant, Expr(value ? 1.0 : 0.0)}; }
  static Value string(std::string value) {
    Value result;
    result.type = TypeKind::string;
    result.elements.emplace_back(0.0);
    result.text = std::move(value);
    return result;
  }
  /// An array filled by the caller.
  static Value array(TypeKind kind, Dims dims, Variability how = Variability::constant);

  TypeKind type = TypeKind::real;
  Variability variability = Variability::constant;  ///< of the most variable element
  Dims dims;
  std::vector<Expr> elements;  ///< row by row; records have none
  const ClassScope* enumeration = nullptr;
  std::string text;                ///< of a string
  std::vector<std::string> texts;  ///< of an array of strings
  std::shared_ptr<const RecordFields> record;
  std::shared_ptr<const FunctionValue> function;
  std::optional<BoolExpr> set_if;  ///< of a variable of a function that some branches only assign: where one does

  bool is_scalar() const { return dims.empty(); }
  /// A variable of a function, or a field of one, that has been declared but not assigned.
  bool is_unset() const { return type != TypeKind::record && dims.empty() && elements.empty(); }
  bool is_numeric() const { return type == TypeKind::real || type == TypeKind::integer; }
  /// The text of an element of an array of strings, or of a string.
  const std::string& text_at(std::size_t position) const { return dims.empty() ? text : texts[position]; }
  const Expr& scalar() const { return elements.front(); }
  BoolExpr truth() const { return BoolExpr(elements.front()); }
  /// The part that one index of the first dimension selects; `index` counts from 0.
  Value element(std::int64_t index) const;
  /// The part at a position, in row-major order, of the first `rank` dimensions.
  Value leading(std::size_t rank, std::int64_t position) const;
  /// The scalar (or record) at a position in row-major order.
  Value at(std::size_t position) const;
};

/// Values by the names of the inputs or fields that they belong to.
using NamedValues = std::vector<std::pair<std::string_view, Value>>;

struct FunctionValue {
  const ClassScope* cls = nullptr;
  NamedValues given;
};

/// True if both are the same enumeration, or none is one; a package that is modified has its own scopes of them.
bool same_enumeration(const ClassScope* a, const ClassScope* b);

/// The more variable of two.
inline Variability join(Variability a, Variability b) {
  return a < b ? a : b;
}

/// "did you mean 'x'?" with the candidate nearest to a name; empty when none is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

/// "Real", "Integer[3]", "Real[2,3]".
std::string describe(const Value& value);
std::string_view type_name(TypeKind kind);

/// Adds the numbers of a value, with those of the fields of records.
void add_scalars(const Value& value, std::vector<Expr>& scalars);

// --- array operations; `where` is what a fault points at
/// A copy with other dimensions; the number of elements must stay.
Value reshaped(Value value, Dims dims);
Value transpose(const Value& m, const Location& where);
/// Matrix and vector products as `*` means them.
Value product(const Value& a, const Value& b, const Location& where);
/// {a, b, ...}: all of one size.
Value stack(std::vector<Value> items, const Location& where);
/// The same in row-major order for an array of several dimensions; there must be at least one item.
Value stacked(std::vector<Value> items, const Dims& dims, const Location& where);
/// cat(k, a, b, ...); `dimension` counts from 0.
Value concatenate(std::size_t dimension, const std::vector<Value>& items, const Location& where);
/// The type in which both have a place: Real for Integer and Real. Throws Fault when there is none.
TypeKind common_type(const Value& a, const Value& b, const Location& where);

}  // namespace saltus::modelica
