// The few entries by which the Jacobian behind a switch differs from one that has been factorised.
#pragma once

#include <saltus/dae/system.hpp>

#include <span>
#include <vector>

#include "linalg/low_rank_update.hpp"

namespace saltus {

class JacobianChange {
 public:
  /// Compares F_x and F_x' with those of the factors. False if they differ in too many entries for an update of low
  /// rank, or by numbers that are not finite.
  bool find(const Structure& structure, std::span<const double> old_Fx, std::span<const double> old_Fxp,
            std::span<const double> Fx, std::span<const double> Fxp);
  void clear();
  bool empty() const { return Fx_.empty() && Fxp_.empty(); }
  bool operator==(const JacobianChange&) const = default;

  /// What it changes in c F_x' + F_x.
  std::vector<ChangedEntry> entries(double c) const;
  /// Exchanges the new numbers with those of the factors.
  void exchange(std::span<double> Fx, std::span<double> Fxp);

 private:
  struct Entry {
    int place, row, column;
    double before, now;
    bool operator==(const Entry&) const = default;
  };
  static bool find(const SparsePattern& pattern, std::span<const double> before, std::span<const double> now,
                   std::vector<Entry>& entries);

  std::vector<Entry> Fx_, Fxp_;
  bool exchanged_ = false;
};

}  // namespace saltus
