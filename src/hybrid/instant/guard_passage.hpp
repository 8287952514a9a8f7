// What conditions see of guards. A guard that is clearly not zero is seen where it is. One that is zero passes through
// zero to its position, one step in a round, so that clauses which act at zero and clauses which act beyond it all do.
#pragma once

#include <saltus/dae/hybrid_system.hpp>

#include <span>
#include <vector>

#include "hybrid/guard_sides.hpp"
#include "hybrid/instant/trials.hpp"

namespace saltus {

class GuardPassage {
 public:
  /// A new instant begins.
  void begin(std::size_t guards);
  /// What is seen does not change in this round, and nothing passes.
  void hold() { passing_.clear(); }
  /// New positions and values: guards that are clearly not zero are seen where they are; the others begin to pass.
  /// Returns whether one is seen elsewhere than before.
  bool see(const GuardSides& view, std::span<const Position> positions, std::vector<signed char>& sees);
  /// Guards that are zero go one step towards their positions; at the start of a run to zero. Returns whether all have
  /// arrived. `quiet`: nothing else changes in this round, so that steps that no relation notices need no round of
  /// their own.
  bool pass(const Trials& trials, bool initial, bool quiet, std::vector<signed char>& sees);

 private:
  /// A guard that is zero, on its way to the side where conditions will see it.
  struct Passing {
    int guard;
    signed char target;
    bool jumped;  // onto zero, in this round
  };
  enum class Seen : signed char { not_yet, clear, zero };

  std::vector<Passing> passing_;
  std::vector<Seen> seen_;     // by guard: in the round before
  std::vector<double> clear_;  // by guard: the last value that was clearly not zero
};

}  // namespace saltus
