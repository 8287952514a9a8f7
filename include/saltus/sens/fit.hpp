// Fits: parameters and start values from measurements, by least squares through all events of a run.
//
//   FitData data;
//   data.series.push_back({.variable = "h", .times = {0.1, 0.2, 0.3}, .values = {9.95, 9.81, 9.56}});
//   const Fit result = fit(model, data, {{.name = "e", .guess = 0.8, .lower = 0, .upper = 1}, {.name = "g"}});
//   result.parameters[0].value;   // the best e, with its standard error in .error
#pragma once

#include <saltus/hybrid/simulator.hpp>
#include <saltus/hybrid/trajectory.hpp>
#include <saltus/linalg/matrix.hpp>
#include <saltus/model/compiled_model.hpp>
#include <saltus/sens/search_progress.hpp>

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace saltus {

/// Measured values of a variable. At the time of an event the value behind the event is meant.
struct FitSeries {
  std::string variable;
  std::vector<double> times, values;  ///< in any order; a value that is NaN is missing
  std::vector<double> sigma = {};     ///< standard deviations: one for each value, one for all, or none (unknown)
  std::string label = {};             ///< for tables and plots; empty: the variable
};

/// Measured times of the first, second, … event of a kind.
struct FitEvents {
  /// Which events: a guard ("h >= 0") or clause ("when h < 0") as the table of events shows it, a kind
  /// ("slide_exit"), or a kind and one of the others ("slide_exit v1 > v2").
  std::string event;
  std::vector<double> times;       ///< NaN: not measured
  std::vector<double> sigma = {};  ///< as in FitSeries
};

/// What was measured. Standard deviations are given for all values or for none.
struct FitData {
  std::vector<FitSeries> series;
  std::vector<FitEvents> events = {};
};

/// A parameter ("mu") or start value ("x.start") to be found.
struct FitParameter {
  std::string name;
  double guess = std::numeric_limits<double>::quiet_NaN();  ///< NaN: the value in the model
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
};

struct FitOptions {
  /// How the model is run. The stop time does not count: a run ends where the data end.
  SimulateOptions simulate = {.rtol = 1e-8, .atol = 1e-10};
  int max_runs = 200;  ///< of the model without derivatives
  /// More than 1: multiple shooting finds the guess of the search. The record is divided into so many windows, each
  /// with a run of its own, which are joined step by step: for long and for chaotic records, with which a run from a
  /// poor guess does not keep in step. Windows cannot begin in a slide, and event times cannot be among the data.
  int windows = 1;
  double tolerance = 1e-10;  ///< the search ends where steps of the parameters are shorter, relative to their values
  SearchObserver progress = {};  ///< counts runs without derivatives
};

enum class FitStatus : unsigned char {
  converged,      ///< a least sum of squares inside of the bounds
  at_bound,       ///< a least sum of squares with a parameter at its bound
  undetermined,   ///< the data do not determine all parameters: Fit::message names them
  not_converged,  ///< the search ended elsewhere: too many runs, or no step lowers the sum
  failed,         ///< the model cannot be run, or not differentiated, at the guess
};
/// As it stands in files: the name in this file.
std::string_view to_string(FitStatus status);

/// What was found for a parameter.
struct FittedParameter {
  std::string name;
  double value = 0.0;
  /// Standard error; NaN where there is none: at a bound, undetermined, or as many values as parameters.
  double error = std::numeric_limits<double>::quiet_NaN();
  double lower, upper;  ///< its bounds
  bool at_bound = false;
  bool undetermined = false;
};

/// A measured value beside that of the model.
struct FitResidual {
  std::string label;     ///< of the series, or the event with its number
  std::string variable;  ///< empty: the time of an event
  double t = 0.0;        ///< when; of an event: the measured time
  double measured = 0.0, modelled = 0.0;
  double weighted = 0.0;  ///< (modelled - measured) / sigma
};

struct Fit {
  FitStatus status = FitStatus::failed;
  std::string message;             ///< what is wrong, and what to try; "" if nothing is
  std::vector<std::string> notes;  ///< where differences took the place of derivatives, events that are missing
  std::vector<FittedParameter> parameters;
  Matrix correlations;              ///< of the parameters; NaN in rows of those without a standard error
  double sum_of_squares = 0.0;      ///< of weighted residuals
  std::optional<double> deviation;  ///< standard deviation of the residuals, where no sigmas were given
  int degrees_of_freedom = 0;       ///< values less parameters that were determined
  std::vector<FitResidual> residuals;
  int runs = 0;                   ///< of the model without derivatives
  int derivatives = 0;            ///< runs with derivatives
  std::optional<Trajectory> run;  ///< with the parameters that were found; none if the model could not be run

  /// True for `converged` and `at_bound`.
  bool ok() const { return status == FitStatus::converged || status == FitStatus::at_bound; }
};

/// Finds the parameters with the least sum of squares of (modelled - measured) / sigma, by the method of Levenberg and
/// Marquardt with derivatives of the run. Bounds hold at every run.
///
/// Where a run has no derivative (grazing, for example) central differences take its place, and Fit::notes says so. An
/// event that was measured and that the model does not have counts as if it were at the end of the run.
///
/// Standard errors come from the derivatives at the result: the square roots of the diagonal of (JᵀJ)⁻¹, J being
/// weighted by the sigmas; without sigmas they are estimated by the residuals, with one sigma for all values.
///
/// Throws UsageError for wrong data: unknown names, no values, values before the start of the run, bounds that exclude
/// the guess, fewer values than parameters, sigmas that are not positive or given for some values only.
Fit fit(const CompiledModel& model, const FitData& data, const std::vector<FitParameter>& parameters,
        const FitOptions& options = {});
/// Compiles the model first.
Fit fit(const Model& model, const FitData& data, const std::vector<FitParameter>& parameters,
        const FitOptions& options = {});

}  // namespace saltus
