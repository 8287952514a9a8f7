// Most events of a run are like one before: the same guard leaves the same mode, or one that differs in numbers that
// decide nothing, and the same happens. Where the model acts by its mode alone, such an event follows a known edge: one
// round gives the values behind the event, and one look at the guards shows that the positions that were decided before
// are the right ones again. Where they are not, the instant is settled as any other.
//
// Exactly as settle() would end. Learned are instants in which one guard fires, at most one round acts, and what is
// decided after it has the same equations as the mode to which the round led.
#pragma once

#include <span>
#include <vector>

#include "hybrid/event_log.hpp"
#include "hybrid/instant/instant.hpp"

namespace saltus {

class KnownEdges {
 public:
  KnownEdges(HybridSystem& hybrid, Instant& instant);

  /// Whether there is anything to learn: events of the family may be alike.
  bool learns() const { return learns_; }
  /// Keeps the instant that has just been settled, if it was of that kind.
  void learn();

  /// True if this guard has left this side in the present mode before, in a way that can be repeated.
  bool knows(int guard, int side);
  /// The mode in which it did, if it was exactly the present one, otherwise null.
  const Mode* known_mode() const { return exact_ ? &edge_->before : nullptr; }
  /// Does what was done then, instead of Instant::fire and settle, if what settle would find is the same. After knows()
  /// and Instant::begin. False: the present point is as before.
  bool follow(int guard, const Arrival& arrival);

  // --- the last event
  /// It did not follow an edge.
  void forget() { followed_ = nullptr; }
  /// The tag that it has in common with those before it on its edge, not known at first. Null: it has followed no edge
  /// exactly.
  EventTag* tag() const { return followed_ && exact_ ? &followed_->tag : nullptr; }
  /// The sides of all guards if it followed an edge, otherwise none.
  std::span<const signed char> sides() const {
    return followed_ ? std::span<const signed char>(followed_->sides) : std::span<const signed char>{};
  }

 private:
  /// A number of a mode that becomes another one.
  struct Change {
    std::vector<double> Mode::*list;
    std::size_t place;
    double value;
  };
  /// What happened when one guard left a mode.
  struct Edge {
    Mode before, acted;              // `acted`: after the round that acted
    std::vector<Change> settling;    // what became of `acted`
    std::vector<signed char> sees;   // afterwards
    std::vector<signed char> sides;  // of all guards, afterwards
    std::vector<int> fired, directions;
    int side = 0;                // of the guard, before it fired
    signed char acting_see = 0;  // of the guard, in the round that acted
    bool leaves = false;  // the guard must be away from zero afterwards: on the surface the solution may not be unique
    bool known = false;
    int learned_in_vain = 0;         // times, since it was followed last
    const Edge* follower = nullptr;  // begins exactly in the mode to which this one leads
    EventTag tag;
  };
  static std::size_t place_of(int guard, int side) { return 2 * static_cast<std::size_t>(guard) + (side > 0 ? 1 : 0); }
  static void find_changes(const Mode& from, const Mode& to, std::vector<Change>& found);
  bool ordinary() const;
  bool follows(const Edge& edge, int guard, const Arrival& arrival);
  bool looks_like(const Edge& edge, int guard) const;
  bool may_be_zero(int k, int guard) const;

  HybridSystem& hybrid_;
  Instant& instant_;
  bool learns_;
  std::vector<Edge> known_;   // two by guard, for either side
  Edge* edge_ = nullptr;      // that knows() has found
  Edge* followed_ = nullptr;  // by the last event
  bool exact_ = false;        // also in the numbers of the mode
  Mode changed_;              // workspace
};

}  // namespace saltus
