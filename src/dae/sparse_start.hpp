// Initial equations of modes without hidden constraints, sparsely.
#pragma once

#include <saltus/dae/extra_conditions.hpp>
#include <saltus/dae/system.hpp>

#include <span>
#include <vector>

namespace saltus {

struct SparseStart {
  bool solved = false;
  int iterations = 0;
  std::vector<double> corrections;  ///< norms of the corrections of x / nominal values
};

/// Solves F(t, x, x') = 0 and h(t, x, x') = 0 for the free x and the x' that occur in F, from the guess in X (x, then
/// x'; 2n values). Not attempted, and not solved, if these are not as many unknowns as equations, if h contains other
/// derivatives, or if a matrix is singular; X is a guess as before then. Right for explicit ODEs and for modes of index
/// 1 with a certified structure.
SparseStart solve_sparse_start(System& system, ExtraConditions& conditions, double t, const std::vector<char>& fixed,
                               std::span<double> X);

}  // namespace saltus
