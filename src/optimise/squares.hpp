// Sums of squares in an expression: what Gauss and Newton's second derivatives are made of.
#pragma once

#include <saltus/expr/expr.hpp>

#include <functional>
#include <optional>
#include <vector>

namespace saltus {

struct Squares {
  struct Term {
    double factor;  ///< positive
    Expr residual;
  };
  std::vector<Term> terms;
  bool complete = true;  ///< the expression is their sum, but for a constant
};

/// Splits factor * expression. `number` gives the value of a symbol that is constant in the search, or nothing.
Squares squares_of(const Expr& expression, double factor,
                   const std::function<std::optional<double>(const std::string&)>& number);

}  // namespace saltus
