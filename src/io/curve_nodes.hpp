// Curves for drawing: each variable by nodes of its own, cubic between them.
#pragma once

#include <saltus/hybrid/trajectory.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace saltus {

/// Times in increasing order, also of runs that go backwards. Two nodes at one time are a jump or a kink.
struct CurveNodes {
  enum class Kind {
    cubic,     ///< cubics through values and slopes, within the tolerance that was asked for
    coarse,    ///< the same with a hundred times that tolerance
    envelope,  ///< straight lines through the lowest and the highest point of short intervals; there are no slopes
  };
  std::vector<double> t, y, slope;
  Kind kind = Kind::cubic;
  double low = 0.0, high = 0.0;  ///< range of the finite values
};

struct CurveOptions {
  double share = 1e-5;              ///< of the range of a variable: how far its curve may lie beside the dense output
  std::size_t most_nodes = 20'000;  ///< for each variable
};

/// The curves of some variables. Empty ones if the run kept no steps.
std::vector<CurveNodes> curve_nodes(const Trajectory& run, std::span<const std::size_t> variables,
                                    const CurveOptions& options);

}  // namespace saltus
