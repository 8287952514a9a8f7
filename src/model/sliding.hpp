// The field that stays on surfaces: Filippov's combination of the fields on their sides, as expressions.
#pragma once

#include <saltus/expr/expr.hpp>

#include <optional>
#include <span>
#include <vector>

namespace saltus {

struct SlidingSurface {
  Expr function;            ///< g
  std::vector<Expr> locks;  ///< the relations on g: what changes across the surface
};

struct SlidingField {
  std::vector<Expr> weights;                           ///< of the positive sides, as functions of t and x
  std::vector<std::pair<Expr, Expr>> lock_weights;     ///< (lock, weight), for relax()
  std::vector<Expr> rhs;
};

/// The weights w of the positive sides such that d/dt g = 0 on all surfaces, where every choice on a lock is replaced by
/// w*then + (1-w)*else. Empty if d/dt g is not affine in the weights (products of switches), or does not depend on them.
std::optional<SlidingField> sliding_field(const Expr& time, std::span<const Expr> variables, std::span<const Expr> rhs,
                                          std::span<const SlidingSurface> surfaces, std::span<const Expr> all_locks);

}  // namespace saltus
