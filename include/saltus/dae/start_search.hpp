// Consistent values where Newton's method fails from the guess that was given: other guesses, and continuation.
#pragma once

#include <saltus/dae/initialisation.hpp>

#include <span>

namespace saltus {

/// What search_start() found.
struct StartSearch {
  bool found = false;
  CharacteristicValues values;  ///< of the mode at the point; regular (u = v = 0) for as many equations as variables
  Initialisation start;         ///< the point
};

/// Looks for a consistent point near a guess from which initialise() has failed: the equations have no value there, or
/// their Jacobian vanishes (x^2 = 9 from 0), or Newton's method does not converge. Modes without hidden constraints
/// are solved block by block: one equation for one unknown by bisection from the sign change that is nearest to the
/// guess, and larger blocks, as modes with hidden constraints, by continuation and from perturbed guesses. Fixed
/// variables keep their values. Differentiated ones do so in modes without hidden constraints. Not found for more than
/// 2000 variables. Throws as initialise() does.
StartSearch search_start(System& system, double t, std::span<const double> guess,
                         const InitialisationOptions& options = {});

}  // namespace saltus
