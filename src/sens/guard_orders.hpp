// Several guards at one instant that parameters move apart: what happens behind them, one after the other, in a given
// order.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sens/act_tangents.hpp"

namespace saltus {

class GuardOrders {
 public:
  /// Where the instant begins: a mode away from surfaces, and the variables of the systems. Keeps references.
  GuardOrders(CompiledModel& model, LinearModes& modes, ActTangents& acts, double t, const Mode& mode,
              std::vector<double> x);

  struct End {
    std::string why;            ///< why it cannot be differentiated; "" if it can
    InstantChange change;       ///< at the last of the guards
    std::vector<double> times;  ///< how the time of each guard moves, in the order
    Mode mode;
    std::vector<double> x;
  };
  /// Takes a change (at a fixed time: `time` is 0) through the guards in this order.
  End pass(std::span<const int> guards, const InstantChange& before);

 private:
  struct Passage {
    std::string why;
    Mode mode;
    std::vector<double> x;
    std::vector<RoundMap> rounds;
  };
  /// How a guard moves at a point.
  struct Rate {
    double slope = 0.0, size = 0.0;  ///< the size of its terms
    Gradient gradient;
  };
  Rate rate(const LinearPoint& point, const Mode& mode, int guard);
  bool same_surface(int a, int b) const;
  void set_side(Mode& mode, int guard, int side) const;
  Passage let_pass(const Mode& mode, const std::vector<double>& x, std::span<const double> xp, int guard);

  CompiledModel& model_;
  LinearModes& modes_;
  ActTangents& acts_;
  double t_;
  Mode mode_;
  std::vector<double> x_;
};

}  // namespace saltus
