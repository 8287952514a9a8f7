// Consistent initial values: values of x and of its derivatives that satisfy all constraints, hidden ones included.
#pragma once

#include <saltus/dae/characteristic_values.hpp>
#include <saltus/dae/extra_conditions.hpp>

#include <span>
#include <string>
#include <vector>

namespace saltus {

enum class InitialisationStatus {
  converged,
  overfixed,                   ///< the fixed values and extra conditions contradict each other or the constraints
  inconsistent_least_squares,  ///< the equations contradict each other; the point of least squares was found
  no_solution,                 ///< no solution was found near the guess
  not_finite,                  ///< the equations cannot be evaluated at the guess
};
std::string_view to_string(InitialisationStatus status);

/// What stays as the guess has it.
enum class Hold {
  /// The fixed variables; if there are none, as many variables as there are degrees of freedom, chosen among the
  /// differentiated ones
  /// (positions before velocities). For values that come from a running integration.
  differential,
  /// Only the fixed variables; all others move as little as possible, the never differentiated ones most willingly.
  fixed_only,
};

struct InitialisationOptions {
  std::vector<int> fixed;  ///< variables that must keep the value of the guess, the most important first
  /// Variables that are held before others of their kind with Hold::differential, as far as the constraints leave a choice: those that somebody has
  /// just set.
  std::vector<int> preferred = {};
  Hold hold = Hold::differential;
  /// Conditions to be solved together with the constraints, hidden ones included; null: none. The fixed variables keep
  /// their values, all others are guesses and move as little as possible (as with Hold::fixed_only); then explicit ODEs
  /// have something to find too. Sparse where the conditions are as many as the degrees of freedom and there are no
  /// hidden constraints; dense otherwise, for at most 4000 columns of the derivative array. Not owned.
  ExtraConditions* conditions = nullptr;
};

/// An equation that is not satisfied.
struct Violation {
  int equation = 0;  ///< its number; counts on behind those of the system for extra conditions
  int order = 0;     ///< 0: the equation itself; k: its derivative of order k, a hidden constraint
  double residual = 0.0;
  std::string name;  ///< "name", or "name, differentiated 2 times"
};

struct Initialisation {
  InitialisationStatus status = InitialisationStatus::no_solution;
  std::string message;        ///< what happened and what to do; "" if all is well; a remark if start values filled in
  std::vector<double> x, xp;  ///< consistent values, and derivatives from a level of the array that determines them
  std::vector<double> X;  ///< Taylor coefficients x_[0], x_[1], … as far as they are determined (others are guesses)
  std::vector<double> correction;  ///< x - guess
  std::vector<int> held;           ///< variables that were held
  bool undetermined = false;       ///< some components are not determined by the equations and stayed near the guess
  int iterations = 0;
  std::vector<double> steps;  ///< norms of the scaled corrections of the last iteration sequence
  double residual = 0.0;      ///< largest |F| at the end
  bool all_slopes = false;    ///< xp is exact for never differentiated variables too
  bool along_impulses = false;  ///< x was moved in the directions of impulses (StagedSeries)
  int freedom = 0;  ///< with extra conditions: how many more could have been given; the start values filled in
  // for overfixed:
  std::vector<int>
      conflicting;  ///< fixed variables that depend on each other through the constraints; freeing one of them may help
  std::vector<int> kept;              ///< the largest leading part of the fixed list that can be kept
  std::vector<Violation> violations;  ///< what is not satisfied, worst first; empty if converged

  bool ok() const { return status == InitialisationStatus::converged; }
};

/// Finds consistent values near the guess. Explicit ODEs have nothing to find without extra conditions; systems with a
/// certified structure are solved sparsely in any size; others by Gauss-Newton on the dense derivative array. Throws
/// UsageError for wrong sizes or indices.
Initialisation initialise(System& system, double t, std::span<const double> guess,
                          const InitialisationOptions& options = {});

/// The same with characteristic values of the mode that are known already.
Initialisation initialise(System& system, double t, std::span<const double> guess, const CharacteristicValues& values,
                          const InitialisationOptions& options = {});

/// The same for large modes without hidden constraints, in the place of the guess and in little more memory than the Jacobian: holds the
/// differentiated variables, and finds the others and all of xp, exactly. False: not a mode of this kind, or no solution was found;
/// then x is as before, and xp is not.
bool initialise_in_place(System& system, double t, const CharacteristicValues& values, std::span<double> x, std::span<double> xp);

/// The same, with xp as the guess of the derivatives: where the equations allow several, those nearby are found.
bool refine_in_place(System& system, double t, const CharacteristicValues& values, std::span<double> x, std::span<double> xp);

}  // namespace saltus
