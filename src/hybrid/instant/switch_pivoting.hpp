// Sides of many switches at once: networks of ideal diodes are complementarity problems, and pivoting solves them.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/linalg/lu.hpp>
#include <saltus/linalg/matrix.hpp>

#include <span>
#include <vector>

#include "hybrid/instant/point.hpp"

namespace saltus {

/// Proposes sides for guards whose values depend on the mode. The caller tests a proposal like any other candidate.
class SwitchPivoting {
 public:
  explicit SwitchPivoting(HybridSystem& hybrid) : hybrid_(hybrid) {}

  /// Changes the sides of `switches` in `mode` to those of a step of length h from the state in x. `loss` is the small
  /// part by which diodes are not ideal in this step. False: the equations have no such form (they jump at a surface,
  /// or one switch changes what another one does), or there is no solution.
  bool propose(double t, double h, std::span<const double> x, std::span<const int> switches, Mode& mode);

 private:
  bool linearise(double t, const Mode& mode);
  bool find_jumps(double t, const Mode& mode);
  bool factorise(const Structure& structure);
  void slopes(System& system, std::span<const double> at, std::span<double> xp);
  bool solve(Mode& mode);

  HybridSystem& hybrid_;
  SparseLu lu_;
  double h_ = 0.0;
  std::vector<int> switches_;            // those at which the equations do not jump
  std::vector<double> x_, xp_, before_;  // the point of the linearisation, and the state before the step
  std::vector<double> F_, Fx_, Fxp_;     // there
  std::vector<double> g_;                // by switch: the value of its guard there
  Matrix gradients_;                     // one row per switch: of its guard, along the step
  Matrix jumps_;                         // one column per switch: (F beyond its surface - F) / g
  Matrix scattering_;                    // S in g = d + S |g|
  std::vector<double> drive_;            // d
};

}  // namespace saltus
