// Which components of x may be prescribed, judged by the space T2 that the linearised constraints leave.
#pragma once

#include <saltus/dae/characteristic_values.hpp>

#include <span>
#include <vector>

namespace saltus {

/// A set of components is admissible if the rows of T2 that belong to it are independent.
struct Admissibility {
  bool admissible = true;
  std::vector<int> conflicting;  ///< members with a share in a dependence
  std::vector<int> kept;         ///< greedy in the given order
};
Admissibility check_fixed(const Matrix& T2, std::span<const int> fixed);

/// Components that parametrise the solution set: those of `first`, if nothing is preferred, then differentiated variables
/// of high order, among these the preferred ones, well-conditioned pivots first.
std::vector<int> choose_components(const Matrix& T2, const Structure& structure, const StructuralAnalysis& analysis,
                                   std::span<const int> preferred = {}, std::span<const int> first = {});

}  // namespace saltus
