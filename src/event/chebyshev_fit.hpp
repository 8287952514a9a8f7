// Fits on nested Chebyshev grids: 9, 17 and 33 points, the coarser ones contained in the finer ones.
#pragma once

#include <saltus/event/bernstein.hpp>

namespace saltus {

constexpr int finest_grid = 32;  // intervals of the finest grid

/// Point j of the finest grid in [0, 1], increasing, with 0 and 1 at its ends: (1 - cos(j pi / 32)) / 2.
double grid_point(int j);

/// Coefficients a_0 … a_N of the interpolant sum a_k T_k(2s - 1) through values at every (32/N)-th point of the finest
/// grid; N = 8, 16 or 32. Value j is u[j * stride].
void chebyshev_coefficients(int N, const double* u, int stride, double* a);

/// How well a grid resolves a function.
struct Fit {
  bool resolved = false;  ///< the coefficients fall below the noise and stay there: the function is known to the noise
  bool flat_tail =
      false;  ///< the last coefficients do not fall any more: noise, or a function that the grid is too coarse for
  double tail = 0.0;  ///< sum of the coefficients that p leaves out
  Bernstein p;        ///< noise: what the fit leaves out, the rounding of the fit, and the noise that was given
};

/// The polynomial of the lowest degree that represents the function to its noise; degree 16 if there is none.
/// a: N + 1 coefficients; magnitude: the largest |value|; noise: what the values may be wrong by.
void fit(int N, const double* a, double magnitude, double noise, Fit& result);

}  // namespace saltus
