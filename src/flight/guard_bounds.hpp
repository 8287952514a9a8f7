// Bounds of guards over a piece of a step, as a program: as certain as enclosures, and much cheaper.
//
// Along a piece every value lies within c + s u ± r for -1 <= u <= 1, where u is the place in the piece. What the
// second derivatives and rounding may amount to is in r, so the bounds tighten with the square of the piece.
#pragma once

#include <saltus/program/program.hpp>

#include <vector>

namespace saltus {

struct GuardBounds {
  /// Groups of inputs: c and s of time; c, s and r of the variables, three groups; the same of their slopes; data.
  /// Groups of outputs: lower and upper bounds of the guards; the same of their derivatives by time along the solution.
  Program program;
  std::vector<int> places;  ///< by guard: its place among those with bounds; -1: affine, or no bounds are known

  bool empty() const { return program.empty(); }
};

/// For guards of time, variables and data that are not affine. The graph must be one that can grow.
GuardBounds make_guard_bounds(const Expr& time, const std::vector<Expr>& variables, const std::vector<Expr>& data,
                              const std::vector<Expr>& guards, const std::vector<unsigned char>& affine);

}  // namespace saltus
