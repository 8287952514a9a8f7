// The members of a study in flight: what all of them have in common, how one takes off, and what is left of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "study/lane_flight.hpp"
#include "study/study_access.hpp"

namespace saltus {

/// Made of a study alone: the same members fly, with the same bits, wherever and by whichever thread.
class StudyFlight {
 public:
  /// `lanes`: of a step.
  explicit StudyFlight(const Study& study, int lanes = flight_lanes);

  /// Whether members can fly at all. why() says what is in the way, of all or of some.
  bool possible() const { return possible_; }
  const std::vector<std::string>& why() const { return why_; }

  const FlightTask& task() const { return task_; }
  /// Brings a member to its start. False: it cannot fly.
  bool begin(std::int64_t index, FlightMember& member) const;
  /// The results of a member that has ended.
  MemberOutcome outcome(const FlightMember& member) const;

 private:
  SimulateOptions options_of(const CompiledModel& model, double& period) const;
  bool allowed();
  void find_places();
  bool scout(int lanes);

  const Study& study_;
  const StudyLayout& layout_;
  bool possible_ = false;
  std::vector<std::string> why_;
  std::vector<int> eliminated_;        // those that are wanted
  std::vector<std::size_t> value_of_;  // by collector: place among the kept values, or counters
  FlightCode code_;
  FlightTask task_;
  std::vector<int> atlas_place_;  // by mode of the atlas: its number in the code, or -1
  std::unique_ptr<Atlas> atlas_;
};

}  // namespace saltus
