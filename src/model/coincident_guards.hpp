// Switching functions with the same zeros: v > r*w and v/r > w, x > 0 and x^3 > 0, x*exp(y) > 0. Their surfaces are
// one.
#pragma once

#include <saltus/expr/expr.hpp>

#include <span>
#include <vector>

namespace saltus {

/// A function that changes its sign where another one does.
struct Coincidence {
  int with = -1;  ///< the other one; -1: none comes before it
  int sign = +1;  ///< -1: on the opposite sides
};

/// For each function of time, variables, discrete values and locks the first one in the list with the same zeros;
/// functions whose slope vanishes at their zeros (x^3) come after those with a slope (x). Found by sampling: signs at
/// many points, then zeros on random lines, so that functions that only touch (x and x - y^2) or share some of their
/// zeros (x and x*y) are not taken for one. `inputs`: what varies; `parameters` keep their `values`.
std::vector<Coincidence> find_coincident(std::span<const Expr> functions, const std::vector<std::vector<Expr>>& inputs,
                                         const std::vector<Expr>& parameters, const std::vector<double>& values);

}  // namespace saltus
