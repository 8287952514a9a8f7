// Starts at a time at which the equations are singular, or have no derivatives, while they are regular right behind it.
#pragma once

#include <saltus/dae/initialisation.hpp>

#include <span>
#include <vector>

namespace saltus {

/// What start_behind() found.
struct SingularStart {
  enum class Result {
    none,  ///< the mode is not regular behind the start either
    found,
    no_limit,  ///< it is, but its solution has no limit at the start
  };
  Result result = Result::none;
  double t = 0.0;               ///< a regular time, as near to the start as the equations can be solved
  CharacteristicValues values;  ///< of the mode there
  std::vector<double> x, xp;    ///< the limit of the solution at the start, with derivatives of the regular time
};

/// Looks for regular points right behind t: sin(t) x = t has the solution 1 at t = 0, and p = sqrt(t) a structure that
/// its infinite derivative hides there. `span`: signed length of the run, of which a tiny part decides.
SingularStart start_behind(System& system, double t, double span, std::span<const double> guess,
                           const InitialisationOptions& options);

}  // namespace saltus
