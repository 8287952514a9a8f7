// What conditions see of guards. A guard that is clearly not zero is seen where it is. One that is zero passes through
// zero to its position, one step in a round, so that clauses which act at zero and clauses which act beyond it all do.
// A guard that is moved by the position of another one is seen there together with that position, or one round later if
// it is zero itself: it will leave zero, and has not yet.
#pragma once

#include <saltus/dae/hybrid_system.hpp>

#include <span>
#include <vector>

#include "hybrid/guard_sides.hpp"
#include "hybrid/instant/trials.hpp"

namespace saltus {

class GuardPassage {
 public:
  /// A guard that is zero, on its way to the side where conditions will see it.
  struct Passing {
    int guard;
    signed char target;
    bool jumped;         ///< onto zero, in this round
    bool waits = false;  ///< in this round, for the guards that move it
  };

  /// A new instant begins.
  void begin(std::size_t guards);
  /// What is seen does not change in this round, and nothing passes.
  void hold() {
    passing_.clear();
    unseen_.clear();
  }
  /// New positions and values: guards that are zero begin to pass, the others wait for show().
  void see(const GuardSides& view, std::span<const Position> positions, const std::vector<signed char>& sees);
  /// A guard that is clearly not zero, and is not seen where it is.
  struct Unseen {
    int guard;
    signed char side;
  };
  const std::vector<Unseen>& unseen() const { return unseen_; }
  /// They are seen where they are.
  void show(std::vector<signed char>& sees);
  /// Calls a function with each guard that will be seen at zero in this round, although its position is a side.
  template <class Function>
  void for_each_on_its_way(bool initial, const std::vector<signed char>& sees, const Function& function) const {
    for (const Passing& guard : passing_)
      if (guard.target != 0 && step(guard, initial, sees) == 0) function(guard.guard);
  }
  /// Calls a function with each guard that would be seen to leave zero in this round.
  template <class Function>
  void for_each_leaving_zero(const std::vector<signed char>& sees, const Function& function) {
    for (Passing& guard : passing_)
      if (guard.target != 0 && sees[static_cast<std::size_t>(guard.guard)] == 0 && !guard.jumped) function(guard);
  }
  /// Guards that are zero go one step towards their positions; at the start of a run to zero. Returns whether all have
  /// arrived; then those that wait are seen, too. `quiet`: nothing else changes in this round, so that steps that no
  /// relation notices need no round of their own.
  bool pass(const Trials& trials, bool initial, bool quiet, std::vector<signed char>& sees);

 private:
  signed char step(const Passing& guard, bool initial, const std::vector<signed char>& sees) const;

  enum class Seen : signed char { not_yet, clear, zero };

  std::vector<Passing> passing_;
  std::vector<Unseen> unseen_;
  std::vector<Seen> seen_;     // by guard: in the round before
  std::vector<double> clear_;  // by guard: the last value that was clearly not zero
};

}  // namespace saltus
