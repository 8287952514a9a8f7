// Cycles: periodic solutions, their periods and their Floquet multipliers, through all events.
//
//   const Cycle forced = find_cycle(model, {.period = 2 * pi / omega});
//   const Cycle free = find_cycle(model, {.section = {"y", 0.0}, .transient = 50});
//   free.period, free.multipliers, free.stable();
#pragma once

#include <saltus/hybrid/simulator.hpp>
#include <saltus/hybrid/trajectory.hpp>
#include <saltus/linalg/matrix.hpp>
#include <saltus/model/compiled_model.hpp>
#include <saltus/sens/search_progress.hpp>

#include <complex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace saltus {

/// How a cycle is looked for. The period is known (`period` or `period_of`: the model is forced) or unknown
/// (`period_guess`, or `section` with `transient`: the model does not depend on time).
struct CycleOptions {
  /// How the model is run. `start` is the phase at which the cycle begins; the stop time does not count.
  SimulateOptions simulate = {.rtol = 1e-10, .atol = 1e-12};
  double period = 0.0;         ///< known
  std::string period_of = {};  ///< known: a parameter or variable of the model whose value is the period
  double period_guess = 0.0;   ///< unknown, and near this value
  /// Where a cycle of unknown period begins: a variable and its value there. Empty: where the guess is.
  std::pair<std::string, double> section = {};
  /// So long the model is run before the search, which starts from where it has come: near a stable cycle. With a
  /// section, the last two upward passages through it give the guess of the period.
  double transient = 0.0;
  /// The variables that make up the state; empty: all that are integrated, and discrete Reals.
  std::vector<std::string> variables = {};
  int max_iterations = 30;
  SearchObserver progress = {};  ///< counts iterations of Newton's method
};

enum class CycleStatus : unsigned char {
  converged,
  not_converged,  ///< Newton's method did not come to an end, or came to an equilibrium
  no_derivative,  ///< the run has no derivative somewhere: it grazes, or starts on a surface
  not_periodic,   ///< the state comes back, and the mode does not
  failed,         ///< the model could not be run for a period
};
/// As it stands in files: the name in this file.
std::string_view to_string(CycleStatus status);

/// A periodic solution.
struct Cycle {
  CycleStatus status = CycleStatus::failed;
  std::string message;  ///< what is wrong, and what to try; "" if nothing is
  double period = 0.0;
  std::vector<std::string> variables;  ///< the state
  std::vector<double> start;           ///< its values where the cycle begins
  double residual = 0.0;               ///< largest difference after a period, relative to the size of the variables
  int iterations = 0;
  Matrix monodromy;  ///< derivatives of the state after a period by the state at its begin
  /// Eigenvalues of the monodromy matrix, the largest first. Where the period is unknown, one of them is 1, along the
  /// cycle, and left out. A multiplier that a slide or a contact takes away is 0.
  std::vector<std::complex<double>> multipliers;
  /// How far the multiplier along a cycle of unknown period is from 1: a check of the others; 0 if the period is known.
  double trivial_error = 0.0;
  std::optional<Trajectory> run;  ///< of one period

  bool ok() const { return status == CycleStatus::converged; }
  /// True if all multipliers are inside of the unit circle. Meaningful if ok().
  bool stable() const;
};

/// Finds a periodic solution near the start values of the model, by Newton's method on the map of a period, with its
/// derivative.
///
/// Throws UsageError if the period is given in no or in two ways, and for unknown names.
Cycle find_cycle(const CompiledModel& model, const CycleOptions& options);
/// Compiles the model first.
Cycle find_cycle(const Model& model, const CycleOptions& options);

}  // namespace saltus
