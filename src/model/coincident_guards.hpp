// Switching functions with the same zeros: v > r*w and v/r > w, x > 0 and x^3 > 0, x*exp(y) > 0. Their surfaces are
// one.
#pragma once

#include <saltus/expr/expr.hpp>

#include <memory>
#include <span>
#include <vector>

namespace saltus {

/// A function that changes its sign where another one does.
struct Coincidence {
  int with = -1;  ///< the other one; -1: none comes before it
  int sign = +1;  ///< -1: on the opposite sides

  bool operator==(const Coincidence&) const = default;
};

struct SampledFunctions;
class SymbolOrder;

/// For each function of time, variables and discrete values the first one in the list with the same zeros;
/// functions whose slope vanishes at their zeros (x^3) come after those with a slope (x). Found by sampling: signs at
/// many points, then zeros on random lines, so that functions that only touch (x and x - y^2) or share some of their
/// zeros (x and x*y) are not taken for one.
class CoincidentGuards {
 public:
  CoincidentGuards() = default;
  /// `inputs`: what varies; `parameters` keep their `values`.
  CoincidentGuards(std::vector<Expr> functions, std::vector<std::vector<Expr>> inputs, std::vector<Expr> parameters,
                   std::span<const double> values);

  /// By function.
  const std::vector<Coincidence>& found() const { return found_; }
  /// Parameters whose values decide: they occur in functions that have a variable in common with others.
  bool depends_on_parameters() const { return !deciding_.empty(); }
  /// Whether other values of the parameters give the same answer; `before` are values that do. From any thread.
  bool same_for(std::span<const double> before, std::span<const double> values) const;

 private:
  SymbolOrder input_order() const;
  SymbolOrder parameter_order() const;
  void find_deciding();
  std::vector<Coincidence> find(std::span<const double> values) const;

  std::vector<Coincidence> found_;
  std::shared_ptr<const SampledFunctions> all_;  // null: there is nothing to compare
  std::vector<Expr> functions_;
  std::vector<std::vector<Expr>> inputs_;
  std::vector<Expr> parameters_;
  std::vector<int> deciding_;  // parameters
};

}  // namespace saltus
