// Members of a study that fly side by side: steps in lanes, events one by one.
//
// A member is in a lane of a group; the lanes of a group have the same equations. Each has its own time, step size and
// mode, and nothing of its neighbours shows in its numbers. An event follows an edge of the atlas if what it leads to
// is as the edge says; a member that meets anything else is parked: it has to be run by a Simulator from its start.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "flight/flight_arithmetic.hpp"
#include "flight/flight_code.hpp"
#include "flight/mode_entry.hpp"
#include "flight/observed_places.hpp"
#include "flight/step_bounds.hpp"
#include "study/windows.hpp"

namespace saltus {

/// Lanes of a step.
inline constexpr int flight_lanes = 8;

/// What all members of a flight have in common.
struct FlightTask {
  const FlightCode* code = nullptr;
  double rtol = 1e-6;
  std::vector<double> atol;    ///< by variable
  std::size_t parameters = 0;  ///< of the model
  double max_step = 0.0;
  std::int64_t max_steps = 0;
  bool park_if_stiff = true;
  std::vector<ObservedPlace> kept;   ///< values of a sample
  std::vector<ObservedPlace> dense;  ///< values whose extrema and means are wanted
  std::vector<int> counters;         ///< discrete variables whose growth is counted
  int section = -1;                  ///< discrete variable whose growth makes a sample; -1: samples come with time
  std::int64_t transient = 0, keep = 0;
};

/// Why a member cannot fly on.
enum class Parking {
  none,
  no_edge,       ///< nothing is known about the event, or what follows it is not as it was
  simultaneous,  ///< two guards fire at the same time
  accumulation,  ///< events come closer and closer
  step_size,     ///< steps become too small, or their values are not finite
  stiff,
  too_many_steps,
  unproved,  ///< a guard that is not affine may have left its side and returned within a step
  count
};

struct FlightMember {
  std::int64_t index = 0;
  FlightNumbers numbers;
  std::size_t mode = 0;
  double t = 0.0, stop = 0.0;
  std::vector<double> x;
  double period = 0.0;  ///< of samples; 0: none come with time
  double start = 0.0;   ///< of the run
  double window = 0.0;  ///< counters, extrema and means are for what comes after this time

  std::int64_t steps = 0, events = 0, seen = 0;
  std::vector<double> samples;         ///< sample by sample, in the order of FlightTask::kept
  std::vector<double> counts, firsts;  ///< by counter
  std::vector<double> final_values;    ///< in the order of FlightTask::kept
  Windows windows;                     ///< by value in FlightTask::dense
  Parking parked = Parking::none;
};

class LaneFlight {
 public:
  /// `next` fills in a member and returns false if there are no more; `land` takes one that has ended or is parked.
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
  Lane& free_lane(std::size_t tape, Group*& group, std::size_t& place);
  void move(Group& from, std::size_t lane, std::size_t tape);
  void gather_groups(std::size_t tape);
  void step(Group& group);
  void control_steps(Group& group) const;
  void digest(Group& group, std::size_t lane);
  void reject(Group& group, std::size_t lane, double factor);
  flight::Crossing find_crossing(Group& group, std::size_t lane);
  double polish(Group& group, std::size_t lane, int guard, double u);
  bool proved(Group& group, std::size_t lane, const flight::Crossing& crossing);
  void dense_at(const Group& group, std::size_t lane, double u, double* x) const;
  void see_samples(Group& group, std::size_t lane, double t_end, bool inclusive);
  void see_piece(Group& group, std::size_t lane, double t_end);
  void evaluate(const FlightMember& member, std::span<const ObservedPlace> places, double t, const double* x,
                double* out);
  void keep_values(const FlightMember& member, double t, const double* x, std::vector<double>& out);
  bool follow(Group& group, std::size_t lane, std::span<const int> departures);
  bool try_edge(Group& group, std::size_t lane, const FlightEdge& edge);
  bool enter(Lane& lane, const FlightMode& mode, const FlightNumbers& numbers, const double* x,
             const std::vector<int>& at_zero);
  bool stiff(Group& group, std::size_t lane, bool crosses);
  void park(Group& group, std::size_t lane, Parking why);
  void end(Group& group, std::size_t lane);

  const FlightTask& task_;
  const FlightCode& code_;
  std::function<bool(FlightMember&)> next_;
  std::function<void(FlightMember&)> land_;
  std::vector<std::vector<std::unique_ptr<Group>>> groups_;  // by tape
  std::vector<Workspace> guard_work_, observe_work_;         // by tape
  std::vector<StepBounds> bounds_;                           // by tape
  std::vector<char> needs_proof_;                            // by mode
  std::vector<std::vector<Workspace>> act_work_;             // by mode and edge
  int in_flight_ = 0;
  bool exhausted_ = false;
  // workspace
  ModeEntry entry_;
  std::vector<double> x_, guards_, data_, set_, observed_, piece_;
  FlightNumbers numbers_;
};

}  // namespace saltus
