// StudyPlan: which values vary in a study, how long a member runs, and what is kept of it.
#pragma once

#include <saltus/hybrid/simulator.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace saltus {

enum class Spacing {
  linear,
  logarithmic,
  list,  ///< the values of Axis::values
};

/// Values of one parameter, or of the start value of one variable. Both ends are among them.
struct Axis {
  std::string name;
  double from = 0.0, to = 0.0;
  std::int64_t count = 1;
  Spacing spacing = Spacing::linear;
  std::vector<double> values = {};  ///< of a list; from, to and count do not count then

  std::int64_t size() const;
  /// The value at a position from 0 to size() - 1.
  double value(std::int64_t position) const;
};

enum class Distribution {
  uniform,      ///< between a and b
  log_uniform,  ///< its logarithm is uniform; a and b are positive
  normal,       ///< mean a, standard deviation b
};

/// A value that is drawn for each member, from the seed and the number of the member alone.
struct RandomValue {
  std::string name;
  Distribution distribution = Distribution::uniform;
  double a = 0.0, b = 1.0;
};

/// Values of all members: one row each, one column for each name.
struct MemberTable {
  std::vector<std::string> names = {};
  std::vector<std::vector<double>> rows = {};
};

enum class SampleAt {
  none,     ///< nothing is sampled
  period,   ///< at multiples of a period after the start
  section,  ///< at events that change a counter, see count_crossings
};

/// When a member is sampled. The first `transient` samples are dropped, the next `keep` ones are kept, and the run ends
/// with the last of them. Sections end at the stop time at the latest.
struct Sampling {
  SampleAt at = SampleAt::none;
  double period = 0.0;        ///< of SampleAt::period, unless `variable` names an observed variable with its value
  std::string variable = {};  ///< the period, or the counter of a section
  std::int64_t transient = 0, keep = 0;
};

/// What is kept of a member. Minimum, maximum, mean, count and first see the part of the run after the transient.
enum class Collect {
  final_value,  ///< at the end of the run
  sample,       ///< at each sample that is kept
  minimum,      ///< over time, also between steps
  maximum,
  mean,    ///< over time, by integration of the dense output
  count,   ///< by how much a counter has grown
  first,   ///< when a counter grew first; NaN: it never did
  period,  ///< the smallest number of samples after which they repeat, at most 64; 0: they do not
};
/// The name in plans and on the command line: "final", "sample", "min", …
std::string_view to_string(Collect collect);

struct Collector {
  Collect what = Collect::final_value;
  std::string variable;   ///< an observed variable of the model
  std::string name = {};  ///< of the result; empty: "max(x)" and so on, and "x" for samples of x
};
/// The name of a collector's result.
std::string result_name(const Collector& collector);

/// Whether members go on from each other: each one starts with the values at the end of its neighbour on the last axis.
enum class Follow { none, up, down, both };

/// How members are run. Results of one way do not depend on threads, blocks or neighbours; those of the two ways agree
/// within the tolerance, not in bits.
enum class MemberPath {
  full,  ///< each by a Simulator of its own: any model
  /// Steps of eight members side by side, events by what some of the members have shown. Members that meet anything
  /// else are run by a Simulator, and the array `path` says so. Where nothing can be run so, all of them are.
  lanes,
};

struct StudyPlan {
  /// All combinations are members; the last axis is the fastest.
  std::vector<Axis> axes = {};
  /// Drawn for each member. There are `draws` of them for each combination.
  std::vector<RandomValue> random = {};
  std::int64_t draws = 1;
  std::uint64_t seed = 0;
  /// Instead of axes and random values.
  MemberTable table = {};
  /// `progress`, `keep_steps` and `keep_event_values` do not count.
  SimulateOptions simulate = {};
  Sampling sampling = {};
  /// Without samples: the time from which minimum, maximum, mean, count and first see the run.
  double collect_after = -std::numeric_limits<double>::infinity();
  std::vector<Collector> collect = {};
  /// `both`: there are twice as many members, all of them upwards and then all of them downwards.
  Follow follow = Follow::none;
  MemberPath path = MemberPath::full;
  /// Samples repeat if they differ by less than this, relative to their size where that is above 1.
  double period_tolerance = 1e-4;
  /// Longest time that a member may take on the clock, in seconds. Limits by SimulateOptions::max_steps are preferable:
  /// they do not depend on the machine.
  double member_seconds = std::numeric_limits<double>::infinity();
};

/// How many members a plan has. Throws UsageError for plans that make no sense.
std::int64_t member_count(const StudyPlan& plan);
/// What varies, by name, in the order of the values of a member.
std::vector<std::string> varied_names(const StudyPlan& plan);
/// The values of a member: a function of plan and index alone.
std::vector<std::pair<std::string, double>> member_values(const StudyPlan& plan, std::int64_t index);

}  // namespace saltus
