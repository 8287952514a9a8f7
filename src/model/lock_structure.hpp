// Which Jacobian entries vanish for which values of the locks.
#pragma once

#include <saltus/expr/expr.hpp>

#include <span>
#include <vector>

namespace saltus {

/// Finds locks that can make an entry vanish identically: a choice with a zero branch. Most locks only change values, and then the
/// structure need not be looked at again when they switch. Discrete variables in the condition of such a choice count as locks, too;
/// discrete variables that are mere factors do not.
class LockStructure {
 public:
  LockStructure() = default;
  /// `locks` may contain symbols of discrete variables.
  LockStructure(std::span<const Expr> entries, std::span<const Expr> locks);

  /// Indices of the locks that matter.
  const std::vector<int>& structural_locks() const { return structural_locks_; }
  /// For each entry, whether it vanishes identically when the locks have the given values.
  std::vector<char> vanishing(std::span<const double> lock_values) const;

 private:
  std::vector<Expr> entries_, locks_;
  std::vector<int> structural_locks_, suspects_;  // suspects_: entries that can vanish
};

}  // namespace saltus
