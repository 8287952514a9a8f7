// Expressions as text, in Modelica's notation.
#pragma once

#include <saltus/expr/expr.hpp>

#include <string>

namespace saltus {

/// Infix text with as few parentheses as needed. Text beyond about `max_length` characters is cut with "…".
std::string to_string(const Expr& x, std::size_t max_length = 120);
std::string to_string(const BoolExpr& x, std::size_t max_length = 120);
std::string to_string(const Equation& x, std::size_t max_length = 120);

/// The shortest decimal text that reads back as the same number.
std::string number_text(double value);

}  // namespace saltus
