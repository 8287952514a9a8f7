// Sums of squares in an expression: what Gauss and Newton's second derivatives are made of.
#pragma once

#include <saltus/expr/expr.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace saltus {

/// What a variable equals, or its derivative.
struct Definition {
  Expr value;
  bool integrated = false;
};

struct Squares {
  struct Term {
    double factor;  ///< positive
    Expr residual;
    bool integrated;
  };
  std::vector<Term> terms;
  bool complete = true;  ///< the expression is their sum, but for a constant
};

struct SquaresOf {
  /// The value of a symbol that is constant in the search, or nothing.
  std::function<std::optional<double>(const std::string&)> number;
  /// What a variable equals, or nothing.
  std::function<std::optional<Definition>(const Expr&)> definition;
};

/// Splits factor * expression, or its integral. Second derivatives only guide a search, so that a variable counts as
/// what its equation says, also where events change it.
Squares squares_of(const Expr& expression, double factor, bool integrated, const SquaresOf& model);

}  // namespace saltus
