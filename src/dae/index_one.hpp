// Consistent values of modes without hidden constraints, in any size.
#pragma once

#include <saltus/dae/structural_analysis.hpp>
#include <saltus/linalg/structured_lu.hpp>

#include <memory>
#include <span>
#include <vector>

namespace saltus {

struct IndexOneStart {
  bool solved = false;
  int iterations = 0;
  std::vector<double> corrections;  ///< largest relative corrections
};

/// For a certified structure with equation offsets 0. Events of a large mode ask again and again: where linear systems
/// need factors, pattern and ordering are kept. The rest of the workspace is given back in between.
class IndexOneSolver {
 public:
  IndexOneSolver(const Structure& structure, const StructuralAnalysis& analysis);

  /// Whether equations are solved one after the other: nothing but the matching and the offsets of the variables is needed of the analysis.
  bool sequential() const { return !order_.empty(); }

  /// Keeps the values of the differentiated variables in x, finds those of the others and all of x'. `scale`
  /// are typical sizes of x (one each; none: the nominal values), x' is measured by them over `time_scale`. Newton's
  /// method without damping, from what x and xp hold; not solved if it does not converge at once, or values are not finite.
  /// `system` must have the structure, and `analysis` be the one, that were given.
  IndexOneStart solve(System& system, const StructuralAnalysis& analysis, double t, std::span<double> x,
                      std::span<double> xp, std::span<const double> scale, double time_scale);

 private:
  struct Factors {
    SystemJacobian jacobian;
    StructuredLu lu;
  };
  std::vector<int> order_;            // in which the equations are solved one after the other; empty: with factors
  std::unique_ptr<Factors> factors_;
};

}  // namespace saltus
