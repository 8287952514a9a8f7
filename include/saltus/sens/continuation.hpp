// Continuation: a branch of cycles over a parameter, stable or not, and the points at which it changes its kind.
//
//   const Branch branch = follow_cycle(model, {.cycle = {.period_of = "T"}, .parameter = "r", .from = 0.5, .to = 3});
//   for (const Bifurcation& b : branch.bifurcations) b.kind, b.point.parameter;
#pragma once

#include <saltus/sens/cycle.hpp>

#include <complex>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace saltus {

struct ContinuationOptions {
  /// The first cycle: start values, period or section. Its period may follow the parameter (CycleOptions::period_of).
  CycleOptions cycle = {};
  std::string parameter;
  double from = std::numeric_limits<double>::quiet_NaN();  ///< value of the parameter at the first cycle
  double to = std::numeric_limits<double>::quiet_NaN();    ///< the branch ends where the parameter leaves the range
  /// Steps along the branch, as a share of it: the parameter counts by its range, variables by their size on the cycle.
  double step = 0.02, smallest_step = 1e-6;
  int max_points = 1000;
  SearchObserver progress = {};  ///< the share is that of the range of the parameter
};

/// A cycle of the branch.
struct BranchPoint {
  double parameter = 0.0, period = 0.0;
  std::vector<double> start;            ///< values of the state where the cycle begins
  std::vector<double> lowest, highest;  ///< of the state, on the cycle
  std::vector<std::complex<double>> multipliers;
  bool stable = false;
  std::string events;  ///< kinds and guards of the events of a period
};

enum class BifurcationKind : unsigned char {
  fold,           ///< the branch turns back: a multiplier is 1
  flip,           ///< a multiplier is -1
  torus,          ///< two multipliers leave the unit circle together (Neimark and Sacker)
  grazing,        ///< an event comes or goes: its guard is touched
  sliding_onset,  ///< a crossing becomes a slide: the field behind it is tangential
  events_change,  ///< the sequence of events changes in another way
};
/// As it stands in files: the name in this file.
std::string_view to_string(BifurcationKind kind);

/// Where a branch changes its kind.
struct Bifurcation {
  BifurcationKind kind;
  BranchPoint point;         ///< at the place, or next to it
  std::size_t behind = 0;    ///< number of the last point of the branch before it
  double uncertainty = 0.0;  ///< of the parameter
};

enum class BranchStatus : unsigned char {
  finished,         ///< the parameter has left its range
  ended,            ///< the branch cannot be followed any farther: Branch::message says why
  too_many_points,  ///< max_points were not enough
  no_cycle,         ///< the first cycle was not found
};
/// As it stands in files: the name in this file.
std::string_view to_string(BranchStatus status);

struct Branch {
  BranchStatus status = BranchStatus::no_cycle;
  std::string message;
  std::string parameter;
  std::vector<std::string> variables;  ///< the state
  std::vector<BranchPoint> points;
  std::vector<Bifurcation> bifurcations;  ///< in their order along the branch

  bool ok() const { return status == BranchStatus::finished; }
};

/// Follows a branch of cycles by its arclength, through folds, and locates bifurcations between its points.
///
/// Throws UsageError as find_cycle does, for ranges without length, and for names by which a run cannot be
/// differentiated.
Branch follow_cycle(const CompiledModel& model, const ContinuationOptions& options);
/// Compiles the model first.
Branch follow_cycle(const Model& model, const ContinuationOptions& options);

}  // namespace saltus
