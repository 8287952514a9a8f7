// Removes algebraic variables that an equation gives explicitly, v = expression, or up to a factor that is not zero,
// R*i = expression, and those that linear equations determine together.
#pragma once

#include <saltus/model/model.hpp>

#include <unordered_map>
#include <vector>

namespace saltus {

struct Elimination {
  std::vector<char> eliminated;     ///< by variable
  std::vector<Expr> solution;       ///< by variable, in terms of kept variables; meaningful where eliminated
  std::vector<char> equation_used;  ///< by equation of ModelData::equations
  /// (variable, solution) pairs for substitute().
  std::vector<std::pair<Expr, Expr>> replacements() const;
  /// Nothing is eliminated.
  static Elimination none(const ModelData& model);

  std::vector<Expr> variables;  ///< all variables of the model
  std::vector<int> by_start;    ///< variables z = der(x): those that guess it are kept
  /// Whether an expression of parameters is at least a bound, which is one too; see is_decided.
  struct Decision {
    Expr value, bound;
  };
  std::vector<Decision> decisions = {};  ///< on which the choice rests: the same ones give the same choice
};

/// Whether a number can be divided by, and has at least the size of a bound.
bool is_decided(double value, double bound = 0.0);

/// Whether nothing but numbers and parameters occurs.
bool is_of_parameters(const Expr& e);
/// The value of such an expression; 0: it has none.
double fixed_value(const Expr& e, const std::unordered_map<NodeId, double>& parameter_values);

/// Whether a variable z = der(x) has a start value, which is a guess of der(x).
bool guesses_derivative(const ModelData& model, int variable);

/// Chooses, among the equations that hold in all modes, those of the form v = e (or e = v), then those of the form
/// c*v = e, where v is never differentiated, never reset and not fixed at the start, and c is a number or an expression
/// of parameters that is not zero, such that they can be evaluated one after the other. Then the other equations are
/// solved for variables without start values where they are linear in them (`together`; linear_elimination.hpp).
Elimination eliminate_explicit(const ModelData& model, bool together = true);

}  // namespace saltus
