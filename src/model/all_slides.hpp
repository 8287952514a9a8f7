// All slides of an explicit mode as one system. A slide is data there: a number for each surface says whether the
// solution slides on it, and the weight of the surface is then an unknown instead of a truth.
#pragma once

#include <saltus/expr/derivative.hpp>

#include <optional>
#include <span>
#include <vector>

#include "model/surface_equations.hpp"

namespace saltus {

struct AllSlides {
  /// The data are followed by one number for each surface, 1 while the solution slides on it, and 0 otherwise. The
  /// guards are followed by two for each surface, its weight and one minus it; they are 1 while it does not slide.
  RecordedEquations equations;
  std::vector<Expr> active;             ///< these numbers
  std::vector<int> surfaces;            ///< by number: which of the candidates, increasing
  std::vector<OptionalWeight> weights;  ///< what stands for locks, for relax()
};

/// d/dt g_i = 0 on the active surfaces is a linear system for their weights, solved by elimination on expressions. It
/// has the pattern of the model: where surfaces have equations of their own, each weight is a quotient. Candidates
/// whose weights do not appear linearly, or not in their own equation, are left out. Empty if fewer than two remain, if
/// the field has roots on a surface, or if elimination would fill the matrix.
std::optional<AllSlides> all_slides(const SurfaceBase& base, std::span<const SlidingSurface> candidates);

}  // namespace saltus
