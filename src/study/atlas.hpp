// The modes and transitions that members of a study go through, learned from runs of some of them. Members that meet
// nothing else can be run by code that knows these alone.
#pragma once

#include <saltus/hybrid/simulator.hpp>
#include <saltus/model/compiled_model.hpp>

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "model/event_logic.hpp"

namespace saltus {

struct Act;

/// A guard and the side that it leaves, as one number.
constexpr int departure(int guard, int side) {
  return 2 * guard + (side > 0 ? 1 : 0);
}

/// What happens when guards leave a mode. Several edges may begin alike: a surface is crossed, or slid along.
struct AtlasEdge {
  std::vector<int> departures;  ///< of the guards that fire, increasing; several: clocks that fall due together
  int target = -1;              ///< the mode after it
  std::vector<EventLogic::RoundRecord::Value> given;  ///< which actions count
  std::vector<double> truths;                         ///< of all locks, as these actions see them
  std::vector<std::pair<int, double>> roundings;      ///< locks that are integers, and how they change

  /// The event from which it was learned.
  struct Example {
    double t = 0.0;
    std::vector<double> parameters, x_before, x_after, discrete_before, discrete_after;
  } example;
};

struct AtlasMode {
  Mode mode;  ///< one of its kind: others differ in numbers that decide nothing
  std::vector<AtlasEdge> edges;
};

class Atlas {
 public:
  explicit Atlas(const CompiledModel& model);

  /// False if events of the model are not decided by its modes alone. Nothing can be learned then.
  bool possible() const { return possible_; }
  /// Learns from a run of the model with other values. Returns whether it ended well.
  bool learn(const CompiledModel& member, const SimulateOptions& options);

  const std::vector<AtlasMode>& modes() const { return modes_; }
  /// The number of a mode; -1: it is not there.
  int find(const Mode& mode) const;
  /// Discrete variables and locks that tell modes apart; all others are numbers of a member.
  const std::vector<int>& deciding_discretes() const { return deciding_discretes_; }
  const std::vector<int>& deciding_locks() const { return deciding_locks_; }

 private:
  std::vector<double> key_of(const Mode& mode) const;
  int enter(const Mode& mode);
  void learn_event(CompiledModel& member, const Mode& before, const Simulator& after, const std::vector<Act>& acts);
  /// The guards with which an event began; none: it cannot be told.
  std::vector<int> departures_of(CompiledModel& member, const Mode& before, const Mode& after,
                                 const Event& event) const;

  bool possible_ = false;
  std::vector<int> deciding_discretes_, deciding_locks_;
  std::vector<int> places_;  // of each variable of the model: its place among those of the systems, or -1
  std::vector<AtlasMode> modes_;
  std::map<std::vector<double>, int> numbers_;  // of modes, by key
};

}  // namespace saltus
