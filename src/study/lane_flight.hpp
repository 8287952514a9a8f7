// Members of a study side by side: steps in lanes, events one by one, by the executor (flight/executor.hpp).
//
// A member is in a lane of a group; the lanes of a group have the same equations. Each has its own time, step size and
// mode, and nothing of its neighbours shows in its numbers. A member that misses has to be run by a Simulator from its
// start.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "flight/executor.hpp"
#include "flight/host_code.hpp"
#include "flight/mode_entry.hpp"
#include "study/host_task.hpp"

namespace saltus {

/// Lanes of a step.
inline constexpr int flight_lanes = 8;

class LaneFlight {
 public:
  /// `next` fills in a member and returns false if there are no more; `land` takes one that has ended or missed.
  LaneFlight(const FlightTask& task, std::function<bool(FlightMember&)> next, std::function<void(FlightMember&)> land);
  ~LaneFlight();

  /// Flies until there are no more members, or until `stop`. Returns whether all have landed.
  bool run(const std::function<bool()>& stop);

 private:
  static constexpr std::size_t width = flight_lanes;
  static constexpr int most_in_flight = 64;

  struct Lane;
  struct Group;
  bool take_off();
  Lane& free_lane(std::size_t tape, Group*& group);
  void move(Group& from, std::size_t lane, std::size_t tape);
  void gather_groups(std::size_t tape);
  void step(Group& group);
  void digest(Group& group, std::size_t lane);
  void land(Group& group, std::size_t lane, flight::Miss missed);

  const FlightTask& task_;
  std::function<bool(FlightMember&)> next_;
  std::function<void(FlightMember&)> land_;
  HostCode code_;
  HostTask host_;
  flight::Executor<HostCode> executor_;
  ModeEntry entry_;
  std::vector<std::vector<std::unique_ptr<Group>>> groups_;  // by tape
  int in_flight_ = 0;
  bool exhausted_ = false;
};

}  // namespace saltus
