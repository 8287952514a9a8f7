// The modes and transitions that runs of a model went through. What meets nothing else can be run by code that knows
// these alone.
#pragma once

#include <saltus/base/state_archive.hpp>
#include <saltus/model/compiled_model.hpp>

#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "model/acts.hpp"

namespace saltus {

/// A guard and the side that it leaves, as one number.
constexpr int departure(int guard, int side) {
  return 2 * guard + (side > 0 ? 1 : 0);
}

/// The guard of such a number.
constexpr int guard_of(int departure) {
  return departure / 2;
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
    std::vector<double> parameters, x_before, x_after, discrete_before;
    Mode after;
  } example;

  void persist(StateArchive& archive);
};

struct AtlasMode {
  Mode mode;  ///< one of its kind: others differ in numbers that decide nothing
  std::vector<AtlasEdge> edges;

  void persist(StateArchive& archive);
};

/// An event as a run has seen it.
struct SeenEvent {
  double t = 0.0;
  const Mode &before, &after;
  std::vector<int> departures;                ///< of the guards with which it began
  std::span<const double> x_before, x_after;  ///< the variables of the model
  const std::vector<Act>& acts;               ///< of its instant
};

/// An edge of an atlas.
struct AtlasPlace {
  int mode = -1, edge = -1;

  bool known() const { return mode >= 0; }
};

class Atlas {
 public:
  explicit Atlas(const CompiledModel& model);

  /// False if events of the model are not decided by its modes alone. Nothing can be learned then.
  bool possible() const { return possible_; }
  /// A mode in which a run was. Its number.
  int enter(const Mode& mode);
  /// Learns what an event of the model, with these values, has shown. None: it is of a kind that cannot be repeated.
  AtlasPlace learn(const CompiledModel& member, SeenEvent event);

  const std::vector<AtlasMode>& modes() const { return modes_; }
  /// The number of a mode; -1: it is not there.
  int find(const Mode& mode) const;
  /// Discrete variables and locks that tell modes apart; all others are numbers of a member.
  const std::vector<int>& deciding_discretes() const { return deciding_discretes_; }
  const std::vector<int>& deciding_locks() const { return deciding_locks_; }

  /// What tells two atlases of a model apart, up to the examples.
  void identify(std::vector<double>& key) const;
  void persist(StateArchive& archive);

 private:
  std::vector<double> key_of(const Mode& mode) const;

  bool possible_ = false;
  std::vector<int> deciding_discretes_, deciding_locks_;
  std::vector<AtlasMode> modes_;
  std::map<std::vector<double>, int> numbers_;  // of modes, by key
};

}  // namespace saltus
