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
  std::vector<int> signs;   ///< by lock: the side on which the relation is true
  int step = 0;             ///< 0: relations; otherwise the lock is a rounding, and changes by so much beyond g = 0

  /// What stands for lock i where the positive side has this weight.
  Expr weight_of(std::size_t i, const Expr& weight) const {
    if (step != 0) return locks[i] + static_cast<double>(step) * (1.0 - weight);
    return signs[i] > 0 ? weight : 1.0 - weight;
  }
};

struct SlidingField {
  enum class Kind {
    none,      ///< no weight changes d/dt g: there is nothing to slide with
    explicit_,  ///< d/dt g is affine in the weights: they are known as expressions
    implicit,  ///< switches multiply each other: the weights are the solutions of polynomial equations
  } kind = Kind::none;
  // for Kind::explicit_
  std::vector<Expr> weights;                           ///< of the positive sides, as functions of t and x
  std::vector<std::pair<Expr, Expr>> lock_weights;     ///< (lock, weight), for relax()
  std::vector<Expr> rhs;
};

/// The weights w of the positive sides such that d/dt g = 0 on all surfaces, where every choice on a lock is replaced by
/// w*then + (1-w)*else. Where the speed of one surface is another one (x and v, x' = v) d/dt g = 0 holds there, and the weights are not unique: those
/// are taken that lie between 0 and 1 if any do.
SlidingField sliding_field(const Expr& time, std::span<const Expr> variables, std::span<const Expr> rhs,
                           std::span<const SlidingSurface> surfaces, std::span<const Expr> all_locks);

/// The solution of A x = b by Gaussian elimination on expressions; empty if a pivot vanishes identically.
std::optional<std::vector<Expr>> solve(std::vector<std::vector<Expr>> A, std::vector<Expr> b);

}  // namespace saltus
