// Linearisations as files.
#pragma once

#include <saltus/sens/linearisation.hpp>

#include <ostream>
#include <vector>

namespace saltus {

/// JSON document with A, B, C, D as lists of rows, names, values and eigenvalues; docs/reference/linearise.md has its
/// keys. `equilibria`: those of find_equilibrium(), instead of one linearisation.
void write_linearisation_json(std::ostream& out, const std::string& model, const Linearisation& linearisation);
void write_equilibria_json(std::ostream& out, const std::string& model, const std::vector<Equilibrium>& equilibria);

/// For numpy.load: A, B, C, D, x, u, y, eigenvalues (a row each: real part, imaginary part), and the names as lists of
/// texts: $states, $inputs, $outputs.
void write_linearisation_npz(std::ostream& out, const Linearisation& linearisation);

}  // namespace saltus
