// Lyapunov exponents: how fast neighbouring solutions separate, through all events.
//
//   const LyapunovExponents found = lyapunov_exponents(model, {.interval = 1, .transient = 100, .intervals = 1000});
//   found.values[0];   // positive: chaos
#pragma once

#include <saltus/hybrid/simulator.hpp>
#include <saltus/model/compiled_model.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace saltus {

struct LyapunovOptions {
  /// How the model is run; the stop time does not count.
  SimulateOptions simulate = {.rtol = 1e-9, .atol = 1e-11};
  double interval = 1.0;   ///< after which differences are made orthogonal again
  double transient = 0.0;  ///< so long the model is run first
  int intervals = 1000;    ///< over which the exponents are averaged
  /// The variables that make up the state; empty: all that are integrated, and discrete Reals.
  std::vector<std::string> variables = {};
};

enum class LyapunovStatus : unsigned char {
  finished,
  no_derivative,  ///< the run has no derivative somewhere, or has ended; the exponents are those up to there
};
/// As it stands in files: the name in this file.
std::string_view to_string(LyapunovStatus status);

struct LyapunovExponents {
  LyapunovStatus status = LyapunovStatus::finished;
  std::string message;         ///< why it ended early; "" if it did not
  std::vector<double> values;  ///< the largest first; -infinity for directions that slides take away
  std::vector<double> errors;  ///< their standard errors, from twenty blocks of the average
  double time = 0.0;           ///< over which the average was taken
  double t_end = 0.0;          ///< where the run has come to
};

/// Averages the growth of differences along a run: the derivatives of the state by the state an interval before,
/// through events, made orthogonal after each interval (Benettin et al. 1980).
///
/// The run is made in intervals that begin from the values of the one before. An end that would fall into a slide or a
/// contact is put off until it is over, by up to a hundred intervals.
///
/// Throws UsageError for unknown names and intervals that are not positive.
LyapunovExponents lyapunov_exponents(const CompiledModel& model, const LyapunovOptions& options);
/// Compiles the model first.
LyapunovExponents lyapunov_exponents(const Model& model, const LyapunovOptions& options);

}  // namespace saltus
