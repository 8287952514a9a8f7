// The points at which the rounds of one instant have arrived: one that comes back is a cycle.
#pragma once

#include <saltus/dae/hybrid_system.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

#include "hybrid/failure.hpp"
#include "hybrid/instant/point.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

class VisitedPoints {
 public:
  /// A new instant begins.
  void forget() { count_ = 0; }

  /// Notes a point, after so many actions. Returns whether it is one of those before: numbers that decide nothing do
  /// not count, but each of them may take a round to settle.
  bool comes_back(const Point& point, std::size_t actions, const HybridSystem& hybrid) {
    std::size_t times = 0;
    for (std::size_t k = 0; k < count_; ++k)
      if (same(visits_[k].x, point.x) && hybrid.same_decisions(visits_[k].mode, point.mode)) {
        ++times;
        cycle_ = visits_[k].actions;
      }
    if (times > point.mode.discrete.size()) return true;
    if (count_ == visits_.size()) visits_.emplace_back();
    copy(point.mode, visits_[count_].mode);
    copy(point.x, visits_[count_].x);
    visits_[count_].actions = actions;
    ++count_;
    return false;
  }
  /// What to say about the point that has come back, in this mode, and the actions that led round.
  Failure describe_cycle(double t, const Mode& mode, const Transition& transition, const HybridSystem& hybrid) const;
  /// What to say after more than `most` of something (`what`): the actions that repeat themselves, at other points each
  /// time.
  static Failure describe_repetition(double t, int most, std::string_view what, const Transition& transition);

 private:
  struct Visit {
    Mode mode;
    std::vector<double> x;
    std::size_t actions = 0;
  };
  std::vector<Visit> visits_;  // kept for the next instant; the first `count_` are of this one
  std::size_t count_ = 0;
  std::size_t cycle_ = 0;  // so many actions had taken place when the cycle began
};

}  // namespace saltus
