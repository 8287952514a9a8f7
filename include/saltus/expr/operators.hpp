// The table of operators: name, operands, value and domain of everything that a node of a graph or an instruction of a
// tape can do. Back ends look operators up here; what the table cannot hold stands in one place per back end.
//
// A new elementary function touches four files:
//   this one                 an enumerator, its row in the table, and the function of expressions
//   src/expr/operators.cpp   that function's one-line definition, and the rule of its derivative
//   src/program/interval.cpp how it encloses intervals
//   src/program/taylor.cpp   its recurrence for Taylor coefficients
// Where the C library does not have it, <saltus/base/elementary.hpp> does; src/program/lane_functions_*.cpp may have a
// version for several lanes, otherwise it is evaluated lane by lane. The compiler complains about a forgotten rule, and
// tests/program/operators_test.cpp runs every operator in every back end.
#pragma once

#include <saltus/base/elementary.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace saltus {

class Expr;

/// What a node or an instruction does. Truth values are the numbers 0 and 1; anything that is not zero counts as true.
enum class Op : std::uint8_t {
  // leaves of graphs
  constant,  ///< a: index into the constants
  symbol,    ///< a: index into the symbols
  // arithmetic
  add,
  sub,
  mul,
  div,
  neg,
  // fused arithmetic, rounded once: made when a graph becomes a tape, so no graph has it
  fma,   ///< a*b + c
  fms,   ///< a*b - c
  fnma,  ///< c - a*b
  // switches. A relation or a rounding that a program lists among its inputs is a *lock*; otherwise it is evaluated.
  positive,     ///< a > 0, a switching function
  nonnegative,  ///< a >= 0, a switching function
  floor,        ///< the largest integer <= a; switches at the integers
  // the same without events: always evaluated, never a lock. In tapes they are positive, nonnegative and floor.
  live_positive,
  live_nonnegative,
  live_floor,
  // logic
  logical_and,
  logical_or,
  logical_not,
  select,  ///< a != 0 ? b : c
  // elementary functions
  sqrt,
  exp,
  log,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  pow,
  atan2,
  // foreign code; the last enumerator
  external,  ///< a: index into the calls; in graphs, b: index of the output
};
inline constexpr std::size_t op_count = static_cast<std::size_t>(Op::external) + 1;

/// What operators have in common.
enum class OpKind : std::uint8_t {
  leaf,
  arithmetic,
  fused,
  relation,  ///< gives a truth value and is constant between events
  rounding,  ///< constant between events
  logic,     ///< takes and gives truth values
  choice,    ///< select
  function,  ///< an elementary function; its `name` is its name in C and Modelica
  external,
};

/// A row of the table.
struct Operator {
  using Unary = double (*)(double);
  using Binary = double (*)(double, double);

  Op op;
  OpKind kind;
  int operands;             ///< 0 for leaves and external calls
  std::string_view name;    ///< in tapes
  std::string_view sign;    ///< in formulas
  Unary unary = nullptr;    ///< value of a function or rounding with one operand
  Binary binary = nullptr;  ///< value of a function with two operands
  /// The first operand's numbers for which a function is finite and smooth: the open interval (lower, upper).
  double lower = -std::numeric_limits<double>::infinity(), upper = std::numeric_limits<double>::infinity();
};

/// The table, in the order of the enumerators.
inline constexpr std::array<Operator, op_count> operators = {{
    {Op::constant, OpKind::leaf, 0, "constant", "constant"},
    {Op::symbol, OpKind::leaf, 0, "symbol", "symbol"},
    {Op::add, OpKind::arithmetic, 2, "add", "+"},
    {Op::sub, OpKind::arithmetic, 2, "sub", "-"},
    {Op::mul, OpKind::arithmetic, 2, "mul", "*"},
    {Op::div, OpKind::arithmetic, 2, "div", "/"},
    {Op::neg, OpKind::arithmetic, 1, "neg", "-"},
    {Op::fma, OpKind::fused, 3, "fma", "fma"},
    {Op::fms, OpKind::fused, 3, "fms", "fms"},
    {Op::fnma, OpKind::fused, 3, "fnma", "fnma"},
    {Op::positive, OpKind::relation, 1, "positive", ">"},
    {Op::nonnegative, OpKind::relation, 1, "nonnegative", ">="},
    {Op::floor, OpKind::rounding, 1, "floor", "floor", ::floor},
    {Op::live_positive, OpKind::relation, 1, "live_positive", ">"},
    {Op::live_nonnegative, OpKind::relation, 1, "live_nonnegative", ">="},
    {Op::live_floor, OpKind::rounding, 1, "live_floor", "floor", ::floor},
    {Op::logical_and, OpKind::logic, 2, "logical_and", "and"},
    {Op::logical_or, OpKind::logic, 2, "logical_or", "or"},
    {Op::logical_not, OpKind::logic, 1, "logical_not", "not"},
    {Op::select, OpKind::choice, 3, "select", "if"},
    {Op::sqrt, OpKind::function, 1, "sqrt", "sqrt", ::sqrt, nullptr, 0.0},
    {Op::exp, OpKind::function, 1, "exp", "exp", elementary::exp},
    {Op::log, OpKind::function, 1, "log", "log", elementary::log, nullptr, 0.0},
    {Op::sin, OpKind::function, 1, "sin", "sin", elementary::sin},
    {Op::cos, OpKind::function, 1, "cos", "cos", elementary::cos},
    {Op::tan, OpKind::function, 1, "tan", "tan", elementary::tan},
    {Op::asin, OpKind::function, 1, "asin", "asin", elementary::asin, nullptr, -1.0, 1.0},
    {Op::acos, OpKind::function, 1, "acos", "acos", elementary::acos, nullptr, -1.0, 1.0},
    {Op::atan, OpKind::function, 1, "atan", "atan", elementary::atan},
    {Op::sinh, OpKind::function, 1, "sinh", "sinh", elementary::sinh},
    {Op::cosh, OpKind::function, 1, "cosh", "cosh", elementary::cosh},
    {Op::tanh, OpKind::function, 1, "tanh", "tanh", elementary::tanh},
    {Op::asinh, OpKind::function, 1, "asinh", "asinh", elementary::asinh},
    {Op::acosh, OpKind::function, 1, "acosh", "acosh", elementary::acosh, nullptr, 1.0},
    {Op::atanh, OpKind::function, 1, "atanh", "atanh", elementary::atanh, nullptr, -1.0, 1.0},
    {Op::pow, OpKind::function, 2, "pow", "^", nullptr, elementary::pow, 0.0},
    {Op::atan2, OpKind::function, 2, "atan2", "atan2", nullptr, elementary::atan2},
    {Op::external, OpKind::external, 0, "external", "external"},
}};

/// The row of an operator.
constexpr const Operator& info(Op op) {
  return operators[static_cast<std::size_t>(op)];
}

namespace detail {

constexpr bool rows_fit() {
  for (std::size_t k = 0; k < op_count; ++k) {
    const Operator& row = operators[k];
    if (row.op != static_cast<Op>(k) || row.name.empty()) return false;
  }
  return true;
}
static_assert(rows_fit(), "each enumerator of Op needs its row in `operators`, in the same order");

// The number of operands alone, for the many who walk graphs.
inline constexpr auto operand_counts = [] {
  std::array<std::uint8_t, op_count> counts{};
  for (std::size_t k = 0; k < op_count; ++k) counts[k] = static_cast<std::uint8_t>(operators[k].operands);
  return counts;
}();

}  // namespace detail

/// How formulas write an operator.
constexpr std::string_view to_string(Op op) {
  return info(op).sign;
}
/// Number of operands (0 for leaves and external calls).
constexpr int operand_count(Op op) {
  return detail::operand_counts[static_cast<std::size_t>(op)];
}
/// True if the operation can be a lock: positive, nonnegative, floor.
constexpr bool is_lock(Op op) {
  return op == Op::positive || op == Op::nonnegative || op == Op::floor;
}
/// The instruction of a tape that evaluates a node: a live relation is a relation there.
constexpr Op instruction_of(Op op) {
  switch (op) {
    case Op::live_positive:
      return Op::positive;
    case Op::live_nonnegative:
      return Op::nonnegative;
    case Op::live_floor:
      return Op::floor;
    default:
      return op;
  }
}
/// True if tapes have such an instruction.
constexpr bool is_instruction(Op op) {
  return info(op).kind != OpKind::leaf && instruction_of(op) == op;
}

/// The value of an operator applied to numbers: the one definition that folding and Taylor series share. Throws
/// UsageError for leaves and external calls.
double apply(Op op, double a, double b = 0.0, double c = 0.0);
/// An operator with one or two operands, applied to expressions.
Expr apply(Op op, const Expr& a);
Expr apply(Op op, const Expr& a, const Expr& b);

// --- elementary functions of expressions
Expr pow(const Expr& base, const Expr& exponent);
Expr sqrt(const Expr& x);
Expr exp(const Expr& x);
Expr log(const Expr& x);
Expr log10(const Expr& x);
Expr sin(const Expr& x);
Expr cos(const Expr& x);
Expr tan(const Expr& x);
Expr asin(const Expr& x);
Expr acos(const Expr& x);
Expr atan(const Expr& x);
Expr sinh(const Expr& x);
Expr cosh(const Expr& x);
Expr tanh(const Expr& x);
Expr asinh(const Expr& x);
Expr acosh(const Expr& x);
Expr atanh(const Expr& x);
Expr atan2(const Expr& y, const Expr& x);

}  // namespace saltus
