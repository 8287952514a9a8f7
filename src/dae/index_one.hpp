// Consistent values of modes without hidden constraints, in any size.
#pragma once

#include <saltus/dae/structural_analysis.hpp>
#include <saltus/linalg/structured_lu.hpp>

#include <span>
#include <vector>

namespace saltus {

struct IndexOneStart {
  bool solved = false;
  int iterations = 0;
  std::vector<double> corrections;  ///< largest relative corrections
};

/// For a certified structure with equation offsets 0. Events of a large mode ask again and again: pattern, ordering and
/// workspace are kept, and nothing of the size of the system is allocated after the first call.
class IndexOneSolver {
 public:
  IndexOneSolver(const Structure& structure, const StructuralAnalysis& analysis);

  /// Keeps the values of the differentiated variables in X = (x, x'), finds those of the others and all of x'. `scale`
  /// are typical sizes of x (one each), x' is measured by them over `time_scale`. Newton's method without damping, from
  /// what X holds; not solved if it does not converge at once, or values are not finite. `system` must have the
  /// structure that was given.
  IndexOneStart solve(System& system, double t, std::span<double> X, std::span<const double> scale, double time_scale);

 private:
  bool only_rounding(const Structure& s, std::span<const double> x, std::span<const double> xp);

  std::vector<char> differential_;  // by the offsets of the analysis
  SystemJacobian jacobian_;
  StructuredLu lu_;
  std::vector<double> Fx_, Fxp_, entries_, b_, terms_;
};

}  // namespace saltus
