// Symbolic derivatives: the results are expressions of the same graph, with all sharing kept.
#pragma once

#include <saltus/expr/expr.hpp>

#include <span>
#include <utility>
#include <vector>

namespace saltus {

/// Total derivative with respect to time: a variable x becomes der(x), time becomes 1, parameters and discrete variables are
/// constant, relations and roundings are locked. Throws UsageError where x already contains a derivative of a variable (introduce a
/// variable for it).
Expr der(const Expr& x);

/// Partial derivative with respect to a symbol (or to a lock: how the expression depends on a relaxed relation).
Expr derivative(const Expr& f, const Expr& symbol);

/// Derivative of the outputs along a direction: sum_j (df/dsymbol_j) direction_j, with one pass over the graph.
std::vector<Expr> directional_derivative(std::span<const Expr> f, std::span<const Expr> symbols,
                                         std::span<const Expr> directions);

/// A sparse matrix of expressions; entries in ascending (row, column) order.
struct SparseExprMatrix {
  struct Entry {
    int row, column;
    Expr value;
  };
  int rows = 0, columns = 0;
  std::vector<Entry> entries;

  /// Puts the entries into ascending (column, row) order, as compressed columns want them.
  void sort_by_columns();
  std::vector<std::pair<int, int>> places() const;
  std::vector<Expr> values() const;
};

/// The Jacobian df_i/dsymbol_j with its exact structural pattern. Each node carries the derivatives with respect to the symbols
/// that it depends on (forward); outputs that depend on many symbols are swept backwards one at a time.
SparseExprMatrix jacobian(std::span<const Expr> f, std::span<const Expr> symbols);

/// The expression with some symbols or locks replaced.
std::vector<Expr> substitute(std::span<const Expr> f, std::span<const std::pair<Expr, Expr>> replacements);

/// All locks (relations and roundings that make events) that the expressions contain, in order of creation. A relation comes as the
/// number 0 or 1.
std::vector<Expr> locks_of(std::span<const Expr> f);
/// The argument of a lock: the switching function.
Expr switching_function(const Expr& lock);

/// The expression with each lock of the list replaced by the number that stands for it, and each choice by
/// weight*then + (1 - weight)*otherwise (logic becomes multilinear): what sliding motion needs. What relations on one function decide together
/// is one choice. A lock that stands for itself is left alone, and what is inside it is not entered.
std::vector<Expr> relax(std::span<const Expr> f, std::span<const std::pair<Expr, Expr>> weights);

/// The same for right-hand sides: one that a single surface decides in several places is the mean of what it is on the two
/// sides of the surface, as Filippov defines it. (The mean of both sides of an implicit equation would mean nothing.)
std::vector<Expr> relax_field(std::span<const Expr> f, std::span<const std::pair<Expr, Expr>> weights);

/// A lock for which a weight stands while a number, `active`, is not zero; otherwise it stands for itself.
struct OptionalWeight {
  Expr lock, weight, active;
};
/// relax_field() where weights come and go with numbers: choices whose weights are not active stay choices, so that branches
/// that are not taken need no value. None of the weights may be in decide_together(). Other locks stand for themselves.
std::vector<Expr> relax(std::span<const Expr> f, std::span<const OptionalWeight> weights);

/// Those of the locks that decide about something within which they, or others on the same function, decide again, and
/// other such locks decide, too.
std::vector<Expr> decide_together(std::span<const Expr> f, std::span<const Expr> locks);

/// Symbols of the given kind that the expressions contain, in order of creation.
std::vector<Expr> symbols_of(std::span<const Expr> f, SymbolKind kind);

/// Whether a switching function depends on time, variables or derivatives other than through locks that it contains:
/// `(if x > 0 then n else k) > 2` switches only when others do.
bool moves_between_events(const Expr& function);

}  // namespace saltus
