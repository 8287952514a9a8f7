// Fields with roots of something that vanishes on a surface, as sign(g) sqrt(abs(g)): solutions arrive there in finite time.
#pragma once

#include <saltus/expr/expr.hpp>

#include <span>
#include <utility>
#include <vector>

namespace saltus {

/// Whether the field has an infinite derivative on the surfaces g = 0: a root of something that is zero there. `kept`: locks that stay as they are.
bool has_roots_on(std::span<const Expr> surfaces, std::span<const Expr> field, std::span<const Expr> kept);

/// The field where g = 0: without the roots.
std::vector<Expr> field_on(std::span<const Expr> surfaces, std::span<const Expr> field, std::span<const Expr> kept);

/// What holds exactly on the surface: (lock, 0 or 1) for each relation.
std::vector<std::pair<Expr, Expr>> truth_on_surface(std::span<const Expr> locks);

/// A solution rests on a surface on which its field vanishes, or moves along it. In place of the weight of a sliding mode: 1/2 while `speed`, d/dt g
/// on the surface, is zero up to rounding errors of the terms of the field; below 0 or above 1 as soon as the solution leaves to one side.
Expr weight_at_rest(const Expr& speed, std::span<const Expr> terms);

}  // namespace saltus
