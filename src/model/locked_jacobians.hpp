// The Jacobians of a recorded system, and what is left of them where locks or discrete variables make entries vanish.
#pragma once

#include <saltus/expr/derivative.hpp>
#include <saltus/model/recorded_system.hpp>

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "model/lock_structure.hpp"

namespace saltus {

class LockedJacobians {
 public:
  /// For some values of what decides the structure.
  struct Locked {
    Structure structure;
    std::vector<int> keep_x, keep_xp;  ///< entries of the full Jacobians that remain
    int number = 0;                    ///< among those of these Jacobians
  };

  LockedJacobians() = default;
  /// In an explicit system with very many switches nothing vanishes: its modes share one pattern, where each has some
  /// zeros. It is solved for its derivatives, so that no decision hangs on the pattern.
  LockedJacobians(const RecordedEquations& eq, const std::vector<Expr>& derivatives, bool explicit_system);

  /// All entries that can be non-zero for some locks, by columns.
  const std::vector<Expr>& Fx() const { return jx_.values; }
  const std::vector<Expr>& Fxp() const { return jxp_.values; }
  /// Rows and columns of the entries of Fx.
  const std::vector<std::pair<int, int>>& places_of_Fx() const { return jx_.places; }
  /// Locks that decide the structure; discrete variables can do so as well.
  const std::vector<int>& structural_locks() const { return structural_locks_; }
  bool discrete_decides() const { return structural_locks_.size() < structural_switches_.size(); }
  /// Marks the data and locks that decide the structure.
  void mark_structural(std::vector<char>& data, std::vector<char>& locks) const;
  /// What these values leave; `common` has all of the structure that does not depend on them. Stays in place.
  const Locked& select(const Structure& common, std::span<const double> data, std::span<const double> locks);

 private:
  struct Entries {
    std::vector<std::pair<int, int>> places;
    std::vector<Expr> values;

    Entries() = default;
    explicit Entries(SparseExprMatrix m);
  };

  Entries jx_, jxp_;
  LockStructure zeros_x_, zeros_xp_;
  std::size_t locks_ = 0;                 // how many
  std::vector<int> discrete_data_;        // places of discrete variables in the data
  std::vector<int> structural_switches_;  // among the locks and then the discrete variables
  std::vector<int> structural_locks_;
  std::map<std::vector<double>, Locked> structures_;
};

}  // namespace saltus
