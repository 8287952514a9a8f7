// A mode with constraints as an explicit system x' = f(t, x) with a projection onto its constraints, as expressions.
//
// The Sigma-method gives offsets c_i of the equations and d_j of the variables. One matrix, the system Jacobian J,
// serves the constraints of all levels, derivatives and multipliers (N. S. Nedialkov, J. D. Pryce, Solving
// differential-algebraic equations by Taylor series (I), BIT 45, 2005): J^{-1} times the residuals of a level corrects
// the unknowns of that level. All variables are states here, multipliers too: their slopes follow from one level more.
#pragma once

#include <saltus/model/recorded_system.hpp>

#include <compare>
#include <optional>
#include <string>
#include <vector>

namespace saltus {

struct ConstrainedForm {
  std::vector<Expr> slopes;     ///< f(t, x), by variable
  std::vector<Expr> projected;  ///< x after one step of Newton's method for the constraints, hidden ones included
  Expr regularity;              ///< the smallest pivot of J, relative to its row: not finite where J counts as singular
  Expr determinant;             ///< of J. It changes its sign where the mode turns singular
};

/// Which form the equations have. The numbers of locks and data decide it.
struct ConstrainedShape {
  std::vector<int> c, d;      ///< the offsets
  std::vector<char> choices;  ///< branches, see StagedTaylor::choices

  auto operator<=>(const ConstrainedShape&) const = default;
};

class ConstrainedMode {
 public:
  /// `why` says why there is no such form: structurally singular, too large, external code, or a structure that
  /// depends on parameters.
  static std::optional<ConstrainedMode> find(const RecordedSystem& system, std::string& why);

  const ConstrainedShape& shape() const { return shape_; }
  /// The expressions, in the graph of the equations, to which they are added: those of the system or a clone. Nothing
  /// if derivatives occur in J, so that one step of Newton's method is not enough for the slopes.
  std::optional<ConstrainedForm> make(const RecordedEquations& equations, std::string& why) const;
  /// The projection after a reset that has set some variables: they stay, and the others move. Empty unless this
  /// determines how, level by level.
  std::vector<Expr> projection_holding(const RecordedEquations& equations, const std::vector<int>& held) const;

 private:
  struct Parts;
  explicit ConstrainedMode(std::shared_ptr<const Parts> parts, ConstrainedShape shape)
      : parts_(std::move(parts)), shape_(std::move(shape)) {}

  std::shared_ptr<const Parts> parts_;
  ConstrainedShape shape_;
};

}  // namespace saltus
