// Removes algebraic variables that an equation gives explicitly, v = expression, or up to a factor that is not zero,
// R*i = expression.
#pragma once

#include <saltus/model/model.hpp>

#include <vector>

namespace saltus {

struct Elimination {
  std::vector<char> eliminated;       ///< by variable
  std::vector<Expr> solution;         ///< by variable, in terms of kept variables; meaningful where eliminated
  std::vector<char> equation_used;    ///< by equation of ModelData::equations
  /// (variable, solution) pairs for substitute().
  std::vector<std::pair<Expr, Expr>> replacements() const;
  /// Nothing is eliminated.
  static Elimination none(const ModelData& model);

  std::vector<Expr> variables;        ///< all variables of the model
  std::vector<int> by_start;          ///< variables z = der(x): those that guess it are kept
  std::vector<Expr> divisors = {};    ///< factors of parameters that were looked at: which of them are zero decides
};

/// Whether a factor of a variable is one by which its equation can be divided.
bool usable_divisor(double value);

/// Whether a variable z = der(x) has a start value, which is a guess of der(x).
bool guesses_derivative(const ModelData& model, int variable);

/// Chooses, among the equations that hold in all modes, those of the form v = e (or e = v), then those of the form
/// c*v = e, where v is never differentiated, never reset and not fixed at the start, and c is a number or an expression
/// of parameters that is not zero, such that they can be evaluated one after the other.
Elimination eliminate_explicit(const ModelData& model);

}  // namespace saltus
