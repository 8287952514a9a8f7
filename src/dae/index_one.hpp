// Consistent values of modes without hidden constraints, in any size.
#pragma once

#include <saltus/dae/structural_analysis.hpp>

#include <span>
#include <vector>

namespace saltus {

struct IndexOneStart {
  bool solved = false;
  int iterations = 0;
  std::vector<double> corrections;  ///< largest relative corrections
};

/// For a certified structure with equation offsets 0: keeps the values of the differentiated variables in X = (x, x'),
/// finds those of the others and all of x'. `scale` are typical sizes of x (one each), x' is measured by them over
/// `time_scale`. Newton's method without damping, from what X holds; not solved if it does not converge at once, or
/// values are not finite.
IndexOneStart solve_index_one(System& system, const StructuralAnalysis& structure, double t, std::span<double> X,
                              std::span<const double> scale, double time_scale);

}  // namespace saltus
