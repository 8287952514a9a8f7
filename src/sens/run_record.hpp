// A run as derivatives need it: what its clauses did, and its segments with what happened at the end of each.
#pragma once

#include <saltus/hybrid/simulator.hpp>
#include <saltus/model/recorded_system.hpp>
#include <saltus/step/tableau.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sens/watched_model.hpp"

namespace saltus {

/// Events and rounds of one instant: from the first up to the last, which does not count.
struct RunInstant {
  double t = 0.0;
  std::size_t first_event = 0, last_event = 0;
  std::size_t first_act = 0, last_act = 0;
  std::vector<int> causes = {};  ///< guards with which it began, by number in the system of the mode before
  bool fired = false;            ///< there are guards that fired
  bool more_causes = false;      ///< another event at this time has causes of its own
  double time_scale = 0.0;       ///< the longest time that the run has spent in one mode so far

  bool empty() const { return first_event == last_event && first_act == last_act; }
};

/// A stretch in one mode.
struct RunLeg {
  Mode mode;
  double from = 0.0, to = 0.0;  ///< without the tail
  const std::vector<Trajectory::Step>* steps = nullptr;
  std::size_t first_touch = 0;  ///< touches on the way are the events from this one to the first of the instant
  RunInstant end;
  /// Infinitely many resets begin at `to`, and are over here: the last of the steps leads over them.
  std::optional<RunInstant> contact;

  /// Those in which the mode moved by its equations.
  std::span<const Trajectory::Step> own_steps() const {
    return std::span(*steps).first(steps->size() - (contact ? 1 : 0));
  }
};

/// A part of a run that can be made again with the same bits.
struct RunPiece {
  std::optional<SimulatorState> from = {};  ///< where it begins; empty: at the start of the run
  std::int64_t steps = 0;                   ///< calls of Simulator::step that it takes
  std::int64_t made = 0;                    ///< before it
};

class WatchedRun;

struct RunRecord {
  /// Of a whole run.
  RunRecord(const CompiledModel& model, const SimulateOptions& options);
  /// Of a piece of it, which is made again.
  RunRecord(const CompiledModel& model, const SimulateOptions& options, const RunPiece& piece);
  /// Of what a run has made so far; the run ends.
  RunRecord(const CompiledModel& model, WatchedRun&& run);

  Trajectory trajectory;
  std::vector<Act> acts;
  Mode final_mode;
  std::vector<double> final_x;
  RunInstant start;
  std::vector<RunLeg> legs;
  std::string problem;  ///< why the legs end before the run does; "" if they do not
  double problem_time = 0.0;

 private:
  void find_legs();
};

/// The explicit method that follows these steps: the one that made them, and one of high order for series. Null: an
/// implicit method made some of them.
const Tableau* tableau_of(std::span<const Trajectory::Step> steps);

/// The variables of a mode at a time within a step.
std::vector<double> value_at(const Trajectory::Step& step, double t);

}  // namespace saltus
