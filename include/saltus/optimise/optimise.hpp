// Optimal control and design through events: controls, parameters, start values and the end time of a run, so that a
// number of the run is least and conditions hold. A run finds its modes and their order by itself.
//
//   Programme p;
//   p.controls.push_back({.input = "u", .intervals = 20, .lower = -5, .upper = 5});
//   p.minimise = integral(u * u);
//   p.end.push_back({.value = final_value("x"), .lower = 1, .upper = 1});
//   p.path.push_back({.value = x, .upper = 1.2});
//   const Optimum best = optimise(model, p, {.simulate = {.stop = 2.0}});
//   best.status, best.objective, best.controls[0].signal();
#pragma once

#include <saltus/hybrid/input_signal.hpp>
#include <saltus/hybrid/simulator.hpp>
#include <saltus/hybrid/trajectory.hpp>
#include <saltus/model/model.hpp>
#include <saltus/sens/functional.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace saltus {

inline constexpr double not_given = std::numeric_limits<double>::quiet_NaN();
inline constexpr double unbounded = std::numeric_limits<double>::infinity();

enum class ControlCurve : unsigned char {
  constant,  ///< one value an interval
  linear,    ///< straight lines between values at the nodes, without jumps
};

/// An input of the model that is free over the whole run.
struct Control {
  std::string input;
  int intervals = 1;
  ControlCurve curve = ControlCurve::constant;
  /// The lengths of the intervals are free, too. Controls with free lengths and as many intervals share them.
  bool free_lengths = false;
  /// The values stay those of the guess, and only lengths are free.
  bool fixed_values = false;
  double lower = -unbounded, upper = unbounded;
  /// None: the start value of the input; one for all; or one for each interval (`linear`: for each node).
  std::vector<double> guess = {};
  std::vector<double> lengths = {};  ///< guess of free lengths; none: equal ones
};

/// A parameter ("mu"), a start value ("x.start") or the end of the run.
struct FreeValue {
  std::string name = {};
  double guess = not_given;  ///< not given: the value in the model, or the middle of the bounds
  double lower = -unbounded, upper = unbounded;
};

/// lower <= value <= upper; equal bounds for an equation.
struct EndCondition {
  Functional value;
  double lower = -unbounded, upper = unbounded;
  double nominal = not_given;  ///< violations are counted in units of it; not given: that of a variable, or 1
  std::string label = {};
};

/// The same for all times, for an expression of the symbols of the model. Its extrema are located.
struct PathCondition {
  Expr value;
  double lower = -unbounded, upper = unbounded;
  double nominal = not_given;
  std::string label = {};
};

/// What is free, what is wanted, and what must hold.
struct Programme {
  std::vector<Control> controls = {};
  std::vector<FreeValue> parameters = {};
  std::optional<FreeValue> stop = {};  ///< a free end of the run; it needs bounds, and its name does not count
  /// Sums of final values, integrals and event times. Squares with constant factors in them (`integral(x*x)`) are
  /// recognised and used for second derivatives.
  Functional minimise;
  std::vector<EndCondition> end = {};
  std::vector<PathCondition> path = {};
};

/// Where a search stands after an iteration.
struct OptimiseProgress {
  std::string doing;  ///< in words: "multiple shooting", "start 2 of 8"
  int iteration = 0, runs = 0, max_runs = 0;
  double objective = 0.0, violation = 0.0;
  double radius = 0.0;  ///< of the trust region, in units of the scales of what is free
  std::size_t events = 0;
  std::string step;  ///< which kind of step was taken; "" if none was
};

enum class Shooting : unsigned char {
  automatic,  ///< one run from start to end; several joined ones where the search cannot leave a guess by that
  single,
  multiple,  ///< first of all, the controls are found by runs over single intervals that are joined step by step
};

struct OptimiseOptions {
  /// How the model is run. Derivatives are as accurate as the run.
  SimulateOptions simulate = {.rtol = 1e-8, .atol = 1e-10};
  double tolerance = 1e-6;  ///< of the sum of violations
  int max_runs = 300;
  int starts = 1;          ///< the guess, and random ones within bounds
  std::uint64_t seed = 1;  ///< of random guesses
  /// A parameter that makes the model hard: the first search is made with the value zero.
  std::string homotopy = {};
  Shooting shooting = Shooting::automatic;
  /// Called after every iteration; return false to end with the best point so far.
  std::function<bool(const OptimiseProgress&)> progress = {};
};

enum class OptimumStatus : unsigned char {
  optimal,          ///< conditions hold, and no direction lowers the objective: a local optimum
  optimal_at_kink,  ///< the same, where the order of events changes or derivatives are one-sided: message names them
  infeasible,       ///< a local minimum of violations: message says which conditions are in the way
  dead,             ///< conditions are violated, and nothing that is free moves them
  not_converged,    ///< too many runs, or the search came to no end; values are the best so far
  interrupted,      ///< progress() ended it; values are the best so far
  failed,           ///< the model cannot be run, or not differentiated, at any guess
};
/// As it stands in files: the name in this file.
std::string_view to_string(OptimumStatus status);

struct FoundValue {
  std::string name;
  double value = 0.0, lower = -unbounded, upper = unbounded;
  bool at_bound = false;
};

struct FoundControl {
  std::string input;
  ControlCurve curve = ControlCurve::constant;
  std::vector<double> times;   ///< borders of the intervals: one more than intervals
  std::vector<double> values;  ///< one per interval; `linear`: one per border

  /// For SimulateOptions::inputs.
  InputSignal signal() const;
};

struct FoundCondition {
  std::string label;
  double value = 0.0, lower = -unbounded, upper = unbounded;
  double violation = 0.0;   ///< in units of the nominal value; 0: it holds
  double t = not_given;     ///< of path conditions: when the value is reached
  double multiplier = 0.0;  ///< how fast the objective changes if the bound is moved
};

struct OptimiseIteration {
  int runs = 0;
  double objective = 0.0, violation = 0.0, radius = 0.0;
  std::size_t events = 0;
  std::string step;
};

/// The end of the search from one guess.
struct OptimiseTry {
  OptimumStatus status = OptimumStatus::failed;
  std::string text;  ///< from where, and how it ended
  double objective = 0.0, violation = 0.0;
};

struct Optimum {
  OptimumStatus status = OptimumStatus::failed;
  std::string message;             ///< what holds the optimum, or what is wrong and what to try
  std::vector<std::string> notes;  ///< nudged runs, one-sided derivatives
  double objective = 0.0;
  double violation = 0.0;  ///< sum over all conditions, in units of their nominal values
  std::vector<FoundValue> values;
  std::vector<FoundControl> controls;
  double stop = 0.0;  ///< the end of the run
  std::vector<FoundCondition> conditions;
  std::vector<OptimiseIteration> history;
  std::vector<OptimiseTry> tries;
  int iterations = 0;
  int runs = 0;                   ///< of the whole model; runs of single intervals count by their share
  int nudged = 0;                 ///< runs that were made beside a point without derivatives
  std::optional<Trajectory> run;  ///< at the result

  /// True for `optimal` and `optimal_at_kink`.
  bool ok() const { return status == OptimumStatus::optimal || status == OptimumStatus::optimal_at_kink; }
};

/// Minimises by sequential quadratic programming on true runs, with derivatives through all events.
///
/// Throws UsageError for wrong programmes: unknown names, inputs that are not Real, parameters by which a run cannot be
/// differentiated, bounds that exclude each other or the guess, nothing that is free, a free end without bounds, sums
/// over events.
Optimum optimise(const Model& model, const Programme& programme, const OptimiseOptions& options = {});

}  // namespace saltus
