// Entering and leaving a slide, again. Where one guard has brought the solution onto a surface, or a weight has taken
// it off, and nothing acted, the next time in a mode with the same decisions the outcome is known: it is tested as the
// first candidate.
// Only where its values and guards are not as they were, the search begins.
#pragma once

#include <saltus/dae/hybrid_system.hpp>

#include <vector>

namespace saltus {

class Instant;
struct Arrival;
class GuardSides;

class SurfaceEdges {
 public:
  explicit SurfaceEdges(Instant& instant) : instant_(instant) {}

  /// Keeps the instant that has just been settled, if it was of that kind.
  void learn();
  /// Takes the known outcome, if there is one and it holds. False: the present point is as before.
  bool follow(const Arrival& arrival);

 private:
  struct Edge {
    Mode before, after;
    std::vector<signed char> sides, multiplicities;  // of all guards, afterwards
    std::vector<int> fired, directions;
    int learned_in_vain = 0;  // times, since it was followed last
  };
  bool ordinary() const;
  std::size_t place_of_guard() const;
  /// Whether the present mode differs from the one in which the edge was learned in numbers at most that decide nothing
  /// (values of variables of other parts).
  bool begins_here(const Edge& edge) const;
  static bool looks_like(const Edge& edge, const GuardSides& view);

  Instant& instant_;
  std::vector<Edge> edges_;  // two by guard, for either side; weights follow the guards of the family
};

}  // namespace saltus
